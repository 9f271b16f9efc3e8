"""ELECTRA's sequences against their definition in plain Python."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.objectives.electra import ELECTRA
from bert_data.recipes.sequences.electra_segments import ElectraSource
from bert_data.recipes.sequences.opened_stores import key_of_name, open_stores
from bert_data.recipes.sequences.store_source import CutRule
from tests.hypotheses import examples
from tests.recipes.oracle import Keys, epoch_sequences
from tests.recipes.stores import many_documents, write_sentences

SEED = 5
DOCUMENTS = st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=60), min_size=1, max_size=9)

COVERS = ("objectives/electra",)


def open_source(path, longest, block=4, window=16) -> ElectraSource:
    return ElectraSource(
        open_stores({"name": path})["name"], CutRule(longest - 3, ELECTRA), SEED, block, window
    )


def segments_of(source, start, stop) -> list[tuple[int, list[int], list[int]]]:
    """(number, tokens of A, tokens of B) of sequences."""
    drawn, found = source.take(start, stop), []
    for number, a, a_length, b, b_length, _ in zip(*map(np.ndarray.tolist, drawn), strict=True):
        found.append((number, [*range(a, a + a_length), *range(b, b + b_length)], a_length))
    for i, begin, length, place in zip(*source.late_parts(drawn), strict=True):
        found[i][1][place : place + length] = range(begin, begin + length)
    return [(number, tokens[:length], tokens[length:]) for number, tokens, length in found]


def defined(documents, longest, epoch, block=4, window=16) -> list[tuple]:
    keys = Keys(SEED, key_of_name("name"), epoch)
    settings = {"objective": ELECTRA, "block": block, "window": window}
    found = epoch_sequences(documents, longest - 3, keys, **settings)
    return [(d.number, list(d.a), list(d.b)) for d in found]


@examples(40)
@given(documents=DOCUMENTS, longest=st.integers(5, 60), block=st.integers(1, 9))
def test_epochs_are_those_of_the_definition(tmp_path_factory, documents, longest, block):
    path = write_sentences(tmp_path_factory.mktemp("store") / "s", documents)
    source = open_source(path, longest, block)
    for epoch in range(2):
        expected = defined(documents, longest, epoch, block)
        start = epoch * source.num_sequences
        assert segments_of(source, start, start + len(expected)) == expected
        assert len(expected) == source.num_sequences


def test_any_part_of_several_stores_is_the_same_as_in_the_whole(tmp_path):
    for part in range(3):
        documents = [[], [0, 3, 0], *many_documents(part, 300), [2] * 3000, [0]]
        write_sentences(tmp_path / f"s-{part:05}-of-00003", documents)
    path = f"{tmp_path}/s@3"
    whole = open_source(path, 40, 128, 4096)
    total = whole.num_sequences
    rows = segments_of(whole, 0, 2 * total)
    assert total > 1000
    source = open_source(path, 40, 128, 4096)
    for start in (total - 20, 5, 399, 2 * total - 50):
        assert segments_of(source, start, start + 50) == rows[start : start + 50]
    tokens = Counter(itertools.chain(*(a + b for _, a, b in rows[:total])))
    assert max(tokens.values()) == 1
    num_tokens = whole.opened.num_tokens
    assert whole.tokens_a_sequence * total == pytest.approx(len(tokens), rel=0.01)
    assert 0.7 < len(tokens) / num_tokens < 0.97


def test_shares_are_those_of_electra(tmp_path):
    """One in 10 is a single segment, one in 20 short; epochs divide the same cuts anew."""
    documents = [[7, 5, 9, 3, 12, 4, 8] * 30 for _ in range(200)]
    source = open_source(write_sentences(tmp_path / "s", documents), 128)
    total = source.num_sequences
    first, second = (segments_of(source, e * total, (e + 1) * total) for e in range(2))
    full = [(a, b) for _, a, b in first if len(a) + len(b) > 123]
    assert np.mean([not b for a, b in full]) == pytest.approx(0.1, abs=0.02)
    assert 1 - len(full) / total == pytest.approx(0.05 + 200 / total, abs=0.02)
    assert {n: a[0] for n, a, _ in first} == {n: a[0] for n, a, _ in second}
    divided = {n: a for n, a, _ in second}
    assert np.mean([a == divided[n] for n, a, b in first]) < 0.7
    are_ranges = [a[-1] - a[0] == len(a) - 1 for a, b in full if b]
    assert 0.1 < np.mean(are_ranges) < 0.9
