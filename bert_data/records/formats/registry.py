"""The formats of shards, by name, and how a set is written in one.

    find_shard_format("parquet").make(kind, settings)  ->  encodes batches of columns, writes files

A format is one file in this folder, and a line in `SHARD_FORMATS`.
"""

import dataclasses
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from bert_data import storage
from bert_data.checks import check_choice
from bert_data.records.choices import LAYOUTS, RAGGED

if TYPE_CHECKING:  # commands load this module for the names of formats, before they do anything
    from bert_data.records.columns import ColumnBatch
    from bert_data.records.fields import RecordKind
    from bert_data.records.formats.manifest_file import ManifestFile, OpenFile

TFRECORD, PARQUET = "tfrecord", "parquet"
NONE, GZIP = SHARD_COMPRESSIONS = ("none", "gzip")
"""Compressions of files whose format leaves the choice."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class WriterSettings:
    """Configuration of the files of a set.

    Attributes:
      compression: one of `SHARD_COMPRESSIONS`; a format with its own compression ignores it.
      manifest: JSON that says what made the set, for formats whose files hold it.
      group_records: records per row group, for formats that have them, >= 1; a group ends with the
        batch that reaches this number.
    """

    compression: str = NONE
    manifest: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    group_records: int = 1


class OpenShard(Protocol):
    """A file that is being written."""

    def add(self, encoded: Any, /) -> None:
        """Add what `ShardWriter.encode` returned, in the order of the records."""

    def finish(self) -> "ManifestFile":
        """End the file; return what the manifest says about it."""


class ShardWriter(Protocol):
    """Writes the shards of one set.

    Attributes:
      kind: of the records that it encodes: without the fields that the format does not store.
    """

    kind: "RecordKind"

    def encode(self, batch: "ColumnBatch", /) -> Any:
        """Encode a batch of columns; called by many threads at a time."""

    def open_shard(
        self, open_file: "OpenFile", path: str, num_records: int
    ) -> AbstractContextManager[OpenShard]:
        """Begin a shard of `num_records` records; `open_file` opens its files."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShardFormat:
    """A format.

    Attributes:
      make: returns a writer for a set of records of a kind.
      compression: the only compression of its files; None if the caller chooses.
      reserved_bytes: memory that writing takes in addition to each worker's.
      open_bytes: memory for each additional shard that is written at the same time; None: shards
        are written one after the other, as adding records to one takes little time.
    """

    make: Callable[["RecordKind", WriterSettings], ShardWriter]
    has_index: bool
    compression: str | None = None
    reserved_bytes: int = 0
    open_bytes: int | None = None

    def count_open(self, num_workers: int, num_shards: int, free_bytes: int) -> int:
        """Return how many shards to write at a time: one, or one per worker as memory allows."""
        if self.open_bytes is None:
            return 1
        return min(num_workers, num_shards, 1 + max(0, free_bytes) // self.open_bytes)


def _make_tfrecord(kind: "RecordKind", settings: WriterSettings) -> ShardWriter:
    from bert_data.records.formats.tfrecord import TFRecordWriter

    return TFRecordWriter(kind, gzip=settings.compression == GZIP)


def _make_parquet(kind: "RecordKind", settings: WriterSettings) -> ShardWriter:
    from bert_data.records.formats.parquet_files import ParquetWriter

    return ParquetWriter(
        kind.in_parquet(), manifest=settings.manifest, group_records=settings.group_records
    )


SHARD_FORMATS = {
    TFRECORD: ShardFormat(make=_make_tfrecord, has_index=True),
    PARQUET: ShardFormat(
        make=_make_parquet,
        has_index=False,
        compression="zstd",
        # Measured: the library, a row group and its compressed pages.
        reserved_bytes=180_000_000,
        open_bytes=60_000_000,
    ),
}


def find_shard_format(
    name: str, *, record_layout: str = RAGGED, compression: str | None = None, output_file: str = ""
) -> ShardFormat:
    """Return the format of a name, if it can hold the requested records.

    Args:
      compression: None: none, and it cannot be chosen.
      output_file: names of the files, comma-separated, see `bert_data.storage`.
    """
    chosen = compression or NONE
    for field, value, allowed in (
        ("output_format", name, SHARD_FORMATS),
        ("record_layout", record_layout, LAYOUTS),
        ("compression", chosen, SHARD_COMPRESSIONS),
    ):
        check_choice(field, value, allowed)
    shard_format = SHARD_FORMATS[name]
    own = shard_format.compression
    if own is not None and chosen != NONE:
        raise ValueError(
            f"compression is {chosen!r}; with output_format {name!r} it must be {NONE!r}, as"
            f" it is compressed inside, by {own}"
        )
    settings = dict.fromkeys(SHARD_FORMATS, "output_format")
    if own is None and compression is not None:
        settings[GZIP] = "compression"
    storage.refuse_other_endings(storage.split_names(output_file), (name, chosen), settings)
    return shard_format
