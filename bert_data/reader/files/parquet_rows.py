"""Rows of a Parquet file in, records out, as a TFRecord file would hold them.

    tokens [101 7592 102]   segment_ids [0 0 1]   masked_positions [1]   ...
      ->  a RecordBlock of Examples, without row splits, and which rows are damaged

Everything behind this is the same for both formats: shuffling, batching, decoding. Values pass from
Arrow's arrays into the block by one kernel. Padding behind a row's tokens, told by the segment -1,
is left out.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data import features
from bert_data.formats.byte_blocks import BLOCK_BYTES
from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.example import FEATURES, NUM_NAMES, OK, read_example
from bert_data.reader.memory import new_bytes
from bert_data.records.examples import put_example
from bert_data.records.layout import (
    RecordLayout,
    RecordScratch,
    max_record_bytes,
    record_scratch,
    unpadded_layout,
)

if TYPE_CHECKING:
    import pyarrow

BAD_TOKENS, BAD_SEGMENTS, BAD_PREDICTIONS = 1, 2, 3
REASONS = {
    BAD_TOKENS: f"a row's {features.TOKENS} hold a negative number",
    BAD_SEGMENTS: (
        f"a row's {features.SEGMENT_IDS} are not 0s, then 1s, then -1s, one for each of"
        f" {features.TOKENS}"
    ),
    BAD_PREDICTIONS: (
        f"a row's {features.MASKED_POSITIONS} do not ascend from 0 or more, each with one of"
        f" {features.MASKED_LABELS}, 0 or more"
    ),
}
"""What is wrong with a row, by its status."""

_BYTES_OF_TOKEN, _BYTES_OF_PREDICTION = 5 + 1 + 1, 5 + 5 + 4  # in an Example


class RowColumns(NamedTuple):
    """Columns of some rows as Arrow keeps lists.

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
    """Views of the arrays of a batch that has the columns of masked LM records, in that order.

    Where it has no label, all are false.

    Raises:
      pyarrow.ArrowException: something is null.
    """
    import pyarrow as pa

    found: list[NDArray] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        is_list = pa.types.is_list(column.type)
        if column.null_count or (is_list and column.flatten().null_count):
            raise pa.ArrowInvalid(f"column {name!r} holds nulls")
        found += [column.offsets.to_numpy()] if is_list else []
        found += [(column.values if is_list else column).to_numpy(zero_copy_only=False)]
    if len(found) < len(RowColumns._fields):
        found.insert(RowColumns._fields.index("is_random"), np.zeros(batch.num_rows, np.bool_))
    return RowColumns(*found)


@inner
def _read_row(
    columns: RowColumns, row: Scalar, scratch: RecordScratch
) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Reads a row into the scratch: (status, tokens, first of B, predictions)."""
    begin, end = np.int64(columns.token_splits[row]), np.int64(columns.token_splits[row + 1])
    first, last = np.int64(columns.segment_splits[row]), np.int64(columns.segment_splits[row + 1])
    if last - first != end - begin:
        return BAD_SEGMENTS, 0, 0, 0
    while last > first and columns.segments[last - 1] == -1:
        last -= 1
    length, b_start = last - first, np.int64(0)
    while b_start < length and columns.segments[first + b_start] == 0:
        b_start += 1
    for k in range(b_start, length):
        if columns.segments[first + k] != 1:
            return BAD_SEGMENTS, 0, 0, 0
    least = np.int32(0)
    for k in range(length):
        token = columns.tokens[begin + k]
        scratch.tokens[k] = token
        least = min(least, token)
    if least < 0:
        return BAD_TOKENS, 0, 0, 0
    at, label_at = np.int64(columns.position_splits[row]), np.int64(columns.label_splits[row])
    predictions = columns.position_splits[row + 1] - at
    if columns.label_splits[row + 1] - label_at != predictions:
        return BAD_PREDICTIONS, 0, 0, 0
    before = np.int32(-1)
    for k in range(predictions):
        position, label = columns.positions[at + k], columns.labels[label_at + k]
        if position <= before or label < 0:
            return BAD_PREDICTIONS, 0, 0, 0
        scratch.positions[k], scratch.labels[k] = position, label
        before = position
    return OK, length, b_start, predictions


@kernel
def _write_examples(
    columns: RowColumns,
    layout: RecordLayout,
    scratch: RecordScratch,
    counts: NDArray[np.int64],
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int32],
    spans: NDArray[np.int32],
    lengths: NDArray[np.int32],
    statuses: NDArray[np.int32],
) -> None:
    """Writes the Example of each row, and where everything stands in it, see `RecordBlock`."""
    at = np.int64(0)
    for row in range(statuses.size):
        status, length, b_start, predictions = _read_row(columns, row, scratch)
        starts[row], statuses[row] = at, status
        if status == OK:
            is_random = np.int64(columns.is_random[row])
            at = put_example(data, at, layout, scratch, length, b_start, 0, predictions, is_random)
            read_example(data, starts[row], at, True, False, spans[row], counts, lengths[row])
        sizes[row] = at - starts[row]


def records_of(columns: RowColumns) -> tuple[RecordBlock, NDArray[np.int32]]:
    """Makes records of rows.

    Args:
      columns: of at least one row.

    Returns:
      The records, a damaged row's without a byte; and int32[rows], OK or one of `REASONS`.
    """
    num_rows = columns.is_random.size
    tokens, predictions = np.diff(columns.token_splits), np.diff(columns.position_splits)
    num_bytes = (
        num_rows * max_record_bytes(0, 0)
        + _BYTES_OF_TOKEN * int(tokens.sum())
        + _BYTES_OF_PREDICTION * int(predictions.sum())
    )
    data = new_bytes(num_bytes + BLOCK_BYTES)  # whole blocks are read of it
    starts, sizes = np.empty(num_rows, np.int64), np.empty(num_rows, np.int32)
    spans = np.empty((num_rows, len(FEATURES), 2), np.int32)
    lengths = np.empty((num_rows, 2), np.int32)
    statuses = np.empty(num_rows, np.int32)
    longest = int(max(tokens.max(), predictions.max()))
    _write_examples(
        columns, unpadded_layout(), record_scratch(longest), np.empty(NUM_NAMES, np.int64),
        data, starts, sizes, spans, lengths, statuses,
    )  # fmt: skip
    return RecordBlock(data, starts, sizes, spans, lengths), statuses
