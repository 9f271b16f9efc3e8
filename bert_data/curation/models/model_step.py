"""Steps that run a trained model: its parameters and files, and embeddings of texts."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.models.rows import in_groups
from bert_data.curation.models.text_model import ModelConfig, TextModel, open_model
from bert_data.curation.parameters import Within
from bert_data.curation.step import CorpusStep
from bert_data.settings import check_choice


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelStep(CorpusStep):
    """A step that runs a model over all documents; for its parameters see `ModelConfig`."""

    model: str
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    allow_other_vocabulary: bool = False
    max_seq_length: Annotated[int, Within(8)] | None = None
    max_windows: Annotated[int, Within(1)] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.model_config()

    def model_config(self) -> ModelConfig:
        """Return the configuration of the model."""
        names = (field.name for field in dataclasses.fields(ModelConfig))
        return ModelConfig(**{name: getattr(self, name) for name in names})

    def files(self) -> list[str]:
        """Return the files of the model."""
        return self.model_config().files()


if TYPE_CHECKING:
    from bert_data.hub.opening import Outputs

MEAN, CLS, POOLER = POOLINGS = ("mean", "cls", "pooler")
_HIDDEN = ("sequence_output", "last_hidden_state")
_POOLED = ("pooled_output", "pooler_output")


@dataclasses.dataclass(frozen=True, kw_only=True)
class EmbeddingConfig:
    """Configuration of an embedder.

    Attributes:
      model: the encoder; the vectors of several windows of a text are averaged, by their tokens.
      pooling: "mean" of the last layer over the tokens of a row, special ones included; "cls", its
        first position; or "pooler", BERT's layer above that.
    """

    model: ModelConfig
    pooling: str = MEAN

    def __post_init__(self) -> None:
        check_choice("pooling", self.pooling, POOLINGS)


class Embedder:
    """Turns texts into vectors.

    Attributes:
      dim: numbers of a vector.
    """

    def __init__(self, model: TextModel, pooling: str) -> None:
        """Find the output that has the vectors.

        Raises:
          ValueError: the model has none.
        """
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
        """Return float32 [texts, dim], vectors of length 1.

        Raises:
          ValueError: a vector is not finite, or zero.
        """
        if not texts:
            return np.empty((0, self.dim), np.float32)
        vectors = self._model.read(texts, self._take).of_texts("mean")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        bad = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0))[:, 0])
        if bad.size:
            text = texts[bad[0]]
            raise ValueError(
                f"{self._model.network.path} gives a vector of length {lengths[bad[0], 0]} for a"
                f" text that begins {text[:40]!r}"
            )
        return (vectors / lengths).astype(np.float32)

    def embed_many(self, texts: Iterable[str]) -> Iterator[NDArray[np.float32]]:
        """Yield the vectors of texts, some thousand at a time, in their order."""
        return map(self.embed, in_groups(texts))

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


def open_embedder(config: EmbeddingConfig) -> Embedder:
    """Open an encoder; a process keeps the last model that it has opened.

    Raises:
      ValueError: the model has no vectors; or as `TextModel`.
      OSError, CorruptDataError: see `TextModel`.
    """
    return Embedder(open_model(config.model), config.pooling)
