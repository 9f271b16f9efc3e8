"""The configuration of a set of masked language modelling, and all that follows from it alone.

DatasetConfig(...)  --share_stream_memory-->  MemoryBudget
                    --describe_set-->         Manifest, still without files
                    --make_writer-->          ShardWriter

    max_memory_mb = program, compiler | blocks of each worker | token store | rows, twice

Data beyond its share of the memory is on disk. The order of the records takes up to 16 bytes per
instance in addition.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Annotated, Any, TypeVar

from bert_data.records.choices import FEATURE_NAMES, GOOGLE_NAMES, LAYOUTS, RAGGED, REFERENCE
from bert_data.records.fields import masked_lm_records
from bert_data.records.formats.registry import (
    GZIP,
    NONE,
    PARQUET,
    SHARD_COMPRESSIONS,
    SHARD_FORMATS,
    TFRECORD,
    ShardWriter,
    WriterSettings,
    find_shard_format,
)
from bert_data.records.instances.making import InstanceConfig, InstanceCounts
from bert_data.records.instances.rows import Instance
from bert_data.records.sets.manifest import Manifest
from bert_data.records.sets.record_set import RecordSet, open_record_set
from bert_data.settings import OneOf, Within, check_settings
from bert_data.storage import MAX_SHARDS, expand_outputs, is_remote
from bert_data.text.text_config import TextConfig
from bert_data.text.without import ReadText, WithoutConfig, not_found_path
from bert_data.tokens.filling import TokenCounts
from bert_data.tokens.special_tokens import sum_counts
from bert_data.tokens.store_work import (
    MAX_MEMORY_MB,
    MIN_MEMORY_MB,
    MemoryBudget,
    share_memory,
)
from bert_data.tokens.tokenizer_config import TokenizingConfig
from bert_data.tokens.tokenizer_file import Tokenizer
from bert_data.tokens.vocabulary import TokenTable

Counts = TypeVar("Counts", TokenCounts, InstanceCounts)

MAX_BYTES_OF_INSTANCE = 16
"""Memory of an instance whatever the budget is."""

_MAX_EXAMPLES = 10_000
CHUNK_BYTES = 1 << 20  # of records that are encoded at once
CHUNKS_OF_GROUP = 16  # in a row group of Parquet


def rows_of_chunk(max_tokens: int, max_predictions: int) -> int:
    """Return how many rows of Parquet are a chunk; a row group has `CHUNKS_OF_GROUP` of them."""
    row_bytes = 5 * max_tokens + 8 * min(max_tokens, max_predictions) + 9
    return max(1, CHUNK_BYTES // row_bytes)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetConfig(WithoutConfig, TokenizingConfig):
    """Configuration of `create_dataset`.

    Attributes:
      input_file: text: files or patterns, separated by commas; .gz, .zst, .bz2 and .xz are
        decompressed. Or token stores of sentences (see bert-data tokenize), by prefix; PREFIX@N or
        a pattern stands for those of all partitions.
      output_file: file, or a comma-separated list of files; path@N means N files,
        path-00000-of-0000N and so on. Records go to the files in turn. Endings such as .tfrecord,
        .parquet and .gz must match the contents.
      special_tokens: with `tokenizer_file`, the tokens that begin an instance, end a segment, mask,
        pad and stand for unknown words, if the file does not name them, by their roles: cls, sep,
        mask, pad, unk.
      instances: how instances are made.
      output_format: tfrecord: tf.train.Examples, with an index for each file. parquet: one row per
        instance, with the lists tokens, segment_ids, masked_positions and masked_labels, and the
        boolean is_random_next (sop: sentence_order_label; none: no label), compressed with zstd,
        and with the manifest also in the files' metadata.
      record_layout: ragged: unpadded, in TFRecord with the row splits of whole words. reference:
        padded, like Google's; in Parquet, tokens are padded with 0 and segments with -1.
      feature_names: names of the features of padded Examples. google: input_ids, input_mask,
        segment_ids. v2: input_word_ids, input_mask, input_type_ids, as in TensorFlow Model Garden
        with use_v2_feature_names. Training and bert-data check read both.
      compression: compression of TFRecord files.
      num_workers: threads, or processes with `num_partitions`; 0 uses all cores. The output does
        not depend on it.
      max_memory_mb: memory to use, in MB, by each process; 480 or more for Parquet. Instances that
        do not fit are sorted on disk.
      work_dir: folder for temporary files; by default the folder of the first output. With
        `num_partitions` it holds unfinished work, and may be a URI.
      num_examples: number of records to log.
      id_field: key or column of the ids of documents that `without_documents` names. meta.id is the
        field id of the object, or struct, meta.
      num_partitions: 0: all random numbers come from one stream, as in Google's program. N: blocks
        of the text are dealt to N partitions by the seed, and the records of partition k are those
        of Google's program for its blocks with a seed of its own: the first eight bytes,
        big-endian, of the SHA-256 of 'RANDOM_SEED/k'. They fill the output's files k, k + N and so
        on, at least one. Partitions are made by `num_workers` processes; a run that was stopped
        continues with those that are missing.
    """

    output_file: str
    special_tokens: Mapping[str, str] = dataclasses.field(default_factory=dict)
    instances: InstanceConfig = dataclasses.field(default_factory=InstanceConfig)
    output_format: Annotated[str, OneOf(tuple(SHARD_FORMATS))] = TFRECORD
    record_layout: Annotated[str, OneOf(LAYOUTS)] = RAGGED
    feature_names: Annotated[str, OneOf(FEATURE_NAMES)] = GOOGLE_NAMES
    compression: Annotated[str, OneOf(SHARD_COMPRESSIONS)] = NONE
    num_workers: int = 0
    max_memory_mb: Annotated[int, Within(MIN_MEMORY_MB, MAX_MEMORY_MB)] = 1000
    work_dir: str | None = None
    num_examples: Annotated[int, Within(0, _MAX_EXAMPLES)] = 3
    id_field: str = "id"
    num_partitions: Annotated[int, Within(0, MAX_SHARDS)] = 0

    def __post_init__(self) -> None:
        check_settings(self)
        find_shard_format(
            self.output_format,
            record_layout=self.record_layout,
            compression=self.compression,
            output_file=self.output_file,
        )
        padded_examples = (REFERENCE, TFRECORD)
        has_others = (self.record_layout, self.output_format) != padded_examples
        if self.feature_names != GOOGLE_NAMES and has_others:
            raise ValueError(
                f"feature_names is {self.feature_names!r}; it needs `record_layout={REFERENCE}` and"
                f" `output_format={TFRECORD}`"
            )
        self.engine.count_workers(self.num_workers)
        if self.engine.is_cluster and not self.num_partitions:
            raise ValueError(
                f"engine is {self.engine.name!r}; it needs `num_partitions`, which are its tasks;"
                " or bert-data tokenize makes token stores on the cluster, and create makes records"
                " of them by one stream, as Google's program does"
            )

    @property
    def chunk_size(self) -> int:
        """Number of records that are encoded at once, >= 1.

        The bytes of the files depend on it (gzip streams are cut where chunks end, and row groups
        hold whole chunks), so it depends on nothing else.
        """
        max_tokens = self.instances.max_seq_length
        max_predictions = self.instances.max_predictions_per_seq
        if self.output_format == PARQUET:
            return rows_of_chunk(max_tokens, max_predictions)
        num_records = CHUNK_BYTES // (10 * max_tokens + 12 * max_predictions + 666)
        return max(1, num_records * (1 if self.compression == GZIP else 2))

    @property
    def group_size(self) -> int:
        """Number of records in a row group of Parquet."""
        return self.chunk_size * CHUNKS_OF_GROUP


@dataclasses.dataclass(frozen=True, kw_only=True)
class TimedStage:
    """A finished stage: its wall-clock seconds, and the bytes by which its speed is measured."""

    name: str
    seconds: float
    num_bytes: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dataset:
    """A finished set, and how it was made.

    Attributes:
      manifest: its files are in the order of `paths`.
    """

    inputs: Sequence[str]
    tokens: TokenCounts
    instances: InstanceCounts
    stages: Sequence[TimedStage]
    manifest: Manifest
    paths: Sequence[str]
    examples: Sequence[Instance]
    vocabulary: TokenTable


def share_stream_memory(
    config: DatasetConfig, num_workers: int, num_shards: int
) -> tuple[MemoryBudget, int]:
    """Divide the memory of a process; return also the number of shards to write at a time."""
    shard_format = find_shard_format(config.output_format)
    reserved = shard_format.reserved_bytes
    free = (config.max_memory_mb - MIN_MEMORY_MB) * 1_000_000 - reserved
    num_open = shard_format.count_open(num_workers, num_shards, free // 2)
    reserved += (num_open - 1) * (shard_format.open_bytes or 0)
    return share_memory(config.max_memory_mb, num_workers, reserved_bytes=reserved), num_open


def make_writer(manifest: Manifest, group_records: int) -> ShardWriter:
    """Return the writer of a set with this manifest, whose files are not known yet."""
    kind = masked_lm_records(
        manifest.record_layout,
        max_seq_length=manifest.max_seq_length,
        max_predictions_per_seq=manifest.max_predictions_per_seq,
        sentence_field=manifest.objective.label,
        feature_names=str(manifest.flags.get("feature_names", GOOGLE_NAMES)),
    )
    settings = WriterSettings(
        compression=manifest.compression,
        manifest=json.loads(manifest.to_json()),
        group_records=group_records,
    )
    return find_shard_format(manifest.output_format).make(kind, settings)


def open_set(
    config: DatasetConfig, inputs: Sequence[str], *, overwrite: bool
) -> AbstractContextManager[RecordSet]:
    """Begin the set, which is made from these files of a corpus."""
    # Tasks may leave theirs in a store of objects.
    is_elsewhere = config.num_partitions > 0 and is_remote(config.work_dir or "")
    listed = config.without_documents
    return open_record_set(
        config.output_file,
        inputs=[*inputs, *filter(None, (config.vocab_file, config.tokenizer_file, listed))],
        beside=[not_found_path(expand_outputs(config.output_file).name)] if listed else [],
        has_indexes=find_shard_format(config.output_format).has_index,
        overwrite=overwrite,
        work_dir=None if is_elsewhere else config.work_dir,
    )


def describe_set(
    config: DatasetConfig, text: TextConfig, tokenizer: Tokenizer, vocabulary: TokenTable
) -> Manifest:
    """Return the manifest without its files and counts, of a set made from text, read so."""
    instances = config.instances
    flags = {
        "do_lower_case": tokenizer.do_lower_case,
        "do_whole_word_mask": instances.do_whole_word_mask,
        "dupe_factor": instances.dupe_factor,
        "masked_lm_prob": instances.masked_lm_prob,
        "short_seq_prob": instances.short_seq_prob,
        **text.settings(),
        **config.noted(),
    }
    # Flags that the reference does not have are omitted where they change nothing.
    flags |= instances.changed_flags()
    if vocabulary.has_words:
        flags["words"] = vocabulary.words
    if config.special_tokens:
        flags["special_tokens"] = dict(config.special_tokens)
    if config.feature_names != GOOGLE_NAMES:
        flags["feature_names"] = config.feature_names
    if config.num_partitions:
        flags["num_partitions"] = config.num_partitions
    return Manifest(
        output_format=config.output_format,
        record_layout=config.record_layout,
        compression=find_shard_format(config.output_format).compression or config.compression,
        max_seq_length=instances.max_seq_length,
        max_predictions_per_seq=instances.max_predictions_per_seq,
        random_seed=instances.random_seed,
        vocabulary=vocabulary.note,
        flags=flags,
        counts={},
        files=(),
    )


def report_left_out(
    config: DatasetConfig, text: TextConfig, read: ReadText, record_set: RecordSet
) -> dict[str, int]:
    """Say what was left out, if anything had to be; return what the manifest counts of it."""
    if text.without is None:
        return {}
    name, outputs = expand_outputs(config.output_file).name, record_set.outputs
    text.without.report(read, name, outputs.open, is_strict=config.strict_without)
    return text.without.counts(read)


def with_counts(
    manifest: Manifest,
    tokens: TokenCounts,
    instances: InstanceCounts,
    left_out: dict[str, int],
) -> Manifest:
    """Return a manifest with the counts of its set."""
    of_instances = dataclasses.asdict(instances).items()
    counts = {
        "text": tokens.numbers(),
        "instances": {name: count for name, count in of_instances if count is not None},
    }
    if tokens.special_tokens:
        counts["special_tokens"] = dict(tokens.special_tokens)
    if left_out:
        counts["without_documents"] = left_out
    return dataclasses.replace(manifest, counts=counts)


def sum_up(kind: type[Counts], counts: Sequence[Mapping[str, Any]]) -> Counts:
    """Add the counts of parts of a set; those that are None stay None."""
    sums: dict[str, Any] = {}
    for name, number in counts[0].items():
        numbers = [each[name] for each in counts]
        if isinstance(number, Mapping):
            sums[name] = sum_counts(numbers)
        else:
            sums[name] = None if number is None else sum(numbers)
    return kind(**sums)
