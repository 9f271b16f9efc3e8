"""Decode records into dense batches.

    spans of records of 3, 5, 2 tokens, width 5  ->  input_ids  [[101 7592  102    0    0]
                                                                 [101 2023 2003 1037  102]
                                                                 [101  102    0    0    0]] ...

A table says where the features go, see `bert_data.reader.layout`. Rows may hold several records:

    row_splits 0 2 3, width 6   ->  input_ids     [[101 7592 102 101 102 0] [101 2023 2003 102 0 0]]
                                    instance_ids  [[  1    1   1   2   2 0] [  1    1    1   1 0 0]]
                                    position_ids  [[  0    1   2   0   1 0] [  0    1    2   3 0 0]]
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.example import IDS, LABELS, NEXT, POSITIONS, SEGMENTS, WEIGHTS
from bert_data.reader.examples.number_lists import put_floats, put_integers
from bert_data.reader.layout import (
    BEGIN,
    COLUMNS,
    ENTRY_COLUMNS,
    NUM_FEATURES,
    ROWS,
    SIZE,
    Layout,
    is_packed,
)

_TOKENS, _PREDICTIONS, _INSTANCES = range(3)  # sections
_NEXT_LABELS, _NEXT_WEIGHTS, _NEXT_POSITIONS = range(3)
_POSITION_IDS, _INSTANCE_IDS = 3, 4
_ONE = np.int32(np.float32(1).view(np.int32))


class Rows(NamedTuple):
    """Which records make up the rows of batches.

    Attributes:
      is_there: bool[records], false for an empty record, which has no numbers.
      row_splits: int64[rows + 1], the records of each row.
      batch_splits: int64[batches + 1], the rows of each batch.
    """

    is_there: NDArray[np.bool_]
    row_splits: NDArray[np.int64]
    batch_splits: NDArray[np.int64]


@inner
def _place_records(
    row_splits: NDArray[np.int64],
    lengths: NDArray[np.int32],
    columns: Scalar,
    is_packed: bool,
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
) -> None:
    """Compute where in a feature each record's numbers begin, and the limit of where they end."""
    first = row_splits[0]
    for row in range(row_splits.size - 1):
        at, end = row * columns, (row + 1) * columns
        for record in range(row_splits[row] - first, row_splits[row + 1] - first):
            places[record] = at
            stops[record] = min(end, at + lengths[record]) if is_packed else end
            at = min(end, at + lengths[record])


@inner
def _clear(numbers: NDArray[np.int32]) -> None:
    for i in range(numbers.size):
        numbers[i] = 0


@inner
def _largest(numbers: NDArray[np.int32]) -> Scalar:
    """Return the largest of some numbers; -1 counts as the largest possible."""
    largest = np.uint32(0)
    for i in range(numbers.size):
        largest = max(largest, np.uint32(numbers[i]))
    return np.int64(largest)


@inner
def _put_tokens(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    spans: NDArray[np.int32],
    row_splits: NDArray[np.int64],
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    is_packed: bool,
    out: NDArray[np.int32],
) -> None:
    """Fill the section of tokens; `row_splits` is that of the batch, `places` of tokens."""
    size = out.size // (_INSTANCE_IDS + 1 if is_packed else SEGMENTS + 1)
    for name in range(IDS, SEGMENTS + 1):
        part = out[name * size : (name + 1) * size]
        put_integers(data, starts, spans[:, name], places, stops, part)
    if not is_packed:
        return
    positions, numbers = out[_POSITION_IDS * size : _INSTANCE_IDS * size], out[-size:]
    _clear(positions)
    _clear(numbers)
    first = row_splits[0]
    for row in range(row_splits.size - 1):
        for record in range(row_splits[row] - first, row_splits[row + 1] - first):
            number = record - (row_splits[row] - first) + 1
            for k in range(places[record], stops[record]):
                positions[k] = k - places[record]
                numbers[k] = number


@inner
def _put_predictions(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    spans: NDArray[np.int32],
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    size = out.size // 3
    put_integers(data, starts, spans[:, POSITIONS], places, stops, out[:size])
    put_integers(data, starts, spans[:, LABELS], places, stops, out[size : 2 * size])
    put_floats(data, starts, spans[:, WEIGHTS], places, stops, out[2 * size :])


@inner
def _settle_positions(
    positions: NDArray[np.int32],
    token_places: NDArray[np.int64],
    token_stops: NDArray[np.int64],
    width: Scalar,
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    is_packed: bool,
) -> bool:
    """Count positions from the start of the row; return whether one is outside its tokens."""
    if not is_packed:
        return _largest(positions) >= width
    is_outside = False
    for record in range(places.size):
        length = token_stops[record] - token_places[record]
        for k in range(places[record], stops[record]):
            is_outside |= np.int64(np.uint32(positions[k])) >= length
            positions[k] += token_places[record] % width
    return is_outside


@inner
def _put_instances(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    spans: NDArray[np.int32],
    is_there: NDArray[np.bool_],
    row_splits: NDArray[np.int64],
    token_places: NDArray[np.int64],
    width: Scalar,
    num_features: Scalar,
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Fill the section of instances: labels and, if it has them, weights and positions."""
    if not num_features:
        return
    size = out.size // num_features
    columns = size // (row_splits.size - 1)
    first = row_splits[0]
    for row in range(row_splits.size - 1):
        begin = row_splits[row] - first
        for record in range(begin, row_splits[row + 1] - first):
            places[record] = row * columns + record - begin
            stops[record] = places[record] + 1
    labels = out[_NEXT_LABELS * size : (_NEXT_LABELS + 1) * size]
    put_integers(data, starts, spans[:, NEXT], places, stops, labels)
    _clear(out[size:])
    for record in range(places.size):
        if num_features > _NEXT_WEIGHTS and is_there[record]:
            out[_NEXT_WEIGHTS * size + places[record]] = _ONE
        if num_features > _NEXT_POSITIONS:
            out[_NEXT_POSITIONS * size + places[record]] = token_places[record] % width


@inner
def _section(entries: NDArray[np.int32], section: int) -> tuple[Scalar, Scalar]:
    """Return where in the words a section begins and ends."""
    begin = np.int64(entries[section * ENTRY_COLUMNS + BEGIN])
    return begin, begin + entries[section * ENTRY_COLUMNS + SIZE]


@inner
def _decode_batch(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    spans: NDArray[np.int32],
    lengths: NDArray[np.int32],
    is_there: NDArray[np.bool_],
    row_splits: NDArray[np.int64],
    entries: NDArray[np.int32],
    is_packed: bool,
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    words: NDArray[np.int32],
) -> tuple[Scalar, bool]:
    width = np.int64(entries[COLUMNS])
    for section in range(_INSTANCES):
        columns = np.int64(entries[section * ENTRY_COLUMNS + COLUMNS])
        _place_records(
            row_splits, lengths[:, section], columns, is_packed, places[section], stops[section]
        )
    begin, end = _section(entries, _TOKENS)
    out = words[begin:end]
    _put_tokens(data, starts, spans, row_splits, places[_TOKENS], stops[_TOKENS], is_packed, out)
    largest_id = _largest(out[: entries[ROWS] * width])
    begin, end = _section(entries, _PREDICTIONS)
    out = words[begin:end]
    _put_predictions(data, starts, spans, places[_PREDICTIONS], stops[_PREDICTIONS], out)
    size = out.size // 3
    largest_id = max(largest_id, _largest(out[size : 2 * size]))
    is_outside = _settle_positions(
        out[:size], places[_TOKENS], stops[_TOKENS], width,
        places[_PREDICTIONS], stops[_PREDICTIONS], is_packed,
    )  # fmt: skip
    begin, end = _section(entries, _INSTANCES)
    _put_instances(
        data, starts, spans, is_there, row_splits, places[_TOKENS], width,
        entries[_INSTANCES * ENTRY_COLUMNS + NUM_FEATURES],
        places[_INSTANCES], stops[_INSTANCES], words[begin:end],
    )  # fmt: skip
    return largest_id, is_outside


@kernel
def _decode(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    spans: NDArray[np.int32],
    lengths: NDArray[np.int32],
    is_there: NDArray[np.bool_],
    row_splits: NDArray[np.int64],
    batch_splits: NDArray[np.int64],
    table: NDArray[np.int32],
    is_packed: bool,
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    words: NDArray[np.int32],
) -> tuple[Scalar, bool]:
    largest_id, is_outside = np.int64(0), False
    for batch in range(table.shape[0]):
        rows = row_splits[batch_splits[batch] : batch_splits[batch + 1] + 1]
        first, last = rows[0], rows[-1]
        largest, outside = _decode_batch(
            data, starts[first:last], spans[first:last], lengths[first:last], is_there[first:last],
            rows, table[batch], is_packed, places[:, : last - first], stops[:, : last - first],
            words,
        )  # fmt: skip
        largest_id, is_outside = max(largest_id, largest), is_outside or outside
    return largest_id, is_outside


def decode_records(
    block: RecordBlock,
    rows: Rows,
    layout: Layout,
    table: NDArray[np.int32],
    words: NDArray[np.int32],
) -> tuple[int, bool]:
    """Decode records into dense batches.

    Args:
      block: the records of all rows, in order.
      rows: which records make up which rows. One each, unless `is_packed(layout)`.
      layout: of the batches.
      table: int32[batches, 15], see `make_table`. A row of one record is cut off or padded with 0;
        rows of several records must fit.
      words: int32[any], filled as the table says.

    Returns:
      The largest id, where a number that is negative or above 2**31 - 1 counts as 2**32 - 1; and
      whether a position is outside the tokens of its row, or of its record in a packed row.
    """
    most = int(np.diff(rows.row_splits[rows.batch_splits]).max())
    places, stops = np.empty((2, 3, most), np.int64)
    largest_id, is_outside = _decode(
        block.data, block.starts, block.spans, block.lengths, rows.is_there, rows.row_splits,
        rows.batch_splits, table, is_packed(layout), places, stops, words,
    )  # fmt: skip
    return int(largest_id), bool(is_outside)
