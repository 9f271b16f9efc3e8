"""The masks of a sequence, drawn from a key alone.

    [CLS] the cat sat [SEP]    key of epoch 0 -> [CLS] the cat [MASK] [SEP]    predicts 3: sat
                               key of epoch 1 -> [CLS] [MASK] cat sat [SEP]    predicts 1: the

The rules are those that records are made with, see `bert_data.records.masking`. Nothing depends on
the batch, row, width or host of the sequence.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.kernels.declaring import trailing_zeros
from bert_data.reader.splitmix import next_below, next_unit
from bert_data.records.masking.choosing import choose_predictions
from bert_data.records.masking.rule import (
    NOT_PREDICTED,
    TOKENS_CODE,
    Draws,
    MaskingRule,
    MaskingScratch,
    count_doubtful,
    is_doubtful,
    list_ordinary,
    masking_scratch,
    size_at,
)
from bert_data.tokens.special_tokens import is_special


class MaskRoom(NamedTuple):
    """Scratch space for one sequence.

    Attributes:
      masking: of its tokens without special ones.
      positions, labels: int32[any], of its predictions.
      chosen: uint64[tokens / 64 + 1], bits of the chosen ones, all 0 between two sequences.
      counts: int64[3].
    """

    masking: MaskingScratch
    positions: NDArray[np.int32]
    labels: NDArray[np.int32]
    chosen: NDArray[np.uint64]
    counts: NDArray[np.int64]


@inner
def _leave(_: Scalar, key: np.uint64, order: NDArray[np.int32], size: Scalar) -> np.uint64:
    """Leave an order as it is: `_next_candidate` shuffles it as far as it is used."""
    return key


@inner
def _draw_size(_: Scalar, key: np.uint64, sizes: NDArray[np.float64]) -> tuple[Scalar, np.uint64]:
    key, unit = next_unit(key)
    return size_at(sizes, unit), key


@inner
def _draw_below(_: Scalar, key: np.uint64, limit: Scalar) -> tuple[Scalar, np.uint64]:
    key, value = next_below(key, limit)
    return value, key


@inner
def _draw_of_three(_: Scalar, key: np.uint64, p: float, q: float) -> tuple[Scalar, np.uint64]:
    key, unit = next_unit(key)
    return np.int64(unit >= p) + np.int64(unit >= p + (1 - p) * q), key


@inner
def _next_candidate(
    _: Scalar, key: np.uint64, order: NDArray[np.int32], place: Scalar, size: Scalar
) -> tuple[Scalar, np.uint64]:
    """Continue Fisher and Yates' shuffle from the front by one item."""
    key, ahead = next_below(key, size - place)
    candidate = order[place + ahead]
    order[place + ahead] = order[place]
    return np.int64(candidate), key


@inner
def _draw_masks(
    key: np.uint64, ids: NDArray[np.int32], rule: MaskingRule, room: MaskRoom
) -> Scalar:
    """Draw the masks of a sequence; return how many tokens are to be predicted.

    Args:
      ids: int32[tokens], unmasked.
      room: `places` and `shown` of `masking` are filled: the positions of ordinary tokens, and what
        is shown there.
    """
    num_tokens = list_ordinary(ids, np.int64(0), np.int64(0), rule, room.masking)
    draws = Draws(0, 0, _leave, _next_candidate, _draw_of_three, _draw_below, _draw_size)
    num_chosen, _ = choose_predictions(
        draws, key, num_tokens, rule.num_to_predict[ids.size], rule, room.masking, room.counts
    )
    return num_chosen


@inner
def _apply_masks(ids: NDArray[np.int32], num_chosen: Scalar, room: MaskRoom) -> None:
    """Show what was drawn; fill positions and labels, ascending."""
    shown, places = room.masking.shown, room.masking.places
    t = k = np.int64(0)
    while k < num_chosen:
        position, new_id = places[t], shown[t]
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
    num_doubtful, size = count_doubtful(ids, rule), np.int64(ids.size)
    first = last = np.int64(0)
    if size:
        first = np.int64(is_special(ids[0], rule.special))
    if size > 1:
        last = np.int64(is_special(ids[size - 1], rule.special))
    middle = size
    left, t = num_doubtful - first - last, first
    while left > 0:
        if is_doubtful(ids[t], rule):
            left -= 1
            if is_special(ids[t], rule.special):
                middle = t if middle == size else np.int64(-1)
        t += 1
    return size - first - last - np.int64(middle < size), first, middle


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
    order, shown, chosen = room.masking.order, room.masking.places, room.chosen
    for t in range(num_tokens):
        order[t] = t
    num_chosen = min(np.int64(rule.num_to_predict[ids.size]), num_tokens)
    share, rest = rule.mask_share, rule.mask_share + (1 - rule.mask_share) * rule.keep_of_rest
    for place in range(num_chosen):
        key, ahead = next_below(key, num_tokens - place)
        t = np.int64(order[place + ahead]) + first
        order[place + ahead] = order[place]
        t += np.int64(t >= middle)
        key, unit = next_unit(key)
        shown[t] = rule.mask_id if unit < share else ids[t]
        if unit >= rest:
            key, word = next_below(key, np.int64(rule.word_ids.size))
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
    if rule.code == TOKENS_CODE and rule.word_bits.size == 0 and rule.sizes.size > 0:
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
        positions=positions,
        labels=labels,
        chosen=np.zeros((most >> 6) + 1, np.uint64),
        counts=np.zeros(3, np.int64),
    )
