"""The settings of a set of records for masked language modelling."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated

from bert_data.records.choices import FEATURE_NAMES, GOOGLE_NAMES, LAYOUTS, RAGGED, REFERENCE
from bert_data.records.formats.registry import (
    GZIP,
    NONE,
    PARQUET,
    SHARD_COMPRESSIONS,
    SHARD_FORMATS,
    TFRECORD,
    find_shard_format,
)
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.settings import OneOf, Within, check_settings
from bert_data.storage import MAX_SHARDS
from bert_data.text.without import WithoutConfig
from bert_data.tokens.store_work import MAX_MEMORY_MB, MIN_MEMORY_MB
from bert_data.tokens.tokenizer_config import TokenizingConfig

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
