"""Read a Parquet shard as blocks of checked records.

    file  ->  some rows of a row group at a time  ->  RecordBlock, RecordBlock, ...

A damaged row costs that row; a damaged page, which its checksum reveals, costs the rest of its row
group; a damaged footer, which holds Parquet's table of contents, costs the whole file.
"""

import contextlib
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data import storage
from bert_data.datasets.manifest import Manifest, is_manifest, parse_manifest
from bert_data.errors import CorruptDataError
from bert_data.formats.parquet import METADATA_KEY, parquet_schema
from bert_data.objectives.next_sentence import LABELS
from bert_data.reader.examples.block import RecordBlock, no_records
from bert_data.reader.examples.example import FEATURES, OK
from bert_data.reader.files.corruption import Damage
from bert_data.reader.files.parquet_rows import REASONS, columns_of, records_of
from bert_data.schema.fields import RAGGED, masked_lm_records

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

MAGIC = b"PAR1"

_BLOCK_BYTES = 1 << 19  # of pages at a time; records are about twice as large
LOST = 4  # in addition to `REASONS`
_LEAST_ROWS, _MOST_ROWS = 64, 8192
_BUFFER_BYTES = 1 << 18  # of a column, read at once


class Inside(NamedTuple):
    """What a file says about itself: its manifest, which lists no files, and its rows."""

    manifest: Manifest | None
    num_rows: int


class GroupRows(NamedTuple):
    """Consecutive rows of a row group.

    Attributes:
      block: one record per row, empty if the row is damaged.
      statuses: int32[rows], OK, one of `REASONS`, or LOST.
      reason: why rows are LOST.
    """

    block: RecordBlock
    statuses: NDArray[np.int32]
    reason: str = ""

    def tell(self, damage: Damage, path: str, offset: int, first: int) -> None:
        """Report the damaged rows; `first` is the number of the first row."""
        bad = np.flatnonzero(self.statuses).tolist()
        if bad and self.statuses[bad[0]] == LOST:
            damage.found(CorruptDataError(path, offset, self.reason, first), len(bad))
            return
        for row in bad:
            reason = REASONS[int(self.statuses[row])]
            damage.found(CorruptDataError(path, offset, reason, first + row), 1)


@contextlib.contextmanager
def open_parquet(path: str) -> Iterator["pyarrow.parquet.ParquetFile"]:
    """Open a local or remote Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    opened = storage.open_input(path) if storage.is_remote(path) else pa.OSFile(path)
    # In parts, so that no whole row group is in memory; and read, not mapped: a mapped file
    # that is truncated kills the process.
    with (
        opened,
        parquet.ParquetFile(
            opened, page_checksum_verification=True, pre_buffer=False, buffer_size=_BUFFER_BYTES
        ) as file,
    ):
        yield file


def is_damage(error: BaseException) -> bool:
    """Return whether an error of pyarrow is about the bytes rather than about reading them."""
    import pyarrow as pa

    if isinstance(error, pa.ArrowException | UnicodeDecodeError):  # a column's name is text
        return True
    return isinstance(error, OSError) and error.errno is None


def look_inside(path: str) -> Inside | None:
    """Return what a file says about itself, or None if it is damaged.

    Raises:
      OSError: it cannot be read.
      CorruptDataError: its manifest is of another version, or damaged.
    """
    try:
        with open_parquet(path) as file:
            text = (file.schema_arrow.metadata or {}).get(METADATA_KEY.encode(), b"")
            num_rows = file.metadata.num_rows
    except Exception as error:
        if is_damage(error):
            return None
        raise
    return Inside(parse_manifest(text, path) if is_manifest(text) else None, num_rows)


def read_row_blocks(
    path: str, num_records: int | None, damage: Damage, next_sentence: str
) -> Generator[RecordBlock]:
    """Yield the records of a file, in order.

    Args:
      path: of the file.
      num_records: that it must hold; None for any number.
      damage: raises or counts the damage.
      next_sentence: the records' objective for two segments.

    Raises:
      ValueError: its columns are not those of instances.
      OSError: it cannot be read.
      CorruptDataError: damage, unless it is counted.
    """
    record = 0
    try:
        with open_parquet(path) as file:
            schema = schema_of_records(next_sentence)
            check_columns(file.schema_arrow, schema, path)
            for group in range(file.num_row_groups):
                offset, first = offset_of_group(file, group), record
                for rows in read_group(file, schema, group):
                    rows.tell(damage, path, offset, first)
                    first += rows.statuses.size
                    yield rows.block.take(np.flatnonzero(rows.statuses == OK))
                record += file.metadata.row_group(group).num_rows
    except Exception as error:
        if not is_damage(error):
            raise
        lost = 1 if num_records is None else max(1, num_records - record)
        damage.found(CorruptDataError(path, 0, what_is_wrong(error)), lost)
        return
    if num_records is not None and record != num_records:
        reason = f"holds {record} rows; its manifest or footer says {num_records}"
        damage.found(CorruptDataError(path, 0, reason), max(1, num_records - record))


def what_is_wrong(error: BaseException) -> str:
    """Describe damage in words."""
    return f"is not a readable Parquet file ({' '.join(str(error).split())})"


def schema_of_records(next_sentence: str) -> "pyarrow.Schema":
    """Return the columns of masked LM records."""
    kind = masked_lm_records(RAGGED, sentence_field=LABELS[next_sentence])
    return parquet_schema(kind.in_parquet())


def check_columns(schema: "pyarrow.Schema", expected: "pyarrow.Schema", path: str) -> None:
    """Check that a file has the columns of `expected`.

    Raises:
      ValueError: a column is missing or has another type.
    """
    from pyarrow import types

    for field in expected:
        if schema.names.count(field.name) != 1:
            raise ValueError(
                f"{path} has no column {field.name!r}; instances have {', '.join(expected.names)}"
            )
        actual = schema.field(field.name).type
        if types.is_boolean(field.type):
            fits = types.is_boolean(actual) or types.is_integer(actual)
        else:
            is_list = types.is_list(actual) or types.is_large_list(actual)
            is_list |= types.is_fixed_size_list(actual)
            fits = is_list and types.is_integer(actual.value_type)
        if not fits:
            raise ValueError(f"{path}: column {field.name!r} is of type {actual}, not {field.type}")


def offset_of_group(file: "pyarrow.parquet.ParquetFile", group: int) -> int:
    """Return where in the file a row group begins."""
    column = file.metadata.row_group(group).column(0)
    return int(column.file_offset or column.data_page_offset)


def read_group(
    file: "pyarrow.parquet.ParquetFile", schema: "pyarrow.Schema", group: int
) -> Iterator[GroupRows]:
    """Yield the rows of a row group, in order, as many as the footer says."""
    metadata = file.metadata.row_group(group)
    left = metadata.num_rows
    if not left:
        return
    num_rows = _BLOCK_BYTES * left // max(1, metadata.total_byte_size)
    batches = file.iter_batches(
        batch_size=min(max(num_rows, _LEAST_ROWS), _MOST_ROWS),
        row_groups=[group],
        columns=schema.names,
        use_threads=False,
    )
    reason = ""
    try:
        for batch in batches:
            rows = GroupRows(*records_of(columns_of(_cast(batch, schema))))
            left -= rows.statuses.size
            yield rows
    except Exception as error:
        if not is_damage(error):
            raise
        reason = what_is_wrong(error)
    if left:
        reason = reason or f"a row group has {left} fewer rows than the footer says"
        lost = np.full(left, LOST, np.int32)
        yield GroupRows(no_records(left, len(FEATURES)), lost, reason)


def _cast(batch: Any, schema: "pyarrow.Schema") -> "pyarrow.RecordBatch":
    """Return the batch with the columns and types of instances; other integers must fit."""
    batch = batch.select(schema.names)
    return batch if batch.schema.equals(schema) else batch.cast(schema)
