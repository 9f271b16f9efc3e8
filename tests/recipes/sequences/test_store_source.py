"""The sequences of sources against their definition in plain Python."""

import contextlib
import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.recipes.sequences.opened_stores import key_of_name, open_stores
from bert_data.recipes.sequences.store_source import CutRule, StoreSource
from bert_data.records.objectives import OBJECTIVES
from tests.hypotheses import examples
from tests.recipes.oracle import Keys, cut_sentences, epoch_sequences
from tests.recipes.stores import many_documents, write_sentences

COVERS = ("recipes/sequences/cutting",)

SEED = 5
DOCUMENTS = st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=40), min_size=2, max_size=9)


def open_source(path, objective, room, block=4, window=16) -> StoreSource:
    cut = CutRule(room, OBJECTIVES.get(objective))
    opened = open_stores({"name": path}, contextlib.nullcontext)["name"]
    return StoreSource(opened, cut, SEED, block, window)


def defined(documents, objective, room, epoch, block=4, window=16) -> list[tuple]:
    keys = Keys(SEED, key_of_name("name"), epoch)
    asked = OBJECTIVES.get(objective)
    found = epoch_sequences(documents, room, keys, objective=asked, block=block, window=window)
    return [(d.number, d.a, list(d.b), d.label) for d in found]


def drawn_of(source: StoreSource, start: int, stop: int) -> list[tuple]:
    drawn = source.take(start, stop)
    rows = zip(*(values.tolist() for values in drawn), strict=True)
    return [
        (number, range(a, a + a_length), list(range(b, b + b_length)), bool(label))
        for number, a, a_length, b, b_length, label in rows
    ]


@pytest.mark.parametrize("objective", ["nsp", "sop", "none", "tokens"])
@examples(25)
@given(documents=DOCUMENTS, room=st.integers(2, 25), block=st.integers(1, 9))
def test_epochs_are_those_of_the_definition(tmp_path_factory, objective, documents, room, block):
    path = write_sentences(tmp_path_factory.mktemp("store") / "s", documents)
    if objective in ("nsp", "sop") and sum(map(sum, documents)) <= room:
        return
    source = open_source(path, objective, room, block)
    for epoch in range(2):
        expected = defined(documents, objective, room, epoch, block)
        start = epoch * source.num_sequences
        assert drawn_of(source, start, start + len(expected)) == expected
        assert len(expected) == source.num_sequences


def test_long_documents_are_cut_in_sections_and_found_by_the_index(tmp_path):
    documents = [[3, 50, 1, 9] * 200, [7], [2] * 3000, [400], *many_documents(3, 300)]
    path = write_sentences(tmp_path / "s", documents)
    for room in (10, 33):
        source = open_source(path, "none", room, 128, 1024)
        expected = defined(documents, "none", room, 3, 128, 1024)
        start = 3 * source.num_sequences
        assert drawn_of(source, start, start + len(expected)) == expected


def test_each_token_is_in_one_sequence_of_an_epoch_and_epochs_are_cut_anew(tmp_path):
    documents = many_documents(4, 200)
    num_tokens = sum(map(sum, documents))
    path = write_sentences(tmp_path / "s", documents)
    for objective in ("none", "tokens"):
        source, cuts = open_source(path, objective, 20), []
        for epoch in range(3):
            start = epoch * source.num_sequences
            ranges = [a for _, a, _, _ in drawn_of(source, start, start + source.num_sequences)]
            assert sorted(itertools.chain(*ranges)) == list(range(num_tokens))
            assert all(len(each) <= 20 for each in ranges)
            cuts.append({each.start for each in ranges})
        assert cuts[0] != cuts[1] != cuts[2]


def test_every_cut_that_leaves_enough_room_occurs():
    found = Counter()
    for epoch in range(400):
        cuts = cut_sentences([[5, 4, 6, 3, 7, 2]], 12, Keys(SEED, 1, epoch))
        found[tuple(len(each) for each in cuts)] += 1
    assert set(found) == {(1, 2, 3), (2, 1, 3), (2, 2, 2)}
    assert found[1, 2, 3] > 150 > 60 < found[2, 1, 3]


@pytest.mark.parametrize("objective", ["nsp", "sop"])
def test_half_of_the_pairs_are_from_elsewhere_or_swapped(tmp_path, objective):
    documents = [[4, 5, 3, 6, 4, 5] for _ in range(400)]
    path = write_sentences(tmp_path / "s", documents)
    source = open_source(path, objective, 30, 8, 256)
    rows = drawn_of(source, 0, 4 * source.num_sequences)
    share = sum(label for *_, label in rows) / len(rows)
    assert abs(share - 0.5) < 0.05
    follows = [b[0] == a.stop for _, a, b, label in rows if not label]
    assert all(follows)
    before = [b[-1] + 1 == a.start for _, a, b, label in rows if label]
    assert np.mean(before) > 0.99 if objective == "sop" else np.mean(before) < 0.01
    if objective == "nsp":
        tokens = Counter(itertools.chain(*(b for _, _, b, _ in rows[: source.num_sequences])))
        assert max(tokens.values()) == 1


def test_any_part_is_the_same_as_in_the_whole(tmp_path):
    path = write_sentences(tmp_path / "s", many_documents(6, 150))
    for objective in ("nsp", "none", "tokens"):
        whole = drawn_of(open_source(path, objective, 24), 0, 700)
        source = open_source(path, objective, 24)
        for start in (650, 3, 399, 128):
            assert drawn_of(source, start, start + 50) == whole[start : start + 50]


def test_several_stores_under_one_name(tmp_path):
    """Their sequences are numbered through, and none holds tokens of two stores."""
    sizes = []
    for part in range(3):
        documents = many_documents(part, 30)
        sizes.append(sum(map(sum, documents)))
        write_sentences(tmp_path / f"s-{part:05}-of-00003", documents)
    source = open_source(f"{tmp_path}/s@3", "none", 24)
    rows = drawn_of(source, 0, source.num_sequences)
    assert sorted(itertools.chain(*(a for _, a, _, _ in rows))) == list(range(sum(sizes)))
    bounds = list(itertools.accumulate(sizes))
    part_of = [np.searchsorted(bounds, [a.start, a.stop - 1], side="right") for _, a, _, _ in rows]
    assert all(first == last for first, last in part_of)
