"""What fits a row, how a row reads, and rows that are moved with their tokens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.objectives.rows import (
    Instance,
    check_row_fits,
    code_bits,
    count_tokens,
    decode_row,
    place_rows,
    take_rows,
)
from tests.objectives.corpora import TOKENS, vocabulary_of

COVERS = ("kernels/prefetching",)

WORDS = 9


@pytest.mark.parametrize(("size", "bits"), [(5, 3), (7, 3), (8, 4), (30_522, 15), (65_536, 17)])
def test_a_code_holds_every_id_and_the_word_that_says_kept(size, bits):
    assert code_bits(size) == bits
    assert (1 << bits) - 1 not in range(size)


def test_rows_that_do_not_fit_are_refused():
    check_row_fits(65_535, 65_535)
    check_row_fits(65_536 // 2, 65_536)
    with pytest.raises(
        ValueError, match="max_seq_length 32769 with a vocabulary of 65,536 entries"
    ):
        check_row_fits(32_769, 65_536)


def test_a_row_by_hand():
    vocabulary = vocabulary_of(TOKENS)
    ids = np.array([5, 6, 9, 10, 13, 15], np.uint16)
    kept = (1 << code_bits(len(TOKENS))) - 1
    bits = code_bits(len(TOKENS))
    row = [
        1,
        0,
        4,
        0,
        2 << 16 | 2,
        2 << 1 | 1,
        1 << bits | vocabulary.mask_id,
        4 << bits | kept,
        77,
    ]
    assert decode_row(np.array(row, np.uint32), ids, vocabulary) == Instance(
        ids=(2, 4, 9, 3, 13, 15, 3),
        segment_ids=(0, 0, 0, 0, 1, 1, 1),
        masked_positions=(1, 4),
        masked_ids=(6, 13),
        label=True,
    )


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
