"""Fill batches with sequences of token stores, and mask them.

    A  the cat      B  sat         ->  input_ids  [CLS] the [MASK] [SEP] sat [SEP]    predicts cat

Where things lie in a batch is a table, see `reader.layout`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.objectives.masking import MaskingRule
from bert_data.reader.layout import BEGIN, COLUMNS, NUM_FEATURES, ROWS, STRIDE
from bert_data.reader.remasking import MaskRoom, mask_room, mask_sequence
from bert_data.reader.splitmix import next_bits

_TOKENS, _PREDICTIONS, _INSTANCES = range(3)
_IDS, _MASK, _SEGMENTS, _POSITIONS, _NUMBERS = range(5)
_ONE = np.int32(np.float32(1).view(np.int32))


class RowSequences(NamedTuple):
    """The sequences of batches, row after row.

    Attributes:
      a_lengths, b_lengths: int32[sequences], tokens of A and B; none in an empty row.
      labels: int8[sequences].
      keys: uint64[sequences], that masks are drawn from.
      is_there: bool[sequences], false for an empty row.
      row_splits: int64[rows + 1], the sequences of each row; those of a row fit its width.
      batch_splits: int64[batches + 1], the rows of each batch.
    """

    a_lengths: NDArray[np.int32]
    b_lengths: NDArray[np.int32]
    labels: NDArray[np.int8]
    keys: NDArray[np.uint64]
    is_there: NDArray[np.bool_]
    row_splits: NDArray[np.int64]
    batch_splits: NDArray[np.int64]


class Form(NamedTuple):
    """What all batches of a stage have in common.

    Attributes:
      num_special: special tokens of a sequence: 0, or 1 and one for each segment.
      has_label: whether the first feature of instances is the label.
      is_packed: whether rows hold several sequences.
    """

    num_special: int
    has_label: bool
    is_packed: bool


@kernel
def gather_tokens(
    ids: NDArray[np.integer],
    begins: NDArray[np.int64],
    lengths: NDArray[np.int32],
    places: NDArray[np.int64],
    words: NDArray[np.int32],
) -> Scalar:
    """Copy ranges of a store to their places; return the largest id, 2**31 or more if negative."""
    largest = np.uint32(0)
    for i in range(begins.size):
        source, target = ids[begins[i] : begins[i] + lengths[i]], words[places[i] :]
        for k in range(source.size):
            target[k] = source[k]
            largest = max(largest, np.uint32(source[k]))
    return np.int64(largest)


@inner
def _set(words: NDArray[np.int32], begin: Scalar, end: Scalar, value: Scalar) -> None:
    part = words[begin:end]
    for k in range(part.size):
        part[k] = value


@inner
def _lay_sequence(
    filled: RowSequences,
    i: Scalar,
    form: Form,
    rule: MaskingRule,
    words: NDArray[np.int32],
    at: Scalar,
    stride: Scalar,
    number: Scalar,
) -> Scalar:
    """Write all of a sequence but its own tokens, from `at` on; return where it ends."""
    a, b = np.int64(filled.a_lengths[i]), np.int64(filled.b_lengths[i])
    end = at + a + b + form.num_special
    middle = end
    if form.num_special:
        words[at], words[end - 1] = rule.cls_id, rule.sep_id
    if form.num_special == 3:
        middle = at + 2 + a
        words[middle - 1] = rule.sep_id
    _set(words, at + _MASK * stride, end + _MASK * stride, 1)
    _set(words, at + _SEGMENTS * stride, middle + _SEGMENTS * stride, 0)
    _set(words, middle + _SEGMENTS * stride, end + _SEGMENTS * stride, 1)
    if form.is_packed:
        positions = words[at + _POSITIONS * stride : end + _POSITIONS * stride]
        for k in range(positions.size):
            positions[k] = k
        _set(words, at + _NUMBERS * stride, end + _NUMBERS * stride, number)
    return end


@inner
def _clear_instances(table: NDArray[np.int32], words: NDArray[np.int32]) -> None:
    stride = np.int64(table[_INSTANCES, STRIDE])
    size = np.int64(table[_INSTANCES, ROWS]) * table[_INSTANCES, COLUMNS]
    for number in range(table[_INSTANCES, NUM_FEATURES]):
        begin = table[_INSTANCES, BEGIN] + number * stride
        _set(words, begin, begin + size, 0)


@kernel
def _lay_out(
    filled: RowSequences,
    form: Form,
    rule: MaskingRule,
    table: NDArray[np.int32],
    places: NDArray[np.int64],
    words: NDArray[np.int32],
) -> None:
    """Write all but tokens and predictions; `places`, int64[sequences], is where tokens go."""
    for batch in range(table.shape[0]):
        own = table[batch]
        begin, stride = np.int64(own[_TOKENS, BEGIN]), np.int64(own[_TOKENS, STRIDE])
        width, first_row = np.int64(own[_TOKENS, COLUMNS]), filled.batch_splits[batch]
        _clear_instances(own, words)
        for row in range(own[_TOKENS, ROWS]):
            at = begin + row * width
            row_end, first = at + width, filled.row_splits[first_row + row]
            for i in range(first, filled.row_splits[first_row + row + 1]):
                places[i] = at
                if not filled.is_there[i]:
                    continue
                if form.has_label:
                    step = np.int64(own[_INSTANCES, STRIDE])
                    place = own[_INSTANCES, BEGIN] + row * np.int64(own[_INSTANCES, COLUMNS])
                    place += i - first
                    words[place], words[place + step] = filled.labels[i], _ONE
                    if form.is_packed:
                        words[place + 2 * step] = at + width - row_end
                at = _lay_sequence(filled, i, form, rule, words, at, stride, i - first + 1)
            for number in range(own[_TOKENS, NUM_FEATURES]):
                _set(words, at + number * stride, row_end + number * stride, 0)


@kernel
def _mask(
    filled: RowSequences,
    form: Form,
    rule: MaskingRule,
    table: NDArray[np.int32],
    places: NDArray[np.int64],
    room: MaskRoom,
    words: NDArray[np.int32],
) -> None:
    """Mask all sequences and write their predictions."""
    for batch in range(table.shape[0]):
        own = table[batch]
        begin, stride = np.int64(own[_PREDICTIONS, BEGIN]), np.int64(own[_PREDICTIONS, STRIDE])
        columns, first_row = np.int64(own[_PREDICTIONS, COLUMNS]), filled.batch_splits[batch]
        width = np.int64(own[_TOKENS, COLUMNS])
        for row in range(own[_TOKENS, ROWS]):
            place, row_end = begin + row * columns, begin + (row + 1) * columns
            row_begin = own[_TOKENS, BEGIN] + row * width
            for i in range(
                filled.row_splits[first_row + row], filled.row_splits[first_row + row + 1]
            ):
                if not filled.is_there[i]:
                    continue
                length = np.int64(filled.a_lengths[i]) + filled.b_lengths[i] + form.num_special
                _, key = next_bits(filled.keys[i])
                ids = words[places[i] : places[i] + length]
                num_chosen = mask_sequence(key, ids, rule, room)
                offset = places[i] - row_begin
                for k in range(num_chosen):
                    words[place + k] = offset + room.positions[k]
                    words[place + stride + k] = room.labels[k]
                    words[place + 2 * stride + k] = _ONE
                place += num_chosen
            for number in range(3):
                _set(words, place + number * stride, row_end + number * stride, 0)


def fill_batches(
    filled: RowSequences,
    form: Form,
    rule: MaskingRule,
    table: NDArray[np.int32],
    words: NDArray[np.int32],
    gather: Callable[[NDArray[np.int64], NDArray[np.int64]], None],
) -> None:
    """Fill batches.

    Args:
      table: int32[batches, 15], see `make_table`.
      words: int32[any], filled as the table says.
      gather: puts the tokens of A and of B of each sequence at the places that it is given.
    """
    entries, places = table.reshape(len(table), 3, -1), np.empty(filled.keys.size, np.int64)
    _lay_out(filled, form, rule, entries, places, words)
    a_places = places + int(form.num_special > 0)
    gather(a_places, a_places + filled.a_lengths + 1)
    longest = int((filled.a_lengths + filled.b_lengths).max(initial=0)) + form.num_special
    _mask(filled, form, rule, entries, places, mask_room(longest), words)
