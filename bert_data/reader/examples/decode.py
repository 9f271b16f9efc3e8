"""Decode records into dense batches.

    spans of records of 3, 5, 2 tokens, width 5  ->  input_ids  [[101 7592  102    0    0]
                                                                 [101 2023 2003 1037  102]
                                                                 [101  102    0    0    0]] ...

A table says where the features go, see `bert_data.reader.layout`. Rows may hold several records:

    row_splits 0 2 3, width 6   ->  input_ids     [[101 7592 102 101 102 0] [101 2023 2003 102 0 0]]
                                    instance_ids  [[  1    1   1   2   2 0] [  1    1    1   1 0 0]]
                                    position_ids  [[  0    1   2   0   1 0] [  0    1    2   3 0 0]]
"""

import functools
import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.number_lists import put_numbers
from bert_data.reader.layout import (
    AXES,
    BEGIN,
    COLUMNS,
    ENTRY_COLUMNS,
    NUM_FEATURES,
    ROWS,
    STRIDE,
    BatchLayout,
    is_float,
    is_packed,
    stored_fields,
)
from bert_data.records.fields import MADE_BY_READER, Role

_TOKENS, _PREDICTIONS, _INSTANCES = range(len(AXES))
_MASKED_POSITIONS = 0  # the first feature of predictions
# What packed rows add comes after the stored features of a section, in this order.
_POSITION_IDS, _INSTANCE_IDS = 0, 1
_NEXT_WEIGHTS, _NEXT_POSITIONS = 0, 1
_FEATURE, _HOLDS_FLOATS, _HOLDS_IDS = range(3)
_MADE = -1
_ONE = np.int32(np.float32(1).view(np.int32))


class Rows(NamedTuple):
    """The records that make up the rows of batches.

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
    section: Scalar,
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
            length = 1 if section == _INSTANCES else np.int64(lengths[record, section])
            places[record] = at
            stops[record] = min(end, at + length) if is_packed else end
            at = min(end, at + length)


@inner
def _largest(numbers: NDArray[np.int32]) -> Scalar:
    """Return the largest of some numbers; -1 counts as the largest possible."""
    largest = np.uint32(0)
    for i in range(numbers.size):
        largest = max(largest, np.uint32(numbers[i]))
    return np.int64(largest)


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
def _feature(
    words: NDArray[np.int32], table: NDArray[np.int32], section: Scalar, number: Scalar
) -> NDArray[np.int32]:
    """Return the numbers of a feature of a section, as a view."""
    size = np.int64(table[section, ROWS]) * table[section, COLUMNS]
    begin = table[section, BEGIN] + number * np.int64(table[section, STRIDE])
    return words[begin : begin + size]


@inner
def _number_instances(
    row_splits: NDArray[np.int64],
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    positions: NDArray[np.int32],
    numbers: NDArray[np.int32],
) -> None:
    """Fill position_ids and instance_ids of packed rows, whose tokens are at `places`."""
    for k in range(positions.size):
        positions[k], numbers[k] = 0, 0
    first = row_splits[0]
    for row in range(row_splits.size - 1):
        begin = row_splits[row] - first
        for record in range(begin, row_splits[row + 1] - first):
            for k in range(places[record], stops[record]):
                positions[k], numbers[k] = k - places[record], record - begin + 1


@inner
def _locate_instances(
    is_there: NDArray[np.bool_],
    token_places: NDArray[np.int64],
    width: Scalar,
    places: NDArray[np.int64],
    table: NDArray[np.int32],
    first_made: Scalar,
    words: NDArray[np.int32],
) -> None:
    """Fill next_sentence_weights and next_sentence_positions, if the batch has them."""
    for number in range(table[_INSTANCES, NUM_FEATURES] - first_made):
        values = _feature(words, table, _INSTANCES, first_made + number)
        for k in range(values.size):
            values[k] = 0
        for record in range(places.size):
            if number == _NEXT_POSITIONS:
                values[places[record]] = token_places[record] % width
            elif is_there[record]:
                values[places[record]] = _ONE


@inner
def _count_stored(section: NDArray[np.int64]) -> Scalar:
    """Count the features of a section that records hold; others follow them."""
    count = 0
    while count < section.shape[0] and section[count, _FEATURE] != _MADE:
        count += 1
    return count


@inner
def _decode_batch(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    spans: NDArray[np.int32],
    lengths: NDArray[np.int32],
    is_there: NDArray[np.bool_],
    row_splits: NDArray[np.int64],
    features: NDArray[np.int64],
    table: NDArray[np.int32],
    is_packed: bool,
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    words: NDArray[np.int32],
) -> tuple[Scalar, bool]:
    """Decode a batch; `table` has a row per section, `places` and `stops` are scratch space."""
    largest_id, width = np.int64(0), np.int64(table[_TOKENS, COLUMNS])
    for section in range(table.shape[0]):
        at, stop, columns = places[section], stops[section], np.int64(table[section, COLUMNS])
        _place_records(row_splits, lengths, section, columns, is_packed, at, stop)
        for number in range(_count_stored(features[section])):
            feature = features[section, number, _FEATURE]
            holds_floats = features[section, number, _HOLDS_FLOATS] != 0
            out = _feature(words, table, section, number)
            put_numbers(data, starts, spans[:, feature], at, stop, holds_floats, out)
            if features[section, number, _HOLDS_IDS]:
                largest_id = max(largest_id, _largest(out))
    if is_packed:
        made = _count_stored(features[_TOKENS])
        _number_instances(
            row_splits, places[_TOKENS], stops[_TOKENS],
            _feature(words, table, _TOKENS, made + _POSITION_IDS),
            _feature(words, table, _TOKENS, made + _INSTANCE_IDS),
        )  # fmt: skip
    made = _count_stored(features[_INSTANCES])
    _locate_instances(is_there, places[_TOKENS], width, places[_INSTANCES], table, made, words)
    is_outside = _settle_positions(
        _feature(words, table, _PREDICTIONS, _MASKED_POSITIONS), places[_TOKENS], stops[_TOKENS],
        width, places[_PREDICTIONS], stops[_PREDICTIONS], is_packed,
    )  # fmt: skip
    return largest_id, is_outside


@kernel
def _decode(
    block: RecordBlock,
    rows: Rows,
    features: NDArray[np.int64],
    table: NDArray[np.int32],
    is_packed: bool,
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    words: NDArray[np.int32],
) -> tuple[Scalar, bool]:
    largest_id, is_outside = np.int64(0), False
    for batch in range(table.shape[0]):
        row_splits = rows.row_splits[rows.batch_splits[batch] : rows.batch_splits[batch + 1] + 1]
        first, last = row_splits[0], row_splits[-1]
        largest, outside = _decode_batch(
            block.data, block.starts[first:last], block.spans[first:last],
            block.lengths[first:last], rows.is_there[first:last], row_splits, features,
            table[batch], is_packed,
            places[:, : last - first], stops[:, : last - first], words,
        )  # fmt: skip
        largest_id, is_outside = max(largest_id, largest), is_outside or outside
    return largest_id, is_outside


@functools.cache
def _features_of(layout: BatchLayout) -> NDArray[np.int64]:
    """Return int64[sections, most features, 3]: number in records, and whether floats, or ids."""
    stored = stored_fields(itertools.chain(*layout))
    features = np.full((len(layout), max(map(len, layout)), 3), _MADE)
    for section, row in zip(layout, features, strict=True):
        held = [field for field in section if field not in MADE_BY_READER]
        for number, field in enumerate(held):
            row[number] = stored.index(field), is_float(field), field.role is Role.IDS
    return features


def decode_records(
    block: RecordBlock,
    rows: Rows,
    layout: BatchLayout,
    table: NDArray[np.int32],
    words: NDArray[np.int32],
) -> tuple[int, bool]:
    """Decode records into dense batches.

    Args:
      rows: which records make up which rows. One each, unless `is_packed(layout)`.
      table: int32[batches, 15], see `make_table`. A row of one record is cut off or padded with 0;
        rows of several records must fit.
      words: int32[any], filled as the table says.

    Returns:
      The largest id, where a number that is negative or above 2**31 - 1 counts as 2**31 or more;
      and whether a position is outside the tokens of its row, or of its record in a packed row.
    """
    most = int(np.diff(rows.row_splits[rows.batch_splits]).max())
    places, stops = np.empty((2, 3, most), np.int64)
    entries = table.reshape(-1, len(layout), ENTRY_COLUMNS)
    largest_id, is_outside = _decode(
        block, rows, _features_of(layout), entries, is_packed(layout), places, stops, words
    )
    return int(largest_id), bool(is_outside)
