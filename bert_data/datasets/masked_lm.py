"""From text to a set of shards, by one stream of random numbers: the stages in their order.

text --Corpus.load--> token store --RecordStream--> spool --RecordStream.write--> shards
then the manifests, last

A cluster tokenizes the text in parts, and this process does the rest:

    a.txt --plan_shards--> [a 0:64M] [a 64M:]
    each  --task on a node--> a store in a folder of the work folder
    all   --join_spans--> the store that fill_store makes of the whole text

Their work folder is `.train.tokens` beside the set. It stays until the set is complete, so that a
run that was killed resumes with the missing stores. `partitioned.py` has the stages of sets whose
text is cut into partitions.
"""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Iterator, Sequence
from typing import Any

import bert_data
from bert_data.datasets.corpus import Corpus, open_corpus
from bert_data.datasets.dataset_config import (
    Dataset,
    DatasetConfig,
    TimedStage,
    describe_set,
    open_set,
    share_stream_memory,
    sum_up,
    with_counts,
)
from bert_data.datasets.partitioned import create_from_partitions
from bert_data.datasets.record_set import RecordSet
from bert_data.datasets.spool import RecordStream
from bert_data.kernels import clock
from bert_data.progress import progress
from bert_data.storage import expand_outputs, file_size, hidden_path, read_statuses
from bert_data.text.documents import TextPart
from bert_data.text.formats import find_plain_format
from bert_data.text.partitions import count_rows, plan_shards
from bert_data.tokens.filling import TokenCounts, fill_store, numbers_rows
from bert_data.tokens.merging import StoreSpan, join_spans
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_making import PARTITION_MB
from bert_data.work import (
    Executor,
    FolderTask,
    Made,
    count_workers,
    fingerprint,
    open_executor,
    open_threads,
    open_work_folder,
    remove_damaged,
    run_tasks,
)

PART_BYTES = 64_000_000  # of text on disk
_STORE = "tokens"


class _DatasetRun:
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
        self.stages: list[TimedStage] = []

    def path(self, name: str) -> str:
        """Return the path of a temporary file."""
        return os.path.join(self.record_set.outputs.work_dir, name)

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[list[int]]:
        """Time a stage; its block appends the stage's bytes to the list."""
        start, sizes = clock(), list[int]()
        yield sizes
        seconds = clock() - start
        self.stages.append(TimedStage(name=name, seconds=seconds, num_bytes=sum(sizes)))


def create_dataset(config: DatasetConfig) -> Dataset:
    """Make a set of shards from text; they appear together, or not at all."""
    if config.num_partitions:
        return create_from_partitions(config)
    run = _DatasetRun(config)
    with (
        open_set(config, run.corpus.files.paths, overwrite=config.overwrite) as run.record_set,
        open_threads(run.memory[0].num_workers) as run.executor,
        contextlib.ExitStack() as run.stack,
    ):
        dataset = _make(run)
        run.record_set.commit(dataset.manifest)
    return dataset


def _make(run: _DatasetRun) -> Dataset:
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


def _load_tokens(run: _DatasetRun) -> tuple[TokenStore, TokenCounts]:
    prefix = run.path("tokens")
    if run.config.engine.is_cluster and not run.corpus.files.stores:
        run.corpus.check()
        tokenized = tokenized_by_cluster(run.config, run.corpus, prefix)
        return run.stack.enter_context(tokenized)
    return run.corpus.load(prefix, run.executor)


def _fill_part(corpus: Corpus, part: TextPart, folder: str) -> dict[str, Any]:
    """Tokenize a part into a folder; return its counts."""
    prefix = os.path.join(folder, _STORE)
    filled = fill_store(part.spans, corpus.tokenizer, prefix, text=corpus.text, may_be_empty=True)
    return dataclasses.asdict(filled.counts)


@contextlib.contextmanager
def tokenized_by_cluster(
    config: DatasetConfig, corpus: Corpus, prefix: str
) -> Iterator[tuple[TokenStore, TokenCounts]]:
    """Tokenize text, and join the stores of its parts; the block ends with the set complete."""
    paths, tokenizer = corpus.files.paths, corpus.tokenizer
    text_format = find_plain_format(paths, config.text)
    shards = plan_shards(paths, text_format, PART_BYTES)
    parts = [TextPart(number, spans) for number, spans in enumerate(shards)]
    work = fingerprint(
        {
            "version": bert_data.__version__,
            "vocabulary": [tokenizer.sha256, tokenizer.do_lower_case],
            "text": config.text.settings(),
            "inputs": [
                [os.path.abspath(path), repr(status)]
                for path, status in zip(paths, read_statuses(paths), strict=True)
            ],
            "parts": [repr(part) for part in parts],
        }
    )
    beside = hidden_path(expand_outputs(config.output_file).name, "tokens")
    parent = config.work_dir or beside
    with open_work_folder(parent, work, is_own=not config.work_dir) as folder:
        task = FolderTask(
            parent=os.path.join(folder, "parts"),
            function=functools.partial(_fill_part, corpus),
        )
        done = []
        with open_executor(
            config.engine.count_workers(config.num_workers),
            engine=config.engine,
            folder=folder,
            task_bytes=PARTITION_MB * 1_000_000,
        ) as executor:
            remove_damaged(folder, executor, keeps_inputs=True)
            if numbers_rows(text_format, tokenizer):
                spans = count_rows(shards, text_format, executor)
                parts = [TextPart(*each) for each in enumerate(spans)]
            with progress("tokenize", total=len(parts), unit="part") as advance:
                for made, _ in run_tasks("tokenize", task, parts, executor):
                    done.append(made)
                    advance(1)
        yield _join(done, prefix)


def _join(parts: Sequence[Made], prefix: str) -> tuple[TokenStore, TokenCounts]:
    total = sum_up(TokenCounts, [part.report for part in parts])
    if not total.num_tokens:
        raise ValueError("no sentence in the text")
    folders = [part.folder for part in parts if part.report["num_tokens"]]
    join_spans([StoreSpan(prefix=os.path.join(folder, _STORE)) for folder in folders], prefix)
    return open_store(prefix), total
