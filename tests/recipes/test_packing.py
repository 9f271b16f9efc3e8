"""Pieces of sequences that fill packed rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.planning.packed import pack_lengths
from bert_data.recipes.packing import LEAST_TOKENS, cut_into_pieces
from bert_data.recipes.recipe import Recipe, Stage
from bert_data.recipes.recipe_run import Run
from bert_data.tokens.store_writer import StoreWriter
from tests.recipes.stores import write_vocabulary

WIDTH = 64


def padding(lengths) -> float:
    rows = sum(each.num_rows for each in pack_lengths(np.bincount(lengths), WIDTH))
    return 1 - sum(lengths) / (rows * WIDTH)


@given(
    lengths=st.lists(st.integers(3, WIDTH), min_size=1, max_size=80),
    num_special=st.sampled_from([0, 2]),
)
def test_pieces_are_all_of_the_last_sequences(lengths, num_special):
    pieces = cut_into_pieces(np.array(lengths), WIDTH, num_special)
    at, cut = len(lengths) - len(set(pieces.sequences.tolist())), {}
    for sequence, offset, length in zip(*map(np.ndarray.tolist, pieces), strict=True):
        assert offset == cut.get(sequence, 0)
        cut[sequence] = offset + length
        assert length >= min(LEAST_TOKENS, lengths[sequence] - num_special)
        assert length + num_special <= WIDTH
    assert cut == {i: lengths[i] - num_special for i in range(at, len(lengths))}
    assert 2 * len(cut) <= len(lengths)


@pytest.mark.parametrize("num_special", [0, 2])
def test_little_room_is_left(num_special):
    """Lengths as of sentences that fill a row as far as they fit."""
    lengths = WIDTH - np.random.default_rng(1).integers(0, 25, 3000)
    pieces = cut_into_pieces(lengths, WIDTH, num_special)
    num_whole = lengths.size - np.unique(pieces.sequences).size
    filled = [*lengths[:num_whole].tolist(), *(pieces.lengths + num_special).tolist()]
    assert padding(lengths.tolist()) > 0.1
    assert padding(filled) < 0.015
    assert num_whole > 0.75 * lengths.size


@pytest.mark.slow
def test_windows_of_tiny_documents_end_with_a_full_batch(tmp_path):
    """A window has only a dozen batches of them, so a batch for a few rows would cost much."""
    lengths = np.random.default_rng(1).integers(1, 7, 1_300_000).astype(np.int32)
    with StoreWriter(str(tmp_path / "a"), np.dtype("<u2")) as writer:
        ends = np.arange(1, lengths.size + 1)
        writer.add(np.full(lengths.sum(), 9, "<u2"), lengths, ends)
    stage = Stage(epochs=1, max_seq_length=1024, batch_size=512, batching="packed")
    path = write_vocabulary(tmp_path)
    run = Run(Recipe(vocab_file=path, stores={"a": str(tmp_path / "a")}, stages=(stage,)))
    (of_run,) = run.stages
    assert of_run.num_windows == 2
    planned = of_run.planned(of_run.window(0))
    num_positions = planned.plan.num_batches * 512 * 1024
    assert planned.plan.num_batches > 8
    assert planned.lengths.sum() > 0.995 * num_positions
