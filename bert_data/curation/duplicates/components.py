"""Find the connected components of any number of edges, in rounds of bounded memory.

    edges 1-5, 5-3, 8-9  ─▶  roots  1: 1, 3: 1, 5: 1, 8: 8, 9: 8    the smallest number of each

Alternating large stars and small stars (Kiveris et al. 2014, "Connected components in MapReduce and
beyond"): a small star connects the smaller neighbours of a node, and the node, to the smallest of
them; a large star does so with the larger neighbours. After few rounds each component is a star
around its root. A star that nothing can change any more is dropped at once, and once the edges that
are left fit into one task, it joins them in memory.

Each edge is there twice, once for each end. The lowest bit of `other` says that the other node has
no further neighbour: only a small star knows that, as it sees all neighbours of a node. A node
without smaller neighbours whose neighbours all say so is the root of a finished star.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.duplicates.lsh_clusters import find_roots, join_pairs
from bert_data.work.ranges import Batch, RangeReader
from bert_data.work.records import Layout, Records, RecordWriter
from bert_data.work.rounds import Rounds, Writers

EDGES = Layout(("node", "other"), num_keys=2)
ROOTS = Layout(("document", "root"), num_keys=1)
"""The root of each node that has an edge."""

_ONE = np.uint64(1)

Numbers = NDArray[np.uint64]


def add_edges(writer: RecordWriter, one: Numbers, other: Numbers) -> None:
    """Write edges between nodes."""
    _add_both(writer, one, other, np.zeros(len(one), np.uint64))


def _add_both(writer: RecordWriter, one: Numbers, other: Numbers, is_leaf: Numbers) -> None:
    """Write edges, with the bit that says whether `one` is a leaf."""
    writer.add(node=one, other=other << _ONE)
    writer.add(node=other, other=(one << _ONE) | is_leaf)


def find_components(rounds: Rounds, edges: Records) -> Records:
    """Return the root of each node, and remove the edges.

    Args:
      edges: as `add_edges` writes them; they may repeat.
    """
    roots: list[Records] = []
    while edges.num_bytes > rounds.portion_bytes:
        small = rounds.over_ranges("small-stars", make_small_stars, edges, {"edges": EDGES})
        rounds.remove(edges)
        written = rounds.over_ranges(
            "large-stars", make_large_stars, small["edges"], {"edges": EDGES, "roots": ROOTS}
        )
        rounds.remove(small["edges"])
        edges = written["edges"]
        roots.append(written["roots"])
    roots.append(rounds.over_ranges("join", join_in_memory, edges, {"roots": ROOTS})["roots"])
    rounds.remove(edges)
    return Records(ROOTS, tuple(file for records in roots for file in records.files))


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


def _leaf_bits(records: np.ndarray) -> Numbers:
    return records["other"] & _ONE


def _columns(batch: Batch) -> tuple[Numbers, Numbers, Numbers]:
    """Return the node, the neighbour, and the smallest of the node and all its neighbours."""
    node = batch.records["node"]
    return (node, batch.records["other"] >> _ONE, np.minimum(node, batch.firsts("other") >> _ONE))


def join_in_memory(reader: RangeReader, writers: Writers) -> None:
    """Find the components of all edges that are left; there is one range."""
    edges = reader.records()
    nodes = np.unique(edges["node"])
    parents = np.arange(len(nodes))
    join_pairs(
        parents,
        np.searchsorted(nodes, edges["node"]),
        np.searchsorted(nodes, edges["other"] >> _ONE),
    )
    find_roots(parents)
    writers["roots"].add(document=nodes, root=nodes[parents])
