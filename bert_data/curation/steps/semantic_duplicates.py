"""Semantic duplicates over all data sets: clusters of embeddings, cosines within each.

observe      embeddings in whole numbers, 2 bytes a number; sizes, ids
decide       equal ones ─▶ k-means on a sample ─▶ clusters ─▶ cosines with those before
judge_shard  greatest cosine, the most similar document before; cluster and distance as fields
"""

import dataclasses
import functools
import itertools
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from absl import logging

from bert_data.curation.document import Document, Verdict
from bert_data.curation.duplicates.ranks import (
    DOCUMENTS,
    VALUES,
    RankWriter,
    find_twins,
    judge_duplicates,
    open_ids,
    write_digests,
)
from bert_data.curation.duplicates.unit_vectors import MAX_DIMENSION, round_to_unit
from bert_data.curation.duplicates.units_in_rounds import UnitStep, UnitWriter, long_units, reject
from bert_data.curation.duplicates.vector_clusters import (
    CLUSTERS,
    KMeans,
    assign_documents,
    compare_clusters,
    members_of,
)
from bert_data.curation.parameters import Name
from bert_data.curation.quality.languages import units_of
from bert_data.curation.step import Decisions, ShardDecisions, register
from bert_data.settings import Within
from bert_data.work.array_files import ArrayFile
from bert_data.work.ranges import RangeReader
from bert_data.work.rounds import Own, Part, Rounds, Writers
from bert_data.work.sorted_records import SortedRecords

CLUSTER, DISTANCE, SIMILARITY = "semantic_cluster", "semantic_distance", "semantic_similarity"
"""Fields of a document: its cluster, 1 - its cosine with the centroid, and the measured value."""

_NUM_DIGITS = 6  # of these fields
_LARGEST = sys.float_info.max


@register
class SemanticDuplicates(UnitStep):
    """Removes documents that say the same as another one, judged by their embeddings.

    SemDeDup (Abbas et al. 2023, arXiv:2303.09540): k-means divides all embeddings into clusters,
    and within a cluster, a document is removed if its cosine with any document before it is above 1
    - epsilon. Here a document is compared in its three nearest clusters (`clusters_per_document`),
    because cluster borders separate many pairs: of the planted paraphrases that a comparison of all
    pairs finds, one cluster found from a half to four fifths, and three nearly all. Remove near
    duplicates by words first (`near_duplicates`).

    The embedding is a field of the document, from the step `embed` or any other encoder: a list of
    numbers, of the same length for all documents. Embeddings are normalized and rounded to 12 bits,
    so that cosines are computed exactly; rounding changes them by about 0.0001.

    Documents of the data set with the highest priority come first. Among those of a data set, the
    one farthest from its nearest centroid comes first, as in SemDeDup (or the nearest, or the
    longest: `keep`), then the longest, then the first by a hash of its id. A document is rejected
    if its cosine with any one before it, kept or not, is above `max_similarity`. So the first of a
    chain of similar documents stays, and the measured value does not depend on the threshold: with
    --ledger=all, the ledger shows which documents another threshold would reject. `duplicate_of` is
    the most similar document before it, which may itself be rejected. Documents with the same
    embedding have a cosine of 1.

    Spherical k-means runs on a sample, from centroids drawn with the seed. SemDeDup uses 50,000
    clusters for 440 million images and 11,000 for C4, with 100 iterations over all embeddings;
    Faiss (Douze et al. 2024, arXiv:2401.08281) uses 25 iterations over 256 samples per cluster. The
    result depends neither on the order of files nor on the number of workers.

    Every kept document gets fields to sample by: semantic_cluster (the number of its nearest
    cluster), semantic_distance (1 - its cosine with that centroid) and semantic_similarity (its
    greatest cosine with a document before it, or 0).

    With another `unit`, the step compares paragraphs, lines or sentences, across documents and
    within them, by the lists of embeddings from the step `embed` with the same `unit`; no step
    between the two may change the text. Duplicates are cut out of their documents, and the measured
    value is the share of the document's words that is left. Kept documents get none of these fields
    and lose their embeddings, which no longer fit the text. Removing a sentence also joins the
    wrapped lines of the document.

    Tasks stay within --max_memory_mb. Temporary files take 2 bytes per number of all embeddings,
    and again for each cluster in which a document is compared.

    Attributes:
      max_similarity: greatest cosine of two kept documents that were compared, in [0, 1);
        SemDeDup's 1 - epsilon. The right value depends on the encoder.
      embedding_field: field with the embedding.
      num_clusters: number of clusters, >= 1; null: the square root of the number of documents.
      clusters_per_document: number of clusters in which a document is compared, 1 (SemDeDup) to
        100.
      num_iterations: largest number of k-means iterations, 1 to 1,000; it stops when nothing
        changes.
      samples_per_cluster: embeddings per cluster in the sample for k-means, >= 2; at least 10,000
        in all.
      keep: which documents of a data set come first: those "farthest" from their centroid, those
        "nearest" to it, or the "longest".
      seed: seed of the sample and the first centroids.
      remove_embedding: remove the embedding from kept documents.
    """

    name = "semantic_duplicates"
    max_similarity: float = 0.95
    embedding_field: Name = "embedding"
    num_clusters: Annotated[int, Within(1)] | None = None
    clusters_per_document: Annotated[int, Within(1, 100)] = 3
    num_iterations: Annotated[int, Within(1, 1000)] = 20
    samples_per_cluster: Annotated[int, Within(2)] = 256
    keep: Literal["farthest", "nearest", "longest"] = "farthest"
    seed: Annotated[int, Within(0)] = 0
    remove_embedding: bool = False

    def written_fields(self) -> Sequence[str]:
        return (CLUSTER, DISTANCE, SIMILARITY) if self.unit == "document" else ()

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        with RankWriter(path, np.int16) as writer:
            units = UnitWriter()
            for row, document in enumerate(documents):
                value = document.fields.get(self.embedding_field)
                if self.unit == "document":
                    self._add(writer, document, value)
                    continue
                words, bounds = units_of(document, self.unit)
                values = self._embeddings_of_units(document, value, len(bounds) - 1)
                chosen, spans, sizes = long_units(words, bounds, self.shortest)
                for number, size in zip(chosen.tolist(), sizes.tolist(), strict=True):
                    self._add(writer, document, values[number], size)
                units.add(row, spans)
            if self.unit != "document":
                units.write(writer)

    def _add(
        self, writer: RankWriter, document: Document, value: Any, size: int | None = None
    ) -> None:
        self._check(document, value, _find_problem(value))
        (vector,) = round_to_unit(np.array(value, np.float64)[None, :])
        writer.add(document, vector.data, size)
        writer.append(vector)

    def _embeddings_of_units(self, document: Document, value: Any, number: int) -> Sequence[Any]:
        """Return the embeddings of a document's units, so many."""
        problem = None
        if not isinstance(value, list | tuple):
            problem = f"is {value!r:.40}"
        elif not all(isinstance(each, list | tuple) for each in value):
            problem = "is the embedding of one text"
        elif len(value) != number:
            problem = f"has {len(value):,} embeddings for {number:,} {self.unit}s"
        self._check(document, value, problem)
        return value

    def _check(self, document: Document, value: Any, problem: str | None) -> None:
        if problem is None:
            return
        if value is None:
            names = ", ".join(map(str, document.fields)) or "none"
            raise ValueError(
                f"step {self.name}: document {document.id!r} has no field"
                f" {self.embedding_field!r} (embedding_field) with its embedding, which the step"
                f" embed or the input must give; its fields are {names}"
            )
        of_units = (
            f"; with unit={self.unit}, it is a list of the embeddings of all {self.unit}s, as the"
            f" step embed:unit={self.unit} makes it of the same text"
        )
        raise ValueError(
            f"step {self.name}: field {self.embedding_field!r} of document {document.id!r}"
            f" {problem}; an embedding is a list of 1 to {MAX_DIMENSION:,} finite numbers, not all"
            f" of them 0{of_units if self.unit != 'document' else ''}"
        )

    def decide(self, rounds: Rounds) -> Decisions:
        levels = self.levels(rounds.parts)
        equal = self.find_equal(rounds, functools.partial(_write_digests, levels))
        num_documents = len(equal)
        dimension = self._dimension(rounds)
        outputs = {"twins": DOCUMENTS, "values": VALUES, **self.outputs()}
        same = rounds.over_ranges("twins", _reject_twins, equal, outputs)
        num_vectors = num_documents - len(same["twins"])
        k_means = self._plan(num_documents, num_vectors)
        centroids = k_means.run(rounds, dimension, num_vectors, same["twins"])
        num_joined = min(self.clusters_per_document, len(centroids))
        outputs = {"clusters": CLUSTERS, "members": members_of(dimension)}
        assign = functools.partial(
            assign_documents, levels, self.keep, num_joined, centroids, rounds.portion_bytes
        )
        reads = {"twins": same["twins"]}
        joined = rounds.over_parts("clusters", assign, outputs, reads)
        rounds.remove(centroids)
        found = compare_clusters(
            rounds, joined["members"], float(self.max_similarity), self.outputs()
        )
        logging.info(
            "%s: %d comparisons of %d %ss with different embeddings in %d clusters",
            self.name,
            rounds.counted["compared"],
            num_vectors,
            self.unit,
            rounds.counted["clusters"],
        )
        both = {
            name: SortedRecords(records.layout, (*same[name].files, *records.files))
            for name, records in found.items()
        }
        decisions = self.decide_by(rounds, both["values"], both)
        return Decisions(tables={**decisions.tables, "clusters": joined["clusters"]})

    def _dimension(self, rounds: Rounds) -> int:
        found = sorted(int(name) for name in rounds.counted if name.isdecimal())
        if len(found) > 1:
            raise ValueError("; ".join(self._dimensions(rounds.parts)))
        return found[0] if found else 1

    def _dimensions(self, parts: Iterable[Part]) -> Iterator[str]:
        """Yield a clause on the first document with each of two dimensions."""
        known: dict[int, str] = {}
        for part in parts:
            lengths = ArrayFile(part.path).row_lengths()
            for length, row in zip(*np.unique(lengths, return_index=True), strict=True):
                name = open_ids(part).row(row).tobytes().decode(errors="replace")
                known.setdefault(int(length), name)
        for length, name in itertools.islice(known.items(), 2):
            yield f"the embedding of document {name!r} has {length} numbers"
        yield "all must have as many"

    def _plan(self, num_documents: int, num_vectors: int) -> KMeans:
        number = self.num_clusters
        if number is None:
            number = min(round(math.sqrt(num_documents)), num_vectors)
        elif number > num_vectors:
            raise ValueError(
                f"num_clusters is {number:,}; it must be at most the number of different"
                f" embeddings, {num_vectors:,} (of {num_documents:,} {self.unit}s)"
            )
        return KMeans(number, self.num_iterations, self.samples_per_cluster, self.seed)

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        if self.unit != "document":
            for verdict in self.judge_units(decided, documents):
                document = verdict.document.without_field(self.embedding_field)
                yield dataclasses.replace(verdict, document=document)
            return
        table = decided.tables["clusters"]
        clusters = table["cluster"].tolist()
        distances = (1.0 - table["similarity"].view(np.float64)).tolist()
        verdicts = judge_duplicates(
            decided, documents, "max_similarity", self.max_similarity, default=0.0
        )
        verdicts = self.note_copies(decided, verdicts)
        for cluster, distance, verdict in zip(clusters, distances, verdicts, strict=True):
            if not verdict.kept:
                yield verdict
                continue
            document = verdict.document
            if self.remove_embedding:
                document = document.without_field(self.embedding_field)
            fields = {
                CLUSTER: cluster,
                DISTANCE: round(distance, _NUM_DIGITS),
                SIMILARITY: round(float(verdict.measured[0].value), _NUM_DIGITS),
            }
            yield dataclasses.replace(verdict, document=document.with_fields(**fields))


def _find_problem(value: Any) -> str | None:
    """Return what is wrong with a value as a list of numbers; None: nothing."""
    if not isinstance(value, list | tuple):
        return f"is {value!r:.40}"
    if not set(map(type, value)) <= {int, float}:
        wrong = next(each for each in value if type(each) not in (int, float))
        return f"has {wrong!r:.40}"
    if not 1 <= len(value) <= MAX_DIMENSION:
        return f"has {len(value):,} numbers"
    wrong = next((each for each in value if not -_LARGEST <= each <= _LARGEST), None)
    if wrong is not None:
        return f"has {wrong!r:.40}"
    return None if any(value) else "has only zeros"


def _write_digests(
    levels: Mapping[str, int], part: Part, own: Own, writers: Writers
) -> dict[str, int]:
    """Write the digests of a shard's embeddings; count them by their dimension."""
    write_digests(levels, part, own, writers)
    lengths = ArrayFile(part.path).row_lengths()
    found, counts = np.unique(lengths, return_counts=True)
    return dict(zip(map(str, found.tolist()), counts.tolist(), strict=True))


def _reject_twins(reader: RangeReader, writers: Writers) -> None:
    """Reject documents with equal embeddings, by their digests, for the sake of the best one."""
    for batch in reader.batches(2):
        reject(writers, *find_twins(batch, writers))
