"""Steps that run a trained model, and what they make of its outputs: scores or vectors of texts.

scorer = open_scorer(ModelConfig(model="classifier.keras", ...), label="1")
scorer.score(["One text.", "Another."])  ->  float64 [2], here probabilities of the label
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.document import in_groups
from bert_data.curation.models.text_model import (
    MAX_CHARACTERS,
    MAX_TEXTS,
    ModelConfig,
    TextModel,
    open_model,
)
from bert_data.curation.step import CorpusStep
from bert_data.settings import check_choice

if TYPE_CHECKING:
    from bert_data.hub.opening_models import Network, Outputs

AUTO, SOFTMAX, SIGMOID, NONE = ACTIVATIONS = ("auto", "softmax", "sigmoid", "none")
MEAN, MAX = WINDOWS = ("mean", "max")
_, CLS, POOLER = POOLINGS = (MEAN, "cls", "pooler")

_HIDDEN = ("sequence_output", "last_hidden_state")
_POOLED = ("pooled_output", "pooler_output")
_OF_ENCODERS = (*_HIDDEN, *_POOLED, "default", "encoder_outputs")
_MAX_SHOWN = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelStep(ModelConfig, CorpusStep):
    """A step that runs a model over all documents."""


class Scorer:
    """Turns texts into scores."""

    def __init__(
        self,
        model: TextModel,
        *,
        output: str = "",
        label: str = "",
        activation: str = AUTO,
        windows: str = MEAN,
    ) -> None:
        """Find the output and the label; the step `model_score` describes the options."""
        check_choice("activation", activation, ACTIVATIONS)
        check_choice("windows", windows, WINDOWS)
        self._model, self._windows = model, windows
        self._output = _find_output(model, output)
        num_values = int(np.prod(model.shapes[self._output][1:]))
        self._label = _find_label(model.network, num_values, label)
        if activation == AUTO:
            several = SIGMOID if model.network.is_multi_label else SOFTMAX
            activation = NONE if num_values == 1 else several
        self._activation = activation

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the score of each text, [texts]."""
        if not texts:
            return np.empty(0)
        scores = self._model.read(texts, self._take).of_texts(self._windows)[:, 0]
        _check_values(self._model, texts, "the score", scores, np.isfinite(scores))
        return scores

    def score_many(self, texts: Iterable[str]) -> Iterator[NDArray[np.float64]]:
        """Yield the scores of texts, some thousand at a time, in their order."""
        return map(self.score, in_groups(texts, len, MAX_CHARACTERS, MAX_TEXTS))

    def _take(self, outputs: "Outputs", _: NDArray[np.int32] | None) -> NDArray[np.float32]:
        values = outputs[self._output].numpy().astype(np.float64)
        values = values.reshape(len(values), -1)
        if self._activation == SOFTMAX:
            with np.errstate(invalid="ignore"):  # of infinite values; `score` refuses the result
                powers = np.exp(values - values.max(axis=1, keepdims=True))
            values = powers / powers.sum(axis=1, keepdims=True)
        values = values[:, [self._label]]
        if self._activation == SIGMOID:
            values = 0.5 + 0.5 * np.tanh(0.5 * values)  # which does not overflow
        return values.astype(np.float32)


def open_scorer(config: ModelConfig, **options: str) -> Scorer:
    """Open a scorer with options of `Scorer`; a process keeps the last model that it has opened."""
    return Scorer(open_model(config), **options)


def _check_values(
    model: TextModel,
    texts: Sequence[str],
    what: str,
    values: NDArray[np.float64],
    are_good: NDArray[np.bool_],
) -> None:
    """Refuse a model that gives the first text that is not good such a value."""
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
    """Turns texts into vectors.

    Attributes:
      dim: numbers of a vector.
    """

    def __init__(self, model: TextModel, pooling: str) -> None:
        """Find the output that has the vectors; the step `embed` describes the pooling."""
        check_choice("pooling", pooling, POOLINGS)
        self._model, self._pooling = model, pooling
        shapes = model.shapes
        names, rank = (_POOLED, 2) if pooling == POOLER else (_HIDDEN, 3)
        found = [name for name in names if len(shapes.get(name, ())) == rank]
        vectors = [name for name, shape in shapes.items() if len(shape) == 2]
        if not found and len(shapes) == len(vectors) == 1:
            found, self._pooling = vectors, POOLER  # a model whose only output is a vector
        if not found:
            raise ValueError(
                f"{model.network.path} has the outputs {', '.join(shapes)}; pooling {pooling!r}"
                f" needs {' or '.join(names)}"
            )
        self._output = found[0]
        self.dim = shapes[self._output][-1]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 [texts, dim], vectors of length 1."""
        if not texts:
            return np.empty((0, self.dim), np.float32)
        vectors = self._model.read(texts, self._take).of_texts("mean")
        lengths = np.linalg.norm(vectors, axis=1)
        are_good = np.isfinite(lengths) & (lengths > 0)
        _check_values(self._model, texts, "a vector of length", lengths, are_good)
        return (vectors / lengths[:, np.newaxis]).astype(np.float32)

    def embed_many(self, texts: Iterable[str]) -> Iterator[NDArray[np.float32]]:
        """Yield the vectors of texts, some thousand at a time, in their order."""
        return map(self.embed, in_groups(texts, len, MAX_CHARACTERS, MAX_TEXTS))

    def _take(self, outputs: "Outputs", mask: NDArray[np.int32] | None) -> NDArray[np.float32]:
        values: NDArray[np.float32] = outputs[self._output].numpy()
        if self._pooling == POOLER:
            return values
        if self._pooling == CLS:
            return values[:, 0]
        assert mask is not None
        weights = mask.astype(np.float32)
        sums = np.einsum("rwd,rw->rd", values, weights)
        return sums / weights.sum(axis=1, keepdims=True)


def open_embedder(config: ModelConfig, pooling: str = MEAN) -> Embedder:
    """Open an encoder; a process keeps the last model that it has opened."""
    return Embedder(open_model(config), pooling)
