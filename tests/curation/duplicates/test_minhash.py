"""Shingles and signatures, compared with what they mean in plain Python."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.duplicates import minhash

words = st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=40)
sets = st.frozensets(st.integers(0, 2**64 - 1), max_size=30)
M64 = 2**64 - 1


def mixed(value: int) -> int:
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & M64
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & M64
    return value ^ (value >> 31)


def hash_of(run: tuple[int, ...]) -> int:
    value = 0
    for word in run:
        value = (value * 0x9E3779B97F4A7C15 + word) & M64
    return mixed(value)


def shingles_of(hashes, left_out, size):
    out = np.full(len(hashes), 7, np.uint64)
    hashes = np.array(hashes, np.uint64).reshape(-1)
    return out[: minhash.make_shingles(hashes, np.array(left_out, bool), size, out)].tolist()


@given(words, st.integers(1, 7))
def test_shingles_are_the_runs_of_words_without_symbols(words, size):
    plain = [word for word, is_symbol in words if not is_symbol]
    size_here = min(size, len(plain))
    runs = [tuple(plain[i : i + size_here]) for i in range(len(plain) - size_here + 1) if plain]
    shingles = shingles_of([w for w, _ in words], [s for _, s in words], size)
    assert shingles == [hash_of(run) for run in runs]


@given(st.lists(st.integers(0, 5)))
def test_distinct_values_come_first(values):
    array = np.sort(np.array(values, np.uint64))
    assert array[: minhash.drop_repeated(array)].tolist() == sorted(set(values))


@given(sets, st.integers(1, 5), st.integers(1, 5))
def test_a_signature_is_the_minimum_under_each_permutation(shingles, num_bands, rows):
    multipliers, addends = minhash.permutations(num_bands * rows)
    signature = np.empty(num_bands * rows, np.uint32)
    keys = np.empty(num_bands, np.uint64)
    array = np.array(sorted(shingles), np.uint64)
    minhash.make_band_keys(array, multipliers, addends, signature, keys)
    plain = [
        min(((int(a) * x + int(b)) % 2**32 for x in shingles), default=2**32 - 1)
        for a, b in zip(multipliers, addends, strict=True)
    ]
    assert signature.tolist() == plain
    again = np.empty_like(keys)
    minhash.make_band_keys(array[::-1].copy(), multipliers, addends, signature, again)
    assert again.tolist() == keys.tolist()


@given(words, st.lists(st.integers(0, 40), max_size=6), st.integers(1, 4), st.integers(1, 3))
def test_units_are_done_as_documents_are(words, cuts, size, num_bands):
    """Some of the runs between cuts, as if each were a document."""
    bounds = sorted({min(cut, len(words)) for cut in cuts})
    spans = np.array(list(itertools.pairwise(bounds))[::2], np.int64).reshape(-1, 2)
    hashes = np.array([word for word, _ in words], np.uint64)
    left_out = np.array([is_symbol for _, is_symbol in words], bool)
    shingles, ends = np.empty(len(words), np.uint64), np.empty(len(spans), np.int64)
    minhash.make_unit_shingles(hashes, left_out, spans, size, shingles, ends)
    for start, end in itertools.pairwise([0, *ends.tolist()]):
        shingles[start:end].sort()
    permutations = minhash.permutations(2 * num_bands)
    signature = np.empty(2 * num_bands, np.uint32)
    keys = np.empty((len(spans), num_bands), np.uint64)
    minhash.make_unit_keys(shingles, ends, permutations, signature, keys)
    starts = [0, *ends.tolist()]
    for unit, (begin, end) in enumerate(spans.tolist()):
        alone = sorted(set(shingles_of(hashes[begin:end], left_out[begin:end], size)))
        assert shingles[starts[unit] : starts[unit + 1]].tolist() == alone
        expected = np.empty(num_bands, np.uint64)
        array = np.array(alone, np.uint64)
        minhash.make_band_keys(array, *permutations, signature, expected)
        assert keys[unit].tolist() == expected.tolist()


def test_bands_differ_where_one_of_their_rows_does():
    multipliers, addends = minhash.permutations(12)
    signature = np.empty(12, np.uint32)
    seen = []
    for value in range(200):
        keys = np.empty(4, np.uint64)
        array = np.array([mixed(value)], np.uint64)
        minhash.make_band_keys(array, multipliers, addends, signature, keys)
        seen += keys.tolist()
    assert len(set(seen)) == len(seen)


def test_permutations_are_permutations_and_never_change():
    multipliers, addends = minhash.permutations(112)
    assert (multipliers % 2 == 1).all()
    assert len(set(multipliers.tolist())) == len(set(addends.tolist())) == 112
    assert minhash.permutations(3)[0].tolist() == multipliers[:3].tolist()
    assert multipliers[:2].tolist() == [1871162585, 1692105007]
