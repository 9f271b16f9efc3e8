"""Read the rows of Parquet shards as records, in order.

    tokens [101 7592 102]   segment_ids [0 0 1]   masked_positions [1]   ...
      ->  column batches  ->  the Examples that hold the same numbers  ->  RecordBlock

Padding after a row's tokens, marked by segment -1, is dropped. A damaged row costs that row; a
damaged page, which its checksum reveals, costs the rest of its row group; a damaged footer, which
holds Parquet's table of contents, costs the whole file.
"""

import contextlib
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.example import features_of
from bert_data.reader.examples.frames import scan_records
from bert_data.reader.files.record_source import Damage
from bert_data.records import fields
from bert_data.records.columns import Column, ColumnBatch
from bert_data.records.fields import Axis, Field, RecordKind
from bert_data.records.formats.examples import ExampleEncoder
from bert_data.records.formats.parquet_files import METADATA_KEY, parquet_schema
from bert_data.records.sets.manifest import Manifest, is_manifest, parse_manifest

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

PARQUET_MAGIC = b"PAR1"
MAX_ROWS = 1024  # at a time
_PADDING = fields.SEGMENT_IDS.column_padding
_BUFFER_BYTES = 1 << 18  # of a column, read at once


class Inside(NamedTuple):
    """The metadata of a file: its manifest, which lists no files, and its rows."""

    manifest: Manifest | None
    num_rows: int


@contextlib.contextmanager
def _open_shard(path: str) -> Iterator["pyarrow.parquet.ParquetFile"]:
    import pyarrow as pa
    from pyarrow import parquet

    is_remote = storage.is_remote(path)
    opened = storage.open_input(path, buffering=0) if is_remote else pa.OSFile(path)
    # A local file in parts, so that no whole row group is in memory; and read, not mapped: a mapped
    # file that is truncated kills the process. Of a remote one the needed ranges, joined.
    with (
        opened,
        parquet.ParquetFile(
            opened,
            page_checksum_verification=True,
            pre_buffer=is_remote,
            buffer_size=0 if is_remote else _BUFFER_BYTES,
        ) as file,
    ):
        yield file


def look_inside(path: str) -> Inside | None:
    """Return what a file says about itself, or None if it is damaged."""
    try:
        with _open_shard(path) as file:
            text = (file.schema_arrow.metadata or {}).get(METADATA_KEY.encode(), b"")
            num_rows = file.metadata.num_rows
    except Exception as error:
        if _is_damage(error):
            return None
        raise
    return Inside(parse_manifest(text, path) if is_manifest(text) else None, num_rows)


def read_row_blocks(
    path: str, num_records: int | None, damage: Damage, kind: RecordKind
) -> Generator[RecordBlock]:
    """Yield the records of a file, in order."""
    record = 0
    try:
        with _open_shard(path) as file:
            _check_columns(file.schema_arrow, parquet_schema(kind), path)
            for group in range(file.num_row_groups):
                yield from _read_group(file, path, group, record, damage, kind)
                record += _rows_of_group(file, group)
    except Exception as error:
        if not _is_damage(error):
            raise
        lost = 1 if num_records is None else max(1, num_records - record)
        damage.found(CorruptDataError(path, 0, _what_is_wrong(error)), lost)
        return
    if num_records is not None and record != num_records:
        reason = f"holds {record} rows; its manifest or footer says {num_records}"
        damage.found(CorruptDataError(path, 0, reason), max(1, num_records - record))


def _read_group(
    file: "pyarrow.parquet.ParquetFile",
    path: str,
    group: int,
    first: int,
    damage: Damage,
    kind: RecordKind,
) -> Iterator[RecordBlock]:
    """Yield the undamaged rows of a row group, whose first is record `first`."""
    column = file.metadata.row_group(group).column(0)
    offset = int(column.file_offset or column.data_page_offset)
    end = first + _rows_of_group(file, group)
    schema, encoder, features = parquet_schema(kind), ExampleEncoder(kind), features_of(kind)
    reason = ""
    try:
        for rows in file.iter_batches(
            batch_size=MAX_ROWS, row_groups=[group], columns=schema.names, use_threads=False
        ):
            batch, faults = _columns_of(rows.select(schema.names).cast(schema), kind)
            for row, fault in faults:
                damage.found(CorruptDataError(path, offset, fault, first + row), 1)
            first += rows.num_rows
            data, _ = encoder.encode(batch)
            at = 0
            while at < data.size:
                scan = scan_records(data, at, features)
                yield scan.block
                at = scan.end
    except Exception as error:
        if not _is_damage(error):
            raise
        reason = _what_is_wrong(error)
    if first < end:
        reason = reason or f"a row group has {end - first} fewer rows than the footer says"
        damage.found(CorruptDataError(path, offset, reason, first), end - first)


def _rows_of_group(file: "pyarrow.parquet.ParquetFile", group: int) -> int:
    """Return how many rows a row group has by the footer, at most as many as the file."""
    import pyarrow as pa

    num_rows = int(file.metadata.row_group(group).num_rows)
    if not 0 <= num_rows <= file.metadata.num_rows:
        of_all = f"of {file.metadata.num_rows} rows in all"
        raise pa.ArrowInvalid(f"its footer says that row group {group} has {num_rows} {of_all}")
    return num_rows


def _is_damage(error: BaseException) -> bool:
    """Return whether an error of pyarrow is about the bytes rather than about reading them."""
    import pyarrow as pa

    if isinstance(error, pa.ArrowException | UnicodeDecodeError):  # a column's name is text
        return True
    return isinstance(error, OSError) and error.errno is None


def _what_is_wrong(error: BaseException) -> str:
    return f"is not a readable Parquet file ({' '.join(str(error).split())})"


def _check_columns(schema: "pyarrow.Schema", expected: "pyarrow.Schema", path: str) -> None:
    for field in expected:
        if schema.names.count(field.name) != 1:
            raise ValueError(
                f"{path} has no column {field.name!r}; instances have {', '.join(expected.names)}"
            )
        actual = schema.field(field.name).type
        if not _fits(actual, field.type):
            raise ValueError(f"{path}: column {field.name!r} is of type {actual}, not {field.type}")


def _fits(actual: "pyarrow.DataType", needed: "pyarrow.DataType") -> bool:
    """Return whether values of a type may be cast to another: of lists, integers or floats."""
    from pyarrow import types

    if types.is_list(needed):
        is_list = types.is_list(actual) or types.is_large_list(actual)
        is_list |= types.is_fixed_size_list(actual)
        return is_list and _fits(actual.value_type, needed.value_type)
    if types.is_floating(needed):
        return types.is_floating(actual)
    return types.is_integer(actual) or (types.is_boolean(needed) and types.is_boolean(actual))


class _Lists(NamedTuple):
    """A column: its values, and int64[values] the row of each, and its place there."""

    values: NDArray[Any]
    rows: NDArray[np.int64]
    places: NDArray[np.int64]

    def descends(self, least_step: int) -> NDArray[np.bool_]:
        """Return whether each value is less than the one before it in its row and a step."""
        is_less = np.diff(self.values.astype(np.int64), prepend=0) < least_step
        return is_less & (self.places > 0)


def _columns_of(
    rows: "pyarrow.RecordBatch", kind: RecordKind
) -> tuple[ColumnBatch, list[tuple[int, str]]]:
    """Turn rows into columns, without padding and without damaged rows.

    Args:
      rows: with the columns of the kind, see `parquet_schema`.

    Returns:
      The columns; and the number of each damaged row, and what is wrong with it.
    """
    lists = _lists_of(rows, kind)
    faults = _find_faults(lists, rows.num_rows)
    if faults:
        is_whole = np.ones(rows.num_rows, np.bool_)
        is_whole[[row for row, _ in faults]] = False
        rows = rows.filter(is_whole)
        lists = _lists_of(rows, kind)
    is_token = lists[fields.SEGMENT_IDS].values != _PADDING
    columns, splits = {}, {}
    for field, (values, row, _) in lists.items():
        if field.axis is Axis.INSTANCES:
            columns[field.name] = Column(values)
            continue
        is_kept = is_token if field.axis is Axis.TOKENS else slice(None)
        if field.axis not in splits:
            counts = np.bincount(row[is_kept], minlength=rows.num_rows)
            splits[field.axis] = np.concatenate(([0], counts.cumsum())).astype(np.int32)
        columns[field.name] = Column(values[is_kept], splits[field.axis])
    return ColumnBatch(kind=kind, columns=columns), faults


def _lists_of(rows: "pyarrow.RecordBatch", kind: RecordKind) -> dict[Field, _Lists]:
    import pyarrow as pa

    lists = {}
    for field in kind.stored:
        column = rows.column(field.column)
        is_list = pa.types.is_list(column.type)
        values = column.flatten() if is_list else column
        if column.null_count or values.null_count:
            raise pa.ArrowInvalid(f"column {field.column!r} contains nulls")
        offsets = column.offsets.to_numpy() if is_list else np.arange(len(column) + 1)
        counts = np.diff(offsets)
        row = np.repeat(np.arange(counts.size), counts)
        places = np.arange(len(values)) - np.repeat(offsets[:-1] - offsets[0], counts)
        lists[field] = _Lists(values.to_numpy(zero_copy_only=False), row, places)
    return lists


def _find_faults(lists: dict[Field, _Lists], num_rows: int) -> list[tuple[int, str]]:
    """Return the number of each damaged row, and what is wrong with it."""

    def rows_with(each: _Lists, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.bincount(each.rows[flags], minlength=num_rows) > 0

    ids, segments = lists[fields.INPUT_IDS], lists[fields.SEGMENT_IDS]
    positions, labels = lists[fields.MASKED_LM_POSITIONS], lists[fields.MASKED_LM_IDS]
    counts = {field: np.bincount(each.rows, minlength=num_rows) for field, each in lists.items()}
    first = {Axis.TOKENS: fields.INPUT_IDS, Axis.PREDICTIONS: fields.MASKED_LM_POSITIONS}
    is_uneven = {
        field: counts[field] != counts[first[field.axis]] for field in lists if field.axis in first
    }
    order = segments._replace(values=segments.values.astype(np.uint8))  # padding, -1, is 255
    is_other = ~np.isin(segments.values, (_PADDING, 0, 1)) | order.descends(0)
    num_tokens = np.bincount(segments.rows[segments.values != _PADDING], minlength=num_rows)
    is_negative = (ids.values < 0) & (ids.places < num_tokens[ids.rows])
    is_unordered = (positions.values < 0) | positions.descends(1)
    faults = (
        (
            f"a row's {fields.SEGMENT_IDS.name} are not 0s, then 1s, then -1s, one for each of"
            f" {fields.INPUT_IDS.column}",
            is_uneven[fields.SEGMENT_IDS] | rows_with(segments, is_other),
        ),
        (f"a row's {fields.INPUT_IDS.column} hold a negative number", rows_with(ids, is_negative)),
        (
            f"a row's {fields.MASKED_LM_POSITIONS.column} do not ascend from 0 or more, each with"
            f" one of {fields.MASKED_LM_IDS.column}, 0 or more",
            is_uneven[fields.MASKED_LM_IDS]
            | rows_with(positions, is_unordered)
            | rows_with(labels, labels.values < 0),
        ),
        ("a row's lists differ in length", np.any(list(is_uneven.values()), axis=0)),
    )
    found: dict[int, str] = {}
    for reason, is_damaged in faults:
        for row in np.flatnonzero(is_damaged).tolist():
            found.setdefault(row, reason)
    return sorted(found.items())
