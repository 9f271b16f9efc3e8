"""Buckets compared and joined, against the same in plain Python."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.duplicates import lsh_clusters
from bert_data.curation.duplicates.lsh_clusters import (
    Bucket,
    Compared,
    Documents,
    compare_buckets,
)

shingles = st.lists(st.frozensets(st.integers(0, 6), min_size=1), min_size=1, max_size=14)


def share(one, other):
    return len(one & other) / len(one | other)


def compare_plainly(bucket, threshold, room):
    """What the module's docstring says: (pairs, similarities, comparisons, crowded) of a bucket."""
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
        documents = Documents(
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
