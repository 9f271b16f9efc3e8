"""Kernels that train fastText's supervised model: one step of gradient descent after each text.

    rows of a text  ->  their mean  ->  products with outputs  ->  shares  ->  changes of all these

Each step needs what the one before has changed, so a single thread makes them all, and the result
is fastText's own, with one thread.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.classifying.fasttext_kernels import SOFTMAX
from bert_data.curation.classifying.fasttext_vectors import mean_vector, multiply, sigmoid
from bert_data.kernels import Scalar, inner, kernel

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
    """A model in training.

    Attributes:
      vectors: float32 [rows, dim].
      outputs: float32 [labels, dim].
      hidden: float32 [dim], the mean vector of a text.
      gradient: float32 [dim], its change.
      shares: float32 [labels], of a text.
    """

    vectors: NDArray[np.float32]
    outputs: NDArray[np.float32]
    hidden: NDArray[np.float32]
    gradient: NDArray[np.float32]
    shares: NDArray[np.float32]


class Rates(NamedTuple):
    """The learning rate, which falls to 0 with the tokens that were read.

    Attributes:
      learning_rate: at the start.
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
    """Fill an array with fastText's random numbers: those of C++'s minstd_rand, two for each.

    Args:
      numbers: 1-D, receives numbers between -bound and bound.
      bound: > 0.
      seed: >= 0.
    """
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
    best = 0
    for label in range(len(shares)):
        shares[label] = multiply(model.outputs, label, hidden)
        if shares[label] > shares[best]:
            best = label
    if loss != SOFTMAX:
        for label in range(len(shares)):
            shares[label] = sigmoid(shares[label])
        return best
    largest, total = shares[best], np.float32(0)
    for label in range(len(shares)):
        shares[label] = np.float32(math.exp(shares[label] - largest))
        total += shares[label]
    for label in range(len(shares)):
        shares[label] /= total
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

    Args:
      state: [2], tokens that the learning rate has taken note of, and those since; changes.
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
    """Find the likeliest label of texts, and their shares of one label.

    Args:
      loss: see `Rates`.
      best: [texts], receives the labels; -1: nothing is known of a text.
      scores: [texts], receives the shares.
    """
    for text in range(len(best)):
        best[text], scores[text] = -1, 0
        if texts.ends[text] < texts.ends[text + 1]:
            best[text] = _find_shares(texts, text, model, loss)
            scores[text] = model.shares[scored]
