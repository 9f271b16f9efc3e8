"""Components of graphs, against the same in plain Python."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.duplicates import lsh_clusters
from bert_data.curation.duplicates.lsh_clusters import EDGES, add_edges, find_components
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.sorted_records import RecordWriter, SortedRecords
from tests.curation.corpora import make_rounds
from tests.hypotheses import examples


@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=40))
def test_the_root_is_the_smallest_of_those_that_are_joined(pairs):
    parents = np.arange(20)
    ones, others = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    lsh_clusters.join_pairs(parents, ones, others)
    lsh_clusters.find_roots(parents)
    sets = [{member} for member in range(20)]
    for pair in pairs:
        joined = set().union(*(each for each in sets if each & set(pair)))
        sets = [each for each in sets if not each & joined] + [joined]
    assert all(parents[member] == min(each) for each in sets for member in each)


def roots_of(folder, pairs, max_bytes):
    """(Root of each node, rounds that it took.)"""
    writer = RecordWriter(EDGES, str(folder / "edges"), 300)
    ones, others = np.array(pairs, np.uint64).reshape(-1, 2).T
    add_edges(writer, ones, others)
    writer.flush()
    rounds = make_rounds(folder / "rounds", [], max_bytes)
    roots = find_components(rounds, SortedRecords(EDGES, tuple(writer.files)))
    rows = RangeReader(roots, Range(), 10**6).records().tolist()
    assert len(dict(rows)) == len(rows)
    return dict(rows), len(list(folder.glob("rounds-*-small-stars")))


def plain_roots(pairs):
    groups: dict[int, set[int]] = {}
    for one, other in pairs:
        joined = groups.get(one, {one}) | groups.get(other, {other})
        groups.update((member, joined) for member in joined)
    return {member: min(group) for member, group in groups.items()}


nodes = st.one_of(st.integers(0, 12), st.integers(2**40, 2**40 + 12))
pairs = st.tuples(nodes, nodes).filter(lambda pair: pair[0] != pair[1])


@examples(40)
@given(st.lists(pairs, max_size=40), st.sampled_from([64, 700, 3000, 10**6]))
def test_all_graphs(tmp_path_factory, pairs, max_bytes):
    roots, _ = roots_of(tmp_path_factory.mktemp("graph"), pairs, max_bytes)
    assert roots == plain_roots(pairs)


def chain(number):
    order = list(range(number))
    random.Random(1).shuffle(order)
    return list(itertools.pairwise(order))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pairs", "most"),
    [
        ([(0, other) for other in range(1, 300)], 1),
        ([(300, other) for other in range(300)], 3),
        ([(2 * i, 2 * i + 1) for i in range(300)], 1),
        ([(i, i + 1) for i in range(120)], 12),
        (chain(150), 12),
        ([(i, j) for i in range(20) for j in range(i)] * 2, 3),
    ],
)
def test_few_rounds_are_enough(tmp_path, pairs, most):
    """One and no more for stars around their roots, though their edges do not fit into a task."""
    roots, num_rounds = roots_of(tmp_path, pairs, 16 * 100)
    assert roots == plain_roots(pairs)
    assert 1 <= num_rounds <= most
