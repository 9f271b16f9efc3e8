"""Put documents into the clusters of their embeddings, and compare them within each.

    assign_documents  a document joins the nearest clusters        ─▶ clusters (of all), members
    compare_members   the most similar of those before each member ─▶ found, one a cluster
    choose_similar    the most similar of all clusters             ─▶ values, kept

The order of two documents is the same in every cluster. A cluster of any size is compared in
portions: those before a portion are read again for it.
"""

import dataclasses
import functools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.duplicates.centroids import Centroids, read_vectors, rows_without
from bert_data.curation.duplicates.decisions import KEPT, VALUES
from bert_data.curation.duplicates.rosters import RANK, level_of, read_ranks
from bert_data.curation.duplicates.unit_vectors import Nearest, as_vectors, num_words
from bert_data.work.ranges import RangeReader
from bert_data.work.records import Layout, Records
from bert_data.work.rounds import Own, Part, Rounds, Writers

CLUSTERS = Layout(("document", "cluster", "similarity"), num_keys=1)
"""The nearest cluster of each document, and its cosine with the centroid."""

FOUND = Layout(("document", "distance", "turn", "other"), num_keys=3)
"""A document and the most similar one before it in a cluster, the `turn`-th nearest to it."""

NEAREST, LONGEST = "nearest", "longest"
"""Which documents come first in a cluster, of those of a data set; else the farthest ones."""

_LARGEST = np.uint64((1 << 64) - 1)


@dataclasses.dataclass(frozen=True)
class Joining:
    """How documents join clusters.

    Attributes:
      levels: of the data sets.
      keep: which documents come first: `NEAREST`, `LONGEST`, or else the farthest.
      num_clusters: that a document joins, at most the number of all.
      centroids: of all clusters.
      max_bytes: of centroids, and of vectors, that a task holds.
    """

    levels: Mapping[str, int]
    keep: str
    num_clusters: int
    centroids: Records
    max_bytes: int


def members_of(dimension: int) -> Layout:
    """Return the layout of the members of clusters, sorted so that the first ones are kept."""
    keys = ("cluster", "level", "place", *RANK)
    return Layout((*keys, "turn"), num_keys=len(keys), width=num_words(dimension))


def assign_documents(joining: Joining, part: Part, own: Own, writers: Writers) -> None:
    """Write the clusters of a shard's documents, and those that are no twins as members."""
    known = Centroids(joining.centroids, joining.max_bytes)
    ranks = read_ranks(part, joining.levels)
    is_member = np.zeros(part.end - part.first, bool)
    is_member[rows_without(part, own["twins"])] = True
    for rows, words in read_vectors(part, np.arange(len(is_member)), joining.max_bytes):
        vectors, chosen = as_vectors(words), is_member[rows]
        nearest = known.find_nearest(vectors)
        writers["clusters"].add(
            document=ranks["document"][rows],
            cluster=nearest.numbers,
            similarity=nearest.similarities,
        )
        of_member = {name: ranks[name][rows][chosen] for name in RANK}
        of_member["level"] = level_of(of_member["order"])
        of_member["place"] = _places(nearest.similarities[chosen], joining.keep)
        joined: list[NDArray[np.uint64]] = []
        for turn in range(joining.num_clusters):
            clusters = known.find_nearest(vectors, joined).numbers if turn else nearest.numbers
            joined.append(clusters)
            writers["members"].add(
                cluster=clusters[chosen],
                turn=np.full(int(chosen.sum()), turn, np.uint64),
                values=words[chosen],
                **of_member,
            )


def _places(similarities: NDArray[np.float64], keep: str) -> NDArray[np.uint64]:
    """Return numbers whose order is that of the documents of a data set."""
    if keep == LONGEST:
        return np.zeros(len(similarities), np.uint64)
    places = _bits(similarities + 1.0)
    return _LARGEST - places if keep == NEAREST else places


def _bits(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return the bits of numbers >= 0, which have the same order."""
    return values.view(np.uint64)


def compare_clusters(rounds: Rounds, members: Records, threshold: float) -> tuple[Records, Records]:
    """Return the values of documents, and those rejected with the most similar one before them."""
    found = rounds.over_ranges("compare", compare_members, members, {"found": FOUND})["found"]
    rounds.remove(members)
    choose = functools.partial(choose_similar, threshold)
    written = rounds.over_ranges("choose", choose, found, {"values": VALUES, "kept": KEPT})
    rounds.remove(found)
    return written["values"], written["kept"]


def compare_members(reader: RangeReader, writers: Writers) -> dict[str, int]:
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
            writers["found"].add(
                document=numbers,
                distance=_LARGEST - _bits(np.maximum(nearest.similarities, 0.0)),
                turn=records["turn"],
                other=nearest.numbers,
            )
    return {"compared": num_compared, "clusters": num_clusters}


def _compare_with_earlier(nearest: Nearest, reader: RangeReader, cluster: int, number: int) -> None:
    """Compare with the first members of a cluster, so many."""
    for words in reader.portions((cluster,)):
        records = reader.layout.named(words[:number])
        nearest.compare(as_vectors(records["values"]), records["document"])
        number -= len(records)
        if not number:
            return


def choose_similar(threshold: float, reader: RangeReader, writers: Writers) -> None:
    """Write the value of each document; reject it if the value is above a threshold."""
    for batch in reader.batches(1):
        best = batch.records[batch.places == 0]
        values = (_LARGEST - best["distance"]).view(np.float64)
        writers["values"].add(document=best["document"], if_rejected=values, if_kept=values)
        rejected = best[values > threshold]
        writers["kept"].add(kept=rejected["other"], document=rejected["document"])
