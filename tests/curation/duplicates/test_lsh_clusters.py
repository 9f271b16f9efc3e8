"""Buckets compared and joined, against the same in plain Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.duplicates import lsh_clusters
from bert_data.curation.duplicates.lsh_clusters import (
    Clusters,
    Sets,
    find_roots,
    join_buckets,
    measure_kept,
)

shingles = st.lists(st.frozensets(st.integers(0, 6), min_size=1), min_size=1, max_size=12)


def share(one, other):
    return len(one & other) / len(one | other)


class Plain:
    """What the module's docstring says."""

    def __init__(self, sets, buckets, threshold, room):
        self.groups = [{n} for n in range(len(sets))]
        self.linked, self.unlinked = [0.0] * len(sets), [0.0] * len(sets)
        self.num_compared = self.num_crowded = 0
        for bucket in buckets:
            chosen = []
            for member in bucket:
                is_joined = False
                for other in chosen:
                    if self.group(member) is self.group(other):
                        is_joined = True
                        continue
                    self.num_compared += 1
                    value = share(sets[member], sets[other])
                    if value > threshold:
                        is_joined = True
                        joined = self.group(member) | self.group(other)
                        self.groups = [g for g in self.groups if not g & joined] + [joined]
                        for each in (member, other):
                            self.linked[each] = max(self.linked[each], value)
                    else:
                        self.unlinked[member] = max(self.unlinked[member], value)
                if len(bucket) <= room or not is_joined:
                    if len(chosen) < room:
                        chosen.append(member)
                    else:
                        self.num_crowded += 1

    def group(self, member):
        return next(group for group in self.groups if member in group)


@given(shingles, st.data(), st.sampled_from([0.2, 0.5, 0.8]), st.integers(1, 5))
def test_buckets_are_joined(sets, data, threshold, room):
    members = st.sets(st.integers(0, len(sets) - 1), min_size=2).map(sorted)
    buckets = data.draw(st.lists(members, max_size=4)) if len(sets) > 1 else []
    plain = Plain(sets, buckets, threshold, room)
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in sets])]).astype(np.int64)
    values = np.array([value for each in sets for value in sorted(each)], np.uint64)
    arrays = Sets(values, offsets[:-1], offsets[1:])
    clusters = Clusters(np.arange(len(sets)), np.zeros(len(sets)), np.zeros(len(sets)))
    counts = join_buckets(
        np.array([member for bucket in buckets for member in bucket], np.int64),
        np.concatenate([[0], np.cumsum([len(each) for each in buckets])]).astype(np.int64),
        arrays,
        threshold,
        np.empty(room, np.int64),
        clusters,
    )
    assert counts == (plain.num_compared, plain.num_crowded)
    find_roots(clusters.parents)
    roots = [min(plain.group(member)) for member in range(len(sets))]
    assert clusters.parents.tolist() == roots
    assert clusters.linked.tolist() == plain.linked
    assert clusters.unlinked.tolist() == plain.unlinked
    similarity = np.empty(len(sets))
    measure_kept(arrays, np.arange(len(sets)), threshold, clusters, similarity)
    for member, root in enumerate(roots):
        direct = share(sets[member], sets[root])
        if root == member:
            assert similarity[member] == plain.unlinked[member]
        else:
            expected = direct if direct > threshold else plain.linked[member]
            assert similarity[member] == expected


@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=40))
def test_the_root_is_the_smallest_of_those_that_are_joined(pairs):
    parents = np.arange(20)
    for one, other in pairs:
        one, other = (lsh_clusters.find_root.py_func(parents, each) for each in (one, other))
        parents[max(one, other)] = min(one, other)
    lsh_clusters.find_roots(parents)
    sets = [{member} for member in range(20)]
    for pair in pairs:
        joined = set().union(*(each for each in sets if each & set(pair)))
        sets = [each for each in sets if not each & joined] + [joined]
    assert all(parents[member] == min(each) for each in sets for member in each)
