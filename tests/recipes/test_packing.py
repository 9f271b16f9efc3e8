"""Packed rows of a window: what they hold and leave, and pieces that fill them."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.recipes.packing import (
    LEAST_TOKENS,
    RowForm,
    SequencePieces,
    batch_in_order,
    cut_into,
    pack_window,
)
from bert_data.recipes.recipe import Recipe, Stage
from bert_data.recipes.recipe_run import Run
from bert_data.tokens.store_writer import StoreWriter
from tests.recipes.stores import write_vocabulary

WIDTH = 64
FORMS = st.builds(
    RowForm, st.just(WIDTH), st.integers(1, 5), st.sampled_from([0, 2]), st.booleans()
)


def cut(lengths: list[int], rooms: list[int], num_special: int) -> list[tuple[int, ...]]:
    """What `cut_into` is defined as: (sequence, offset, length, room) of each piece."""
    found, room, left = [], 0, list(rooms)
    for sequence, length in enumerate(lengths):
        pieces, offset = [], 0
        while offset < length and room < len(rooms):
            rest = length - offset
            sizes = {rest, *range(LEAST_TOKENS, rest - LEAST_TOKENS + 1)}
            fitting = [size for size in sizes if size + num_special <= left[room]]
            if not fitting:
                room += 1
                continue
            pieces.append((sequence, offset, max(fitting), room))
            left[room] -= max(fitting) + num_special
            offset += max(fitting)
        if offset < length:
            break
        found += pieces
    return found


@given(
    lengths=st.lists(st.integers(1, WIDTH), max_size=20),
    rooms=st.lists(st.integers(0, WIDTH), max_size=20),
    num_special=st.sampled_from([0, 2]),
)
def test_pieces_are_those_of_the_definition(lengths, rooms, num_special):
    order = np.arange(len(rooms))
    pieces, rows = cut_into(np.array(lengths, np.int64), order, np.array(rooms), num_special)
    found = list(zip(*(each.tolist() for each in (*pieces, rows)), strict=True))
    assert found == cut(lengths, rooms, num_special)


def rows_of(packed: Any) -> list[list[int]]:
    """The records of each row."""
    splits = packed.plan.row_splits
    return [part.tolist() for part in np.split(packed.plan.records, splits[1:-1])]


def lengths_of(lengths: list[int], packed: Any, form: RowForm) -> np.ndarray:
    """The tokens of all that rows may hold: whole sequences, and pieces."""
    whole = lengths[: packed.num_whole]
    return np.array([*whole, *(packed.pieces.lengths + form.num_special)], np.int64)


def check_pieces(lengths: list[int], pieces: SequencePieces, first: int, form: RowForm) -> int:
    """Check that pieces are all of sequences from `first` on; return the one behind them."""
    done: dict[int, int] = {}
    for sequence, offset, length in zip(*map(np.ndarray.tolist, pieces), strict=True):
        assert offset == done.get(sequence, 0)
        done[sequence] = offset + length
        assert length >= min(LEAST_TOKENS, lengths[sequence] - form.num_special)
    assert list(done) == list(range(first, first + len(done)))
    assert all(lengths[each] - form.num_special == total for each, total in done.items())
    return first + len(done)


@given(
    lengths=st.lists(st.integers(3, WIDTH), min_size=1, max_size=80), form=FORMS,
    is_last=st.booleans(), seed=st.integers(0, 9),
)  # fmt: skip
def test_rows_hold_the_first_sequences_once(lengths, form, is_last, seed):
    packed = pack_window(np.array(lengths), form, seed, is_last=is_last)
    rows, sizes = rows_of(packed), lengths_of(lengths, packed, form)
    if packed.plan.num_batches:
        assert sorted(itertools.chain(*rows)) == list(range(sizes.size))
        assert all(row for row in rows)
        assert max(sizes[row].sum() for row in rows) <= WIDTH
    assert check_pieces(lengths, packed.pieces, packed.num_whole, form) == packed.num_used
    assert form.cuts or not packed.pieces.sequences.size
    if is_last:
        assert packed.num_used == len(lengths)
    else:
        num_rows = packed.plan.num_batches * form.batch_rows
        assert packed.plan.batch_splits.tolist() == list(range(0, num_rows + 1, form.batch_rows))
    again = pack_window(np.array(lengths), form, seed, is_last=is_last)
    assert rows_of(again) == rows


@pytest.mark.parametrize("num_special", [0, 2])
@pytest.mark.parametrize("is_last", [False, True])
def test_little_room_is_left(num_special, is_last):
    """Lengths as of sentences that fill a row as far as they fit."""
    lengths = WIDTH - np.random.default_rng(1).integers(0, 25, 3000)
    form = RowForm(WIDTH, 16, num_special, True)
    packed = pack_window(lengths, form, 1, is_last=is_last)
    num_rows = packed.plan.batch_splits[-1]
    assert lengths_of(lengths, packed, form).sum() > 0.99 * num_rows * WIDTH
    assert packed.num_whole > 0.7 * lengths.size
    assert lengths[packed.num_used :].sum() < 0.05 * lengths.sum()
    batches = np.searchsorted(packed.plan.batch_splits, np.arange(num_rows), side="right")
    of_pieces = {}
    for batch, row in zip(batches, rows_of(packed), strict=True):
        for piece in (record - packed.num_whole for record in row if record >= packed.num_whole):
            of_pieces.setdefault(packed.pieces.sequences[piece], []).append(batch)
    assert np.mean([len(set(each)) / len(each) for each in of_pieces.values()]) > 0.9


def test_pairs_leave_less_than_a_batch():
    lengths = np.random.default_rng(1).integers(20, WIDTH + 1, 3000)
    packed = pack_window(lengths, RowForm(WIDTH, 16, 3, False), 1, is_last=False)
    whole = pack_window(lengths, RowForm(WIDTH, 16, 3, False), 1, is_last=True)
    assert 0 <= whole.plan.num_batches - packed.plan.num_batches <= 1
    assert packed.num_used > 0.98 * lengths.size


@given(
    lengths=st.lists(st.integers(3, WIDTH), min_size=1, max_size=80),
    most=st.integers(WIDTH, 5 * WIDTH), is_last=st.booleans(),
)  # fmt: skip
def test_flat_batches_of_pairs_are_as_long_as_the_next_pair_allows(lengths, most, is_last):
    batches, batch = [], []
    for number, length in enumerate(lengths):
        if sum(lengths[each] for each in batch) + length > most:
            batches.append(batch)
            batch = []
        batch.append(number)
    batches += [batch] * is_last
    plan = batch_in_order(np.array(lengths), most, WIDTH, is_last=is_last)
    found = np.split(plan.records, plan.row_splits[1:-1]) if plan.num_batches else []
    assert [each.tolist() for each in found] == batches


@pytest.mark.slow
@pytest.mark.parametrize("batching", ["packed", "flat"])
@pytest.mark.parametrize("objective", ["none", "tokens"])
def test_only_the_last_batch_of_a_stage_is_short(tmp_path, batching, objective):
    """A window has only a dozen batches of tiny documents."""
    lengths = np.random.default_rng(1).integers(1, 7, 1_300_000).astype(np.int32)
    with StoreWriter(str(tmp_path / "a"), np.dtype("<u2")) as writer:
        ends = np.arange(1, lengths.size + 1)
        writer.add(np.full(lengths.sum(), 9, "<u2"), lengths, ends)
    stage = Stage(
        epochs=1, objective=objective, max_seq_length=1024, batch_size=512, batching=batching
    )
    path = write_vocabulary(tmp_path)
    run = Run(Recipe(vocab_file=path, stores={"a": str(tmp_path / "a")}, stages=(stage,)))
    (of_run,) = run.stages
    assert of_run.num_windows == (2 if objective == "none" else 1)
    tokens, carried = [], []
    for _, planned, before in of_run.windows(0, 0, None):
        of_rows = np.add.reduceat(
            planned.lengths[planned.plan.records], planned.plan.row_splits[:-1]
        )
        tokens += np.add.reduceat(of_rows, planned.plan.batch_splits[:-1]).tolist()
        carried.append(before)
    assert min(tokens[:-1]) > 0.995 * 512 * 1024
    assert max(tokens) <= 512 * 1024
    assert (carried[-1] > 0) == (objective == "none")
