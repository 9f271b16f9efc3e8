"""From text to a set of shards, by one stream of random numbers: the stages in their order.

text --load_corpus--> token store --make_instances--> spool --write_records--> shards
then the manifests, last

`partitioned.py` has the stages of sets whose text is cut into partitions.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterator

from bert_data.datasets.cluster_corpus import tokenized_by_cluster
from bert_data.datasets.config import (
    Dataset,
    DatasetConfig,
    Stage,
    describe_set,
    open_set,
    share_stream_memory,
    with_counts,
)
from bert_data.datasets.corpus import open_corpus
from bert_data.datasets.partitioned import create_from_partitions
from bert_data.datasets.record_set import RecordSet
from bert_data.datasets.spool import RecordStream
from bert_data.kernels import clock
from bert_data.storage import expand_outputs, file_size
from bert_data.tokens.filling import TokenCounts
from bert_data.tokens.store import TokenStore
from bert_data.work import Executor, count_workers, open_threads


class _Run:
    """State that the stages share."""

    record_set: RecordSet
    executor: Executor
    stack: contextlib.ExitStack  # ends when the set is complete

    def __init__(self, config: DatasetConfig) -> None:
        self.config = config
        num_workers = count_workers(0 if config.engine.is_cluster else config.num_workers)
        num_shards = len(expand_outputs(config.output_file).paths)
        self.memory = share_stream_memory(config, num_workers, num_shards)
        self.corpus = open_corpus(config)
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
        open_set(config, run.corpus.files.paths, overwrite=config.overwrite) as run.record_set,
        open_threads(run.memory[0].num_workers) as run.executor,
        contextlib.ExitStack() as run.stack,
    ):
        dataset = _make(run)
        run.record_set.commit(dataset.manifest)
    return dataset


def _make(run: _Run) -> Dataset:
    """Run the stages; the shards then have hidden names."""
    config, corpus = run.config, run.corpus
    with run.stage("read tokens" if corpus.files.stores else "tokenize") as sizes:
        store, tokens = _load_tokens(run)
        sizes.append(tokens.num_bytes)
    corpus.warn_of(tokens, config.instances.objective)
    stream = RecordStream(
        config=config,
        store=store,
        vocabulary=corpus.vocabulary,
        path=run.path("instances"),
        shards=run.record_set.shards,
        memory=run.memory,
        executor=run.executor,
    )
    with run.stage("make instances") as sizes:
        instances, examples = stream.spool_instances(config.num_examples)
        sizes.append(file_size(stream.path))
    manifest = describe_set(config, corpus.tokenizer, corpus.vocabulary)
    manifest = with_counts(manifest, tokens, instances.counts)
    with run.stage("write records") as sizes:
        files = stream.write(instances, manifest)
        sizes += [file.num_bytes for file in files]
    return Dataset(
        inputs=corpus.files.paths,
        tokens=tokens,
        instances=instances.counts,
        stages=run.stages,
        manifest=dataclasses.replace(manifest, files=files),
        paths=run.record_set.paths,
        examples=examples,
        vocabulary=corpus.vocabulary,
    )


def _load_tokens(run: _Run) -> tuple[TokenStore, TokenCounts]:
    prefix = run.path("tokens")
    if run.config.engine.is_cluster and not run.corpus.files.stores:
        run.corpus.check()
        return run.stack.enter_context(tokenized_by_cluster(run.config, run.corpus, prefix))
    return run.corpus.load(prefix, run.executor)
