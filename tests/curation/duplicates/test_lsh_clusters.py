"""Buckets compared and joined, against the same in plain Python."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.duplicates import lsh_clusters
from bert_data.curation.duplicates.lsh_clusters import (
    EDGES,
    Bucket,
    BucketDocuments,
    Compared,
    add_edges,
    compare_buckets,
    find_components,
)
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.sorted_records import RecordWriter, SortedRecords
from tests.curation.corpora import make_rounds
from tests.hypotheses import examples

shingles = st.lists(st.frozensets(st.integers(0, 6), min_size=1), min_size=1, max_size=14)


def share(one, other):
    return len(one & other) / len(one | other)


def compare_plainly(bucket, threshold, room):
    """By the module's docstring: (pairs, similarities, comparisons, crowded) of a bucket."""
    groups = [{n} for n in range(len(bucket))]
    pairs, similarities, chosen, num_crowded = [], [[0.0, 0.0] for _ in bucket], [], 0
    num_compared = 0
    for member, own in enumerate(bucket):
        is_joined = False
        for other in chosen:
            group = next(group for group in groups if member in group)
            if other in group:
                continue
            value = share(own, bucket[other])
            num_compared += 1
            similarities[member] = [max(each, value) for each in similarities[member]]
            similarities[other][0] = max(similarities[other][0], value)
            if value > threshold:
                is_joined = True
                pairs.append((member, other))
                joined = group | next(group for group in groups if other in group)
                groups = [group for group in groups if not group & joined] + [joined]
        if len(bucket) <= room or not is_joined:
            if len(chosen) < room:
                chosen.append(member)
            else:
                num_crowded += 1
    return pairs, similarities, num_compared, num_crowded


def run_kernel(buckets, threshold, room, cuts):
    """Compares buckets in portions, which end after the documents in `cuts`."""
    bucket = Bucket(np.empty(room, np.int64), np.empty(room, np.int64))
    all_sets = [(each, k == 0, len(b)) for b in buckets for k, each in enumerate(b)]
    pairs, similarities = [], [[0.0, 0.0] for _ in all_sets]
    numbers, counts = [], [0, 0]
    for start, end in zip([0, *cuts], [*cuts, len(all_sets)], strict=True):
        num_carried = len(numbers)
        numbers = [*numbers, *range(start, end)]
        if not numbers:
            continue
        sets = [sorted(all_sets[n][0]) for n in numbers]
        documents = BucketDocuments(
            np.array(list(itertools.chain(*sets)), np.uint64),
            np.concatenate([[0], np.cumsum([len(each) for each in sets])]).astype(np.int64),
            np.array([all_sets[n][1] for n in numbers]),
            np.array([all_sets[n][2] for n in numbers]),
        )
        out = Compared(np.empty((2 * len(numbers), 2), np.int64), np.zeros((len(numbers), 2)))
        compared, crowded, num_pairs, num_kept = compare_buckets(
            documents, threshold, num_carried, bucket, out
        )
        counts = [counts[0] + compared, counts[1] + crowded]
        pairs += [(numbers[one], numbers[other]) for one, other in out.pairs[:num_pairs]]
        for number, values in zip(numbers, out.similarities.tolist(), strict=True):
            similarities[number] = [
                max(pair) for pair in zip(similarities[number], values, strict=True)
            ]
        numbers = [numbers[place] for place in bucket.members[:num_kept]]
        bucket.members[:num_kept] = np.arange(num_kept)
    return pairs, similarities, *counts


@given(
    st.lists(shingles, min_size=1, max_size=4),
    st.data(),
    st.sampled_from([0.2, 0.5, 0.8]),
    st.integers(1, 5),
)
def test_buckets_are_compared(buckets, data, threshold, room):
    total = sum(map(len, buckets))
    cuts = sorted(data.draw(st.sets(st.integers(0, total), max_size=3)))
    expected: tuple = ([], [], 0, 0)
    for bucket in buckets:
        pairs, similarities, compared, crowded = compare_plainly(bucket, threshold, room)
        before = len(expected[1])
        pairs = [(one + before, other + before) for one, other in pairs]
        earlier = expected
        expected = (
            earlier[0] + pairs,
            earlier[1] + similarities,
            earlier[2] + compared,
            earlier[3] + crowded,
        )
    assert run_kernel(buckets, threshold, room, cuts) == expected


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
