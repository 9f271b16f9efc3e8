"""Put documents into the clusters of their embeddings, and compare them within each.

    assign_documents   each document joins its cluster            ─▶ clusters (of all), members
    compare_members    of each member, the most similar one before it ─▶ values, kept

A cluster of any size is compared in portions: those before a portion are read again for it.
"""

import functools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.duplicates.centroids import (
    Centroids,
    read_vectors,
    rows_without,
)
from bert_data.curation.duplicates.decisions import KEPT, VALUES
from bert_data.curation.duplicates.rosters import RANK, level_of, read_ranks
from bert_data.curation.duplicates.unit_vectors import Nearest, as_vectors, num_words
from bert_data.work.ranges import RangeReader
from bert_data.work.records import Layout, Records
from bert_data.work.rounds import Own, Part, Rounds, Writers

CLUSTERS = Layout(("document", "cluster", "similarity"), num_keys=1)
"""The cluster of each document, and its cosine with the centroid."""

FARTHEST, NEAREST, LONGEST = "farthest", "nearest", "longest"
"""Which documents come first in a cluster, of those of a data set."""

_LARGEST = np.uint64((1 << 64) - 1)


def members_of(dimension: int) -> Layout:
    """Return the layout of the members of clusters: sorted by it, the first ones are kept."""
    fields = ("cluster", "level", "place", *RANK)
    return Layout(fields, num_keys=len(fields), width=num_words(dimension))


def join_clusters(
    rounds: Rounds,
    centroids: Records,
    dimension: int,
    levels: Mapping[str, int],
    keep: str,
    twins: Records,
) -> tuple[Records, Records]:
    """Return the cluster of each document, and the members of each cluster without twins.

    Args:
      rounds: to run.
      centroids: of the clusters.
      dimension: of the embeddings.
      levels: of the data sets.
      keep: one of the three words above.
      twins: documents with the embedding of a better one.
    """
    function = functools.partial(assign_documents, levels, keep, centroids, rounds.portion_bytes)
    outputs = {"clusters": CLUSTERS, "members": members_of(dimension)}
    written = rounds.over_parts("clusters", function, outputs, {"twins": twins})
    return written["clusters"], written["members"]


def assign_documents(
    levels: Mapping[str, int],
    keep: str,
    centroids: Records,
    max_bytes: int,
    part: Part,
    own: Own,
    writers: Writers,
) -> None:
    """Write the clusters of a shard's documents, and those that are no twins as members."""
    known, ranks = Centroids(centroids, max_bytes), read_ranks(part, levels)
    is_member = np.zeros(part.end - part.first, bool)
    is_member[rows_without(part, own["twins"])] = True
    for rows, words in read_vectors(part, np.arange(len(is_member)), max_bytes):
        nearest = known.find_nearest(as_vectors(words))
        writers["clusters"].add(
            document=ranks["document"][rows],
            cluster=nearest.numbers,
            similarity=nearest.similarities,
        )
        chosen = is_member[rows]
        of_member = {name: ranks[name][rows][chosen] for name in RANK}
        writers["members"].add(
            cluster=nearest.numbers[chosen],
            level=level_of(of_member["order"]),
            place=_places(nearest.similarities[chosen], keep),
            values=words[chosen],
            **of_member,
        )


def _places(similarities: NDArray[np.float64], keep: str) -> NDArray[np.uint64]:
    """Return numbers whose order is that of the documents of a data set in a cluster."""
    if keep == LONGEST:
        return np.zeros(len(similarities), np.uint64)
    places = (similarities + 1.0).view(np.uint64)  # numbers >= 0 are in the order of their bits
    return _LARGEST - places if keep == NEAREST else places


def compare_clusters(rounds: Rounds, members: Records, threshold: float) -> tuple[Records, Records]:
    """Return the values of documents, and those rejected with the most similar one before them."""
    function = functools.partial(compare_members, threshold)
    written = rounds.over_ranges("compare", function, members, {"values": VALUES, "kept": KEPT})
    return written["values"], written["kept"]


def compare_members(threshold: float, reader: RangeReader, writers: Writers) -> dict[str, int]:
    """Compare each member of the clusters of a range with all those before it."""
    num_compared = num_clusters = 0
    for batch in reader.batches(1):
        starts = np.flatnonzero(np.diff(batch.groups, prepend=-1))
        for start, end in zip(starts, np.append(starts[1:], len(batch.records)), strict=True):
            records, place = batch.records[start:end], int(batch.places[start])
            vectors, numbers = as_vectors(records["values"]), records["document"]
            nearest = Nearest(vectors)
            if place:
                _compare_with_earlier(nearest, reader, int(records["cluster"][0]), place)
            nearest.compare(vectors, numbers, only_before=True)
            num_compared += len(records) * place + len(records) * (len(records) - 1) // 2
            num_clusters += not place
            _write(nearest, numbers, threshold, writers)
    return {"compared": num_compared, "clusters": num_clusters}


def _compare_with_earlier(nearest: Nearest, reader: RangeReader, cluster: int, number: int) -> None:
    """Compare with the first members of a cluster, so many."""
    for words in reader.portions((cluster,)):
        records = reader.layout.named(words[:number])
        nearest.compare(as_vectors(records["values"]), records["document"])
        number -= len(records)
        if not number:
            return


def _write(
    nearest: Nearest, numbers: NDArray[np.uint64], threshold: float, writers: Writers
) -> None:
    values = np.maximum(nearest.similarities, 0.0)
    writers["values"].add(document=numbers, if_rejected=values, if_kept=values)
    is_rejected = values > threshold
    writers["kept"].add(kept=nearest.numbers[is_rejected], document=numbers[is_rejected])
