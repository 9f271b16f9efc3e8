"""Shards as Parquet files: one row per record, one list per ragged field.

     tokens               segment_ids   is_random_next   masked_positions   masked_labels
     [101 7592 102 ...]   [0 0 0 1 1]   false            [3]                [2003]

Records of the layout "reference" are padded to a fixed number of tokens: [101 ... 0 0] with the
segments [0 ... -1 -1]; their predictions are not padded. Others have no padding.

Files are compressed by zstd and have a checksum per page. Their metadata holds JSON under
`METADATA_KEY` that says what made them, so that a file can be identified on its own. Where whole
words begin is not stored: the vocabulary says which pieces continue a word, and its checksum is in
that JSON.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_data.kernels.crc32c import crc32c
from bert_data.records.columns import Column, ColumnBatch
from bert_data.records.fields import BYTES, Axis, Field, RecordKind
from bert_data.records.formats.manifest_file import ManifestFile, OpenFile
from bert_data.storage import naming
from bert_data.storage.changing import SummedFile

if TYPE_CHECKING:
    import pyarrow

METADATA_KEY = "bert_data.manifest"


def parquet_schema(kind: RecordKind) -> "pyarrow.Schema":
    """Return the columns of records: a list per field, or a number if a record has one value."""
    import pyarrow as pa

    columns = []
    for field in kind.stored:
        if field.column is not None:
            value = pa.binary() if field.dtype == BYTES else pa.from_numpy_dtype(field.dtype)
            is_single = field.axis is Axis.INSTANCES
            columns.append((field.column, value if is_single else pa.list_(value)))
    return pa.schema(columns)


def to_rows(batch: ColumnBatch, schema: "pyarrow.Schema") -> "pyarrow.RecordBatch":
    """Return rows whose columns are views of a batch's."""
    import pyarrow as pa

    fields = [field for field in batch.kind.stored if field.column is not None]
    padded_to = batch.kind.in_parquet().padded_to
    arrays = [_to_arrow(field, batch[field], padded_to.get(field.axis, 0)) for field in fields]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _to_arrow(field: Field, column: Column, padded_to: int) -> "pyarrow.Array":
    """Return a column's array; its lists are padded to a length, unless that is 0."""
    import pyarrow as pa

    values = pa.array(column.values.reshape(-1))
    if field.axis is Axis.INSTANCES:
        return values
    splits = column.splits
    if splits is None:
        splits = np.concatenate([[0], np.cumsum(column.lengths())]).astype(np.int32)
    if padded_to:
        rows = np.full((splits.size - 1, padded_to), field.column_padding, field.dtype)
        is_value = np.arange(padded_to) < np.diff(splits)[:, None]
        rows[is_value] = column.values.reshape(-1)[splits[0] : splits[-1]]
        values = pa.array(rows.reshape(-1))
        splits = (padded_to * np.arange(rows.shape[0] + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(splits), values)


class ParquetWriter:
    """Writes Parquet shards, see `bert_data.records.formats.registry.ShardWriter`."""

    def __init__(
        self, kind: RecordKind, *, manifest: Mapping[str, Any], group_records: int
    ) -> None:
        """Describe a set."""
        self.kind = kind
        self._schema = parquet_schema(kind)
        self._manifest = manifest
        self._group_records = group_records

    def encode(self, batch: ColumnBatch) -> "pyarrow.RecordBatch":
        """Return the rows of a batch, which must not change until they are written."""
        return to_rows(batch, self._schema)

    @contextlib.contextmanager
    def open_shard(
        self, open_file: OpenFile, path: str, num_records: int
    ) -> Iterator["ParquetShard"]:
        """Begin a shard."""
        from pyarrow import parquet

        del num_records  # the shard counts them
        with open_file(path) as file:
            summed = SummedFile(file, crc32c)
            writer = parquet.ParquetWriter(
                summed,
                self._schema.with_metadata({METADATA_KEY: json.dumps(self._manifest)}),
                compression="zstd",
                write_page_checksum=True,
                # Useless for tokens, and damaged statistics make Arrow end the process.
                write_statistics=False,
            )
            try:
                yield ParquetShard(path, summed, writer, self._group_records)
            except BaseException:
                # A writer that is not closed closes itself later; what it writes then is dropped.
                summed.give_up()
                with contextlib.suppress(Exception):
                    writer.close()
                raise


class ParquetShard:
    """A shard that is being written."""

    def __init__(
        self,
        path: str,
        file: SummedFile,
        writer: "pyarrow.parquet.ParquetWriter",
        group_records: int,
    ) -> None:
        self._path = path
        self._file = file
        self._writer = writer
        self._group_records = group_records
        self._held: list[pyarrow.RecordBatch] = []
        self._num_held = self._num_records = 0

    def add(self, rows: "pyarrow.RecordBatch") -> None:
        """Add rows, at least one; they are held until there are enough for a row group."""
        self._held.append(rows)
        self._num_held += rows.num_rows
        if self._num_held >= self._group_records:
            self._write_group()

    def _write_group(self) -> None:
        import pyarrow

        table = pyarrow.Table.from_batches(self._held)
        self._held.clear()
        with naming(self._path):  # Arrow raises errors without it
            self._writer.write_table(table, row_group_size=self._num_held)
        self._num_records += self._num_held
        self._num_held = 0

    def finish(self) -> ManifestFile:
        """End the file; return what the manifest says about it."""
        if self._held:
            self._write_group()
        with naming(self._path):
            self._writer.close()
        return ManifestFile.of(self._file, self._path, self._num_records)
