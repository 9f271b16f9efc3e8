"""Gradient descent: the vectors of a classifier, from random ones to trained ones.

descent = Descent(num_rows, num_labels, dim, loss, seed, executor)
descent.train(texts, epochs=5, learning_rate=0.1)      the loss of the last epoch
descent.judge(texts, scored=0)                         labels, and scores of label 0
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.classifying.fasttext_training import (
    Model,
    Rates,
    Texts,
    draw_numbers,
    judge_texts,
    train_texts,
)
from bert_data.progress import progress
from bert_data.work import Executor

TENTHS = 10
"""Parts of the vectors, each of which has its own generator of random numbers, as in fastText."""

_CHUNK_ROWS = 2_000_000  # between reports of progress: a fraction of a second
_CHECKED_ROWS = 1 << 16


class Descent:
    """A model in training.

    Attributes:
      vectors: float32 [rows, dim].
      outputs: float32 [labels, dim].
    """

    def __init__(
        self, num_rows: int, num_labels: int, dim: int, loss: int, seed: int, executor: Executor
    ) -> None:
        """Draw the first vectors; the outputs are 0.

        Args:
          num_rows: of words and n-grams.
          num_labels: two or more.
          dim: numbers of a vector.
          loss: `SOFTMAX` or `ONE_VS_ALL`.
        """
        self.vectors = np.zeros((num_rows, dim), np.float32)
        self.outputs = np.zeros((num_labels, dim), np.float32)
        self._loss = loss
        self._model = Model(
            vectors=self.vectors,
            outputs=self.outputs,
            hidden=np.empty(dim, np.float32),
            gradient=np.empty(dim, np.float32),
            shares=np.empty(num_labels, np.float32),
        )

        numbers = self.vectors.reshape(-1)
        size = len(numbers) // TENTHS  # what is left over stays 0, as in fastText

        def draw(tenth: int) -> None:
            draw_numbers(numbers[tenth * size : (tenth + 1) * size], 1 / dim, tenth + seed)

        with progress("draw vectors", total=TENTHS, unit="part") as advance:
            for _ in executor.ordered_map(draw, range(TENTHS)):
                advance(1)

    def train(self, texts: Texts, *, epochs: int, learning_rate: float) -> float:
        """Train on all texts, in their order; return the mean loss of a text in the last epoch."""
        num_texts = len(texts.targets)
        rates = Rates(learning_rate, epochs * int(texts.num_tokens.sum()), self._loss)
        state = np.zeros(2, np.int64)
        losses = 0.0
        with progress("train", total=epochs * num_texts, unit="text") as advance:
            for _ in range(epochs):
                losses, first = 0.0, 0
                for last in _cut(texts.ends):
                    losses += train_texts(first, last, texts, self._model, rates, state)
                    advance(last - first)
                    first = last
        return losses / num_texts

    def judge(self, texts: Texts, scored: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the likeliest label of each text (-1: none), and its score of one label."""
        best = np.empty(len(texts.targets), np.int32)
        scores = np.empty(len(texts.targets), np.float32)
        judge_texts(scored, self._loss, texts, self._model, best, scores)
        return best, scores

    def is_finite(self) -> bool:
        """Whether all numbers are."""
        return all(
            np.isfinite(matrix[start : start + _CHECKED_ROWS]).all()
            for matrix in (self.outputs, self.vectors)
            for start in range(0, len(matrix), _CHECKED_ROWS)
        )


def _cut(ends: NDArray[np.int64]) -> list[int]:
    """Return the ends of runs of texts that have about `_CHUNK_ROWS` rows."""
    places = np.arange(_CHUNK_ROWS, ends[-1], _CHUNK_ROWS)
    bounds = np.searchsorted(ends, places).tolist()
    return sorted({*bounds, len(ends) - 1} - {0})
