"""From text to a set of shards, by one stream of random numbers: the stages in their order.

text --load_corpus--> token store --make_instances--> spool --columns--> write_shards --> shards
then the manifests, last

`partitioned.py` has the stages of sets whose text is cut into partitions.
"""

import contextlib
import dataclasses
import mmap
import os
from collections.abc import Iterator
from typing import Any

from bert_data.datasets.budget import MIN_MEMORY_MB, MemoryBudget, share_memory
from bert_data.datasets.cluster_corpus import join_parts, tokenized_by_cluster
from bert_data.datasets.config import (
    Dataset,
    DatasetConfig,
    Stage,
    describe_set,
    load_checked_tokenizer,
    make_writer,
    open_set,
)
from bert_data.datasets.corpus import check_corpus, find_corpus, load_corpus, warn_of_tokens
from bert_data.datasets.manifest import Manifest
from bert_data.datasets.partitioned import create_from_partitions
from bert_data.datasets.record_set import RecordSet
from bert_data.datasets.spool import RowChunk, read_chunks, read_rows
from bert_data.datasets.writing import Chunk, write_shards
from bert_data.formats.registry import ShardFormat, find_format
from bert_data.formats.summed_file import ManifestFile
from bert_data.kernels import clock
from bert_data.objectives.columns import read_columns
from bert_data.objectives.making import Instances, make_instances
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
        self.shard_format = find_format(config.output_format)
        self.budget, self.num_open = _share_memory(config, self.shard_format)
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


def _share_memory(config: DatasetConfig, shard_format: ShardFormat) -> tuple[MemoryBudget, int]:
    """Return the shares of memory, and the number of shards to write at a time."""
    num_workers = count_workers(0 if config.engine.is_cluster else config.num_workers)
    reserved = shard_format.reserved_bytes
    free = (config.max_memory_mb - MIN_MEMORY_MB) * 1_000_000 - reserved
    num_shards = len(expand_outputs(config.output_file).paths)
    num_open = shard_format.count_open(num_workers, num_shards, free // 2)
    reserved += (num_open - 1) * (shard_format.open_bytes or 0)
    return share_memory(config.max_memory_mb, num_workers, reserved_bytes=reserved), num_open


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
    manifest = describe_set(config, run.tokenizer, vocabulary, tokens, instances.counts)
    with run.stage("write records") as sizes:
        files = _write(run, manifest, store, instances, spool_path)
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


def _write(
    run: _Run, manifest: Manifest, store: TokenStore, instances: Instances, spool_path: str
) -> tuple[ManifestFile, ...]:
    """Write the shards, and remove the spool."""
    config = run.config
    writer = make_writer(config, manifest)

    def encode(chunk: RowChunk) -> Any:
        batch = read_columns(chunk.rows, chunk.order, store.ids, run.vocabulary, writer.kind)
        return writer.encode(batch)

    chunks = read_chunks(
        spool_path,
        instances.num_words,
        instances.order,
        num_shards=len(run.record_set.paths),
        num_open=run.num_open,
        chunk_size=config.chunk_size,
        turn_size=config.group_size,
        max_bytes=run.budget.max_rows_bytes,
    )
    return write_shards(
        run.record_set,
        writer,
        _release_memory(chunks, store, run.budget.max_store_bytes),
        encode,
        num_records=instances.order.size,
        num_open=run.num_open,
        executor=run.executor,
    )


def _release_memory(chunks: Iterator[Chunk], store: TokenStore, max_bytes: int) -> Iterator[Chunk]:
    """Release the store's pages from time to time: each record touches at least two of them."""
    num_records, max_records = 0, max_bytes // (2 * mmap.PAGESIZE)
    for chunk in chunks:
        num_records += chunk.num_records
        if num_records > max_records:
            store.release_memory(max_bytes)
            num_records = 0
        yield chunk
