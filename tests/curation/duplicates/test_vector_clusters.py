"""Spherical k-means in rounds, against the same in plain Python."""

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.duplicates import vector_clusters as centroids_module
from bert_data.curation.duplicates.ranks import DOCUMENTS, RankWriter
from bert_data.curation.duplicates.unit_vectors import as_vectors, round_to_unit
from bert_data.curation.duplicates.vector_clusters import KMeans
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.rounds import Part
from bert_data.work.sorted_records import RecordWriter, SortedRecords
from tests.curation.corpora import make_rounds
from tests.curation.duplicates.test_unit_vectors import Vector, find_plainly, round_plainly
from tests.hypotheses import examples


def key_of(vector: Vector, seed: int) -> tuple[int, int]:
    """Place of a vector in the order of the sample."""
    data = np.array(vector, np.int16).tobytes()
    other, key = np.frombuffer(xxhash.xxh3_128_digest(data), np.uint64).tolist()
    return key ^ xxhash.xxh3_64_intdigest(seed.to_bytes(8, "little")), other


def cluster_plainly(vectors, k_means: KMeans) -> dict[int, Vector]:
    """The definition of k-means: the centroid of each cluster."""
    sample = sorted(set(vectors), key=lambda vector: key_of(vector, k_means.seed))
    size = max(k_means.num_clusters * k_means.samples_per_cluster, centroids_module.LEAST_SAMPLE)
    share = min(size / len(sample), 1.0)
    limit = min(int(share * 2.0**64), 2**64 - 1)
    sample = [each for each in sample if key_of(each, k_means.seed)[0] <= limit]
    centroids = dict(enumerate(sample[: k_means.num_clusters]))
    for _ in range(k_means.num_iterations):
        members: dict[int, list[Vector]] = {}
        for vector in sample:
            place, _ = find_plainly(vector, list(centroids.values()))
            members.setdefault(list(centroids)[place], []).append(vector)
        sums = {
            cluster: tuple(map(sum, zip(*members[cluster], strict=True)))
            for cluster in sorted(members)
        }
        centroids = {
            cluster: round_plainly(each if any(each) else members[cluster][0])
            for cluster, each in sums.items()
        }
    return centroids


def make_parts(folder, shards) -> list[Part]:
    """The step's observations of shards of vectors."""
    parts, first = [], 0
    for number, vectors in enumerate(shards):
        path = folder / f"shard-{number}"
        with RankWriter(path, np.int16) as writer:
            for row, vector in enumerate(vectors):
                each = np.array(vector, np.int16)
                writer.add(Document(f"{number}/{row}", "web", ""), each.data)
                writer.append(each)
        parts.append(Part(str(path), "web", first, first + len(vectors), 10 * len(vectors)))
        first += len(vectors)
    return parts


def run(folder, shards, k_means: KMeans, max_bytes: int) -> dict[int, Vector]:
    """Centroids; vectors that occur again are twins."""
    everything = [vector for shard in shards for vector in shard]
    writer = RecordWriter(DOCUMENTS, str(folder / "twins"), 1000)
    twins = [row for row, each in enumerate(everything) if each in everything[:row]]
    writer.add(document=np.array(twins, np.uint64))
    writer.flush()
    num_vectors = len(everything) - len(twins)
    dimension = len(everything[0])
    rounds = make_rounds(folder / "rounds", make_parts(folder, shards), max_bytes)
    found = k_means.run(
        rounds, dimension, num_vectors, SortedRecords(DOCUMENTS, tuple(writer.files))
    )
    records = RangeReader(found, Range(), 10**6).records()
    vectors = as_vectors(records["values"])[:, :dimension].tolist()
    clusters = records["cluster"].tolist()
    return {cluster: tuple(each) for cluster, each in zip(clusters, vectors, strict=True)}


def make_vectors(draw: np.random.Generator, number: int, dimension: int) -> list[Vector]:
    """In few directions, some of them opposite or equal."""
    directions = draw.normal(size=(4, dimension))
    vectors = directions[draw.integers(0, 4, number)] + draw.choice([0, 0.3]) * draw.normal(
        size=(number, dimension)
    )
    vectors[: number // 4] *= -1
    return [tuple(each) for each in round_to_unit(vectors).tolist()]


@examples(40)
@given(
    st.integers(0, 10**6),
    st.integers(1, 60),
    st.integers(1, 9),
    st.integers(1, 4),
    st.sampled_from([2_000, 30_000, 10**8]),
)
def test_centroids_are_those_of_the_definition(
    tmp_path_factory, seed, number, dimension, num_shards, max_bytes
):
    """However small the portions are, and for samples of all vectors or of some."""
    draw = np.random.default_rng(seed)
    vectors = make_vectors(draw, number, dimension)
    k_means = KMeans(
        int(draw.integers(1, len(set(vectors)) + 1)), int(draw.integers(1, 6)), 2, seed % 3
    )
    shards = [vectors[part::num_shards] for part in range(num_shards)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(centroids_module, "LEAST_SAMPLE", int(draw.choice([0, 10_000])))
        found = run(tmp_path_factory.mktemp("k-means"), shards, k_means, max_bytes)
        assert found == cluster_plainly(vectors, k_means)


def test_clusters_that_are_planted_are_found(tmp_path):
    """Far apart, and a first centroid in each by the seed: each centroid is the mean of its own."""
    draw = np.random.default_rng(4)
    directions = np.eye(6)
    vectors = round_to_unit(np.repeat(directions, 30, axis=0) + 0.02 * draw.normal(size=(180, 6)))
    rows = [tuple(each) for each in vectors.tolist()]
    found = run(tmp_path, [rows], KMeans(40, 20, 256, 0), 10**8)
    nearest = {max(range(6), key=lambda place: each[place]) for each in found.values()}
    assert nearest == set(range(6))
    assert all(max(each) > 4000 for each in found.values())


def test_it_ends_once_nothing_changes(tmp_path):
    vectors = [round_plainly(each) for each in ([1, 0], [0, 1], [-1, 0])]
    assert set(run(tmp_path, [vectors], KMeans(3, 1000, 256, 0), 10**8).values()) == set(vectors)
    assert len(list(tmp_path.glob("rounds-*-update"))) == 2


def test_vectors_that_cancel_out_have_a_centroid(tmp_path):
    vectors = [round_plainly(each) for each in ([1, 2], [-1, -2])]
    found = run(tmp_path, [vectors], KMeans(1, 3, 256, 0), 10**8)
    assert list(found) == [0] and set(found.values()) <= set(vectors)
