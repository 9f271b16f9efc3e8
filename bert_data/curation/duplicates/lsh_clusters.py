"""Compare documents that share a bucket exactly, and join those that are similar.

    documents of a bucket, best first  0 3 7
    similarity of 0 and 3: 0.9, of 0 and 7: 0.4, of 3 and 7: 0.5; joined above 0.75: 0 3

Each document is compared with the representatives of the bucket, except those that it is already
joined to within the bucket. In a bucket of at most `NUM_REPRESENTATIVES` documents, all are
representatives, so every pair is compared or joined through others. In a larger one, a document
becomes a representative only if it was joined to none and there is room. So a bucket of n documents
costs at most n * NUM_REPRESENTATIVES comparisons, and which pairs are compared depends on nothing
but the bucket: its documents and their ranks.

Joined documents are union-find sets (Tarjan 1975, "Efficiency of a good but not linear set union
algorithm"; paths are halved as in Tarjan and van Leeuwen 1984), whose root is the smallest member,
in whatever order they were joined:

    parents 0 1 2 3 --join(3, 1)--> 0 1 2 1 --join(2, 3)--> 0 1 1 1     root of 2: 1
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.duplicates.minhash import jaccard
from bert_data.kernels import Scalar, inner, kernel
from bert_data.work.ranges import Batch, RangeReader
from bert_data.work.rounds import Rounds, Writers
from bert_data.work.sorted_records import Layout, RecordWriter, SortedRecords
from bert_data.work.sorting import distinct

EDGES = Layout(("node", "other"), num_keys=2)
ROOTS = Layout(("document", "root"), num_keys=1)
"""The root of each node that has an edge."""

_ONE = np.uint64(1)

_Numbers = NDArray[np.uint64]


def add_edges(writer: RecordWriter, one: _Numbers, other: _Numbers) -> None:
    """Write edges between nodes."""
    _add_both(writer, one, other, np.zeros(len(one), np.uint64))


def _add_both(writer: RecordWriter, one: _Numbers, other: _Numbers, is_leaf: _Numbers) -> None:
    """Write edges, with the bit that says whether `one` is a leaf."""
    writer.add(node=one, other=other << _ONE)
    writer.add(node=other, other=(one << _ONE) | is_leaf)


def find_components(rounds: Rounds, edges: SortedRecords) -> SortedRecords:
    """Return the root of each node, and remove the edges, which may repeat."""
    roots: list[SortedRecords] = []
    while edges.num_bytes > rounds.portion_bytes:
        small = rounds.over_ranges("small-stars", make_small_stars, edges, {"edges": EDGES})
        written = rounds.over_ranges(
            "large-stars", make_large_stars, small["edges"], {"edges": EDGES, "roots": ROOTS}
        )
        edges = written["edges"]
        roots.append(written["roots"])
    roots.append(rounds.over_ranges("join", join_in_memory, edges, {"roots": ROOTS})["roots"])
    return SortedRecords(ROOTS, tuple(file for records in roots for file in records.files))


def make_small_stars(reader: RangeReader, writers: Writers) -> None:
    """Connect each node and its smaller neighbours to the smallest of them."""
    for batch in reader.batches(1):
        node, other, least = _columns(batch)
        is_inner = (other < node) & (other != least) & _is_new(batch)
        add_edges(writers["edges"], other[is_inner], least[is_inner])
        is_first = (batch.places == 0) & (least < node)
        is_leaf = batch.lasts("other")[is_first] >> _ONE == least[is_first]
        _add_both(writers["edges"], node[is_first], least[is_first], is_leaf.astype(np.uint64))


def make_large_stars(reader: RangeReader, writers: Writers) -> None:
    """Connect the larger neighbours of each node to its smallest one; drop finished stars."""
    for batch in reader.batches(1, _leaf_bits):
        node, other, least = _columns(batch)
        is_larger = (other > node) & _is_new(batch)
        is_finished = (least == node) & (batch.totals == batch.sizes)
        is_moved, is_settled = is_larger & ~is_finished, is_larger & is_finished
        add_edges(writers["edges"], other[is_moved], least[is_moved])
        writers["roots"].add(document=other[is_settled], root=node[is_settled])
        is_root = is_finished & (batch.places == 0)
        writers["roots"].add(document=node[is_root], root=node[is_root])


def _is_new(batch: Batch) -> NDArray[np.bool_]:
    """Return whether each edge differs from the one before; buckets find the same ones."""
    is_new = np.ones(len(batch.records), bool)
    is_new[1:] = batch.records[1:] != batch.records[:-1]
    return is_new


def _leaf_bits(records: np.ndarray) -> _Numbers:
    return records["other"] & _ONE


def _columns(batch: Batch) -> tuple[_Numbers, _Numbers, _Numbers]:
    """Return the node, the neighbour, and the smallest of the node and all its neighbours."""
    node = batch.records["node"]
    return (node, batch.records["other"] >> _ONE, np.minimum(node, batch.firsts("other") >> _ONE))


def join_in_memory(reader: RangeReader, writers: Writers) -> None:
    """Find the components of all edges that are left; there is one range."""
    edges = reader.records()
    nodes = distinct(edges["node"])
    parents = np.arange(len(nodes))
    join_pairs(
        parents,
        np.searchsorted(nodes, edges["node"]),
        np.searchsorted(nodes, edges["other"] >> _ONE),
    )
    find_roots(parents)
    writers["roots"].add(document=nodes, root=nodes[parents])


NUM_REPRESENTATIVES = 64


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
    """Replace each member's parent, which is not larger than itself, by its root."""
    for member in range(len(parents)):
        parents[member] = parents[parents[member]]


@kernel
def join_pairs(
    parents: NDArray[np.int64], ones: NDArray[np.int64], others: NDArray[np.int64]
) -> None:
    """Merge the sets of members, pair by pair: int64[pairs] each."""
    for k in range(len(ones)):
        join(parents, ones[k], others[k])


class Bucket(NamedTuple):
    """The representatives of the bucket that is being compared; the kernel updates it.

    Attributes:
      members: int64[NUM_REPRESENTATIVES], their places.
      parents: int64[NUM_REPRESENTATIVES], union-find sets of those that are joined.
    """

    members: NDArray[np.int64]
    parents: NDArray[np.int64]


class BucketDocuments(NamedTuple):
    """Documents of buckets, bucket after bucket, best first in each.

    Attributes:
      shingles: uint64[any], of all documents, sorted within each.
      bounds: int64[documents + 1], where each document's shingles begin.
      begins: bool[documents], whether a bucket begins with the document.
      sizes: int64[documents], number of documents in its bucket.
    """

    shingles: NDArray[np.uint64]
    bounds: NDArray[np.int64]
    begins: NDArray[np.bool_]
    sizes: NDArray[np.int64]


class Compared(NamedTuple):
    """Result of comparing, written by the kernel.

    Attributes:
      pairs: int64[2 * documents, 2], places of documents that are joined.
      similarities: float64[documents, 2], the greatest similarity to a document that each was
        compared with, and to a better one; zeros before.
    """

    pairs: NDArray[np.int64]
    similarities: NDArray[np.float64]


@kernel
def compare_buckets(
    documents: BucketDocuments, threshold: float, num_carried: int, bucket: Bucket, out: Compared
) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Compare the documents of buckets, and join those above a threshold of similarity.

    Args:
      num_carried: number of documents at the front that are the representatives of a bucket that
        was begun before, and goes on.
      bucket: of these; afterwards, of the last bucket.

    Returns:
      Number of comparisons, of documents that met more dissimilar ones than there is room for, of
      pairs, and of representatives in the last bucket.
    """
    num_compared, num_crowded, num_pairs, num_kept = 0, 0, 0, num_carried
    for place in range(num_carried, len(documents.begins)):
        if documents.begins[place]:
            num_kept = 0
        shingles = documents.shingles[documents.bounds[place] : documents.bounds[place + 1]]
        own = -1
        for k in range(num_kept):
            root = find_root(bucket.parents, k)
            if own >= 0 and find_root(bucket.parents, own) == root:
                continue
            other = bucket.members[k]
            similarity = jaccard(
                shingles, documents.shingles[documents.bounds[other] : documents.bounds[other + 1]]
            )
            num_compared += 1
            out.similarities[place, 0] = max(out.similarities[place, 0], similarity)
            out.similarities[place, 1] = max(out.similarities[place, 1], similarity)
            out.similarities[other, 0] = max(out.similarities[other, 0], similarity)
            if similarity > threshold:
                out.pairs[num_pairs, 0] = place
                out.pairs[num_pairs, 1] = other
                num_pairs += 1
                if own < 0:
                    own = root
                else:
                    join(bucket.parents, own, root)
        if documents.sizes[place] <= len(bucket.members) or own < 0:
            if num_kept < len(bucket.members):
                bucket.members[num_kept] = place
                bucket.parents[num_kept] = num_kept if own < 0 else own
                num_kept += 1
            else:
                num_crowded += 1
    return num_compared, num_crowded, num_pairs, num_kept
