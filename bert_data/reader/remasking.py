"""Masks drawn anew for each epoch, in place of those that records were made with, or of none.

    record 5     [CLS] the [MASK] sat [SEP]    predicts 2: cat      as it is stored
    without      [CLS] the cat sat [SEP]
    epoch 0      [CLS] the cat [MASK] [SEP]    predicts 3: sat
    epoch 1      [CLS] [MASK] cat sat [SEP]    predicts 1: the

The rule is the reference's (see `bert_data.objectives.masking`): how many tokens are predicted,
never [CLS] or [SEP], whole words on demand, and 80% [MASK], 10% the token itself, 10% a word of the
vocabulary. What is drawn depends on (seed, epoch, number of the record) alone: not on the batch,
the row, the width or the host that a record falls to, nor on the masks that it was made with.

It is a kernel on batches that are still NumPy's, as all of the reader is, and not TensorFlow's
operations: those would draw for padded rows, so that the width had a say in what is drawn.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.block import RecordBlock
from bert_data.reader.decode import Rows
from bert_data.reader.example import LABELS, POSITIONS
from bert_data.reader.masking_rule import MaskingRule
from bert_data.reader.number_lists import put_integers
from bert_data.reader.row_splits import put_word_starts
from bert_data.reader.sections import BEGIN, COLUMNS, ENTRY_COLUMNS, ROWS, SIZE
from bert_data.reader.splitmix import draw_below, draw_unit, key_of, next_bits

_MASKS = 3  # what a key is for, besides those of `bert_data.reader.planning.shuffling`
_ONE = np.int32(np.float32(1).view(np.int32))
_MASKED, _MASKED_OR_KEPT = 0.8, 0.9  # shares of the tokens to predict


class _Room(NamedTuple):
    """Room for one record: int32[tokens + 1] each; the last two for stored predictions, too."""

    candidates: NDArray[np.int32]
    starts: NDArray[np.int32]
    begins_word: NDArray[np.int32]
    new_ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    labels: NDArray[np.int32]


def masks_key(seed: int, epoch: int) -> np.uint64:
    """The key that the masks of an epoch are drawn from."""
    return key_of(seed, epoch, _MASKS)


@inner
def _undo_masks(
    data: NDArray[np.uint8],
    start: NDArray[np.int64],
    spans: NDArray[np.int32],
    count: Scalar,
    ends: NDArray[np.int64],
    room: _Room,
    ids: NDArray[np.int32],
) -> tuple[Scalar, bool]:
    """Puts a record's labels back at their positions.

    Returns:
      The largest label, and whether a position is outside of the record.
    """
    ends[0], ends[1] = 0, count
    put_integers(data, start, spans[:, POSITIONS], ends[:1], ends[1:], room.positions[:count])
    put_integers(data, start, spans[:, LABELS], ends[:1], ends[1:], room.labels[:count])
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
def _find_candidates(ids: NDArray[np.int32], rule: MaskingRule, room: _Room) -> Scalar:
    """Numbers the words that can be masked; returns how many there are.

    Word w is ids[starts[w] : starts[w] + candidates[w]], where `candidates` is used for its size. A
    word ends before [CLS] and [SEP], so a piece whose front truncation has cut off, behind [SEP],
    begins one.
    """
    num_words, is_open = np.int64(0), False
    if not rule.whole_words:
        for t in range(ids.size):  # without a branch on what a token is
            room.starts[num_words], room.candidates[num_words] = t, 1
            num_words += np.int64((ids[t] != rule.cls_id) & (ids[t] != rule.sep_id))
        return num_words
    for t in range(ids.size):
        if ids[t] == rule.cls_id or ids[t] == rule.sep_id:
            is_open = False
        elif is_open and not room.begins_word[t]:
            room.candidates[num_words - 1] += 1
        else:
            room.starts[num_words], room.candidates[num_words] = t, 1
            num_words += 1
            is_open = True
    return num_words


@inner
def _draw_masks(
    key: np.uint64, ids: NDArray[np.int32], wanted: Scalar, rule: MaskingRule, room: _Room
) -> Scalar:
    """Chooses words in random order and draws what stands in place of their tokens.

    The order is Fisher and Yates' shuffle from the front, as far as it is needed. A word larger
    than what is left is passed over.

    Args:
      key: of the record.
      ids: int32[tokens], unmasked.
      wanted: tokens to choose at most.
      rule: how to mask.
      room: new_ids is -1 everywhere; in return, what comes in place of each token that is chosen.

    Returns:
      How many tokens are chosen.
    """
    num_words = _find_candidates(ids, rule, room)
    num_chosen = np.int64(0)
    for i in range(num_words):
        if num_chosen >= wanted:
            break
        key, j = draw_below(key, num_words - i)
        j += i
        start, size = np.int64(room.starts[j]), np.int64(room.candidates[j])
        room.starts[j], room.candidates[j] = room.starts[i], room.candidates[i]
        if num_chosen + size > wanted:
            continue
        num_chosen += size
        for t in range(start, start + size):
            key, unit = draw_unit(key)
            room.new_ids[t] = rule.mask_id
            if unit >= _MASKED:
                room.new_ids[t] = ids[t]
            if unit >= _MASKED_OR_KEPT:
                key, word = draw_below(key, rule.word_ids.size)
                room.new_ids[t] = rule.word_ids[word]
    return num_chosen


@inner
def _apply_masks(ids: NDArray[np.int32], num_chosen: Scalar, room: _Room) -> None:
    """Masks what was chosen; fills positions and labels, ascending, and empties new_ids."""
    found = np.int64(0)
    for t in range(ids.size):
        if found == num_chosen:
            break
        new_id = room.new_ids[t]
        room.positions[found], room.labels[found] = t, ids[t]
        ids[t] = new_id if new_id >= 0 else ids[t]
        found += np.int64(new_id >= 0)
        room.new_ids[t] = -1


@kernel
def _mask_batches(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int32],
    spans: NDArray[np.int32],
    lengths: NDArray[np.int32],
    records: NDArray[np.int64],
    row_splits: NDArray[np.int64],
    batch_splits: NDArray[np.int64],
    key: np.uint64,
    rule: MaskingRule,
    table: NDArray[np.int32],
    room: _Room,
    ends: NDArray[np.int64],
    words: NDArray[np.int32],
) -> tuple[Scalar, bool]:
    largest_id, is_outside = np.int64(0), False
    for batch in range(table.shape[0]):
        entries = table[batch]
        rows, width = np.int64(entries[ROWS]), np.int64(entries[COLUMNS])
        tokens = words[entries[BEGIN] : entries[BEGIN] + rows * width]
        predictions = entries[ENTRY_COLUMNS : 2 * ENTRY_COLUMNS]
        columns = np.int64(predictions[COLUMNS])
        out = words[predictions[BEGIN] : predictions[BEGIN] + predictions[SIZE]]
        for k in range(out.size):
            out[k] = 0
        for row in range(rows):
            at, place = row * width, row * columns
            first = batch_splits[batch] + row
            for i in range(row_splits[first], row_splits[first + 1]):
                ids = tokens[at : at + lengths[i, 0]]
                largest, outside = _undo_masks(
                    data, starts[i : i + 1], spans[i : i + 1], lengths[i, 1], ends, room, ids
                )
                largest_id, is_outside = max(largest_id, largest), is_outside or outside
                if rule.whole_words:
                    end = starts[i] + sizes[i]
                    put_word_starts(data, starts[i], end, ids, rule.continues, room.begins_word)
                _, record_key = next_bits(key + np.uint64(records[i]))
                wanted = np.int64(rule.num_to_predict[ids.size]) if ids.size else np.int64(0)
                num_chosen = _draw_masks(record_key, ids, wanted, rule, room)
                _apply_masks(ids, num_chosen, room)
                for k in range(num_chosen):
                    out[place + k] = at - row * width + room.positions[k]
                    out[rows * columns + place + k] = room.labels[k]
                    out[2 * rows * columns + place + k] = _ONE
                place += num_chosen
                at += lengths[i, 0]
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
    """Masks batches that records have been decoded into, in place.

    Args:
      block: the records of all rows, in their order, with the lengths that they are stored with.
      records: int[records], their numbers in the set.
      rows: which records make which rows.
      key: see `masks_key`.
      rule: how to mask.
      table: int32[batches, 15], see `bert_data.reader.sections.make_table`. Rows hold the tokens of
        their records, and at least the sum of `rule.most_predictions` of predictions.
      words: int32[any], the batches: input_ids as records are stored in, masked in return; the
        three features of predictions are written.

    Returns:
      The largest id of the tokens that were put back, where a number that is negative or above
      2**31 - 1 counts as 2**32 - 1; and whether a record's stored position is outside of it.
    """
    longest, most = (int(length) for length in block.lengths.max(axis=0, initial=0))
    candidates, starts, begins_word = np.empty((3, longest + 1), np.int32)
    positions, labels = np.empty((2, max(longest, most) + 1), np.int32)
    room = _Room(
        candidates=candidates,
        starts=starts,
        begins_word=begins_word,
        new_ids=np.full(longest, -1, np.int32),
        positions=positions,
        labels=labels,
    )
    largest_id, is_outside = _mask_batches(
        block.data, block.starts, block.sizes, block.spans, block.lengths,
        records.astype(np.int64), rows.row_splits, rows.batch_splits, key, rule, table,
        room, np.empty(2, np.int64), words,
    )  # fmt: skip
    return int(largest_id), bool(is_outside)
