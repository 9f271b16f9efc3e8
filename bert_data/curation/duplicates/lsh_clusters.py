"""Compare documents that share a bucket exactly, and join those that are similar.

    members of buckets, best first   | 0 3 7 | 2 3 |        documents by their rank
    similarity of 0 and 3: 0.9, of 0 and 7: 0.4, of 3 and 7: 0.5, of 2 and 3: 0.8
    joined above 0.75:  0 3 2        7 stays alone, at most 0.5 like a better one

A bucket is processed best document first. Each document is compared with the representatives of
the bucket, except those it is already joined to. In a bucket of at most `NUM_REPRESENTATIVES`
documents, all are representatives, so every pair is compared. In a larger one, a document becomes
a representative only if it was joined to none and there is room. So a bucket of n documents costs
at most n * NUM_REPRESENTATIVES comparisons, and the result depends on the documents' ranks alone.

Joined documents are union-find sets (Tarjan 1975, "Efficiency of a good but not linear set union
algorithm"; paths are halved as in Tarjan and van Leeuwen 1984), whose root is the smallest member,
the best document, in whatever order they were joined:

    parents 0 1 2 3 --join(3, 1)--> 0 1 2 1 --join(2, 3)--> 0 1 1 1     root of 2: 1
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.duplicates.minhash import jaccard
from bert_data.kernels import Scalar, inner, kernel


@inner
def find_root(parents: NDArray[np.int64], member: Scalar) -> Scalar:
    """Return the root of a member's set, and shorten the path to it."""
    while parents[member] != member:
        parents[member] = parents[parents[member]]
        member = parents[member]
    return member


@inner
def join(parents: NDArray[np.int64], one: Scalar, other: Scalar) -> None:
    """Merge two members' sets."""
    one = find_root(parents, one)
    other = find_root(parents, other)
    if one < other:
        parents[other] = one
    else:
        parents[one] = other


@kernel
def find_roots(parents: NDArray[np.int64]) -> None:
    """Replace each member's parent by its root.

    Args:
      parents: int64[members], in [0, members), each <= its own number.
    """
    for member in range(len(parents)):
        parents[member] = parents[parents[member]]


NUM_REPRESENTATIVES = 64


class Sets(NamedTuple):
    """The shingles of documents, by rank.

    Attributes:
      shingles: uint64[any], sorted within each document.
      starts, ends: int64[documents], the range of each document; empty if no comparison needs it.
    """

    shingles: NDArray[np.uint64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class Clusters(NamedTuple):
    """The joined documents; the kernel updates them.

    Attributes:
      parents: int64[documents], see `find_root`.
      linked: float64[documents], similarity to the most similar document that each was joined to.
      unlinked: float64[documents], greatest similarity to a better document that each was compared
        with and not joined to.
    """

    parents: NDArray[np.int64]
    linked: NDArray[np.float64]
    unlinked: NDArray[np.float64]


@kernel
def join_buckets(
    members: NDArray[np.int64],
    bounds: NDArray[np.int64],
    sets: Sets,
    threshold: float,
    representatives: NDArray[np.int64],
    clusters: Clusters,
) -> tuple[Scalar, Scalar]:
    """Compare the documents of buckets, and join those above a threshold of similarity.

    Args:
      members: int64[any], ranks of documents, bucket after bucket, increasing in each.
      bounds: int64[buckets + 1], where each bucket begins.
      sets: of the members.
      threshold: documents with a greater similarity are joined.
      representatives: int64[NUM_REPRESENTATIVES], scratch space.
      clusters: updated.

    Returns:
      The number of comparisons, and the number of documents that met more dissimilar ones than
      there is room for.
    """
    num_compared, num_crowded = 0, 0
    for bucket in range(len(bounds) - 1):
        is_small = bounds[bucket + 1] - bounds[bucket] <= len(representatives)
        num_kept = 0
        for place in range(bounds[bucket], bounds[bucket + 1]):
            member = members[place]
            is_joined = False
            for k in range(num_kept):
                other = representatives[k]
                roots = find_root(clusters.parents, member), find_root(clusters.parents, other)
                if roots[0] == roots[1]:
                    is_joined = True
                    continue
                similarity = jaccard(
                    sets.shingles[sets.starts[member] : sets.ends[member]],
                    sets.shingles[sets.starts[other] : sets.ends[other]],
                )
                num_compared += 1
                if similarity > threshold:
                    is_joined = True
                    join(clusters.parents, member, other)
                    clusters.linked[member] = max(clusters.linked[member], similarity)
                    clusters.linked[other] = max(clusters.linked[other], similarity)
                else:
                    clusters.unlinked[member] = max(clusters.unlinked[member], similarity)
            if is_small or not is_joined:
                if num_kept < len(representatives):
                    representatives[num_kept] = member
                    num_kept += 1
                else:
                    num_crowded += 1
    return num_compared, num_crowded


@kernel
def measure_kept(
    sets: Sets,
    twins: NDArray[np.int64],
    threshold: float,
    clusters: Clusters,
    out: NDArray[np.float64],
) -> None:
    """Measure how similar each document is to the kept one of its cluster.

    Args:
      sets: of all documents that are joined to others.
      twins: int64[documents], the first document with the same shingles, which `sets` holds.
      threshold: as for `join_buckets`.
      clusters: whose parents are roots.
      out: float64[documents], written: the similarity to the kept document. For a document that is
        joined to it only through others and is not above the threshold, the similarity to the most
        similar one it was joined to; for a kept one, to the most similar better document.
    """
    for member in range(len(twins)):
        twin = twins[member]
        root = clusters.parents[twin]
        if twin != member:
            out[member] = 1.0 if root == twin else out[twin]
        elif root == member:
            out[member] = clusters.unlinked[member]
        else:
            similarity = jaccard(
                sets.shingles[sets.starts[member] : sets.ends[member]],
                sets.shingles[sets.starts[root] : sets.ends[root]],
            )
            out[member] = similarity if similarity > threshold else clusters.linked[member]
