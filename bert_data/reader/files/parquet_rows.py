"""Turn columns of Parquet rows into records.

    tokens [101 7592 102]   segment_ids [0 0 1]   masked_positions [1]   ...
      ->  a RecordBlock of words, and which rows are damaged

From here on, shuffling, batching and decoding are the same for both formats. One kernel moves the
values from Arrow's arrays into the block. Padding after a row's tokens, marked by segment -1, is
dropped.
"""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data import storage
from bert_data.datasets.manifest import Manifest, is_manifest, parse_manifest
from bert_data.formats.parquet_files import METADATA_KEY
from bert_data.formats.wire_kernels import address_of, bytes_at, int32s_at
from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.examples.block import RecordBlock, room_for
from bert_data.reader.examples.example import IDS, LABELS, OK, POSITIONS, SEGMENTS, WEIGHTS
from bert_data.reader.examples.number_lists import ONES
from bert_data.reader.layout import AXES, new_bytes, stored_fields
from bert_data.schema import fields
from bert_data.schema.fields import RecordKind

if TYPE_CHECKING:
    import pyarrow

BAD_TOKENS, BAD_SEGMENTS, BAD_PREDICTIONS, LOST, BAD_LENGTHS = range(1, 6)
REASONS = {
    BAD_TOKENS: f"a row's {fields.INPUT_IDS.column} hold a negative number",
    BAD_SEGMENTS: (
        f"a row's {fields.SEGMENT_IDS.name} are not 0s, then 1s, then -1s, one for each of"
        f" {fields.INPUT_IDS.column}"
    ),
    BAD_PREDICTIONS: (
        f"a row's {fields.MASKED_LM_POSITIONS.column} do not ascend from 0 or more, each with one"
        f" of {fields.MASKED_LM_IDS.column}, 0 or more"
    ),
    BAD_LENGTHS: "a row's lists differ in length",
}
"""The fault of a row, by its status; LOST rows have a reason of their own."""

_WORD_BYTES = 4
_VALUES, _SPLITS, _TYPE, _AXIS = range(4)
_ONES, _BYTES, _WORDS = range(3)
_TYPES = {"bool": _BYTES, "int8": _BYTES, "int32": _WORDS, "float32": _WORDS}
_TOKENS, _PREDICTIONS, _INSTANCES = range(len(AXES))


@inner
def _bounds(columns: NDArray[np.int64], feature: Scalar, row: Scalar) -> tuple[Scalar, Scalar]:
    """Return where a row's values begin and end in the column of a feature."""
    if columns[feature, _SPLITS] == 0:
        return row, row + 1
    splits = int32s_at(columns[feature, _SPLITS], row + 2)
    return np.int64(splits[row]), np.int64(splits[row + 1])


@inner
def _check_row(columns: NDArray[np.int64], row: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Check a row; return (status, tokens, predictions)."""
    begin, end = _bounds(columns, IDS, row)
    first, last = _bounds(columns, SEGMENTS, row)
    if last - first != end - begin:
        return BAD_SEGMENTS, 0, 0
    segments = bytes_at(columns[SEGMENTS, _VALUES], last)
    while last > first and segments[last - 1] == 255:  # -1
        last -= 1
    before = np.uint8(0)
    for k in range(first, last):
        segment = segments[k]
        if segment < before or segment > 1:
            return BAD_SEGMENTS, 0, 0
        before = segment
    tokens, least = int32s_at(columns[IDS, _VALUES], end), np.int32(0)
    for k in range(begin, begin + last - first):
        least = min(least, tokens[k])
    if least < 0:
        return BAD_TOKENS, 0, 0
    at, position_end = _bounds(columns, POSITIONS, row)
    label_at, label_end = _bounds(columns, LABELS, row)
    predictions = position_end - at
    if label_end - label_at != predictions:
        return BAD_PREDICTIONS, 0, 0
    positions = int32s_at(columns[POSITIONS, _VALUES], position_end)
    labels, previous = int32s_at(columns[LABELS, _VALUES], label_end), np.int32(-1)
    for k in range(predictions):
        position = positions[at + k]
        if position <= previous or labels[label_at + k] < 0:
            return BAD_PREDICTIONS, 0, 0
        previous = position
    for feature in range(WEIGHTS + 1, columns.shape[0]):
        axis, bounds = columns[feature, _AXIS], _bounds(columns, feature, row)
        needed = end - begin if axis == _TOKENS else predictions if axis == _PREDICTIONS else 1
        if bounds[1] - bounds[0] != needed:
            return BAD_LENGTHS, 0, 0
    return OK, last - first, predictions


@inner
def _put(
    columns: NDArray[np.int64],
    feature: Scalar,
    row: Scalar,
    count: Scalar,
    words: NDArray[np.int32],
    start: Scalar,
    at: Scalar,
    span: NDArray[np.int32],
) -> Scalar:
    """Copy a row's first `count` values to words[at:], of a record that begins at `start`."""
    kind, address = columns[feature, _TYPE], columns[feature, _VALUES]
    if kind == _ONES:
        span[0], span[1] = ONES, count
        return at
    first, _ = _bounds(columns, feature, row)
    if kind == _BYTES:
        small = bytes_at(address, first + count)
        for k in range(count):
            words[at + k] = np.int8(small[first + k])
    else:
        values = int32s_at(address, first + count)
        for k in range(count):
            words[at + k] = values[first + k]
    span[0], span[1] = _WORD_BYTES * (at - start), ~(_WORD_BYTES * (at - start + count))
    return at + count


@kernel
def _lay_out_rows(
    columns: NDArray[np.int64],
    words: NDArray[np.int32],
    block: RecordBlock,
    statuses: NDArray[np.int32],
) -> None:
    """Write the words of each row and the spans of its features, see `RecordBlock`.

    Args:
      columns: int64[features, 4], of the column of each the address of its values and of its row
        splits (0 if a row has one value), the type of its values, and its axis.
    """
    at = np.int64(0)
    for row in range(statuses.size):
        status, length, predictions = _check_row(columns, row)
        start = at
        block.starts[row], statuses[row] = _WORD_BYTES * start, status
        block.lengths[row, 0], block.lengths[row, 1] = length, predictions
        if status == OK:
            for feature in range(columns.shape[0]):
                axis = columns[feature, _AXIS]
                count = length if axis == _TOKENS else predictions if axis == _PREDICTIONS else 1
                at = _put(columns, feature, row, count, words, start, at, block.spans[row, feature])
        block.sizes[row] = _WORD_BYTES * (at - start)


def records_of(
    batch: "pyarrow.RecordBatch", kind: RecordKind
) -> tuple[RecordBlock, NDArray[np.int32]]:
    """Turn rows into records.

    Args:
      batch: at least one row; its columns are those of the kind, see `parquet_schema`.

    Returns:
      The records, those of damaged rows empty; and int32[rows], OK or one of `REASONS`.
    """
    import pyarrow as pa

    num_rows, num_words, arrays = batch.num_rows, 0, []
    stored = stored_fields(kind.fields)
    columns = np.zeros((len(stored), 4), np.int64)
    for row, field in zip(columns, stored, strict=True):
        row[_AXIS] = AXES.index(field.axis)
        if field.is_implied:
            continue
        column = batch.column(field.column)
        is_list = pa.types.is_list(column.type)
        if column.null_count or (is_list and column.flatten().null_count):
            raise pa.ArrowInvalid(f"column {field.column!r} contains nulls")
        values = (column.values if is_list else column).to_numpy(zero_copy_only=False)
        splits = column.offsets.to_numpy() if is_list else None
        row[_VALUES], row[_TYPE] = address_of(values), _TYPES[field.dtype.name]
        row[_SPLITS] = 0 if splits is None else address_of(splits)
        num_words += num_rows if splits is None else int(splits[-1]) - int(splits[0])
        arrays += [values, splits]  # which must stay alive
    block = room_for(new_bytes(_WORD_BYTES * num_words), num_rows, len(stored))
    block.spans[:] = 0
    statuses = np.empty(num_rows, np.int32)
    _lay_out_rows(columns, block.data.view(np.int32), block, statuses)
    return block, statuses


@kernel
def _count_tokens(
    splits: NDArray[np.int32], segments: NDArray[np.int8], num_tokens: NDArray[np.uint32]
) -> None:
    for row in range(num_tokens.size):
        last = splits[row + 1]
        while last > splits[row] and segments[last - 1] == -1:
            last -= 1
        num_tokens[row] = last - splits[row]


def tokens_of_rows(splits: NDArray[np.int32], segments: NDArray[np.int8]) -> NDArray[np.uint32]:
    """Return uint32[rows], the tokens of each row without padding, from its segments."""
    num_tokens = np.empty(splits.size - 1, np.uint32)
    _count_tokens(splits, segments, num_tokens)
    return num_tokens


MAGIC = b"PAR1"


class Inside(NamedTuple):
    """The metadata of a file: its manifest, which lists no files, and its rows."""

    manifest: Manifest | None
    num_rows: int


@contextlib.contextmanager
def open_parquet(path: str) -> Iterator["pyarrow.parquet.ParquetFile"]:
    """Open a local or remote Parquet file."""
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


def rows_of_group(file: "pyarrow.parquet.ParquetFile", group: int) -> int:
    """Return how many rows a row group has by the footer, at most as many as the file."""
    import pyarrow as pa

    num_rows = int(file.metadata.row_group(group).num_rows)
    if not 0 <= num_rows <= file.metadata.num_rows:
        of_all = f"of {file.metadata.num_rows} rows in all"
        raise pa.ArrowInvalid(f"its footer says that row group {group} has {num_rows} {of_all}")
    return num_rows


def is_damage(error: BaseException) -> bool:
    """Return whether an error of pyarrow is about the bytes rather than about reading them."""
    import pyarrow as pa

    if isinstance(error, pa.ArrowException | UnicodeDecodeError):  # a column's name is text
        return True
    return isinstance(error, OSError) and error.errno is None


def what_is_wrong(error: BaseException) -> str:
    """Describe damage in words."""
    return f"is not a readable Parquet file ({' '.join(str(error).split())})"


def look_inside(path: str) -> Inside | None:
    """Return what a file says about itself, or None if it is damaged."""
    try:
        with open_parquet(path) as file:
            text = (file.schema_arrow.metadata or {}).get(METADATA_KEY.encode(), b"")
            num_rows = file.metadata.num_rows
    except Exception as error:
        if is_damage(error):
            return None
        raise
    return Inside(parse_manifest(text, path) if is_manifest(text) else None, num_rows)


def check_columns(schema: "pyarrow.Schema", expected: "pyarrow.Schema", path: str) -> None:
    """Check that a file has the columns of `expected`."""
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


_BUFFER_BYTES = 1 << 18  # of a column, read at once
