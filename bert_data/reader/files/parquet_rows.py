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
from bert_data.formats.parquet import METADATA_KEY, parquet_schema
from bert_data.kernels import Scalar, inner, kernel
from bert_data.objectives.objective import Objective
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.example import (
    FEATURES,
    IDS,
    LABELS,
    MASK,
    NEXT,
    OK,
    POSITIONS,
    SEGMENTS,
    WEIGHTS,
)
from bert_data.reader.examples.number_lists import ONES
from bert_data.reader.memory import new_bytes
from bert_data.schema import fields
from bert_data.schema.fields import RAGGED, masked_lm_records

if TYPE_CHECKING:
    import pyarrow

BAD_TOKENS, BAD_SEGMENTS, BAD_PREDICTIONS = 1, 2, 3
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
}
"""What is wrong with a row, by its status."""


_WORD_BYTES = 4


class RowColumns(NamedTuple):
    """Columns of some rows, as Arrow stores lists.

    Attributes:
      token_splits, segment_splits, position_splits, label_splits: int32[rows + 1], where each row's
        values begin, and where the last row's end.
      tokens, positions, labels: int32[any].
      segments: int8[any].
      is_random: bool[rows].
    """

    token_splits: NDArray[np.int32]
    tokens: NDArray[np.int32]
    segment_splits: NDArray[np.int32]
    segments: NDArray[np.int8]
    is_random: NDArray[np.bool_]
    position_splits: NDArray[np.int32]
    positions: NDArray[np.int32]
    label_splits: NDArray[np.int32]
    labels: NDArray[np.int32]


def columns_of(batch: "pyarrow.RecordBatch") -> RowColumns:
    """Return views of a batch's arrays; its columns are those of masked LM records, in order.

    Without a label column, all labels are false.

    Raises:
      pyarrow.ArrowException: a value is null.
    """
    import pyarrow as pa

    arrays: list[NDArray] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        is_list = pa.types.is_list(column.type)
        if column.null_count or (is_list and column.flatten().null_count):
            raise pa.ArrowInvalid(f"column {name!r} contains nulls")
        arrays += [column.offsets.to_numpy()] if is_list else []
        arrays += [(column.values if is_list else column).to_numpy(zero_copy_only=False)]
    if len(arrays) < len(RowColumns._fields):
        arrays.insert(RowColumns._fields.index("is_random"), np.zeros(batch.num_rows, np.bool_))
    return RowColumns(*arrays)


@inner
def _check_row(columns: RowColumns, row: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Check a row; return (status, tokens, predictions)."""
    begin, end = np.int64(columns.token_splits[row]), np.int64(columns.token_splits[row + 1])
    first, last = np.int64(columns.segment_splits[row]), np.int64(columns.segment_splits[row + 1])
    if last - first != end - begin:
        return BAD_SEGMENTS, 0, 0
    while last > first and columns.segments[last - 1] == -1:
        last -= 1
    before = np.int8(0)
    for k in range(first, last):
        segment = columns.segments[k]
        if segment < before or segment > 1:
            return BAD_SEGMENTS, 0, 0
        before = segment
    least = np.int32(0)
    for k in range(begin, begin + last - first):
        least = min(least, columns.tokens[k])
    if least < 0:
        return BAD_TOKENS, 0, 0
    at, label_at = np.int64(columns.position_splits[row]), np.int64(columns.label_splits[row])
    predictions = columns.position_splits[row + 1] - at
    if columns.label_splits[row + 1] - label_at != predictions:
        return BAD_PREDICTIONS, 0, 0
    previous = np.int32(-1)
    for k in range(predictions):
        position = columns.positions[at + k]
        if position <= previous or columns.labels[label_at + k] < 0:
            return BAD_PREDICTIONS, 0, 0
        previous = position
    return OK, last - first, predictions


@inner
def _put(
    values: NDArray[np.integer],
    first: Scalar,
    count: Scalar,
    words: NDArray[np.int32],
    start: Scalar,
    at: Scalar,
    span: NDArray[np.int32],
) -> Scalar:
    """Copy values[first : first + count] to words[at:], of a record that begins at `start`."""
    for k in range(count):
        words[at + k] = values[first + k]
    span[0], span[1] = _WORD_BYTES * (at - start), ~(_WORD_BYTES * (at - start + count))
    return at + count


@kernel
def _lay_out_rows(
    columns: RowColumns,
    words: NDArray[np.int32],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int32],
    spans: NDArray[np.int32],
    lengths: NDArray[np.int32],
    statuses: NDArray[np.int32],
) -> None:
    """Write the words of each row and the spans of its features, see `RecordBlock`."""
    at = np.int64(0)
    for row in range(statuses.size):
        status, length, predictions = _check_row(columns, row)
        start, span = at, spans[row]
        starts[row], statuses[row] = _WORD_BYTES * start, status
        lengths[row, 0], lengths[row, 1] = length, predictions
        if status == OK:
            first = np.int64(columns.token_splits[row])
            at = _put(columns.tokens, first, length, words, start, at, span[IDS])
            first = np.int64(columns.segment_splits[row])
            at = _put(columns.segments, first, length, words, start, at, span[SEGMENTS])
            first = np.int64(columns.position_splits[row])
            at = _put(columns.positions, first, predictions, words, start, at, span[POSITIONS])
            first = np.int64(columns.label_splits[row])
            at = _put(columns.labels, first, predictions, words, start, at, span[LABELS])
            words[at] = np.int32(columns.is_random[row])
            span[NEXT, 0], span[NEXT, 1] = (
                _WORD_BYTES * (at - start),
                ~(_WORD_BYTES * (at - start + 1)),
            )
            at += 1
            span[MASK, 0], span[MASK, 1] = ONES, length
            span[WEIGHTS, 0], span[WEIGHTS, 1] = ONES, predictions
        sizes[row] = _WORD_BYTES * (at - start)


def records_of(columns: RowColumns) -> tuple[RecordBlock, NDArray[np.int32]]:
    """Turn rows into records.

    Args:
      columns: of at least one row.

    Returns:
      The records, those of damaged rows empty; and int32[rows], OK or one of `REASONS`.
    """
    num_rows = columns.is_random.size
    splits = columns.token_splits, columns.position_splits
    num_tokens, num_predictions = (int(part[-1]) - int(part[0]) for part in splits)
    words = new_bytes(_WORD_BYTES * (2 * (num_tokens + num_predictions) + num_rows)).view(np.int32)
    starts, sizes = np.empty(num_rows, np.int64), np.empty(num_rows, np.int32)
    spans = np.zeros((num_rows, len(FEATURES), 2), np.int32)
    lengths = np.empty((num_rows, 2), np.int32)
    statuses = np.empty(num_rows, np.int32)
    _lay_out_rows(columns, words, starts, sizes, spans, lengths, statuses)
    return RecordBlock(words.view(np.uint8), starts, sizes, spans, lengths), statuses


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
    """What a file says about itself: its manifest, which lists no files, and its rows."""

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
    """Return how many rows a row group has by the footer, at most as many as the file.

    Raises:
      pyarrow.ArrowInvalid: the footer is damaged.
    """
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
    """Return what a file says about itself, or None if it is damaged.

    Raises:
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


def schema_of_records(objective: Objective) -> "pyarrow.Schema":
    """Return the columns of masked LM records."""
    kind = masked_lm_records(RAGGED, sentence_field=objective.label)
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


_BUFFER_BYTES = 1 << 18  # of a column, read at once
