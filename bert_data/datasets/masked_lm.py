"""From text to a set of shards: the stages in their order.

text --load_corpus--> token store --make_instances--> spool --columns--> write_shards --> shards
then the manifests, last
"""

import contextlib
import dataclasses
import json
import mmap
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

from bert_data.bounds import check_bounds
from bert_data.datasets.budget import MIN_MEMORY_MB, MemoryBudget, share_memory
from bert_data.datasets.corpus import find_corpus, load_corpus
from bert_data.datasets.manifest import Manifest
from bert_data.datasets.record_set import RecordSet, open_record_set
from bert_data.datasets.spool import RowChunk, read_chunks, read_rows
from bert_data.datasets.writing import Chunk, write_shards
from bert_data.formats.registry import (
    GZIP,
    NONE,
    PARQUET,
    TFRECORD,
    ShardFormat,
    WriterSettings,
    find_format,
)
from bert_data.formats.summed_file import ManifestFile
from bert_data.objectives.columns import read_columns
from bert_data.objectives.making import InstanceConfig, InstanceCounts, Instances, make_instances
from bert_data.objectives.next_sentence import LABELS, NSP, TASKS
from bert_data.objectives.rows import Instance, decode_row
from bert_data.schema.fields import RAGGED, masked_lm_records
from bert_data.storage import expand_outputs, file_size, open_scratch
from bert_data.text.documents import TextConfig
from bert_data.tokens.filling import TokenCounts
from bert_data.tokens.oddities import warn_of_counts
from bert_data.tokens.store import TokenStore
from bert_data.tokens.tokenizer_file import Tokenizer, load_tokenizer, vocabulary_of
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.work import Executor, count_workers, open_threads

_MAX_EXAMPLES = 10_000
_CHUNK_BYTES = 1 << 20  # of records that are encoded at once
CHUNKS_OF_GROUP = 16  # in a row group of Parquet


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetConfig:
    """Configuration of `create_dataset`.

    Attributes:
      input_file, output_file: comma-separated, see `bert_data.storage`.
      vocab_file, tokenizer_file, do_lower_case: of the tokenizer, see `load_tokenizer`.
      text: how the input is read; its format may also be "store", see `find_corpus`.
      instances: how instances are made.
      output_format, record_layout, compression: of the shards, see `formats.registry.find_format`;
        records of the layout "reference" are padded.
      num_workers: threads; 0: all cores. The files do not depend on it.
      max_memory_mb: of the process, in 10**6 bytes, >= 300, see `share_memory`.
      work_dir: folder for what spills to disk; None: the first output's.
      overwrite: whether to replace existing outputs.
      num_examples: number of records to return, 0 to 10,000.
    """

    input_file: str
    output_file: str
    vocab_file: str | None = None
    tokenizer_file: str | None = None
    do_lower_case: bool = True
    text: TextConfig = dataclasses.field(default_factory=TextConfig)
    instances: InstanceConfig = dataclasses.field(default_factory=InstanceConfig)
    output_format: str = TFRECORD
    record_layout: str = RAGGED
    compression: str = NONE
    num_workers: int = 0
    max_memory_mb: int = 1000
    work_dir: str | None = None
    overwrite: bool = False
    num_examples: int = 3

    def __post_init__(self) -> None:
        share_memory(self.max_memory_mb, 1)
        find_format(
            self.output_format,
            record_layout=self.record_layout,
            compression=self.compression,
            output_file=self.output_file,
        )
        check_bounds("num_examples", self.num_examples, 0, _MAX_EXAMPLES)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stage:
    """A finished stage: its wall-clock seconds, and the bytes by which its speed is measured."""

    name: str
    seconds: float
    num_bytes: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dataset:
    """A finished set, and how it was made.

    Attributes:
      inputs: the files read.
      tokens, instances: counts.
      stages: in their order.
      manifest: its files are in the order of `paths`.
      paths: of the shards.
      examples: the first records.
      vocabulary: of the tokens.
    """

    inputs: Sequence[str]
    tokens: TokenCounts
    instances: InstanceCounts
    stages: Sequence[Stage]
    manifest: Manifest
    paths: Sequence[str]
    examples: Sequence[Instance]
    vocabulary: Vocabulary


class _Run:
    """What the stages of a run share."""

    record_set: RecordSet
    executor: Executor

    def __init__(self, config: DatasetConfig) -> None:
        self.config = config
        self.shard_format = find_format(config.output_format)
        self.budget, self.num_open = _share_memory(config, self.shard_format)
        self.corpus = find_corpus(config.input_file, config.text)
        self.tokenizer = load_tokenizer(
            config.vocab_file, config.tokenizer_file, do_lower_case=config.do_lower_case
        )
        self.vocabulary = _checked_vocabulary(config, self.tokenizer)
        self.stages: list[Stage] = []

    def path(self, name: str) -> str:
        """Return the path of a temporary file."""
        return os.path.join(self.record_set.outputs.work_dir, name)

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[list[int]]:
        """Time a stage; its block appends the stage's bytes to the list."""
        start, sizes = time.monotonic(), list[int]()
        yield sizes
        seconds = time.monotonic() - start
        self.stages.append(Stage(name=name, seconds=seconds, num_bytes=sum(sizes)))


def create_dataset(config: DatasetConfig) -> Dataset:
    """Make a set of shards from text; they appear together, or not at all.

    Raises:
      ValueError: a setting, an input or the vocabulary cannot be used.
      OSError: a file cannot be read or written.
      CorruptDataError: an input is damaged.
    """
    run = _Run(config)
    with (
        open_record_set(
            config.output_file,
            inputs=[*run.corpus.paths, *filter(None, (config.vocab_file, config.tokenizer_file))],
            has_indexes=run.shard_format.has_index,
            overwrite=config.overwrite,
            work_dir=config.work_dir,
        ) as run.record_set,
        open_threads(run.budget.num_workers) as run.executor,
    ):
        dataset = _make(run)
        run.record_set.commit(dataset.manifest)
    return dataset


def _share_memory(config: DatasetConfig, shard_format: ShardFormat) -> tuple[MemoryBudget, int]:
    """Return the shares of memory, and the number of shards to write at a time."""
    num_workers = count_workers(config.num_workers)
    reserved = shard_format.reserved_bytes
    free = (config.max_memory_mb - MIN_MEMORY_MB) * 1_000_000 - reserved
    num_shards = len(expand_outputs(config.output_file).paths)
    num_open = shard_format.count_open(num_workers, num_shards, free // 2)
    reserved += (num_open - 1) * (shard_format.open_bytes or 0)
    return share_memory(config.max_memory_mb, num_workers, reserved_bytes=reserved), num_open


def _checked_vocabulary(config: DatasetConfig, tokenizer: Tokenizer) -> Vocabulary:
    """Return the vocabulary, which must mark words' pieces if whole words are masked.

    Raises:
      ValueError: it does not, or lacks a token that is needed.
    """
    vocabulary = vocabulary_of(tokenizer)
    if config.instances.do_whole_word_mask and not vocabulary.continuation.any():
        raise ValueError(
            "--do_whole_word_mask needs a vocabulary with pieces that begin with ##;"
            f" {vocabulary.path} has none"
        )
    return vocabulary


def _make(run: _Run) -> Dataset:
    """Run the stages; the shards then have hidden names."""
    config, vocabulary = run.config, run.vocabulary
    with run.stage("read tokens" if run.corpus.prefix else "tokenize") as sizes:
        store, tokens = load_corpus(
            run.corpus,
            run.tokenizer,
            vocabulary,
            run.path("tokens"),
            text=config.text,
            executor=run.executor,
        )
        sizes.append(tokens.num_bytes)
    warn_of_counts(
        dataclasses.asdict(tokens),
        paths=run.corpus.paths if run.corpus.prefix is None else (),
        text=config.text,
        tokenizer=run.tokenizer,
        has_pairs=config.instances.next_sentence in TASKS,
    )
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
    manifest = _manifest(run, tokens, instances.counts)
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


def _write(
    run: _Run, manifest: Manifest, store: TokenStore, instances: Instances, spool_path: str
) -> tuple[ManifestFile, ...]:
    """Write the shards, and remove the spool."""
    config, num_records = run.config, chunk_size(run.config)
    kind = masked_lm_records(
        config.record_layout,
        max_seq_length=config.instances.max_seq_length,
        max_predictions_per_seq=config.instances.max_predictions_per_seq,
        sentence_field=LABELS[config.instances.next_sentence],
    )
    settings = WriterSettings(
        compression=config.compression,
        manifest=json.loads(manifest.to_json()),
        group_records=num_records * CHUNKS_OF_GROUP,
    )
    writer = run.shard_format.make(kind, settings)

    def encode(chunk: RowChunk) -> Any:
        batch = read_columns(chunk.rows, chunk.order, store.ids, run.vocabulary, writer.kind)
        return writer.encode(batch)

    chunks = read_chunks(
        spool_path,
        instances.num_words,
        instances.order,
        num_shards=len(run.record_set.paths),
        num_open=run.num_open,
        chunk_size=num_records,
        turn_size=settings.group_records,
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


def chunk_size(config: DatasetConfig) -> int:
    """Return the number of records that are encoded at once, >= 1.

    The bytes of the files depend on it (gzip streams are cut where chunks end, and row groups hold
    whole chunks), so it depends only on the configuration.
    """
    max_tokens = config.instances.max_seq_length
    max_predictions = config.instances.max_predictions_per_seq
    if config.output_format == PARQUET:
        row_bytes = 5 * max_tokens + 8 * min(max_tokens, max_predictions) + 9
        return max(1, _CHUNK_BYTES // row_bytes)
    num_records = _CHUNK_BYTES // (10 * max_tokens + 12 * max_predictions + 666)
    return max(1, num_records * (1 if config.compression == GZIP else 2))


def _release_memory(chunks: Iterator[Chunk], store: TokenStore, max_bytes: int) -> Iterator[Chunk]:
    """Release the store's pages from time to time: each record touches at least two of them."""
    num_records, max_records = 0, max_bytes // (2 * mmap.PAGESIZE)
    for chunk in chunks:
        num_records += chunk.num_records
        if num_records > max_records:
            store.release_memory(max_bytes)
            num_records = 0
        yield chunk


def _manifest(run: _Run, tokens: TokenCounts, counts: InstanceCounts) -> Manifest:
    """Return the manifest without its files."""
    config, instances = run.config, run.config.instances
    flags = {
        "do_lower_case": run.tokenizer.do_lower_case,
        "do_whole_word_mask": instances.do_whole_word_mask,
        "dupe_factor": instances.dupe_factor,
        "masked_lm_prob": instances.masked_lm_prob,
        "short_seq_prob": instances.short_seq_prob,
        **dataclasses.asdict(config.text),
    }
    if instances.next_sentence != NSP:  # omitted in sets of the reference's objective
        flags["next_sentence"] = instances.next_sentence
    return Manifest(
        output_format=config.output_format,
        record_layout=config.record_layout,
        compression=run.shard_format.compression or config.compression,
        max_seq_length=instances.max_seq_length,
        max_predictions_per_seq=instances.max_predictions_per_seq,
        random_seed=instances.random_seed,
        vocab_size=run.vocabulary.size,
        vocab_sha256=run.vocabulary.sha256,
        flags=flags,
        counts={
            "text": dataclasses.asdict(tokens),
            "instances": {k: n for k, n in dataclasses.asdict(counts).items() if n is not None},
        },
        files=(),
    )
