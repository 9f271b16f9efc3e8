"""Rows of several sequences: those of a window that fill whole batches.

    rows of 12, lengths 9 8 9 11     (9 .) (8 .) (9 .) (11)     a quarter is empty
    11 in pieces of 3, 4, 3, 1       (9 3) (8 4) (9 3) (1)

Sequences that are cut at sentences seldom add up to a row. So the last sequences of a window are
cut into pieces, each as long as a row's empty end, and each a sequence of its own. Pairs of
segments cannot be cut: their rows keep empty ends. What fills no batch is left for the next window.
"""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, kernel
from bert_data.reader.planning import EpochPlan, PlanConfig, make_plan
from bert_data.reader.planning.packed import pack_lengths
from bert_data.recipes.sequences.store_source import DrawnSequences, mix_each

LEAST_TOKENS = 2  # of a piece


class SequencePieces(NamedTuple):
    """Pieces of sequences.

    Attributes:
      sequences: int64[pieces], what each is a piece of.
      offsets: int64[pieces], its first token there.
      lengths: int64[pieces], its tokens.
    """

    sequences: NDArray[np.int64]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]


class RowForm(NamedTuple):
    """What rows are filled with.

    Attributes:
      width: tokens of a row.
      batch_rows: rows of a batch.
      num_special: special tokens of each sequence and piece.
      cuts: whether sequences may be cut.
    """

    width: int
    batch_rows: int
    num_special: int
    cuts: bool


class PackedWindow(NamedTuple):
    """The rows of a window.

    Attributes:
      plan: its records are sequences below `num_whole`, and from there on pieces.
      pieces: of the sequences behind the whole ones.
      num_used: sequences, whole or in pieces; those behind them are left.
    """

    plan: EpochPlan
    num_whole: int
    pieces: SequencePieces
    num_used: int


class _Rows(NamedTuple):
    """Rows of sequences: int[records] their numbers, int64[rows + 1] splits."""

    records: NDArray[np.int32]
    splits: NDArray[np.int64]

    @property
    def number(self) -> int:
        return self.splits.size - 1


def pack_window(
    lengths: NDArray[np.int64], form: RowForm, seed: int, *, is_last: bool
) -> PackedWindow:
    """Pack the sequences of a window.

    Args:
      lengths: int64[sequences], with special tokens, at most `width`.
      seed: of the order of rows, and of the sequences of one length in them.
      is_last: whether all sequences are packed, and the last batch may be short. Otherwise all
        batches are full, and no row of them is empty.
    """
    if is_last:
        num_whole = lengths.size
        if form.cuts and num_whole > 1:
            num_whole = _most_whole(lengths, form)
        rows = _best_fit(lengths[:num_whole], form, seed)
        return _filled(lengths, rows, num_whole, form, None)
    all_rows = sum(each.num_rows for each in pack_lengths(np.bincount(lengths), form.width))
    full = int(lengths.sum()) // form.width if form.cuts else all_rows
    num_rows = full // form.batch_rows * form.batch_rows
    # A part of the sequences may take more rows than its share; those that it lacks are added.
    wanted = num_rows - math.isqrt(num_rows)
    while True:
        num_whole = lengths.size * wanted // all_rows
        rows = _best_fit(lengths[:num_whole], form, seed)
        lacking = num_rows - rows.number
        if lacking < 0:
            wanted = max(0, wanted + lacking)
        elif form.cuts or lacking <= lengths.size - num_whole:
            return _filled(lengths, rows, num_whole, form, num_rows)
        else:
            num_rows -= form.batch_rows
            wanted = min(wanted, num_rows)


def take_packed(
    packed: PackedWindow,
    of_source: NDArray[np.int16],
    drawn: DrawnSequences,
    keys: NDArray[np.uint64],
) -> tuple[NDArray[np.int16], DrawnSequences, NDArray[np.uint64]]:
    """Return the whole sequences of a window, and its pieces, each with a key of its own."""
    num_whole, pieces = packed.num_whole, packed.pieces
    picked = np.concatenate((np.arange(num_whole), pieces.sequences))
    drawn, keys = drawn.take(picked), keys[picked]
    if pieces.sequences.size:
        drawn.a_begins[num_whole:] += pieces.offsets
        drawn.a_lengths[num_whole:] = pieces.lengths
        own = keys[num_whole:]
        mix_each(own)
        own += pieces.offsets.astype(np.uint64)
    return of_source[picked], drawn, keys


def first_batches(plan: EpochPlan, number: int) -> EpochPlan:
    """Return a plan of packed rows up to a batch."""
    assert plan.row_splits is not None
    batch_splits = plan.batch_splits[: number + 1]
    row_splits = plan.row_splits[: batch_splits[-1] + 1]
    return dataclasses.replace(
        plan,
        records=plan.records[: row_splits[-1]],
        row_splits=row_splits,
        batch_splits=batch_splits,
        widths=plan.widths[:number],
    )


def _most_whole(lengths: NDArray[np.int64], form: RowForm) -> int:
    """Return how many sequences stay whole if the pieces of the others fill what is empty."""
    patterns = pack_lengths(np.bincount(lengths), form.width)
    rooms = [form.width - sum(length * count for length, count in each.items) for each in patterns]
    room = np.array(rooms) - form.num_special
    counts = np.array([each.num_rows for each in patterns])
    capacity = int((np.where(room < LEAST_TOKENS, 0, room) * counts).sum())
    # Rows become fewer by what is cut up, and so do their empty ends.
    num_tokens = int(lengths.sum()) - lengths.size * form.num_special
    return max(1, lengths.size * num_tokens // (num_tokens + capacity))


def _best_fit(lengths: NDArray[np.int64], form: RowForm, seed: int) -> _Rows:
    """Pack sequences, in a random order of rows, see `reader.planning.packed`."""
    if not lengths.size:
        return _Rows(np.zeros(0, np.int32), np.zeros(1, np.int64))
    config = PlanConfig(
        batching="packed", batch_size=form.batch_rows, max_seq_length=form.width,
        width=(form.width,), shuffle=True, seed=seed,
    )  # fmt: skip
    plan = make_plan(lengths, config).epoch(0)
    assert plan.row_splits is not None
    return _Rows(plan.records, plan.row_splits)


def _filled(
    lengths: NDArray[np.int64], packed: _Rows, num_whole: int, form: RowForm, num_rows: int | None
) -> PackedWindow:
    """Fill rows with the sequences behind those that they hold.

    Args:
      num_rows: there are to be, at least those that there are; None: as many as all need.
    """
    rest = lengths[num_whole:] - form.num_special
    if num_rows is None:
        most = rest.size + int(rest.sum()) // max(1, form.width - form.num_special - 1)
        added = packed.number + np.arange(most)
    else:  # evenly among the others
        most = num_rows - packed.number
        added = np.arange(most) * num_rows // max(1, most)
    rooms = np.full(packed.number + most, form.width, np.int64)
    is_added = np.zeros(rooms.size, np.bool_)
    is_added[added] = True
    sizes = np.zeros(rooms.size, np.int64)
    if packed.number:
        rooms[~is_added] -= np.add.reduceat(lengths[packed.records], packed.splits[:-1])
        sizes[~is_added] = np.diff(packed.splits)
    first = num_whole
    if form.cuts:
        others = _across_batches(rooms.size, form.batch_rows)
        others = others[~is_added[others]]
        order = (added, others) if num_rows is not None else (others, added)
        pieces, rows = cut_into(rest, np.concatenate(order), rooms, form.num_special)
        num_used = num_whole + (int(pieces.sequences[-1]) + 1 if rows.size else 0)
        pieces = pieces._replace(sequences=pieces.sequences + num_whole)
    else:  # each of the rows that are added gets one
        rows = added[: rest.size]
        num_whole = num_used = num_whole + rows.size
        pieces = SequencePieces(*np.zeros((3, 0), np.int64))
    filled = _insert(packed, sizes, rows, first)
    return PackedWindow(_plan_of(filled, form), num_whole, pieces, num_used)


def _across_batches(num_rows: int, batch_rows: int) -> NDArray[np.int64]:
    """Return the first rows of all batches, then the second ones, and so on.

    So the pieces of a sequence, which fill consecutive ones, go to different batches.
    """
    rows = np.arange(-(-num_rows // batch_rows) * batch_rows).reshape(-1, batch_rows).T.ravel()
    return rows[rows < num_rows]


def cut_into(
    lengths: NDArray[np.int64], order: NDArray[np.int64], rooms: NDArray[np.int64], num_special: int
) -> tuple[SequencePieces, NDArray[np.int64]]:
    """Cut sequences into pieces for the rooms of rows, which come in an order.

    Returns:
      The pieces, in the order of the sequences, and int64[pieces], the row of each.
    """
    order = order[rooms[order] >= num_special + LEAST_TOKENS]
    pieces = np.empty((4, lengths.size + order.size), np.int64)
    count = _cut(lengths, rooms[order], num_special, pieces)
    sequences, offsets, sizes, rows = pieces[:, :count]
    return SequencePieces(sequences, offsets, sizes), order[rows]


@kernel
def _cut(
    lengths: NDArray[np.int64],
    rooms: NDArray[np.int64],
    num_special: int,
    pieces: NDArray[np.int64],
) -> Scalar:
    """Cut sequences into pieces of the sizes of rooms, one after the other.

    Args:
      lengths: int64[sequences], without special tokens.
      rooms: int64[any], changed.
      pieces: int64[4, sequences + rooms], filled: sequences, offsets, lengths, rooms.

    Returns:
      The number of pieces, all of whole sequences; the first one that does not fit ends them.
    """
    count = room = np.int64(0)
    for sequence in range(lengths.size):
        begin, left = count, lengths[sequence]
        while left > 0 and room < rooms.size:
            size = min(rooms[room] - num_special, left)
            if 0 < left - size < LEAST_TOKENS:
                size = left - LEAST_TOKENS
            if size < min(LEAST_TOKENS, left):
                room += 1
                continue
            pieces[0, count], pieces[1, count] = sequence, lengths[sequence] - left
            pieces[2, count], pieces[3, count] = size, room
            rooms[room] -= size + num_special
            left -= size
            count += 1
        if left > 0:
            return begin
    return count


def _insert(packed: _Rows, sizes: NDArray[np.int64], rows: NDArray[np.int64], first: int) -> _Rows:
    """Return rows with more records, numbered from `first` on, each at the end of a row.

    Args:
      sizes: int64[any], the records of `packed` in each row, some of none; if no more come, rows
        are left out from there on.
      rows: int64[more records], the row of each.
    """
    ends, order = np.cumsum(sizes), np.argsort(rows, kind="stable")
    records = np.insert(packed.records, ends[rows[order]], first + order)
    sizes = sizes + np.bincount(rows, minlength=sizes.size)
    is_filled = sizes > 0
    return _Rows(records.astype(np.int32), np.concatenate(([0], np.cumsum(sizes[is_filled]))))


def _plan_of(rows: _Rows, form: RowForm) -> EpochPlan:
    num_batches = -(-rows.number // form.batch_rows)
    return EpochPlan(
        records=rows.records,
        row_splits=rows.splits,
        batch_splits=np.minimum(np.arange(num_batches + 1) * form.batch_rows, rows.number),
        widths=np.full(num_batches, form.width, np.int32),
    )


def batch_in_order(
    lengths: NDArray[np.int64], batch_tokens: int, width: int, *, is_last: bool
) -> EpochPlan:
    """Return batches of consecutive sequences, each one row, which the next one would not fit.

    Args:
      is_last: whether a last batch may be short.
    """
    splits = np.empty(lengths.size + 1, np.int64)
    splits = splits[: _split(lengths, batch_tokens, splits)]
    if is_last:
        splits = np.append(splits, lengths.size)
    num_batches = splits.size - 1
    return EpochPlan(
        records=np.arange(splits[-1], dtype=np.int32),
        row_splits=splits,
        batch_splits=np.arange(num_batches + 1),
        widths=np.full(num_batches, width, np.int32),
    )


@kernel
def _split(lengths: NDArray[np.int64], most: int, splits: NDArray[np.int64]) -> Scalar:
    """Fill the places where a batch begins, 0 first; return how many there are."""
    splits[0] = total = np.int64(0)
    count = np.int64(1)
    for i in range(lengths.size):
        if total + lengths[i] > most:
            splits[count] = i
            total = np.int64(0)
            count += 1
        total += lengths[i]
    return count
