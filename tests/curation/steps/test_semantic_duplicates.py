"""Semantic duplicates, against clusters and cosines in plain Python."""

import math

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document, Measured
from bert_data.curation.duplicates.vector_clusters import KMeans
from bert_data.curation.steps.semantic_duplicates import SemanticDuplicates
from bert_data.work import rounds
from tests.curation.corpora import kept_ids, run_corpus_step, value_of
from tests.curation.duplicates.test_unit_vectors import find_plainly, round_plainly
from tests.curation.duplicates.test_vector_clusters import cluster_plainly
from tests.hypotheses import examples


def make_documents(embeddings, source: str = "web") -> list[Document]:
    return [
        Document(f"{source}/{row}", source, "text " * (row % 3 + 1), {"embedding": list(each)})
        for row, each in enumerate(embeddings)
    ]


def variations(seed: int, number: int = 60, dimension: int = 5) -> list[list[float]]:
    """Few directions, each several times: equal, or with more or less noise."""
    draw = np.random.default_rng(seed)
    directions = draw.normal(size=(8, dimension))
    noise = draw.choice([0.0, 0.05, 0.3, 1.0], (number, 1)) * draw.normal(size=(number, dimension))
    return (directions[draw.integers(0, 8, number)] + noise).tolist()


def decide_plainly(documents, step: SemanticDuplicates, sources):
    """By id: nearest cluster, cosine with it, value, id of the most similar one before."""
    vectors = {each.id: round_plainly(each.fields["embedding"]) for each in documents}
    number = step.num_clusters
    if number is None:
        number = min(round(math.sqrt(len(documents))), len(set(vectors.values())))
    k_means = KMeans(number, step.num_iterations, step.samples_per_cluster, step.seed)
    centroids = cluster_plainly(vectors.values(), k_means)
    labels = list(centroids)
    found = {}
    for document in documents:
        left, joined = list(labels), []
        for _ in range(min(step.clusters_per_document, len(labels))):
            place, cosine = find_plainly(vectors[document.id], [centroids[each] for each in left])
            joined.append((left.pop(place), cosine))
        found[document.id] = joined
    levels = list(dict.fromkeys((*step.priority, *sources)))

    def rank(document: Document):
        cosine = found[document.id][0][1]
        place = {"farthest": cosine, "nearest": -cosine, "longest": 0}[step.keep]
        seed = xxhash.xxh3_64_intdigest(document.source.encode())
        tie = xxhash.xxh3_64_intdigest(document.id.encode(), seed)
        return levels.index(document.source), place, -document.num_bytes, tie

    decided, members = {}, {}
    for document in sorted(documents, key=rank):
        value, name = 0.0, ""
        for cluster, _ in found[document.id]:
            before = members.setdefault(cluster, [])
            if before:
                rows = [vectors[each] for each in before]
                place, similarity = find_plainly(vectors[document.id], rows)
                if similarity > value:
                    value, name = similarity, before[place]
            before.append(document.id)
        decided[document.id] = *found[document.id][0], value, name
    return decided


@pytest.mark.slow
@examples(8)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.5, 0.9, 0.99]),
    st.sampled_from(["farthest", "nearest", "longest"]),
    st.sampled_from([None, 1, 4]),
    st.sampled_from([1, 2, 3, 100]),
    st.sampled_from([3_000, 30_000, 10**7]),
    st.integers(1, 5),
)
def test_what_is_rejected_is_that_of_the_definition(
    tmp_path_factory, seed, threshold, keep, num_clusters, joined, max_bytes, num_shards
):
    """However small the tasks are, and with clusters that are larger than a portion."""
    web, wiki = make_documents(variations(seed)), make_documents(variations(seed, 15), "wiki")
    step = SemanticDuplicates(
        max_similarity=threshold,
        keep=keep,
        num_clusters=num_clusters,
        clusters_per_document=joined,
        num_iterations=3,
        seed=seed % 2,
        priority=("wiki",) if seed % 3 else (),
    )
    shards = [web[number::num_shards] for number in range(num_shards)] + [wiki]
    verdicts = run_corpus_step(step, shards, tmp_path_factory.mktemp("s"), max_bytes=max_bytes)
    plain = decide_plainly([*web, *wiki], step, ("web", "wiki"))
    for verdict in (each for shard in verdicts for each in shard):
        cluster, cosine, value, name = plain[verdict.document.id]
        is_rejected = value > threshold
        expected = [Measured("max_similarity", value, threshold, failed=is_rejected)]
        if is_rejected:
            expected.append(Measured("duplicate_of", name, ""))
        assert verdict.measured == tuple(expected)
        fields = dict(verdict.document.fields)
        fields.pop("embedding")
        assert fields == (
            {}
            if is_rejected
            else {
                "semantic_cluster": cluster,
                "semantic_distance": round(1 - cosine, 6),
                "semantic_similarity": round(value, 6),
            }
        )


def test_of_a_chain_the_first_stays(tmp_path):
    """Each is 10 degrees from the next; SemDeDup counts rejected documents, too."""
    angles = [math.radians(10 * number) for number in range(4)]
    documents = make_documents([[math.cos(angle), math.sin(angle)] for angle in angles])
    step = SemanticDuplicates(max_similarity=0.98, num_clusters=1, keep="longest")
    (verdicts,) = run_corpus_step(step, [documents], tmp_path)
    assert kept_ids([verdicts]) == {"web/2"}
    rejected = [verdict for verdict in verdicts if not verdict.kept]
    assert [value_of(v, "duplicate_of") for v in rejected] == ["web/1", "web/2", "web/2"]
    cosine = math.cos(math.radians(10))
    assert all(value_of(v, "max_similarity") == pytest.approx(cosine, abs=1e-4) for v in rejected)


def test_equal_embeddings_cost_no_quadratic_work(tmp_path, monkeypatch):
    documents = make_documents([[1.0, 2.0]] * 3_000 + [[2.0, 1.0], [4.0, 2.0]])
    counted = []
    run = rounds.Rounds.over_ranges

    def noting(self, name, *rest, **options):
        done = run(self, name, *rest, **options)
        counted.append(self.counted["compared"])
        return done

    monkeypatch.setattr(rounds.Rounds, "over_ranges", noting)
    (verdicts,) = run_corpus_step(SemanticDuplicates(num_clusters=2), [documents], tmp_path)
    assert sum(verdict.kept for verdict in verdicts) == 2
    assert {value_of(v, "max_similarity") for v in verdicts if not v.kept} == {1.0}
    assert counted[-1] <= 2


@pytest.mark.parametrize("num_shards", [0, 1, 2])
def test_there_may_be_no_document(tmp_path, num_shards):
    """Steps before it may have rejected all of the data sets that it judges."""
    verdicts = run_corpus_step(SemanticDuplicates(), [[]] * num_shards, tmp_path)
    assert verdicts == [[]] * num_shards


def test_one_document_stays(tmp_path):
    ((verdict,),) = run_corpus_step(SemanticDuplicates(), [make_documents([[0.5]])], tmp_path)
    assert verdict.kept and verdict.document.fields["semantic_cluster"] == 0


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (7, "is 7"),
        ("[1.0]", r"is '\[1.0\]'"),
        ([], "has 0 numbers"),
        ([1.0] * 16_385, "has 16,385 numbers"),
        ([1.0, "2"], "has '2'"),
        ([1.0, None], "has None"),
        ([True, 1.0], "has True"),
        ([[1.0]], r"has \[1.0\]"),
        ([1.0, math.nan], "has nan"),
        ([1.0, -math.inf], "has -inf"),
        ([1.0, 10**400], "has 1000"),
        ([0.0, 0], "has only zeros"),
    ],
)
def test_what_is_no_embedding_is_told_with_its_document(tmp_path, value, words):
    documents = make_documents([[1.0, 2.0]])
    documents.append(Document("web/bad", "web", "text", {"embedding": value}))
    message = (
        f"step semantic_duplicates: field 'embedding' of document 'web/bad' {words}.*; an embedding"
        " is a list of 1 to 16,384 finite numbers, not all of them 0"
    )
    with pytest.raises(ValueError, match=message):
        run_corpus_step(SemanticDuplicates(), [documents], tmp_path)


def test_a_missing_field_is_told_with_those_there_are(tmp_path):
    documents = [Document("web/3", "web", "text", {"url": "u", "vector": [1.0]})]
    message = (
        r"document 'web/3' has no field 'embedding' \(embedding_field\) with its embedding, which"
        " the step embed or the input must give; its fields are url, vector"
    )
    with pytest.raises(ValueError, match=message):
        run_corpus_step(SemanticDuplicates(), [documents], tmp_path)
    run_corpus_step(SemanticDuplicates(embedding_field="vector"), [documents], tmp_path)


@pytest.mark.parametrize("cut", [1, 2])
def test_embeddings_of_different_lengths_are_told(tmp_path, cut):
    """In one shard or in two."""
    documents = make_documents([[1.0, 2.0], [1.0, 2.0, 3.0]])
    message = (
        "the embedding of document 'web/0' has 2 numbers; the embedding of document 'web/1' has 3"
        " numbers; all must have as many"
    )
    with pytest.raises(ValueError, match=message):
        run_corpus_step(SemanticDuplicates(), [documents[:cut], documents[cut:]], tmp_path)


def test_more_clusters_than_embeddings_are_refused(tmp_path):
    documents = make_documents([[1.0, 2.0], [2.0, 4.0], [2.0, 1.0]])
    message = (
        r"num_clusters is 3; it must be at most the number of different embeddings, 2 \(of 3"
        r" documents\)"
    )
    with pytest.raises(ValueError, match=message):
        run_corpus_step(SemanticDuplicates(num_clusters=3), [documents], tmp_path)
    run_corpus_step(SemanticDuplicates(num_clusters=2), [documents], tmp_path)
