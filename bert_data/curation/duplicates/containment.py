"""Find the documents that larger ones contain, by an inverted index of a sample of their shingles.

    write_sampled   shingle 8: documents 4, 1, 0, largest first    a quarter of all, by their hashes
    count_shared    8 is of 1 and 4, of 0 and 4, of 0 and 1        ─▶ pairs, with counts
    find_candidates at least half of what is sought is shared      ─▶ requests
    send_sets       shingles of a document, and of its candidates
    measure_shares  the exact share of each candidate's shingles   ─▶ containers, values

Whether a shingle is in the sample depends on nothing but its hash, so the share of a document's
sampled shingles estimates that of all (Broder 1997, "On the resemblance and containment of
documents", section 3). The bands of MinHash would not find a short document in a long one.
"""

import functools
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.duplicates.lsh_buckets import (
    REQUESTS,
    SHINGLES,
    join_twins,
    send_sets,
    whole_documents,
)
from bert_data.curation.duplicates.lsh_clusters import EDGES, add_edges
from bert_data.curation.duplicates.ranks import (
    DOCUMENTS,
    RANK,
    VALUES,
    read_ranks,
    rows_without,
    size_first,
)
from bert_data.work.array_files import ArrayFile
from bert_data.work.ranges import RangeReader
from bert_data.work.rounds import Own, Part, Rounds, Writers
from bert_data.work.sorted_records import Layout, Ragged, SortedRecords, join_pieces, spread

SAMPLED = np.uint64(4)
"""One of so many shingles is in the index, with 32 bytes."""

NUM_LARGEST = 4
"""Each document is paired with the largest so many that share a shingle with it."""

_INDEX = Layout(("shingle", *RANK), num_keys=4)
_PAIRS = Layout(("document", "container", "shared"), num_keys=2)
_CONTAINERS = Layout(("document", *(f"container_{field}" for field in RANK)), num_keys=4)
_VALUES_AT_A_TIME = 1 << 18
_Numbers = NDArray[np.uint64]
_FIRST, _OTHER = np.uint64(0), np.uint64(1)
"""Of a bucket: the container, and the documents that it may contain (as its `members`)."""


def find_containers(
    rounds: Rounds, equal: SortedRecords, levels: Mapping[str, int], threshold: float
) -> tuple[SortedRecords, SortedRecords]:
    """Compare documents with larger ones; the rounds count `compared`.

    Args:
      equal: digests of the shingles of documents with shingles.
      threshold: a document with a greater share of its shingles in another one is contained.

    Returns:
      An edge from each document that is contained to the largest one that contains it, and the
      values in the layout of `VALUES`.
    """
    outputs = {"edges": EDGES, "values": VALUES, "twins": DOCUMENTS}
    twins = rounds.over_ranges("twins", join_twins, equal, outputs)
    write = functools.partial(write_sampled, levels)
    index = rounds.over_parts("index", write, {"index": _INDEX}, {"twins": twins["twins"]})
    pairs = rounds.over_ranges("shared", count_shared, index["index"], {"pairs": _PAIRS})
    find = functools.partial(find_candidates, threshold)
    requests = rounds.over_parts("candidates", find, {"requests": REQUESTS}, pairs)
    send = functools.partial(send_sets, levels)
    sets = rounds.over_parts("sets", send, {"sets": SHINGLES}, requests)
    compare = functools.partial(measure_shares, threshold)
    outputs = {"containers": _CONTAINERS, "values": VALUES}
    compared = rounds.over_ranges("compare", compare, sets["sets"], outputs)
    edges = rounds.over_ranges("edges", join_largest, compared["containers"], {"edges": EDGES})
    return (
        SortedRecords(EDGES, (*twins["edges"].files, *edges["edges"].files)),
        SortedRecords(VALUES, (*twins["values"].files, *compared["values"].files)),
    )


def write_sampled(levels: Mapping[str, int], part: Part, own: Own, writers: Writers) -> None:
    """Write the sampled shingles of a shard's documents, but not of twins, with their ranks."""
    sets, ranks = ArrayFile(part.path).rows(), read_ranks(part, levels)
    ranks["order"] = size_first(ranks["order"])
    for rows in _portions(rows_without(part, own["twins"]), sets):
        shingles = sets.values[spread(sets.offsets[rows], sets.lengths()[rows])]
        chosen = _is_sampled(shingles)
        owners = np.repeat(rows, sets.lengths()[rows])[chosen]
        writers["index"].add(
            shingle=shingles[chosen], **{name: ranks[name][owners] for name in RANK}
        )


def count_shared(reader: RangeReader, writers: Writers) -> None:
    """Count the sampled shingles that each document shares with larger ones."""
    heads = np.empty(0, reader.layout.dtype)  # the first ones of the group that may go on
    for words in reader.portions():
        records = np.concatenate([heads, reader.layout.named(words)])
        starts = np.flatnonzero(np.append(True, records["shingle"][1:] != records["shingle"][:-1]))
        sizes = np.diff(np.append(starts, len(records)))
        places = spread(np.zeros(len(starts), np.int64), sizes)
        is_new = np.arange(len(records)) >= len(heads)
        for k in range(NUM_LARGEST):
            rows = np.flatnonzero(is_new & (places > k))
            larger = rows - places[rows] + k
            _write_pairs(writers, records["document"][rows], records["document"][larger])
        heads = records[starts[-1] :][:NUM_LARGEST]


def _write_pairs(writers: Writers, documents: _Numbers, containers: _Numbers) -> None:
    order = np.lexsort((containers, documents))
    documents, containers = documents[order], containers[order]
    is_new = (np.diff(documents, prepend=~documents[:1]) != 0) | (
        np.diff(containers, prepend=~containers[:1]) != 0
    )
    starts = np.flatnonzero(is_new)
    writers["pairs"].add(
        document=documents[starts],
        container=containers[starts],
        shared=np.diff(np.append(starts, len(order))),
    )


def find_candidates(threshold: float, part: Part, own: Own, writers: Writers) -> None:
    """Request the shingles of documents that may be contained, and of what may contain them."""
    sets = ArrayFile(part.path).rows()
    for batch in own["pairs"].batches(2, lambda records: records["shared"]):
        is_first = batch.places == 0
        pairs, shared = batch.records[is_first], batch.totals[is_first]
        rows = (pairs["document"] - np.uint64(part.first)).astype(np.int64)
        distinct, places = np.unique(rows, return_inverse=True)
        sampled = np.array([_is_sampled(sets.row(row)).sum() for row in distinct.tolist()], int)
        is_candidate = 2 * shared >= threshold * sampled[places]
        documents, containers = pairs[is_candidate]["document"], pairs[is_candidate]["container"]
        for number, member in ((containers, _FIRST), (documents, _OTHER)):
            same = np.zeros(len(number), np.uint64)
            writers["requests"].add(
                document=number, bucket=containers, members=same + member, size=same
            )


def measure_shares(threshold: float, reader: RangeReader, writers: Writers) -> dict[str, int]:
    """Measure the share of each document's shingles that the first one of its bucket has."""
    container, shingles = np.empty(0, SHINGLES.dtype), np.empty(0, np.uint64)
    num_compared = 0
    for pieces in whole_documents(reader):
        sets, firsts = join_pieces(pieces, np.uint64)
        records = pieces[firsts]
        shares = np.zeros(len(records))
        containers = np.empty(len(records), SHINGLES.dtype)
        for number, member in enumerate(records["members"].tolist()):
            if member == _FIRST:
                container, shingles = records[number], sets.row(number)
            else:
                shares[number] = _share(sets.row(number), shingles)
                containers[number] = container
        others = records["members"] == _OTHER
        num_compared += int(others.sum())
        documents, measured = records["document"], shares[others]
        writers["values"].add(document=documents[others], if_rejected=measured, if_kept=measured)
        is_contained = shares > threshold  # shares of containers are 0
        containers["order"] = size_first(containers["order"])
        writers["containers"].add(
            document=documents[is_contained],
            **{f"container_{name}": containers[name][is_contained] for name in RANK},
        )
    return {"compared": num_compared}


def join_largest(reader: RangeReader, writers: Writers) -> None:
    """Join each document that is contained to the largest that contains it."""
    for batch in reader.batches(1):
        largest = batch.records[batch.places == 0]
        add_edges(writers["edges"], largest["document"], largest["container_document"])


def _portions(rows: NDArray[np.int64], sets: Ragged) -> Iterator[NDArray[np.int64]]:
    num_values = np.cumsum(sets.lengths()[rows])
    starts = np.flatnonzero(np.diff(num_values // _VALUES_AT_A_TIME, prepend=-1))
    yield from np.split(rows, starts[1:]) if len(rows) else ()


def _is_sampled(shingles: NDArray[np.uint64]) -> NDArray[np.bool_]:
    return shingles % SAMPLED == 0


def _share(shingles: NDArray[np.uint64], container: NDArray[np.uint64]) -> float:
    """Return the share of sorted shingles that are in a container's; neither is empty."""
    places = np.minimum(np.searchsorted(container, shingles), len(container) - 1)
    return float(np.mean(container[places] == shingles))
