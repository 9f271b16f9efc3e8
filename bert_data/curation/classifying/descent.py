"""Gradient descent: the vectors of a classifier, from random ones to trained ones.

A step of the descent follows each text and needs what the one before has changed, so a single
thread makes them all, and the result is fastText's own, with one thread.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.classifying.fasttext_kernels import (
    SOFTMAX,
    Arrays,
    list_rows,
    max_rows,
    mean_vector,
    multiply_all,
    sigmoid,
    softmax,
)
from bert_data.curation.classifying.training_texts import LEAST_WRAPPED, SpooledTexts
from bert_data.curation.document import in_groups
from bert_data.kernels import Constants, Scalar, inner, kernel
from bert_data.progress import progress
from bert_data.storage import load_values, open_scratch
from bert_data.work import Executor

RUN_BYTES = 1 << 20
TENTHS = 10
"""Parts of the vectors, each of which has its own generator of random numbers, as in fastText."""

_CHUNK_ROWS = 2_000_000  # between reports of progress: a fraction of a second
_CHECKED_ROWS = 1 << 16
_RATE_TOKENS = 100  # between changes of the learning rate, as in fastText
_FACTOR, _MODULUS, _BITS = np.uint64(48271), np.uint64(2**31 - 1), np.uint64(31)
_SQUARE = np.uint64(48271**2 % (2**31 - 1))
_RANGE = 2147483646.0


class Texts(NamedTuple):
    """Texts to train on.

    Attributes:
      rows: int32, of all texts, one after the other.
      ends: int64 [texts + 1], 0 and the end of each text in `rows`.
      targets: int32 [texts], the label of each.
      num_tokens: int64 [texts], of each, with its label and its end.
    """

    rows: NDArray[np.int32]
    ends: NDArray[np.int64]
    targets: NDArray[np.int32]
    num_tokens: NDArray[np.int64]


class Model(NamedTuple):
    """A model in training."""

    vectors: NDArray[np.float32]
    outputs: NDArray[np.float32]
    hidden: NDArray[np.float32]
    gradient: NDArray[np.float32]
    shares: NDArray[np.float32]


class Rates(NamedTuple):
    """The learning rate, which falls to 0 with the tokens that were read.

    Attributes:
      num_tokens: that all epochs have.
      loss: `SOFTMAX` or `ONE_VS_ALL`.
    """

    learning_rate: float
    num_tokens: int
    loss: int


@inner
def _multiply_modulo(state: np.uint64, factor: np.uint64) -> np.uint64:
    """Return state * factor modulo 2**31 - 1, of numbers below that."""
    product = state * factor
    rest = (product & _MODULUS) + (product >> _BITS)
    return rest - _MODULUS if rest >= _MODULUS else rest


@kernel
def draw_numbers(numbers: NDArray[np.float32], bound: float, seed: int) -> None:
    """Fill an array with fastText's random numbers: those of C++'s minstd_rand, two for each."""
    bound = np.float64(np.float32(bound))
    state = np.uint64(seed) % _MODULUS
    if state == 0:
        state = np.uint64(1)
    for i in range(len(numbers)):
        low = np.float64(np.int64(_multiply_modulo(state, _FACTOR))) - 1.0
        state = _multiply_modulo(state, _SQUARE)  # the number after that
        high = np.float64(np.int64(state)) - 1.0
        share = (low + high * _RANGE) / (_RANGE * _RANGE)
        numbers[i] = np.float32(share * (bound + bound) - bound)


@inner
def _find_shares(texts: Texts, text: Scalar, model: Model, loss: Scalar) -> Scalar:
    """Compute the mean vector and the shares of a text; return the label of the largest."""
    shares, hidden = model.shares, model.hidden
    start, end = texts.ends[text], texts.ends[text + 1]
    for i in range(len(hidden)):
        hidden[i] = 0
    mean_vector(model.vectors, texts.rows[start:end], end - start, hidden)
    best = multiply_all(model.outputs, hidden, shares)
    if loss == SOFTMAX:
        softmax(shares, best)
    else:
        for label in range(len(shares)):
            shares[label] = sigmoid(shares[label])
    return best


@inner
def _step(texts: Texts, text: Scalar, model: Model, rate: np.float32) -> None:
    """Change vectors and outputs, as the shares of a text demand."""
    vectors, outputs, hidden, gradient = model.vectors, model.outputs, model.hidden, model.gradient
    start, end = texts.ends[text], texts.ends[text + 1]
    for i in range(len(gradient)):
        gradient[i] = 0
    for label in range(len(outputs)):
        target = np.float32(1) if label == texts.targets[text] else np.float32(0)
        change = np.float32(rate * np.float32(target - model.shares[label]))
        for i in range(len(gradient)):
            gradient[i] += change * outputs[label, i]
            outputs[label, i] += change * hidden[i]
    share = np.float32(1.0 / (end - start))
    for i in range(len(gradient)):
        gradient[i] *= share
    for at in range(start, end):
        row = np.uint64(texts.rows[at])  # unsigned as in `add_rows`
        for i in range(len(gradient)):
            vectors[row, i] += gradient[i]


@kernel
def train_texts(
    first: int, last: int, texts: Texts, model: Model, rates: Rates, state: NDArray[np.int64]
) -> float:
    """Train on texts[first:last]; return the sum of their losses.

    `state` has the tokens that the learning rate has taken note of, and those since; it changes.
    """
    losses = 0.0
    for text in range(first, last):
        if texts.ends[text] < texts.ends[text + 1]:
            _find_shares(texts, text, model, rates.loss)
            losses -= math.log(np.float64(model.shares[texts.targets[text]]) + 1e-5)
            left = 1.0 - np.float64(state[0]) / rates.num_tokens
            _step(texts, text, model, np.float32(rates.learning_rate * left))
        state[1] += texts.num_tokens[text]
        if state[1] > _RATE_TOKENS:
            state[0] += state[1]
            state[1] = 0
    return losses


@kernel
def judge_texts(
    scored: int,
    loss: int,
    texts: Texts,
    model: Model,
    best: NDArray[np.int32],
    scores: NDArray[np.float32],
) -> None:
    """Find the likeliest label of texts, -1 if nothing is known of one, and their shares of one."""
    for text in range(len(best)):
        best[text], scores[text] = -1, 0
        if texts.ends[text] < texts.ends[text + 1]:
            best[text] = _find_shares(texts, text, model, loss)
            scores[text] = model.shares[scored]


def write_rows(
    texts: SpooledTexts,
    order: NDArray[np.int64],
    num_tokens: NDArray[np.int64],
    model: Arrays,
    path: str,
    executor: Executor,
) -> Texts:
    """Write the rows of some texts, by number, to a file in the run's work folder, and map it."""
    constants = Constants((model,))

    def list_run(
        parts: list[NDArray[np.uint8]],
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        data = np.concatenate(parts)
        data_ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        most = max_rows(model.settings, len(data), len(data) // LEAST_WRAPPED)
        listed = np.empty(most + len(parts) * model.settings.word_ngrams, np.int32)
        hashes = np.empty(len(data) // LEAST_WRAPPED + 1, np.int32)
        ends = np.empty(len(parts), np.int64)
        _list_texts(data, data_ends, constants, hashes, listed, ends)
        return listed[: ends[-1]], ends

    sizes = []
    parts = (texts.data[texts.ends[text] : texts.ends[text + 1]] for text in order)
    with (
        open_scratch(path) as file,
        progress("list n-grams", total=len(order), unit="text") as advance,
    ):
        for listed, ends in executor.ordered_map(list_run, in_groups(parts, len, RUN_BYTES)):
            file.write(listed.tobytes())
            sizes.append(np.diff(ends, prepend=0))
            advance(len(ends))
    all_ends = np.concatenate([np.zeros(1, np.int64), *sizes]).cumsum()
    return Texts(
        rows=load_values(path, np.int32) if all_ends[-1] else np.zeros(0, np.int32),
        ends=all_ends,
        targets=texts.targets[order],
        num_tokens=num_tokens,
    )


@kernel
def _list_texts(
    data: NDArray[np.uint8],
    ends: NDArray[np.int64],
    model: tuple[Arrays],
    hashes: NDArray[np.int32],
    listed: NDArray[np.int32],
    listed_ends: NDArray[np.int64],
) -> None:
    """List the rows of texts, which end at `ends`, and where those of each text end."""
    start, num_listed = 0, 0
    for text in range(len(ends)):
        rest = listed[num_listed:]
        num_listed += list_rows(data[start : ends[text]], model[0], hashes, rest)
        listed_ends[text], start = num_listed, ends[text]


class Descent:
    """A model in training."""

    def __init__(
        self, num_rows: int, num_labels: int, dim: int, loss: int, seed: int, executor: Executor
    ) -> None:
        """Draw the first vectors, of words and n-grams; the outputs are 0."""
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
