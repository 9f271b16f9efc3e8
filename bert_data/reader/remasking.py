"""Draw masks anew for each epoch, instead of those that records were made with, if any.

    record 5     [CLS] the [MASK] sat [SEP]    predicts 2: cat      as it is stored
    without      [CLS] the cat sat [SEP]
    epoch 0      [CLS] the cat [MASK] [SEP]    predicts 3: sat
    epoch 1      [CLS] [MASK] cat sat [SEP]    predicts 1: the

The rules are those that records are made with, see `bert_data.objectives.masking`. Masks depend on
(seed, epoch, number of the record) alone: not on the batch, row, width or host of the record, nor
on the masks that it was made with. For the same reason this is a kernel on NumPy arrays:
TensorFlow's operations would draw for padding, too, so that masks would depend on the width.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.kernels.declaring import trailing_zeros
from bert_data.objectives.masking import (
    NOT_PREDICTED,
    TOKENS,
    Draws,
    MaskingRule,
    MaskingScratch,
    masking_scratch,
    size_at,
)
from bert_data.objectives.masking_rules import choose_predictions
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.decode import Rows
from bert_data.reader.examples.example import LABELS, POSITIONS
from bert_data.reader.examples.number_lists import put_numbers
from bert_data.reader.layout import BEGIN, COLUMNS, ENTRY_COLUMNS, NUM_FEATURES, ROWS, STRIDE
from bert_data.reader.splitmix import draw_below, draw_unit, key_of, next_bits

_MASKS = 3  # what a key is for, besides those of `bert_data.reader.splitmix`
_ONE = np.int32(np.float32(1).view(np.int32))


class MaskRoom(NamedTuple):
    """Scratch space for one record.

    Attributes:
      masking: of its tokens without [CLS] and [SEP].
      places: int32[tokens], the position of each of those.
      positions, labels: int32[any], of its predictions, stored or drawn.
      chosen: uint64[tokens / 64 + 1], bits of the chosen ones, all 0 between two records.
      counts: int64[3].
    """

    masking: MaskingScratch
    places: NDArray[np.int32]
    positions: NDArray[np.int32]
    labels: NDArray[np.int32]
    chosen: NDArray[np.uint64]
    counts: NDArray[np.int64]


def masks_key(seed: int, epoch: int) -> np.uint64:
    """Return the key that the masks of an epoch are drawn from."""
    return key_of(seed, epoch, _MASKS)


@inner
def _undo_masks(
    block: RecordBlock, record: Scalar, room: MaskRoom, ids: NDArray[np.int32]
) -> tuple[Scalar, bool]:
    """Put a record's labels back at their positions.

    Returns:
      The largest label, and whether a position is outside of the record.
    """
    count = block.lengths[record, 1]
    starts, spans = block.starts[record : record + 1], block.spans[record : record + 1]
    begin, end = room.counts[:1], room.counts[1:2]
    begin[0], end[0] = 0, count
    positions, labels = room.positions[:count], room.labels[:count]
    put_numbers(block.data, starts, spans[:, POSITIONS], begin, end, False, positions)
    put_numbers(block.data, starts, spans[:, LABELS], begin, end, False, labels)
    largest_id, is_outside = np.int64(0), False
    for k in range(count):
        largest_id = max(largest_id, np.int64(np.uint32(room.labels[k])))
        position = np.int64(np.uint32(room.positions[k]))
        if position < ids.size:
            ids[position] = room.labels[k]
        else:
            is_outside = True
    return largest_id, is_outside


@inner
def _leave(_: Scalar, key: np.uint64, order: NDArray[np.int32], size: Scalar) -> np.uint64:
    """Leave an order as it is: `_next_candidate` shuffles it as far as it is used."""
    return key


@inner
def _draw_size(_: Scalar, key: np.uint64, sizes: NDArray[np.float64]) -> tuple[Scalar, np.uint64]:
    key, unit = draw_unit(key)
    return size_at(sizes, unit), key


@inner
def _draw_below(_: Scalar, key: np.uint64, limit: Scalar) -> tuple[Scalar, np.uint64]:
    key, value = draw_below(key, limit)
    return value, key


@inner
def _draw_of_three(_: Scalar, key: np.uint64, p: float, q: float) -> tuple[Scalar, np.uint64]:
    key, unit = draw_unit(key)
    return np.int64(unit >= p) + np.int64(unit >= p + (1 - p) * q), key


@inner
def _next_candidate(
    _: Scalar, key: np.uint64, order: NDArray[np.int32], place: Scalar, size: Scalar
) -> tuple[Scalar, np.uint64]:
    """Continue Fisher and Yates' shuffle from the front by one item."""
    key, ahead = draw_below(key, size - place)
    candidate = order[place + ahead]
    order[place + ahead] = order[place]
    return np.int64(candidate), key


@inner
def _draw_masks(
    key: np.uint64, ids: NDArray[np.int32], rule: MaskingRule, room: MaskRoom
) -> Scalar:
    """Draw the masks of a record; return how many tokens are to be predicted.

    Args:
      ids: int32[tokens], unmasked.
      room: `places` and `masking.shown` are filled: the positions of ordinary tokens, and what is
        shown there.
    """
    num_tokens = np.int64(0)
    for position in range(ids.size):  # without a branch on what a token is
        room.masking.tokens[num_tokens], room.places[num_tokens] = ids[position], position
        num_tokens += np.int64((ids[position] != rule.cls_id) & (ids[position] != rule.sep_id))
    a_length = num_tokens
    for t in range(1, num_tokens if rule.sizes.size > 1 else 0):
        if room.places[t] > room.places[t - 1] + 1:
            a_length = min(a_length, np.int64(t))
    draws = Draws(0, 0, _leave, _next_candidate, _draw_of_three, _draw_below, _draw_size)
    num_chosen, _ = choose_predictions(
        draws, key, num_tokens, a_length, rule.num_to_predict[ids.size], rule, room.masking,
        room.counts,
    )  # fmt: skip
    return num_chosen


@inner
def _apply_masks(ids: NDArray[np.int32], num_chosen: Scalar, room: MaskRoom) -> None:
    """Show what was drawn; fill positions and labels, ascending."""
    shown = room.masking.shown
    t = k = np.int64(0)
    while k < num_chosen:
        position, new_id = room.places[t], shown[t]
        room.positions[k], room.labels[k] = position, ids[position]
        ids[position] = new_id if new_id >= 0 else ids[position]
        k += np.int64(new_id != NOT_PREDICTED)
        shown[t] = NOT_PREDICTED
        t += 1


@inner
def _find_ordinary(ids: NDArray[np.int32], rule: MaskingRule) -> tuple[Scalar, Scalar, Scalar]:
    """Return how many tokens are ordinary ones, the first one, and the special one among them.

    The last one is ids.size if there is none, and -1 if there are several.
    """
    num_special, size = np.int64(0), np.int64(ids.size)
    for t in range(size):  # the processor compares many at once
        num_special += np.int64((ids[t] == rule.cls_id) | (ids[t] == rule.sep_id))
    first = last = np.int64(0)
    if size:
        first = np.int64((ids[0] == rule.cls_id) | (ids[0] == rule.sep_id))
    if size > 1:
        last = np.int64((ids[size - 1] == rule.cls_id) | (ids[size - 1] == rule.sep_id))
    between = num_special - first - last
    middle = size
    if between == 1:
        middle = first
        while (ids[middle] != rule.cls_id) & (ids[middle] != rule.sep_id):
            middle += 1
    elif between > 1:
        middle = np.int64(-1)
    return size - num_special, first, middle


@inner
def _mask_single(
    key: np.uint64,
    ids: NDArray[np.int32],
    num_tokens: Scalar,
    first: Scalar,
    middle: Scalar,
    rule: MaskingRule,
    room: MaskRoom,
) -> Scalar:
    """Do what `_draw_masks` and `_apply_masks` do for single tokens, without looking at each."""
    order, shown, chosen = room.masking.order, room.places, room.chosen
    for t in range(num_tokens):
        order[t] = t
    num_chosen = min(np.int64(rule.num_to_predict[ids.size]), num_tokens)
    share, rest = rule.mask_share, rule.mask_share + (1 - rule.mask_share) * rule.keep_of_rest
    for place in range(num_chosen):
        key, ahead = draw_below(key, num_tokens - place)
        t = np.int64(order[place + ahead]) + first
        order[place + ahead] = order[place]
        t += np.int64(t >= middle)
        key, unit = draw_unit(key)
        shown[t] = rule.mask_id if unit < share else ids[t]
        if unit >= rest:
            key, word = draw_below(key, np.int64(rule.word_ids.size))
            shown[t] = rule.word_ids[word]
        chosen[t >> 6] |= np.uint64(1) << np.uint64(t & 63)
    k = np.int64(0)
    for word in range((ids.size >> 6) + 1):
        bits, chosen[word] = chosen[word], np.uint64(0)
        while bits:
            t = (np.int64(word) << 6) + trailing_zeros(bits)
            bits &= bits - np.uint64(1)
            room.positions[k], room.labels[k] = t, ids[t]
            ids[t] = shown[t]
            k += 1
    return num_chosen


@inner
def mask_sequence(
    key: np.uint64, ids: NDArray[np.int32], rule: MaskingRule, room: MaskRoom
) -> Scalar:
    """Mask a sequence, int32[tokens], in place; return the number of predictions in `room`."""
    if rule.code == TOKENS and rule.word_bits.size == 0 and rule.sizes.size > 0:
        num_tokens, first, middle = _find_ordinary(ids, rule)
        if middle >= 0:
            return _mask_single(key, ids, num_tokens, first, middle, rule, room)
    num_chosen = _draw_masks(key, ids, rule, room)
    _apply_masks(ids, num_chosen, room)
    return num_chosen


def mask_room(most: int) -> MaskRoom:
    """Return scratch space for up to `most` tokens or predictions of a sequence."""
    positions, labels = np.empty((2, most + 1), np.int32)
    return MaskRoom(
        masking=masking_scratch(most + 1),
        places=np.empty(most + 1, np.int32),
        positions=positions,
        labels=labels,
        chosen=np.zeros((most >> 6) + 1, np.uint64),
        counts=np.zeros(3, np.int64),
    )


@kernel
def _mask_batches(
    block: RecordBlock,
    records: NDArray[np.int64],
    rows: Rows,
    key: np.uint64,
    rule: MaskingRule,
    table: NDArray[np.int32],
    room: MaskRoom,
    words: NDArray[np.int32],
) -> tuple[Scalar, bool]:
    largest_id, is_outside = np.int64(0), False
    for batch in range(table.shape[0]):
        entries = table[batch]
        num_rows, width = np.int64(entries[ROWS]), np.int64(entries[COLUMNS])
        tokens = words[entries[BEGIN] : entries[BEGIN] + num_rows * width]
        predictions = entries[ENTRY_COLUMNS : 2 * ENTRY_COLUMNS]
        columns, stride = np.int64(predictions[COLUMNS]), np.int64(predictions[STRIDE])
        out = words[predictions[BEGIN] :]
        for feature in range(predictions[NUM_FEATURES]):
            for k in range(num_rows * columns):
                out[feature * stride + k] = 0
        for row in range(num_rows):
            at, place = row * width, row * columns
            first = rows.batch_splits[batch] + row
            for i in range(rows.row_splits[first], rows.row_splits[first + 1]):
                ids = tokens[at : at + block.lengths[i, 0]]
                largest, outside = _undo_masks(block, i, room, ids)
                largest_id, is_outside = max(largest_id, largest), is_outside or outside
                _, record_key = next_bits(key + np.uint64(records[i]))
                num_chosen = mask_sequence(record_key, ids, rule, room)
                for k in range(num_chosen):
                    out[place + k] = at - row * width + room.positions[k]
                    out[stride + place + k] = room.labels[k]
                    out[2 * stride + place + k] = _ONE
                place += num_chosen
                at += block.lengths[i, 0]
    return largest_id, is_outside


def mask_anew(
    block: RecordBlock,
    records: NDArray[np.integer],
    rows: Rows,
    key: np.uint64,
    rule: MaskingRule,
    table: NDArray[np.int32],
    words: NDArray[np.int32],
) -> tuple[int, bool]:
    """Mask batches of decoded records, in place.

    Args:
      block: the records of all rows, in their order, with their stored lengths.
      table: int32[batches, 15], see `layout.make_table`. Rows hold the tokens of their records, and
        at least the sum of `rule.most_predictions` of predictions.
      words: int32[any], the batches: input_ids as stored, masked on return; the three features of
        predictions are written.

    Returns:
      The largest id of the tokens that were put back, where a number that is negative or above
        2**31 - 1 counts as 2**31 or more; and whether a record's stored position is outside of it.
    """
    longest, most = (int(length) for length in block.lengths.max(axis=0, initial=0))
    room = mask_room(max(longest, most))
    largest_id, is_outside = _mask_batches(
        block, records.astype(np.int64), rows, key, rule, table, room, words
    )
    return int(largest_id), bool(is_outside)
