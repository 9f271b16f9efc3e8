"""Paths and flags to a source: what kind of files they are is found out."""

import dataclasses
import gzip
import itertools
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from bert_data import storage
from bert_data.inspection.configs import SampleConfig, SourceConfig
from bert_data.inspection.sources.example_sources import (
    ExampleSource,
    LabelledItems,
    read_shard_features,
    texts_of,
)
from bert_data.inspection.sources.instances import InstanceSource
from bert_data.inspection.sources.items import Source
from bert_data.inspection.sources.samples import NAMES, SampleItems, SampleShards
from bert_data.inspection.sources.stores import StoreDocumentSource
from bert_data.inspection.sources.texts import LedgerSource, TextSource, is_ledger
from bert_data.kernels.crc32c import is_frame
from bert_data.reader.config import ReaderConfig
from bert_data.reader.files.parquet_shards import PARQUET_MAGIC
from bert_data.reader.files.shards import HEADER_BYTES, Shard, find_shards
from bert_data.records import fields
from bert_data.records.objectives import find_objective, objective_with_label
from bert_data.records.sets.manifest import (
    SAMPLES_FORMAT,
    is_sidecar,
    listed_shards,
    manifests_beside,
)
from bert_data.settings import AUTO
from bert_data.storage import read_object
from bert_data.text.formats import LINES, find_text_format
from bert_data.text.parquet import open_parquet
from bert_data.tokens.store_files import are_store_names, expand_store, expand_stores, is_store_name

_GZIP = b"\x1f\x8b"


def expand_names(names: str) -> list[str]:
    """Return the files of a list with commas; a manifest stands for the shards that it lists."""
    return _expand(storage.split_names(names), names)


def _expand(entries: Sequence[str], names: str) -> list[str]:
    paths: list[str] = []
    for entry in entries:
        if storage.pattern_of(entry) != entry and not storage.exists(entry):
            matches = _named_shards(entry)
        else:
            matches = storage.expand_inputs(entry)
        for path in matches:
            if is_sidecar(path) and matches == [path]:
                shards = listed_shards(path)
                if not shards:
                    raise ValueError(f"{path} is not a manifest that lists shards; name the shards")
                paths += shards
            elif not is_sidecar(path):
                paths.append(path)
    if not paths:
        raise ValueError(f"{names!r} names no shard, only indexes or manifests")
    for path in paths:
        is_known = storage.is_file(path) or storage.is_folder(path) or not storage.exists(path)
        if not is_known:
            raise ValueError(f"{path} is not a regular file, and can be read only once")
    return list(dict.fromkeys(paths))


def _named_shards(entry: str) -> list[str]:
    """Return all shards of "path@N", by the naming of those that are there."""
    paths = list(storage.expand_outputs(entry).paths)
    existing = storage.find_files(entry)
    if not existing:
        raise ValueError(storage.describe_absence(entry))
    return paths if existing[0] in paths else [*map(storage.with_ending_last, paths)]


def expand_records(names: str) -> list[str]:
    """Return the files of a list of shards of records, as `expand_names` does, or of folders."""
    entries: list[str] = []
    for name in storage.split_names(names):
        is_folder = storage.is_folder(name)
        entries.append(f"{storage.escape(name.rstrip('/'))}/*" if is_folder else name)
        prefix = expand_store(entries[-1])[0] if is_store_name(entries[-1]) else ""
        if prefix and storage.exists(f"{prefix}.idx"):
            raise ValueError(
                f"{name!r} {'holds' if is_folder else 'names'} a token store, not shards of"
                f" records; for a store, use `bert-data tokenize --verify={prefix}`"
            )
    return _expand(entries, names)


def has_ending_of_text(paths: Sequence[str]) -> bool:
    """Whether the files are text by their endings; Parquet files are looked into."""
    text_format = find_text_format(paths[:1])
    return text_format.name != "parquet" and text_format is not LINES


def is_record_file(path: str) -> bool:
    """Whether a file begins as TFRecord, compressed or not, or Parquet; or is empty."""
    with storage.open_input(path) as file:
        head = file.read(HEADER_BYTES)
        if head.startswith(_GZIP):
            file.seek(0)
            try:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    head = unpacked.read(HEADER_BYTES)
            except (OSError, EOFError, zlib.error):
                return True  # the reader says what is wrong
    if not head:
        return not path.endswith(".txt")
    return head.startswith(PARQUET_MAGIC) or is_frame(head)


def columns_of(path: str) -> list[str]:
    """Return the names of the columns of a Parquet file."""
    with open_parquet(path) as file:
        return list(file.schema_arrow.names)


def open_source(config: SourceConfig) -> Source:
    """Open what a configuration names."""
    is_text = config.text.input_format != AUTO
    names = storage.split_names(config.input_file)
    if config.samples is not None:
        return _open_samples(expand_stores(names), config.samples)
    if not is_text and are_store_names(names):
        return StoreDocumentSource(expand_stores(names))
    paths = expand_names(config.input_file)
    if is_text or has_ending_of_text(paths) or not any(map(is_record_file, paths)):
        return TextSource(paths, config.text)
    shards = find_shards(
        ReaderConfig(input_patterns=paths, batch_size=1, next_sentence=config.next_sentence)
    )
    columns = next((columns_of(shard.path) for shard in shards if shard.is_parquet), None)
    if columns is not None:
        return _open_parquet(paths, shards, columns, config)
    return _open_tfrecord(shards, config)


def _open_samples(prefixes: Sequence[str], config: SampleConfig) -> Source:
    from bert_data.gpt import build_datasets
    from bert_data.gpt.gpt_config import SPLITS

    built = build_datasets(prefixes, config, weights=config.weights, num_samples=config.num_samples)
    dataset = built[SPLITS.index(config.split_name)]
    if dataset is None:
        raise ValueError(f"the {config.split_name} split has no samples; see split and num_samples")
    return SampleItems(dataset, prefixes)


def _open_parquet(
    paths: Sequence[str], shards: Sequence[Shard], columns: Sequence[str], config: SourceConfig
) -> Source:
    if is_ledger(columns):
        return LedgerSource(paths)
    if {fields.INPUT_IDS.column, fields.MASKED_LM_POSITIONS.column} <= set(columns):
        return InstanceSource([_with_objective(shard, config) for shard in shards])
    if set(NAMES) <= set(columns):
        return SampleShards(shards, _settings_of_samples(shards[0].path))
    return TextSource(paths, config.text)


def _with_objective(shard: Shard, config: SourceConfig) -> Shard:
    """Return a shard with the objective that its columns show, if no manifest says it."""
    if shard.manifest is not None or not shard.is_parquet:
        return shard
    if config.next_sentence is not None:
        return dataclasses.replace(shard, objective=find_objective(config.next_sentence))
    return dataclasses.replace(shard, objective=objective_with_label(columns_of(shard.path)))


def _open_tfrecord(shards: Sequence[Shard], config: SourceConfig) -> Source:
    manifest = next((shard.manifest for shard in shards if shard.manifest is not None), None)
    if manifest is not None:
        is_labelled = manifest.record_layout == fields.LABELLED
        return LabelledItems(shards) if is_labelled else InstanceSource(shards)
    first = _first_features(shards)
    if first and set(NAMES) <= first.keys():
        return SampleShards(shards, _settings_of_samples(shards[0].path))
    if fields.LABEL in first and texts_of(first):
        return LabelledItems(shards)
    ids = {fields.INPUT_IDS.name, fields.INPUT_IDS.v2_name}
    if first and ids.isdisjoint(first):
        return ExampleSource(shards)
    if first and fields.NEXT_SENTENCE_LABELS.name not in first and config.next_sentence is None:
        shards = [
            dataclasses.replace(shard, objective=objective_with_label(())) for shard in shards
        ]
    return InstanceSource(shards)


def _first_features(shards: Sequence[Shard]) -> Mapping[str, Any]:
    for shard in shards:
        for _, features in itertools.islice(read_shard_features(shard, [0]), 1):
            return features
    return {}


def _settings_of_samples(shard: str) -> dict[str, Any]:
    for path in manifests_beside([shard], (SAMPLES_FORMAT,)):
        if shard in listed_shards(path):
            values = read_object(path)
            hidden = ("format", "format_version", "files")
            return {name: value for name, value in values.items() if name not in hidden}
    return {}
