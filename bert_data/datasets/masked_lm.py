"""From text to a set of shards: the stages in their order, and what they leave.

text --load_corpus--> token store --make_instances--> spool --columns--> write_shards --> shards
then the manifests, last
"""

import dataclasses
import json
import mmap
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

from bert_data.datasets.budget import MIN_MEMORY_MB, MemoryBudget, share_memory
from bert_data.datasets.corpus import CorpusFiles, find_corpus, load_corpus
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
from bert_data.objectives.next_sentence import LABELS, NSP
from bert_data.objectives.rows import Instance, decode_row
from bert_data.schema.fields import RAGGED, masked_lm_records
from bert_data.storage import expand_outputs, file_size, open_scratch
from bert_data.text.documents import TextConfig
from bert_data.tokens.filling import TokenCounts
from bert_data.tokens.store import TokenStore
from bert_data.tokens.tokenizer_file import Tokenizer, load_tokenizer, vocabulary_of
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.work import Executor, count_workers, open_threads

_CHUNK_BYTES = 1 << 20  # of records that are encoded at once
CHUNKS_OF_GROUP = 16  # in a row group of Parquet


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetConfig:
    """What is made of which text, and with what.

    Attributes:
      input_file, output_file: comma-separated, see `bert_data.storage`.
      vocab_file, tokenizer_file, do_lower_case: of the tokenizer, see `load_tokenizer`.
      text: how the input is read; its format may be "store", too, see `find_corpus`.
      instances: how instances are made.
      output_format, record_layout, compression: of the shards, see `formats.registry.find_format`;
        records of the layout "reference" are padded.
      num_workers: threads; 0: all cores. The files do not depend on it.
      max_memory_mb: what the process may take, in 10**6 bytes, >= 300, see `share_memory`; to it
        come up to 16 bytes an instance.
      work_dir: folder for what spills to disk; None: the first output's.
      overwrite: whether outputs that exist are replaced.
      num_examples: records to show, >= 0.
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
        if self.num_examples < 0:
            raise ValueError(f"num_examples is {self.num_examples}; 0 or more is allowed")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stage:
    """A stage that is done: its wall-clock seconds, and the bytes that it is measured by."""

    name: str
    seconds: float
    num_bytes: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dataset:
    """What was made.

    Attributes:
      inputs: the files read.
      tokens, instances: counts.
      stages: seconds and bytes.
      manifest: what it says; its files are in the order of the outputs.
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


def create_dataset(config: DatasetConfig) -> Dataset:
    """Makes a set of shards from text; they appear together, or not at all.

    Raises:
      ValueError: a setting, an input or the vocabulary cannot serve; nothing is left behind.
      OSError: something cannot be read or written; likewise.
      CorruptDataError: a compressed input is damaged; likewise.
    """
    shard_format = find_format(config.output_format)
    budget, num_open = _share_memory(config, shard_format)
    corpus = find_corpus(config.input_file, config.text)
    tokenizer = load_tokenizer(
        config.vocab_file, config.tokenizer_file, do_lower_case=config.do_lower_case
    )
    read = [*corpus.paths, *filter(None, (config.vocab_file, config.tokenizer_file))]
    with (
        open_record_set(
            config.output_file,
            inputs=read,
            has_indexes=shard_format.has_index,
            overwrite=config.overwrite,
            work_dir=config.work_dir,
        ) as record_set,
        open_threads(budget.num_workers) as executor,
    ):
        dataset = _make(config, corpus, tokenizer, record_set, budget, num_open, executor)
        record_set.commit(dataset.manifest)
    return dataset


def _share_memory(config: DatasetConfig, shard_format: ShardFormat) -> tuple[MemoryBudget, int]:
    """The shares of memory, and the number of shards that are written at a time."""
    num_workers = count_workers(config.num_workers)
    reserved = shard_format.reserved_bytes
    free = (config.max_memory_mb - MIN_MEMORY_MB) * 1_000_000 - reserved
    num_shards = len(expand_outputs(config.output_file).paths)
    num_open = shard_format.count_open(num_workers, num_shards, free // 2)
    reserved += (num_open - 1) * (shard_format.open_bytes or 0)
    return share_memory(config.max_memory_mb, num_workers, reserved_bytes=reserved), num_open


def _make(
    config: DatasetConfig,
    corpus: CorpusFiles,
    tokenizer: Tokenizer,
    record_set: RecordSet,
    budget: MemoryBudget,
    num_open: int,
    executor: Executor,
) -> Dataset:
    """Runs the stages; the shards are then there under hidden names."""
    stages: list[Stage] = []
    start = time.monotonic()
    vocabulary = _vocabulary(config, tokenizer)
    store, tokens = load_corpus(
        corpus,
        tokenizer,
        vocabulary,
        os.path.join(record_set.outputs.work_dir, "tokens"),
        text=config.text,
        executor=executor,
    )
    start = _note(stages, "read tokens" if corpus.prefix else "tokenize", start, tokens.num_bytes)
    spool_path = os.path.join(record_set.outputs.work_dir, "instances")
    with open_scratch(spool_path) as spool:
        instances = make_instances(
            store, vocabulary, config.instances, spool, max_store_bytes=budget.max_store_bytes
        )
    first = instances.order[: config.num_examples]
    rows = read_rows(spool_path, instances.num_words, first)
    start = _note(stages, "make instances", start, file_size(spool_path))
    manifest = _manifest(config, tokenizer, vocabulary, tokens, instances.counts)
    files = _write(
        config, manifest, store, vocabulary, instances, spool_path, record_set, budget, num_open,
        executor,
    )  # fmt: skip
    _note(stages, "write records", start, sum(file.num_bytes for file in files))
    return Dataset(
        inputs=corpus.paths,
        tokens=tokens,
        instances=instances.counts,
        stages=stages,
        manifest=dataclasses.replace(manifest, files=files),
        paths=record_set.paths,
        examples=[decode_row(row, store.ids, vocabulary) for row in rows],
        vocabulary=vocabulary,
    )


def _write(
    config: DatasetConfig,
    manifest: Manifest,
    store: TokenStore,
    vocabulary: Vocabulary,
    instances: Instances,
    spool_path: str,
    record_set: RecordSet,
    budget: MemoryBudget,
    num_open: int,
    executor: Executor,
) -> tuple[ManifestFile, ...]:
    """Writes the shards; the spool is removed."""
    num_records = chunk_size(config)
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
    writer = find_format(config.output_format).make(kind, settings)

    def encode(chunk: RowChunk) -> Any:
        batch = read_columns(chunk.rows, chunk.order, store.ids, vocabulary, writer.kind)
        return writer.encode(batch)

    chunks = read_chunks(
        spool_path,
        instances.num_words,
        instances.order,
        num_shards=len(record_set.paths),
        num_open=num_open,
        chunk_size=num_records,
        turn_size=settings.group_records,
        max_bytes=budget.max_rows_bytes,
    )
    return write_shards(
        record_set,
        writer,
        _release_memory(chunks, store, budget.max_store_bytes),
        encode,
        num_records=instances.order.size,
        num_open=num_open,
        executor=executor,
    )


def chunk_size(config: DatasetConfig) -> int:
    """Records that are encoded at once, >= 1.

    A gzip stream is cut where a chunk ends and a row group holds whole chunks, so that the bytes of
    files depend on it, and it depends on nothing but the configuration.
    """
    most_tokens = config.instances.max_seq_length
    most_predictions = config.instances.max_predictions_per_seq
    if config.output_format == PARQUET:
        row_bytes = 5 * most_tokens + 8 * min(most_tokens, most_predictions) + 9
        return max(1, _CHUNK_BYTES // row_bytes)
    num_records = _CHUNK_BYTES // (10 * most_tokens + 12 * most_predictions + 666)
    return max(1, num_records * (1 if config.compression == GZIP else 2))


def _release_memory(chunks: Iterator[Chunk], store: TokenStore, max_bytes: int) -> Iterator[Chunk]:
    """Lets go of the store's pages from time to time: a record touches two of them at least."""
    num_records, most_records = 0, max_bytes // (2 * mmap.PAGESIZE)
    for chunk in chunks:
        num_records += chunk.num_records
        if num_records > most_records:
            store.release_memory(max_bytes)
            num_records = 0
        yield chunk


def _vocabulary(config: DatasetConfig, tokenizer: Tokenizer) -> Vocabulary:
    """The vocabulary, which must tell what a word is if whole words are masked.

    Raises:
      ValueError: it does not, or lacks a token that is needed.
    """
    vocabulary = vocabulary_of(tokenizer)
    if config.instances.do_whole_word_mask and not vocabulary.continuation.any():
        raise ValueError(
            f"{vocabulary.path} has no piece that begins with ##, so that it is not known which"
            " make a word; --do_whole_word_mask cannot be"
        )
    return vocabulary


def _note(stages: list[Stage], name: str, start: float, num_bytes: int) -> float:
    now = time.monotonic()
    stages.append(Stage(name=name, seconds=now - start, num_bytes=num_bytes))
    return now


def _manifest(
    config: DatasetConfig,
    tokenizer: Tokenizer,
    vocabulary: Vocabulary,
    tokens: TokenCounts,
    instances: InstanceCounts,
) -> Manifest:
    """What is known of the shards before they are written."""
    instance_config = config.instances
    return Manifest(
        output_format=config.output_format,
        record_layout=config.record_layout,
        compression=find_format(config.output_format).compression or config.compression,
        max_seq_length=instance_config.max_seq_length,
        max_predictions_per_seq=instance_config.max_predictions_per_seq,
        random_seed=instance_config.random_seed,
        vocab_size=vocabulary.size,
        vocab_sha256=vocabulary.sha256,
        flags={
            "do_lower_case": tokenizer.do_lower_case,
            "do_whole_word_mask": instance_config.do_whole_word_mask,
            "dupe_factor": instance_config.dupe_factor,
            "masked_lm_prob": instance_config.masked_lm_prob,
            "short_seq_prob": instance_config.short_seq_prob,
            **dataclasses.asdict(config.text),
            # Sets of the reference's objective are as they were before there were others.
            **(
                {}
                if instance_config.next_sentence == NSP
                else {"next_sentence": instance_config.next_sentence}
            ),
        },
        counts={
            "text": dataclasses.asdict(tokens),
            "instances": {k: n for k, n in dataclasses.asdict(instances).items() if n is not None},
        },
        files=(),
    )
