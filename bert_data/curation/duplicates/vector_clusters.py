"""Put documents into the clusters of their embeddings, and compare them within each.

    assign_documents  a document joins the nearest clusters        ─▶ clusters (of all), members
    compare_members   the most similar of those before each member ─▶ found, one a cluster
    choose_similar    the most similar of all clusters             ─▶ values, kept

The order of two documents is the same in every cluster. A cluster of any size is compared in
portions: those before a portion are read again for it.
"""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray

from bert_data.curation.duplicates.ranks import (
    RANK,
    VALUES,
    level_of,
    read_digests,
    read_ranks,
    rows_without,
)
from bert_data.curation.duplicates.unit_vectors import (
    Nearest,
    Vectors,
    as_vectors,
    as_words,
    num_words,
    round_to_unit,
)
from bert_data.curation.duplicates.units_in_rounds import reject
from bert_data.work.array_files import ArrayFile
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.rounds import Own, Part, Rounds, Writers
from bert_data.work.sorted_records import Layout, SortedRecords

LEAST_SAMPLE = 10_000
"""So many vectors are always sampled: more than enough for the first centroids."""

_WORD_BITS = 64


@dataclasses.dataclass(frozen=True)
class KMeans:
    """Finds centroids, in at most `num_iterations`; it ends before if nothing changes.

    Faiss 1.15 takes a third of the CPU (50,000 vectors, 200 clusters: 3 s, not 10), but its labels
    depend on the number of threads: with three threads in place of one, 5% of the cosines of
    399,400 vectors with 600 centroids had other last bits, and one vector another cluster. It also
    holds the whole sample in memory.
    """

    num_clusters: int
    num_iterations: int
    samples_per_cluster: int
    seed: int

    def run(
        self, rounds: Rounds, dimension: int, num_vectors: int, twins: SortedRecords
    ) -> SortedRecords:
        """Return the centroids of so many different embeddings, of layout `centroids_of`."""
        width = num_words(dimension)
        sampled = Layout(("key", "other"), num_keys=2, width=width)
        assigned = Layout(("cluster", *sampled.fields), num_keys=3, width=width)
        size = max(self.num_clusters * self.samples_per_cluster, LEAST_SAMPLE)
        write = functools.partial(
            write_sample, self.seed, min(size / max(num_vectors, 1), 1.0), rounds.portion_bytes
        )
        sample = rounds.over_parts(
            "sample", write, {"sample": sampled}, {"twins": twins}, keeps=True
        )["sample"]
        outputs = {"centroids": centroids_of(dimension)}
        first = functools.partial(write_first, self.num_clusters)
        centroids = rounds.over_ranges("first", first, sample, outputs, keeps=True)["centroids"]
        digest = None
        for number in range(self.num_iterations):
            assign = functools.partial(assign_sample, centroids, rounds.portion_bytes)
            near = rounds.over_ranges("assign", assign, sample, {"near": assigned}, keeps=True)
            name = f"centroids {number}"
            update = functools.partial(write_centroids, name, dimension)
            later = rounds.over_ranges("update", update, near["near"], outputs)["centroids"]
            rounds.remove(centroids)
            centroids, before, digest = later, digest, rounds.counted[name]
            if digest == before:
                break
        rounds.remove(sample)
        return centroids


def centroids_of(dimension: int) -> Layout:
    """Return the layout of centroids."""
    return Layout(("cluster",), num_keys=1, width=num_words(dimension))


def read_vectors(
    part: Part, rows: NDArray[np.int64], max_bytes: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint64]]]:
    """Yield rows of a shard and their embeddings as words, `max_bytes` or one at a time."""
    ragged = ArrayFile(part.path).rows()
    if not len(rows):
        return
    vectors = ragged.values.reshape(len(ragged), -1)
    step = max(max_bytes // (vectors.shape[1] * vectors.itemsize), 1)
    for start in range(0, len(rows), step):
        chosen = rows[start : start + step]
        yield chosen, as_words(vectors[chosen])


def write_sample(
    seed: int, share: float, max_bytes: int, part: Part, own: Own, writers: Writers
) -> None:
    """Write a share of a shard's embeddings."""
    other, key = read_digests(part).T
    key = key ^ np.uint64(xxhash.xxh3_64_intdigest(seed.to_bytes(8, "little")))
    last = min(int(share * 2.0**_WORD_BITS), (1 << _WORD_BITS) - 1)
    rows = rows_without(part, own["twins"])
    for chosen, words in read_vectors(part, rows[key[rows] <= np.uint64(last)], max_bytes):
        writers["sample"].add(key=key[chosen], other=other[chosen], values=words)


def write_first(number: int, reader: RangeReader, writers: Writers) -> None:
    """Write the first vectors of the sample as the centroids to begin with."""
    place = reader.num_before
    for words in reader.portions() if place < number else ():
        words = words[: max(number - place, 0)]
        clusters = np.arange(place, place + len(words), dtype=np.uint64)
        writers["centroids"].add(cluster=clusters, values=reader.layout.named(words)["values"])
        place += len(words)
        if place >= number:
            break


class Centroids:
    """Centroids, which are read again and again unless a portion holds all."""

    def __init__(self, centroids: SortedRecords, max_bytes: int) -> None:
        self._reader = RangeReader(centroids, Range(), max_bytes)
        portions = self._portions()
        is_small = centroids.num_bytes <= max_bytes
        self._held = list(portions) if is_small else None

    def _portions(self) -> Iterator[tuple[Vectors, NDArray[np.uint64]]]:
        for words in self._reader.portions():
            records = self._reader.layout.named(words)
            yield as_vectors(records["values"]), records["cluster"]

    def find_nearest(self, vectors: Vectors, without: Sequence[NDArray[np.uint64]] = ()) -> Nearest:
        """Find the centroid that is most similar to each vector, but for those of some clusters."""
        nearest = Nearest(vectors)
        portions: Iterable[tuple[Vectors, NDArray[np.uint64]]] = self._held or self._portions()
        for centroids, clusters in portions:
            nearest.compare(centroids, clusters, without=without)
        return nearest


def assign_sample(
    centroids: SortedRecords, max_bytes: int, reader: RangeReader, writers: Writers
) -> None:
    """Write the vectors of the sample with their clusters."""
    known = Centroids(centroids, max_bytes)
    for words in reader.portions():
        records = reader.layout.named(words)
        values = np.ascontiguousarray(records["values"])
        clusters = known.find_nearest(as_vectors(values)).numbers
        writers["near"].add(
            cluster=clusters, key=records["key"], other=records["other"], values=values
        )


def write_centroids(
    name: str, dimension: int, reader: RangeReader, writers: Writers
) -> dict[str, int]:
    """Write the direction of the sum of each cluster's vectors; count a digest of all by a name.

    If vectors cancel each other out, the cluster's first one is its centroid.
    """
    total = np.zeros(0, np.int64)  # of a cluster that continues
    digest = 0
    for batch in reader.batches(1):
        vectors = as_vectors(batch.records["values"]).astype(np.int64)
        starts = np.flatnonzero(np.diff(batch.groups, prepend=-1))
        sums = np.add.reduceat(vectors, starts)
        if batch.places[0]:
            sums[0] += total
        total = sums[-1]
        is_whole = batch.places[np.append(starts[1:], len(vectors)) - 1] + 1 == batch.sizes[starts]
        leaders = as_vectors(batch.leaders["values"]).astype(np.int64)
        sums = np.where(sums.any(axis=1, keepdims=True), sums, leaders)[is_whole]
        if not len(sums):
            continue
        words = as_words(round_to_unit(sums[:, :dimension].astype(np.float64)))
        clusters = batch.leaders["cluster"][is_whole]
        writers["centroids"].add(cluster=clusters, values=words)
        for cluster, each in zip(clusters.tolist(), words, strict=True):
            digest += xxhash.xxh3_64_intdigest(each.tobytes(), cluster)
    return {name: digest}


CLUSTERS = Layout(("document", "cluster", "similarity"), num_keys=1)
"""The nearest cluster of each document, and its cosine with the centroid."""

FOUND = Layout(("document", "distance", "turn", "other"), num_keys=3)
"""A document and the most similar one before it in a cluster, the `turn`-th nearest to it."""

NEAREST, LONGEST = "nearest", "longest"
"""The order that puts the nearest documents of a cluster first; else the farthest come first."""

_LARGEST = np.uint64((1 << 64) - 1)


def members_of(dimension: int) -> Layout:
    """Return the layout of the members of clusters, sorted so that the first ones are kept."""
    keys = ("cluster", "level", "place", *RANK)
    return Layout((*keys, "turn"), num_keys=len(keys), width=num_words(dimension))


def assign_documents(
    levels: Mapping[str, int],
    keep: str,
    num_clusters: int,
    centroids: SortedRecords,
    max_bytes: int,
    part: Part,
    own: Own,
    writers: Writers,
) -> None:
    """Write the clusters of a shard's documents, and those that are no twins as members.

    Args:
      keep: which documents come first: `NEAREST`, `LONGEST`, or else the farthest.
      num_clusters: that a document joins, at most the number of all.
      max_bytes: of centroids, and of vectors, that are held.
    """
    known = Centroids(centroids, max_bytes)
    ranks = read_ranks(part, levels)
    is_member = np.zeros(part.end - part.first, bool)
    is_member[rows_without(part, own["twins"])] = True
    for rows, words in read_vectors(part, np.arange(len(is_member)), max_bytes):
        vectors, chosen = as_vectors(words), is_member[rows]
        nearest = known.find_nearest(vectors)
        writers["clusters"].add(
            document=ranks["document"][rows],
            cluster=nearest.numbers,
            similarity=nearest.similarities,
        )
        of_member = {name: ranks[name][rows][chosen] for name in RANK}
        of_member["level"] = level_of(of_member["order"])
        of_member["place"] = _places(nearest.similarities[chosen], keep)
        joined: list[NDArray[np.uint64]] = []
        for turn in range(num_clusters):
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


def compare_clusters(
    rounds: Rounds, members: SortedRecords, threshold: float, outputs: Mapping[str, Layout]
) -> dict[str, SortedRecords]:
    """Return the "values" of documents, and what `reject` writes of those above the threshold."""
    found = rounds.over_ranges("compare", compare_members, members, {"found": FOUND})["found"]
    choose = functools.partial(choose_similar, threshold)
    written = rounds.over_ranges("choose", choose, found, {"values": VALUES, **outputs})
    return written


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
        reject(writers, rejected["document"], rejected["other"])
