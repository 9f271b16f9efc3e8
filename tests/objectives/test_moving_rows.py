"""Rows that were moved with their tokens stand for the same instances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.objectives.moving_rows import count_tokens, place_rows, take_rows

COVERS = ("kernels/prefetching", "objectives/prefetching")

WORDS = 9


@st.composite
def segments(draw) -> tuple[list[tuple[int, int, int, int]], int]:
    """(A begins, tokens of A, B begins, tokens of B) of some rows, and the tokens of the store."""
    num_tokens = draw(st.integers(1, 60))
    place = st.integers(0, num_tokens - 1)
    pairs = draw(st.lists(st.tuples(place, st.integers(0, 9), place, st.integers(0, 9))))
    return [
        (a, min(n, num_tokens - a), b, min(m, num_tokens - b)) for a, n, b, m in pairs
    ], num_tokens


def rows_of(places: list[tuple[int, int, int, int]]) -> np.ndarray:
    rows = np.zeros((len(places), WORDS), np.uint32)
    for number, (row, (a, n, b, m)) in enumerate(zip(rows, places, strict=True)):
        row[:5] = a & 0xFFFFFFFF, a >> 32, b & 0xFFFFFFFF, b >> 32, m << 16 | n
        row[5:] = number + 1
    return rows


def tokens_of(rows: np.ndarray, ids: np.ndarray) -> list[tuple[list[int], list[int], list[int]]]:
    """Tokens of A and B, and the other words, of each row."""
    tokens = []
    for row in rows.tolist():
        a, b, n, m = row[0] | row[1] << 32, row[2] | row[3] << 32, row[4] & 0xFFFF, row[4] >> 16
        tokens.append((ids[a : a + n].tolist(), ids[b : b + m].tolist(), row[5:]))
    return tokens


@given(segments(), st.randoms(), st.sampled_from(["<u2", "<i4"]), st.integers(0, 9))
def test_moved_rows_have_their_tokens(places, rng, dtype, before):
    pairs, num_tokens = places
    rows, ids = rows_of(pairs), np.arange(100, 100 + num_tokens).astype(dtype)
    ids.flags.writeable = False
    order = np.array(rng.sample(range(len(pairs)), len(pairs)), np.uint32)
    expected = [tokens_of(rows, ids)[i] for i in order]
    out = np.empty_like(rows)
    out_ids = np.empty(int(count_tokens(rows).sum()), dtype)
    take_rows(rows, order, ids, out, out_ids)
    assert tokens_of(out, out_ids) == expected
    moved = np.concatenate([np.zeros(before, dtype), out_ids])
    place_rows(out, before)
    assert tokens_of(out, moved) == expected


@pytest.mark.parametrize("begin", [0, 2**32 - 3, 2**40])
def test_places_beyond_32_bits(begin):
    rows = rows_of([(0, 2, 0, 3), (0, 4, 0, 0)])
    place_rows(rows, begin)
    begins = [(row[0] | row[1] << 32, row[2] | row[3] << 32) for row in rows.tolist()]
    assert begins == [(begin, begin + 2), (begin + 5, begin + 9)]
