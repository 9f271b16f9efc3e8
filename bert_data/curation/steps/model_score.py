"""Run a trained model over documents: keep them by its score, or give each a vector."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.document import Document, Verdict, in_groups
from bert_data.curation.parameters import NewField
from bert_data.curation.quality.languages import units_of
from bert_data.curation.quality.percentiles import Percentile, PercentileStep, save_values
from bert_data.curation.step import CorpusStep, Decisions, ShardDecisions, register
from bert_data.curation.text_model import (
    MAX_PLANNED_CHARACTERS,
    MAX_PLANNED_TEXTS,
    ModelConfig,
    TextModel,
    open_text_model,
)
from bert_data.curation.text_units import Unit, unit_texts
from bert_data.settings import Within
from bert_data.work.array_files import ArrayFile, ArrayWriter
from bert_data.work.rounds import Rounds

if TYPE_CHECKING:
    from bert_data.hub.opening_models import Network, Outputs

Score = Annotated[float, Within(-1_000_000)]

_DIGITS, _VECTOR_DIGITS = 4, 5
_DIM, _COUNTS = "dim", "counts"  # arrays of a shard's file

_HIDDEN = ("sequence_output", "last_hidden_state")
_POOLED = ("pooled_output", "pooler_output")
_OF_ENCODERS = (*_HIDDEN, *_POOLED, "default", "encoder_outputs")
_MAX_SHOWN = 20


@register
class ModelScore(PercentileStep, ModelConfig, CorpusStep):
    """Scores documents with a trained model, and keeps them by score or percentile.

    FineWeb-Edu keeps pages whose educational value a BERT regression model rates at 3 or more out
    of 5, from the first 512 tokens (Penedo et al. 2024, arXiv:2406.17557). The model is a .keras
    file, from this package or another, a SavedModel, a Hugging Face folder (with or without a
    classifier), or a checkpoint of a classifier.

    A document's percentile is the share of all documents with a higher score. The document gets the
    fields `model_score` and `model_score_bucket` ("head", "middle" or "tail"). By default nothing
    is rejected.

    Documents of similar length share batches, and each worker runs one TensorFlow thread, so scores
    do not depend on the number of workers. Scores are rounded to 4 decimal places, because their
    last bits depend on the other documents of the batch: other input or another shard size may
    change a score by 0.0001.

    Attributes:
      windows: how the scores of windows are combined: "mean" (weighted by tokens) or "max".
      output: name of the model's output to use, if it has several.
      label: name or number of the label whose probability is the score, if there are several.
      activation: turns outputs into scores: "softmax", "sigmoid", or "none" for regressions and
        outputs that are probabilities already; "auto": none for a single value, else softmax (or
        sigmoid, if a Hugging Face folder says so).
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

    def prepare(self, folder: Path) -> None:
        Scorer(self)  # so that a mistake is reported before documents are read
        logging.info("%s: %s gives a score", self.name, self.model)

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        scores = [*map(Scorer(self).score, _portions(document.text for document in documents))]
        save_values(path, np.round(np.concatenate([np.empty(0), *scores]), _DIGITS))


@register
class Embed(ModelConfig, CorpusStep):
    """Gives each document an embedding by a trained encoder; rejects nothing.

    The field `embedding` is a list of numbers: the mean of the encoder's last layer over all tokens
    of a document's windows (Reimers and Gurevych 2019, arXiv:1908.10084, found it the best of three
    poolings), scaled to length 1. The cosine of two documents is therefore their dot product. In
    Parquet the field is a column of lists.

    With another `unit`, the field is a list of embeddings, one for each paragraph, line or
    sentence, for `semantic_duplicates` with the same `unit` (in Parquet a column of JSON).

    Numbers are rounded to 5 decimal places, because their last bits depend on the other documents
    of the batch. Rounding changes a cosine by less than 0.00001.

    Attributes:
      pooling: "mean"; "cls", the first position of the last layer; or "pooler", BERT's dense layer
        above it.
      unit: what gets an embedding: "document", "paragraph" (the text between blank lines), "line"
        or "sentence".
      embedding_field: field that receives the embedding.
    """

    name = "embed"
    pooling: Literal["mean", "cls", "pooler"] = "mean"
    unit: Unit = "document"
    embedding_field: NewField = "embedding"

    def prepare(self, folder: Path) -> None:
        logging.info(
            "%s: %s gives embeddings of %d numbers", self.name, self.model, Embedder(self).dim
        )

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        embedder = Embedder(self)
        counts: list[int] = []
        with ArrayWriter(path, np.float32) as writer:
            for vectors in map(embedder.embed, _portions(self._texts(documents, counts))):
                writer.append(vectors.reshape(-1))
            writer.arrays |= {_DIM: np.array([embedder.dim]), _COUNTS: np.array(counts, np.int64)}

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
        observed = ArrayFile(decided.observed)
        vectors, ends = observed.rows().values, np.cumsum(observed[_COUNTS])
        rows = np.split(vectors.reshape(-1, int(observed[_DIM][0])), ends)[:-1]
        for document, own in zip(documents, rows, strict=True):
            numbers = np.round(own.astype(np.float64), _VECTOR_DIGITS).tolist()
            value = numbers[0] if self.unit == "document" else numbers
            yield Verdict(document.with_fields(**{self.embedding_field: value}))


def _portions(texts: Iterable[str]) -> Iterator[list[str]]:
    return in_groups(texts, len, MAX_PLANNED_CHARACTERS, MAX_PLANNED_TEXTS)


class Scorer:
    """Turns texts into scores, as a step says; a process keeps the last model that it has opened.

    Scorer(ModelScore(model="classifier.keras", label="1")).score(["One text.", "Another."])
      ->  float64 [2], here probabilities of the label
    """

    def __init__(self, step: ModelScore) -> None:
        """Open the model, and find the output and the label."""
        self._model, self._windows = open_text_model(step), step.windows
        network = self._model.network
        self._output = _find_output(self._model, step.output)
        num_values = int(np.prod(self._model.shapes[self._output][1:]))
        self._label = _find_label(network, num_values, step.label)
        self._activation: str = step.activation
        if step.activation == "auto":
            several = "sigmoid" if network.is_multi_label else "softmax"
            self._activation = "none" if num_values == 1 else several

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the score of each text, [texts], one or more."""
        scores = self._model.read(texts, self._take).of_texts(self._windows)[:, 0]
        _check_values(self._model, texts, "the score", scores, np.isfinite(scores))
        return scores

    def _take(self, outputs: "Outputs", _: NDArray[np.int32] | None) -> NDArray[np.float32]:
        values = outputs[self._output].numpy().astype(np.float64)
        values = values.reshape(len(values), -1)
        if self._activation == "softmax":
            with np.errstate(invalid="ignore"):  # of infinite values; `score` refuses the result
                powers = np.exp(values - values.max(axis=1, keepdims=True))
            values = powers / powers.sum(axis=1, keepdims=True)
        values = values[:, [self._label]]
        if self._activation == "sigmoid":
            values = 0.5 + 0.5 * np.tanh(0.5 * values)  # which does not overflow
        return values.astype(np.float32)


def _check_values(
    model: TextModel,
    texts: Sequence[str],
    what: str,
    values: NDArray[np.float64],
    are_good: NDArray[np.bool_],
) -> None:
    for number in np.flatnonzero(~are_good)[:1]:
        raise ValueError(
            f"{model.network.path} gives {what} {values[number]} for a text that begins"
            f" {texts[number][:40]!r}"
        )


def _find_output(model: TextModel, name: str) -> str:
    path, shapes = model.network.path, model.shapes
    if name and name not in shapes:
        raise ValueError(f"output is {name!r}; the outputs of {path} are {', '.join(shapes)}")
    found = [name] if name else [each for each in shapes if each not in _OF_ENCODERS]
    if not found:
        raise ValueError(f"{path} is an encoder without a classifier; it gives no score")
    if len(found) > 1:
        raise ValueError(f"{path} has the outputs {', '.join(found)}; name one as output")
    if len(shapes[found[0]]) > 2:
        shape = list(shapes[found[0]])
        raise ValueError(f"output {found[0]!r} of {path} is {shape} for a row; it must be a score")
    return found[0]


def _find_label(network: "Network", num_labels: int, label: str) -> int:
    """Return the number of a label; a model may not know the names of its labels."""
    labels = network.labels if len(network.labels) == num_labels else ()
    if not label and num_labels == 1:
        return 0
    if label in labels:
        return labels.index(label)
    if label.isascii() and label.isdigit() and int(label) < num_labels:
        return int(label)
    known = f"0 to {num_labels - 1}" if num_labels > 1 else "0"
    if labels:
        known = ", ".join(labels[:_MAX_SHOWN]) + (", ..." if len(labels) > _MAX_SHOWN else "")
    asked = f"label is {label!r:.60}" if label else "label is not set"
    raise ValueError(f"{asked}; the labels of {network.path} are {known}")


class Embedder:
    """Turns texts into vectors, as a step says.

    Attributes:
      dim: numbers of a vector.
    """

    def __init__(self, step: Embed) -> None:
        """Open the model, and find the output that has the vectors."""
        self._model, self._pooling = open_text_model(step), str(step.pooling)
        path, shapes = self._model.network.path, self._model.shapes
        names, rank = (_POOLED, 2) if self._pooling == "pooler" else (_HIDDEN, 3)
        found = [name for name in names if len(shapes.get(name, ())) == rank]
        if not found and [*map(len, shapes.values())] == [2]:
            found, self._pooling = [*shapes], "pooler"  # a model whose only output is a vector
        if not found:
            raise ValueError(
                f"{path} has the outputs {', '.join(shapes)}; pooling {step.pooling!r} needs"
                f" {' or '.join(names)}"
            )
        self._output = found[0]
        self.dim = shapes[self._output][-1]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 [texts, dim], vectors of length 1; of one or more texts."""
        vectors = self._model.read(texts, self._take).of_texts("mean")
        lengths = np.linalg.norm(vectors, axis=1)
        are_good = np.isfinite(lengths) & (lengths > 0)
        _check_values(self._model, texts, "a vector of length", lengths, are_good)
        return (vectors / lengths[:, np.newaxis]).astype(np.float32)

    def _take(self, outputs: "Outputs", mask: NDArray[np.int32] | None) -> NDArray[np.float32]:
        values: NDArray[np.float32] = outputs[self._output].numpy()
        if self._pooling == "pooler":
            return values
        if self._pooling == "cls":
            return values[:, 0]
        assert mask is not None
        weights = mask.astype(np.float32)
        sums = np.einsum("rwd,rw->rd", values, weights)
        return sums / weights.sum(axis=1, keepdims=True)
