"""Run a trained model over documents: keep them by its score, or give each a vector."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from absl import logging

from bert_data.curation.document import Document, Verdict
from bert_data.curation.models.model_step import (
    Embedder,
    ModelStep,
    Scorer,
    open_embedder,
    open_scorer,
)
from bert_data.curation.parameters import NewField
from bert_data.curation.quality.languages import units_of
from bert_data.curation.quality.percentiles import Percentile, PercentileStep, save_values
from bert_data.curation.step import Decisions, ShardDecisions, register
from bert_data.curation.text_units import Unit, unit_texts
from bert_data.settings import Within
from bert_data.storage import (
    load_array,
    load_values,
    make_folder,
    open_scratch,
    read_json,
    save_array,
    write_bytes,
)
from bert_data.work.rounds import Rounds

Score = Annotated[float, Within(-1_000_000)]

_DIGITS, _VECTOR_DIGITS = 4, 5
_VECTORS, _DIM, _COUNTS = "vectors", "dim.json", "counts.npy"


@register
class ModelScore(PercentileStep, ModelStep):
    """Scores documents with a trained model, and keeps them by score or percentile.

    FineWeb-Edu keeps pages that a BERT with a regression scores as 3 or more of 5 for educational
    value (Penedo et al. 2024, arXiv:2406.17557); it reads the first 512 tokens of each. The model
    is a .keras file of this package or another, a SavedModel, a folder of Hugging Face (also with a
    classifier), or a checkpoint of a classifier.

    A document's percentile is the share of all documents with a higher score. The fields
    `model_score` and `model_score_bucket` ("head", "middle", "tail") stay on the document. Nothing
    is rejected by default.

    Documents share batches with others of their length, and each worker has one thread of
    TensorFlow, so the scores do not depend on the number of workers. A score is rounded to 4 digits
    after the point, as its last bits depend on the other documents of its batch: other input or
    another size of shards may change it by 0.0001.

    Attributes:
      windows: "mean" of their scores, weighted by their tokens, or "max".
      output: the model's output, if it has several.
      label: name or number of the label whose probability is the score; for several labels.
      activation: what turns outputs into scores: "softmax" or "sigmoid"; "none" for a regression,
        and for outputs that are probabilities; "auto": none for a single value, else softmax (or
        sigmoid, if a folder of Hugging Face says so).
      min_score: least score of a kept document; null: no limit.
      max_score: greatest score of a kept document; null: no limit.
      score_field: field that receives the score.
      bucket_field: field that receives the bucket.
    """

    name = "model_score"
    higher_is_better = True
    counts_buckets = True
    rules_of_value = ("min_score", "max_score")
    windows: Literal["mean", "max"] = "mean"
    output: str = ""
    label: str = ""
    activation: Literal["auto", "softmax", "sigmoid", "none"] = "auto"
    min_score: Score | None = None
    max_score: Score | None = None
    max_percentile: Percentile = 100.0
    head_percentile: Percentile = 30.0
    middle_percentile: Percentile = 60.0
    score_field: NewField = "model_score"
    bucket_field: NewField = "model_score_bucket"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.score_field == self.bucket_field:
            raise ValueError(f"score_field and bucket_field are both {self.score_field!r}")

    def _open(self) -> Scorer:
        return open_scorer(
            self,
            output=self.output,
            label=self.label,
            activation=self.activation,
            windows=self.windows,
        )

    def prepare(self, folder: Path) -> None:
        self._open()  # so that a mistake is reported before documents are read
        logging.info("%s: %s has a score", self.name, self.model)

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        scores = [*self._open().score_many(document.text for document in documents)]
        save_values(path, np.round(np.concatenate([np.empty(0), *scores]), _DIGITS))


@register
class Embed(ModelStep):
    """Gives each document a vector by a trained encoder; it rejects nothing.

    The field `embedding` is a list of numbers, a vector of length 1: the mean of the encoder's last
    layer over the tokens of a window, and over windows by their tokens (Reimers and Gurevych 2019,
    arXiv:1908.10084, found it the best of three ways). The cosine of two documents is the sum of
    the products. In Parquet the field is a column of lists.

    With another `unit`, the field is a list of the vectors of the document's paragraphs, lines or
    sentences, for `semantic_duplicates` with the same `unit` (a column of JSON in Parquet).

    Numbers are rounded to 5 digits after the point: their last bits depend on the documents that
    share a batch. The rounding changes a cosine by less than 0.00001.

    Attributes:
      pooling: "mean"; "cls" for the first position of the last layer; "pooler" for BERT's layer
        above that.
      unit: what has a vector: "document", "paragraph" (the text between blank lines), "line" or
        "sentence".
      embedding_field: field that receives the vector.
    """

    name = "embed"
    pooling: Literal["mean", "cls", "pooler"] = "mean"
    unit: Unit = "document"
    embedding_field: NewField = "embedding"

    def _open(self) -> Embedder:
        return open_embedder(self, self.pooling)

    def prepare(self, folder: Path) -> None:
        logging.info("%s: %s has vectors of %d numbers", self.name, self.model, self._open().dim)

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        embedder = self._open()
        make_folder(path)
        write_bytes(path / _DIM, str(embedder.dim).encode())
        counts: list[int] = []
        with open_scratch(path / _VECTORS) as file:
            for vectors in embedder.embed_many(self._texts(documents, counts)):
                file.write(vectors.data)
        save_array(path / _COUNTS, np.array(counts, np.int64))

    def _texts(self, documents: Iterable[Document], counts: list[int]) -> Iterator[str]:
        """Yield what has a vector, and append its number of each document."""
        for document in documents:
            is_whole = self.unit == "document"
            texts = [document.text] if is_whole else unit_texts(*units_of(document, self.unit))
            counts.append(len(texts))
            yield from texts

    def decide(self, rounds: Rounds) -> Decisions:
        return Decisions()

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        dim = read_json(os.path.join(decided.observed, _DIM), int)
        vectors = load_values(os.path.join(decided.observed, _VECTORS), np.float32)
        ends = np.cumsum(load_array(os.path.join(decided.observed, _COUNTS)))
        rows = np.split(vectors.reshape(-1, dim), ends)[:-1]
        for document, own in zip(documents, rows, strict=True):
            numbers = np.round(own.astype(np.float64), _VECTOR_DIGITS).tolist()
            value = numbers[0] if self.unit == "document" else numbers
            yield Verdict(document.with_fields(**{self.embedding_field: value}))
