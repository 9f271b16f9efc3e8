"""Spherical k-means over all documents' embeddings, in rounds of bounded memory.

    documents ─write_sample─▶ sample ─▶ first centroids
    sample ─assign_sample─▶ vectors by cluster ─write_centroids─▶ centroids ─▶ again

Spherical k-means (Dhillon and Modha 2001, "Concept decompositions for large sparse text data using
clustering") alternates two steps: each vector joins the cluster of the centroid with the greatest
cosine, and each centroid becomes the direction of the sum of its vectors. Sums are of whole
numbers, so their order does not matter. The sample is drawn by a hash of the embeddings, each
different one once; the first ones by that hash are the first centroids. So centroids depend on
nothing but the set of all embeddings, the parameters and the seed. A cluster that loses all its
vectors ends.
"""

import dataclasses
import functools
import os
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray

from bert_data.curation.duplicates.ragged_files import open_ragged
from bert_data.curation.duplicates.rosters import read_digests
from bert_data.curation.duplicates.unit_vectors import (
    Nearest,
    Vectors,
    as_vectors,
    as_words,
    num_words,
    round_to_unit,
)
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.records import Layout, Records
from bert_data.work.rounds import Own, Part, Rounds, Writers

VECTORS = "vectors"
"""What `SemanticDuplicates.observe` writes: the documents' embeddings, int16."""

TWINS = Layout(("document",), num_keys=1)
"""Documents with the same embedding as a better one."""

_LEAST_SAMPLE = 10_000
"""So many vectors are always sampled: more than enough for the first centroids."""

_WORD_BITS = 64


@dataclasses.dataclass(frozen=True)
class KMeans:
    """Finds centroids.

    Attributes:
      num_clusters: to begin with.
      num_iterations: at most; it ends before if nothing changes.
      samples_per_cluster: size of the sample, about.
      seed: of the sample and the first centroids.
    """

    num_clusters: int
    num_iterations: int
    samples_per_cluster: int
    seed: int

    def run(self, rounds: Rounds, dimension: int, num_vectors: int, twins: Records) -> Records:
        """Return the centroids, of layout `centroids_of`.

        Args:
          num_vectors: number of different embeddings, at least `num_clusters`.
          twins: documents whose embedding another one has, too.
        """
        width = num_words(dimension)
        sampled = Layout(("key", "other"), num_keys=2, width=width)
        assigned = Layout(("cluster", *sampled.fields), num_keys=3, width=width)
        size = max(self.num_clusters * self.samples_per_cluster, _LEAST_SAMPLE)
        write = functools.partial(
            write_sample, self.seed, min(size / max(num_vectors, 1), 1.0), rounds.portion_bytes
        )
        sample = rounds.over_parts("sample", write, {"sample": sampled}, {"twins": twins})["sample"]
        outputs = {"centroids": centroids_of(dimension)}
        first = functools.partial(write_first, self.num_clusters)
        centroids = rounds.over_ranges("first", first, sample, outputs)["centroids"]
        digest = None
        for number in range(self.num_iterations):
            assign = functools.partial(assign_sample, centroids, rounds.portion_bytes)
            near = rounds.over_ranges("assign", assign, sample, {"near": assigned})["near"]
            name = f"centroids {number}"
            update = functools.partial(write_centroids, name, dimension)
            later = rounds.over_ranges("update", update, near, outputs)["centroids"]
            rounds.remove(near, centroids)
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
    ragged = open_ragged(os.path.join(part.path, VECTORS), np.int16)
    if not len(rows):
        return
    vectors = ragged.values.reshape(len(ragged), -1)
    step = max(max_bytes // (vectors.shape[1] * vectors.itemsize), 1)
    for start in range(0, len(rows), step):
        chosen = rows[start : start + step]
        yield chosen, as_words(vectors[chosen])


def rows_without(part: Part, twins: RangeReader) -> NDArray[np.int64]:
    """Return the rows of a shard's documents that are no twins."""
    is_chosen = np.ones(part.end - part.first, bool)
    is_chosen[twins.records()["document"] - np.uint64(part.first)] = False
    return np.flatnonzero(is_chosen)


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

    def __init__(self, centroids: Records, max_bytes: int) -> None:
        self._reader = RangeReader(centroids, Range(), max_bytes)
        portions = self._portions()
        is_small = centroids.num_bytes <= max_bytes
        self._held = list(portions) if is_small else None

    def _portions(self) -> Iterator[tuple[Vectors, NDArray[np.uint64]]]:
        for words in self._reader.portions():
            records = self._reader.layout.named(words)
            yield as_vectors(records["values"]), records["cluster"]

    def find_nearest(self, vectors: Vectors, without: Sequence[NDArray[np.uint64]] = ()) -> Nearest:
        """Find the centroid that is most similar to each vector: cluster and cosine.

        Args:
          without: clusters that are not asked for, uint64 [vectors] each; others are left.
        """
        nearest = Nearest(vectors)
        portions: Iterable[tuple[Vectors, NDArray[np.uint64]]] = self._held or self._portions()
        for centroids, clusters in portions:
            nearest.compare(centroids, clusters, without=without)
        return nearest


def assign_sample(
    centroids: Records, max_bytes: int, reader: RangeReader, writers: Writers
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
