"""A score of each text, by a classifier or a regression.

scorer = open_scorer(ScoringConfig(model=ModelConfig(model="classifier.keras", ...), label="1"))
scorer.score(["One text.", "Another."])  ->  float64 [2], here probabilities of the label
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.models.rows import in_groups
from bert_data.curation.models.text_model import ModelConfig, TextModel, open_model
from bert_data.settings import check_choice

if TYPE_CHECKING:
    from bert_data.hub.opening import Network, Outputs

AUTO, SOFTMAX, SIGMOID, NONE = ACTIVATIONS = ("auto", "softmax", "sigmoid", "none")
MEAN, MAX = WINDOWS = ("mean", "max")

_OF_ENCODERS = (
    *("sequence_output", "pooled_output", "default", "encoder_outputs"),
    *("last_hidden_state", "pooler_output"),
)
_MAX_SHOWN = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoringConfig:
    """Configuration of a scorer.

    Attributes:
      model: the classifier or regression.
      output: name of its output; "": its only one, besides an encoder's.
      label: name or number of the label whose value is the score; "" if there is only one.
      activation: of the output: "softmax", "sigmoid", "none", or "auto": none for a single value,
        sigmoid for a classifier of several labels at once, softmax for any other.
      windows: "mean" or "max" of the scores of a text's rows; the mean is weighted by their tokens.
    """

    model: ModelConfig
    output: str = ""
    label: str = ""
    activation: str = AUTO
    windows: str = MEAN

    def __post_init__(self) -> None:
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("windows", self.windows, WINDOWS)


class Scorer:
    """Turns texts into scores."""

    def __init__(self, model: TextModel, config: ScoringConfig) -> None:
        """Find the output and the label.

        Raises:
          ValueError: the model does not have them.
        """
        self._model, self._windows = model, config.windows
        self._output = _find_output(model, config.output)
        num_values = int(np.prod(model.shapes[self._output][1:]))
        self._label = _find_label(model.network, num_values, config.label)
        activation = config.activation
        if activation == AUTO:
            several = SIGMOID if model.network.is_multi_label else SOFTMAX
            activation = NONE if num_values == 1 else several
        self._activation = activation

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the score of each text, [texts].

        Raises:
          ValueError: a score is not finite.
        """
        if not texts:
            return np.empty(0)
        scores = self._model.read(texts, self._take).of_texts(self._windows)[:, 0]
        bad = np.flatnonzero(~np.isfinite(scores))
        if bad.size:
            text = texts[bad[0]]
            raise ValueError(
                f"{self._model.network.path} gives the score {scores[bad[0]]} for a text that"
                f" begins {text[:40]!r}"
            )
        return scores

    def score_many(self, texts: Iterable[str]) -> Iterator[NDArray[np.float64]]:
        """Yield the scores of texts, some thousand at a time, in their order."""
        return map(self.score, in_groups(texts))

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


def open_scorer(config: ScoringConfig) -> Scorer:
    """Open a scorer; a process keeps the last model that it has opened.

    Raises:
      ValueError: the model has no score, or not this label; or as `TextModel`.
      OSError, CorruptDataError: see `TextModel`.
    """
    return Scorer(open_model(config.model), config)


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
