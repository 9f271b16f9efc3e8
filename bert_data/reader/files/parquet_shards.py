"""A Parquet shard in, blocks of checked records out.

    file  ->  some rows of a row group at a time  ->  RecordBlock, RecordBlock, ...

Damage of a row loses the row; damage of a page, which its checksum tells, loses what is left of its
row group; a file whose end, where Parquet keeps its table of contents, is damaged is lost whole.
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

_BLOCK_BYTES = 1 << 19  # of a row group's pages; records are about twice as large
LOST = 4  # beside `REASONS`
_LEAST_ROWS, _MOST_ROWS = 64, 8192
_BUFFER_BYTES = 1 << 18  # of a column that are read at once


class Inside(NamedTuple):
    """What a file tells of itself: its manifest, which lists no files, and its rows."""

    manifest: Manifest | None
    num_rows: int


class GroupRows(NamedTuple):
    """Some rows of a row group, one behind the other.

    Attributes:
      block: a record a row, without a number where the row is damaged.
      statuses: int32[rows], OK, one of `REASONS`, or LOST.
      reason: why rows are LOST.
    """

    block: RecordBlock
    statuses: NDArray[np.int32]
    reason: str = ""

    def tell(self, damage: Damage, path: str, offset: int, first: int) -> None:
        """Tells of the damaged rows, `first` being the number of the first row."""
        bad = np.flatnonzero(self.statuses).tolist()
        if bad and self.statuses[bad[0]] == LOST:
            damage.found(CorruptDataError(path, offset, self.reason, first), len(bad))
            return
        for row in bad:
            reason = REASONS[int(self.statuses[row])]
            damage.found(CorruptDataError(path, offset, reason, first + row), 1)


@contextlib.contextmanager
def open_parquet(path: str) -> Iterator["pyarrow.parquet.ParquetFile"]:
    """Opens a file that is local or a URI."""
    import pyarrow as pa
    from pyarrow import parquet

    opened = storage.open_input(path) if storage.is_remote(path) else pa.OSFile(path)
    # In parts, so that a row group is not in memory as a whole, and read, not mapped: a file
    # that is cut while it is mapped ends the process.
    with (
        opened,
        parquet.ParquetFile(
            opened, page_checksum_verification=True, pre_buffer=False, buffer_size=_BUFFER_BYTES
        ) as file,
    ):
        yield file


def is_damage(error: BaseException) -> bool:
    """Whether an error of pyarrow is about the bytes, and not about reading them."""
    import pyarrow as pa

    if isinstance(error, pa.ArrowException | UnicodeDecodeError):  # a column's name is text
        return True
    return isinstance(error, OSError) and error.errno is None


def look_inside(path: str) -> Inside | None:
    """What a file tells of itself; None where it is damaged.

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
    """Yields the records of a file, in order.

    Args:
      path: of the file.
      num_records: that it must hold; None for any.
      damage: takes what is found damaged: raises it, or counts it.
      next_sentence: what the records ask about two segments.

    Raises:
      ValueError: it has other columns than instances have.
      OSError: it cannot be read.
      CorruptDataError: damage, unless it is counted.
    """
    record = 0
    try:
        with open_parquet(path) as file:
            wanted = schema_of_records(next_sentence)
            check_columns(file.schema_arrow, wanted, path)
            for group in range(file.num_row_groups):
                offset, first = offset_of_group(file, group), record
                for rows in read_group(file, wanted, group):
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
        reason = f"holds {record} rows; its manifest or its end tells of {num_records}"
        damage.found(CorruptDataError(path, 0, reason), max(1, num_records - record))


def what_is_wrong(error: BaseException) -> str:
    """Damage in words."""
    return f"no Parquet that can be read ({' '.join(str(error).split())})"


def schema_of_records(next_sentence: str) -> "pyarrow.Schema":
    """The columns of masked LM records."""
    kind = masked_lm_records(RAGGED, sentence_field=LABELS[next_sentence])
    return parquet_schema(kind.in_parquet())


def check_columns(schema: "pyarrow.Schema", wanted: "pyarrow.Schema", path: str) -> None:
    """Refuses a file of something else.

    Raises:
      ValueError: a column is missing or holds something else.
    """
    from pyarrow import types

    for field in wanted:
        if schema.names.count(field.name) != 1:
            raise ValueError(
                f"{path} has no column {field.name!r}; instances have {', '.join(wanted.names)}"
            )
        found = schema.field(field.name).type
        if types.is_boolean(field.type):
            fits = types.is_boolean(found) or types.is_integer(found)
        else:
            is_list = types.is_list(found) or types.is_large_list(found)
            is_list |= types.is_fixed_size_list(found)
            fits = is_list and types.is_integer(found.value_type)
        if not fits:
            raise ValueError(f"{path}: column {field.name!r} is of type {found}, not {field.type}")


def offset_of_group(file: "pyarrow.parquet.ParquetFile", group: int) -> int:
    """Where in the file a row group begins."""
    column = file.metadata.row_group(group).column(0)
    return int(column.file_offset or column.data_page_offset)


def read_group(
    file: "pyarrow.parquet.ParquetFile", schema: "pyarrow.Schema", group: int
) -> Iterator[GroupRows]:
    """Yields the rows of a row group, in order, as many as the file's end says."""
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
        reason = reason or f"a row group ends {left} rows before the file's end tells"
        lost = np.full(left, LOST, np.int32)
        yield GroupRows(no_records(left, len(FEATURES)), lost, reason)


def _cast(batch: Any, schema: "pyarrow.Schema") -> "pyarrow.RecordBatch":
    """The batch with the columns and types of instances; other integers are taken if they fit."""
    batch = batch.select(schema.names)
    return batch if batch.schema.equals(schema) else batch.cast(schema)
