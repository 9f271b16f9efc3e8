"""Components of graphs, in tiny tasks, against merging sets in plain Python."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.duplicates.components import EDGES, add_edges, find_components
from bert_data.work import rounds as rounds_module
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.records import Records, RecordWriter
from bert_data.work.rounds import Rounds


def roots_of(folder, pairs, max_bytes, executor=None):
    """(Root of each node, rounds that it took.)"""
    writer = RecordWriter(EDGES, str(folder / "edges"), 300)
    ones, others = np.array(pairs, np.uint64).reshape(-1, 2).T
    add_edges(writer, ones, others)
    writer.flush()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds_module, "_MIN_BYTES", 1)
        patch.setattr(rounds_module, "_PROCESS_BYTES", 0)
        rounds = Rounds(str(folder / "rounds"), [], max_bytes, executor)
        roots = find_components(rounds, Records(EDGES, tuple(writer.files)))
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


@given(st.lists(pairs, max_size=40), st.sampled_from([64, 700, 3000, 10**6]))
def test_all_graphs(tmp_path_factory, pairs, max_bytes):
    roots, _ = roots_of(tmp_path_factory.mktemp("graph"), pairs, max_bytes)
    assert roots == plain_roots(pairs)


def chain(number):
    order = list(range(number))
    random.Random(1).shuffle(order)
    return list(itertools.pairwise(order))


@pytest.mark.parametrize(
    ("pairs", "most"),
    [
        ([(0, other) for other in range(1, 300)], 1),
        ([(300, other) for other in range(300)], 3),
        ([(2 * i, 2 * i + 1) for i in range(300)], 1),
        ([(i, i + 1) for i in range(200)], 12),
        (chain(300), 12),
        ([(i, j) for i in range(20) for j in range(i)] * 2, 3),
    ],
)
def test_few_rounds_are_enough(tmp_path, pairs, most):
    """One and no more for stars around their roots, though their edges do not fit into a task."""
    roots, num_rounds = roots_of(tmp_path, pairs, 16 * 100)
    assert roots == plain_roots(pairs)
    assert 1 <= num_rounds <= most
