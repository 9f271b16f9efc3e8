"""Fill batches with sequences of token stores, and mask them.

    A  the cat      B  sat         ->  input_ids  [CLS] the [MASK] [SEP] sat [SEP]    predicts cat

Where things lie in a batch is a table, see `reader.layout`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.objectives.masking import MaskingRule, masking_scratch
from bert_data.reader.layout import BEGIN, COLUMNS, NUM_FEATURES, ROWS, STRIDE
from bert_data.reader.remasking import MaskRoom, apply_masks, draw_masks
from bert_data.reader.splitmix import next_bits

_TOKENS, _PREDICTIONS, _INSTANCES = range(3)
_IDS, _MASK, _SEGMENTS, _POSITIONS, _NUMBERS = range(5)
_ONE = np.int32(np.float32(1).view(np.int32))


class Filled(NamedTuple):
    """The sequences of batches, row after row.

    Attributes:
      tokens: int32[any], those of A and B of each sequence.
      splits: int64[sequences + 1], where each one's tokens begin; an empty row has none.
      a_lengths: int32[sequences].
      labels: int8[sequences].
      keys: uint64[sequences], that masks are drawn from.
      is_there: bool[sequences], false for an empty row.
    """

    tokens: NDArray[np.int32]
    splits: NDArray[np.int64]
    a_lengths: NDArray[np.int32]
    labels: NDArray[np.int8]
    keys: NDArray[np.uint64]
    is_there: NDArray[np.bool_]


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
    tokens: NDArray[np.int32],
) -> None:
    """Copy ranges of a store to their places."""
    for i in range(begins.size):
        begin, place = begins[i], places[i]
        for k in range(lengths[i]):
            tokens[place + k] = ids[begin + k]


@inner
def _feature(
    words: NDArray[np.int32], table: NDArray[np.int32], section: Scalar, number: Scalar
) -> NDArray[np.int32]:
    size = np.int64(table[section, ROWS]) * table[section, COLUMNS]
    begin = table[section, BEGIN] + number * np.int64(table[section, STRIDE])
    return words[begin : begin + size]


@inner
def _clear(values: NDArray[np.int32]) -> None:
    for i in range(values.size):
        values[i] = 0


@inner
def _put_tokens(
    filled: Filled,
    i: Scalar,
    form: Form,
    rule: MaskingRule,
    ids: NDArray[np.int32],
    segments: NDArray[np.int32],
) -> None:
    """Write [CLS] A [SEP] B [SEP], or the tokens alone if there are no special ones."""
    begin, end = filled.splits[i], filled.splits[i + 1]
    if form.num_special == 0:
        for k in range(end - begin):
            ids[k], segments[k] = filled.tokens[begin + k], 0
        return
    a = np.int64(filled.a_lengths[i])
    ids[0], segments[0] = rule.cls_id, 0
    for k in range(a):
        ids[1 + k], segments[1 + k] = filled.tokens[begin + k], 0
    ids[1 + a], segments[1 + a] = rule.sep_id, 0
    if form.num_special == 3:
        for k in range(end - begin - a):
            ids[2 + a + k], segments[2 + a + k] = filled.tokens[begin + a + k], 1
        ids[ids.size - 1], segments[ids.size - 1] = rule.sep_id, 1


@inner
def _put_masks(
    key: np.uint64,
    ids: NDArray[np.int32],
    rule: MaskingRule,
    room: MaskRoom,
    table: NDArray[np.int32],
    place: Scalar,
    offset: Scalar,
    words: NDArray[np.int32],
) -> Scalar:
    """Mask a sequence, and write its predictions from `place` on; return how many there are."""
    num_chosen = draw_masks(key, ids, rule, room)
    apply_masks(ids, num_chosen, room)
    begin, stride = np.int64(table[_PREDICTIONS, BEGIN]), np.int64(table[_PREDICTIONS, STRIDE])
    for k in range(num_chosen):
        at = begin + place + k
        words[at] = offset + room.positions[k]
        words[at + stride] = room.labels[k]
        words[at + 2 * stride] = _ONE
    return num_chosen


@kernel
def _fill(
    filled: Filled,
    row_splits: NDArray[np.int64],
    batch_splits: NDArray[np.int64],
    form: Form,
    rule: MaskingRule,
    table: NDArray[np.int32],
    room: MaskRoom,
    words: NDArray[np.int32],
) -> None:
    for batch in range(table.shape[0]):
        own = table[batch]
        width, columns = np.int64(own[_TOKENS, COLUMNS]), np.int64(own[_PREDICTIONS, COLUMNS])
        per_row = np.int64(own[_INSTANCES, COLUMNS])
        for section in range(table.shape[1]):
            for number in range(own[section, NUM_FEATURES]):
                _clear(_feature(words, own, section, number))
        ids, mask = _feature(words, own, _TOKENS, _IDS), _feature(words, own, _TOKENS, _MASK)
        segments = _feature(words, own, _TOKENS, _SEGMENTS)
        for row in range(own[_TOKENS, ROWS]):
            at, place = row * width, row * columns
            first = row_splits[batch_splits[batch] + row]
            for i in range(first, row_splits[batch_splits[batch] + row + 1]):
                if not filled.is_there[i]:
                    continue
                length = filled.splits[i + 1] - filled.splits[i] + form.num_special
                tokens = ids[at : at + length]
                _put_tokens(filled, i, form, rule, tokens, segments[at : at + length])
                for k in range(at, at + length):
                    mask[k] = 1
                if form.is_packed:
                    positions = _feature(words, own, _TOKENS, _POSITIONS)
                    numbers = _feature(words, own, _TOKENS, _NUMBERS)
                    for k in range(length):
                        positions[at + k], numbers[at + k] = k, i - first + 1
                _, key = next_bits(filled.keys[i])
                place += _put_masks(key, tokens, rule, room, own, place, at - row * width, words)
                instance = np.int64(own[_INSTANCES, BEGIN]) + row * per_row + i - first
                stride = np.int64(own[_INSTANCES, STRIDE])
                if form.has_label:
                    words[instance] = filled.labels[i]
                    words[instance + stride] = _ONE
                    if form.is_packed:
                        words[instance + 2 * stride] = at - row * width
                at += length


def fill_batches(
    filled: Filled,
    row_splits: NDArray[np.int64],
    batch_splits: NDArray[np.int64],
    form: Form,
    rule: MaskingRule,
    table: NDArray[np.int32],
    words: NDArray[np.int32],
) -> None:
    """Fill batches.

    Args:
      row_splits: int64[rows + 1], the sequences of each row; those of a row fit its width.
      batch_splits: int64[batches + 1], the rows of each batch.
      table: int32[batches, 15], see `make_table`.
      words: int32[any], filled as the table says.
    """
    longest = int(np.diff(filled.splits).max(initial=0)) + form.num_special + 1
    positions, labels = np.empty((2, longest), np.int32)
    room = MaskRoom(
        masking=masking_scratch(longest),
        places=np.empty(longest, np.int32),
        positions=positions,
        labels=labels,
        counts=np.zeros(3, np.int64),
    )
    entries = table.reshape(len(table), 3, -1)
    _fill(filled, row_splits, batch_splits, form, rule, entries, room, words)
