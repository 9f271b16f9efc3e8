"""Rounded vectors and exact cosines, against whole numbers of Python."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.duplicates import unit_vectors
from bert_data.curation.duplicates.unit_vectors import MAX_DIMENSION, Nearest, round_to_unit
from tests.hypotheses import examples

Vector = tuple[int, ...]


def round_plainly(numbers) -> Vector:
    """The definition of `round_to_unit`, for one vector."""
    largest = max(map(abs, numbers))
    whole = [round(number / largest * 2.0**20) for number in numbers]
    factor = (4095 - math.sqrt(len(whole)) / 2) / math.sqrt(sum(each * each for each in whole))
    return tuple(round(each * factor) for each in whole)


def product(one: Vector, other: Vector) -> int:
    return sum(a * b for a, b in zip(one, other, strict=True))


def cosine(one: Vector, other: Vector) -> float:
    lengths = math.sqrt(product(one, one) * product(other, other))
    return min(max(product(one, other) / lengths, -1.0), 1.0)


def find_plainly(row: Vector, others) -> tuple[int, float]:
    """(Place of the most similar, cosine); the first of several, as far as float32 tells."""

    def ratio(other: Vector) -> np.float32:
        return np.float32(product(row, other)) * np.float32(1 / math.sqrt(product(other, other)))

    best = max(range(len(others)), key=lambda place: (ratio(others[place]), -place))
    return best, cosine(row, others[best])


numbers = st.floats(-1e300, 1e300) | st.sampled_from([0.0, 5e-324, 1.0, -1.0, 1.7e308])
rows = st.lists(numbers, min_size=1, max_size=9).filter(any)


@given(rows)
def test_rounding_is_that_of_the_definition(row):
    vector = round_to_unit(np.array([row]))
    assert vector.dtype == np.int16
    assert tuple(vector[0].tolist()) == round_plainly(row)


@pytest.mark.parametrize("dimension", [1, 2, 7, 768, 4096, MAX_DIMENSION])
@pytest.mark.parametrize("kind", ["normal", "equal", "one"])
def test_no_product_leaves_what_float32_holds_exactly(dimension, kind):
    draw = np.random.default_rng(dimension)
    vectors = {
        "normal": draw.normal(size=(20, dimension)),
        "equal": np.ones((1, dimension)) * draw.uniform(1, 9, (20, 1)),
        "one": np.eye(1, dimension) + 1e-9 * draw.normal(size=(20, dimension)),
    }[kind]
    rounded = round_to_unit(vectors).astype(np.int64)
    assert (np.abs(rounded) @ np.abs(rounded).T).max() <= 2**24
    exact = vectors @ vectors.T / np.outer(*2 * [np.linalg.norm(vectors, axis=1)])
    ours = rounded @ rounded.T / np.outer(*2 * [np.linalg.norm(rounded, axis=1)])
    assert np.abs(ours - exact).max() < 0.0006  # six standard deviations


def test_cosines_near_one_are_nearly_exact():
    """Of 768 numbers: far below what any threshold distinguishes."""
    draw = np.random.default_rng(3)
    one = draw.normal(size=(200, 768))
    other = one + 0.03 * draw.normal(size=one.shape)
    exact = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    pairs = zip(round_to_unit(one).tolist(), round_to_unit(other).tolist(), strict=True)
    ours = np.array([cosine(*pair) for pair in pairs])
    assert exact.min() > 0.999
    assert np.abs(ours - exact).max() < 2e-5


@examples(60)
@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.integers(1, 30),
    st.integers(1, 4),
    st.sampled_from([1, 3, 1024]),
)
def test_the_most_similar_is_found_in_any_portions(seed, num_rows, num_others, num_parts, tile):
    """Of 3 numbers in few directions, so that equal ones are many."""
    draw = np.random.default_rng(seed)
    vectors = round_to_unit(draw.integers(-2, 3, (num_rows + num_others, 3)) + 0.5)
    vectors, others = vectors[:num_rows], vectors[num_rows:]
    labels = draw.integers(0, 2**60, num_others).astype(np.uint64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unit_vectors, "TILE", tile)
        nearest = Nearest(vectors)
        for part in range(num_parts):
            chosen = slice(num_others * part // num_parts, num_others * (part + 1) // num_parts)
            nearest.compare(others[chosen], labels[chosen])
    plain = [find_plainly(row, others.tolist()) for row in vectors.tolist()]
    assert nearest.numbers.tolist() == [int(labels[place]) for place, _ in plain]
    assert nearest.similarities.tolist() == [value for _, value in plain]


@examples(60)
@given(st.integers(0, 10**6), st.integers(1, 20), st.sampled_from([1, 3, 1024]))
def test_each_row_is_compared_with_those_before_it(seed, num_rows, tile):
    draw = np.random.default_rng(seed)
    vectors = round_to_unit(draw.integers(-2, 3, (num_rows, 3)) + 0.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unit_vectors, "TILE", tile)
        nearest = Nearest(vectors)
        nearest.compare(vectors, np.arange(num_rows, dtype=np.uint64) + 7, only_before=True)
    plain = vectors.tolist()
    found = list(zip(nearest.numbers.tolist(), nearest.similarities.tolist(), strict=True))
    assert found[0] == (0, -1.0)
    for row, (number, value) in enumerate(found[1:], 1):
        assert (number - 7, value) == find_plainly(plain[row], plain[:row])
