"""From text to a set of shards, by one stream of random numbers: the stages in their order.

text --load_corpus--> token store --make_instances--> spool --write_records--> shards
then the manifests, last

`partitioned.py` has the stages of sets whose text is cut into partitions.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterator

from bert_data.datasets.cluster_corpus import join_parts, tokenized_by_cluster
from bert_data.datasets.config import (
    Dataset,
    DatasetConfig,
    Stage,
    describe_set,
    load_checked_tokenizer,
    open_set,
    with_counts,
)
from bert_data.datasets.corpus import check_corpus, find_corpus, load_corpus, warn_of_tokens
from bert_data.datasets.partitioned import create_from_partitions
from bert_data.datasets.record_set import RecordSet
from bert_data.datasets.spool import read_rows
from bert_data.datasets.streams import share_stream_memory, write_records
from bert_data.kernels import clock
from bert_data.objectives.making import make_instances
from bert_data.objectives.rows import decode_row
from bert_data.storage import expand_outputs, file_size, open_scratch
from bert_data.tokens.filling import TokenCounts
from bert_data.tokens.store import TokenStore
from bert_data.work import Executor, count_workers, open_threads


class _Run:
    """What the stages of a run share."""

    record_set: RecordSet
    executor: Executor
    stack: contextlib.ExitStack  # ends when the set is complete

    def __init__(self, config: DatasetConfig) -> None:
        self.config = config
        num_workers = count_workers(0 if config.engine.is_cluster else config.num_workers)
        num_shards = len(expand_outputs(config.output_file).paths)
        self.memory = share_stream_memory(config, num_workers, num_shards)
        self.budget, _ = self.memory
        self.corpus = find_corpus(config.input_file, config.text)
        self.tokenizer, self.vocabulary = load_checked_tokenizer(config)
        self.stages: list[Stage] = []

    def path(self, name: str) -> str:
        """Return the path of a temporary file."""
        return os.path.join(self.record_set.outputs.work_dir, name)

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[list[int]]:
        """Time a stage; its block appends the stage's bytes to the list."""
        start, sizes = clock(), list[int]()
        yield sizes
        seconds = clock() - start
        self.stages.append(Stage(name=name, seconds=seconds, num_bytes=sum(sizes)))


def create_dataset(config: DatasetConfig) -> Dataset:
    """Make a set of shards from text; they appear together, or not at all.

    Raises:
      ValueError: a setting, an input or the vocabulary cannot be used.
    """
    if config.num_partitions:
        return create_from_partitions(config)
    run = _Run(config)
    with (
        open_set(config, run.corpus.paths, overwrite=config.overwrite) as run.record_set,
        open_threads(run.budget.num_workers) as run.executor,
        contextlib.ExitStack() as run.stack,
    ):
        dataset = _make(run)
        run.record_set.commit(dataset.manifest)
    return dataset


def _make(run: _Run) -> Dataset:
    """Run the stages; the shards then have hidden names."""
    config, vocabulary = run.config, run.vocabulary
    with run.stage("read tokens" if run.corpus.stores else "tokenize") as sizes:
        store, tokens = _load_tokens(run)
        sizes.append(tokens.num_bytes)
    warn_of_tokens(run.corpus, config.text, run.tokenizer, tokens, config.instances.objective)
    spool_path = run.path("instances")
    with run.stage("make instances") as sizes:
        with open_scratch(spool_path) as spool:
            instances = make_instances(
                store,
                vocabulary,
                config.instances,
                spool,
                max_store_bytes=run.budget.max_store_bytes,
            )
        rows = read_rows(spool_path, instances.num_words, instances.order[: config.num_examples])
        sizes.append(file_size(spool_path))
    manifest = describe_set(config, run.tokenizer, vocabulary)
    manifest = with_counts(manifest, tokens, instances.counts)
    with run.stage("write records") as sizes:
        files = write_records(
            config,
            manifest,
            instances,
            spool_path,
            store,
            vocabulary,
            shards=run.record_set.shards,
            memory=run.memory,
            executor=run.executor,
        )
        sizes += [file.num_bytes for file in files]
    return Dataset(
        inputs=run.corpus.paths,
        tokens=tokens,
        instances=instances.counts,
        stages=run.stages,
        manifest=dataclasses.replace(manifest, files=files),
        paths=run.record_set.paths,
        examples=[decode_row(row, store.ids, vocabulary) for row in rows],
        vocabulary=vocabulary,
    )


def _load_tokens(run: _Run) -> tuple[TokenStore, TokenCounts]:
    config, corpus, prefix = run.config, run.corpus, run.path("tokens")
    if config.engine.is_cluster and not corpus.stores:
        check_corpus(corpus, run.tokenizer, run.vocabulary, text=config.text)
        parts = run.stack.enter_context(tokenized_by_cluster(config, corpus.paths, run.tokenizer))
        return join_parts(parts, prefix)
    return load_corpus(
        corpus, run.tokenizer, run.vocabulary, prefix, text=config.text, executor=run.executor
    )
