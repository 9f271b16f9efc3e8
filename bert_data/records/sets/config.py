"""What follows from the configuration of a set of masked language modelling alone.

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
from typing import Any, TypeVar

from bert_data.records.choices import GOOGLE_NAMES
from bert_data.records.fields import masked_lm_records
from bert_data.records.formats.registry import ShardWriter, WriterSettings, find_shard_format
from bert_data.records.instances.making import InstanceCounts
from bert_data.records.instances.rows import Instance
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.manifest import Manifest
from bert_data.records.sets.record_set import RecordSet, open_record_set
from bert_data.storage import expand_outputs, is_remote
from bert_data.text.text_config import TextConfig
from bert_data.text.without import ReadText, not_found_path
from bert_data.tokens.filling import TokenCounts
from bert_data.tokens.special_tokens import sum_counts
from bert_data.tokens.store_work import MIN_MEMORY_MB, MemoryBudget, share_memory
from bert_data.tokens.tokenizer_file import Tokenizer
from bert_data.tokens.vocabulary import TokenTable

Counts = TypeVar("Counts", TokenCounts, InstanceCounts)

MAX_BYTES_OF_INSTANCE = 16
"""Memory of an instance whatever the budget is."""


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
    manifest: Manifest, tokens: TokenCounts, instances: InstanceCounts, left_out: dict[str, int]
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
