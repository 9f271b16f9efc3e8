"""A Parquet shard in, blocks of checked records out.

    file  ->  some rows of a row group at a time  ->  RecordBlock, RecordBlock, ...

Damage of a row loses the row; damage of a page, which its checksum tells, loses what is left of its
row group; a file whose end, where Parquet keeps its table of contents, is damaged is lost whole.
"""

import contextlib
from collections.abc import Generator, Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bert_data.datasets.manifest import Manifest, is_manifest, parse_manifest
from bert_data.errors import CorruptDataError
from bert_data.formats.parquet import METADATA_KEY, parquet_schema
from bert_data.objectives.next_sentence import LABELS
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.example import OK
from bert_data.reader.files.corruption import Damage
from bert_data.reader.files.parquet_rows import REASONS, columns_of, records_of
from bert_data.schema.fields import RAGGED, masked_lm_records

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

MAGIC = b"PAR1"

_BLOCK_BYTES = 1 << 19  # of a row group's pages; records are about twice as large
_LEAST_ROWS, _MOST_ROWS = 64, 8192
_BUFFER_BYTES = 1 << 18  # of a column that are read at once


class Inside(NamedTuple):
    """What a file tells of itself: its manifest, which lists no files, and its rows."""

    manifest: Manifest | None
    num_rows: int


@contextlib.contextmanager
def _open(source: str | IO[bytes]) -> Iterator["pyarrow.parquet.ParquetFile"]:
    """Opens a local file by its name, or takes a remote one that is open."""
    import pyarrow as pa
    from pyarrow import parquet

    with contextlib.ExitStack() as stack:
        file = source if not isinstance(source, str) else stack.enter_context(pa.OSFile(source))
        # In parts, so that a row group is not in memory as a whole, and read, not mapped: a file
        # that is cut while it is mapped ends the process.
        yield stack.enter_context(
            parquet.ParquetFile(
                file,
                page_checksum_verification=True,
                pre_buffer=False,
                buffer_size=_BUFFER_BYTES,
            )
        )


def _is_damage(error: BaseException) -> bool:
    """Whether an error of pyarrow is about the bytes, and not about reading them."""
    import pyarrow as pa

    if isinstance(error, pa.ArrowException | UnicodeDecodeError):  # a column's name is text
        return True
    return isinstance(error, OSError) and error.errno is None


def look_inside(source: str | IO[bytes], path: str) -> Inside | None:
    """What a file tells of itself; None where it is damaged.

    Args:
      source: the name of a local file, or an open remote one.
      path: its name, for errors.

    Raises:
      OSError: it cannot be read.
      CorruptDataError: its manifest is of another version, or damaged.
    """
    try:
        with _open(source) as file:
            text = (file.schema_arrow.metadata or {}).get(METADATA_KEY.encode(), b"")
            num_rows = file.metadata.num_rows
    except Exception as error:
        if _is_damage(error):
            return None
        raise
    return Inside(parse_manifest(text, path) if is_manifest(text) else None, num_rows)


def read_row_blocks(
    source: str | IO[bytes],
    path: str,
    num_records: int | None,
    damage: Damage,
    next_sentence: str,
) -> Generator[RecordBlock]:
    """Yields the records of a file, in order.

    Args:
      source: the name of a local file, or an open remote one.
      path: its name, for errors.
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
        with _open(source) as file:
            wanted = parquet_schema(
                masked_lm_records(RAGGED, sentence_field=LABELS[next_sentence]).in_parquet()
            )
            _check_columns(file.schema_arrow, wanted, path)
            for group in range(file.num_row_groups):
                yield from _read_group(file, wanted, group, path, record, damage)
                record += file.metadata.row_group(group).num_rows
    except Exception as error:
        if not _is_damage(error):
            raise
        lost = 1 if num_records is None else max(1, num_records - record)
        damage.found(CorruptDataError(path, 0, _told(error)), lost)
        return
    if num_records is not None and record != num_records:
        reason = f"holds {record} rows; its manifest or its end tells of {num_records}"
        damage.found(CorruptDataError(path, 0, reason), max(1, num_records - record))


def _told(error: BaseException) -> str:
    return f"no Parquet that can be read ({' '.join(str(error).split())})"


def _check_columns(schema: "pyarrow.Schema", wanted: "pyarrow.Schema", path: str) -> None:
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


def _read_group(
    file: "pyarrow.parquet.ParquetFile",
    schema: "pyarrow.Schema",
    group: int,
    path: str,
    first: int,
    damage: Damage,
) -> Iterator[RecordBlock]:
    """The records of a row group, of which `first` is the number of the first one."""
    metadata = file.metadata.row_group(group)
    if not metadata.num_rows:
        return
    num_rows = _BLOCK_BYTES * metadata.num_rows // max(1, metadata.total_byte_size)
    batches = file.iter_batches(
        batch_size=min(max(num_rows, _LEAST_ROWS), _MOST_ROWS),
        row_groups=[group],
        columns=schema.names,
        use_threads=False,
    )
    done = 0
    offset = int(metadata.column(0).file_offset or metadata.column(0).data_page_offset)
    while True:
        try:
            batch = next(batches, None)
            columns = None if batch is None else columns_of(_cast(batch, schema))
        except Exception as error:
            if not _is_damage(error):
                raise
            damage.found(
                CorruptDataError(path, offset, _told(error), first + done),
                metadata.num_rows - done,
            )
            return
        if columns is None:
            break
        block, statuses = records_of(columns)
        for row in np.flatnonzero(statuses).tolist():
            reason = REASONS[int(statuses[row])]
            damage.found(CorruptDataError(path, offset, reason, first + done + row), 1)
        done += statuses.size
        yield block if not statuses.any() else block.take(np.flatnonzero(statuses == OK))
    if done != metadata.num_rows:
        reason = f"a row group has {done} rows; the file's end tells of {metadata.num_rows}"
        damage.found(CorruptDataError(path, offset, reason), max(1, metadata.num_rows - done))


def _cast(batch: Any, schema: "pyarrow.Schema") -> "pyarrow.RecordBatch":
    """The batch with the columns and types of instances; other integers are taken if they fit."""
    batch = batch.select(schema.names)
    return batch if batch.schema.equals(schema) else batch.cast(schema)
