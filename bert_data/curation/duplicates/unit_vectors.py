"""Vectors of equal length in small whole numbers, and the most similar one of many by the cosine.

    embedding [0.6, 0.0, 0.8]  ─round_to_unit─▶  [2456, 0, 3275], of length 4095 or a little less
    vectors a b, others c d e  ─Nearest─▶  a: d 0.91, b: c 0.34

float32 holds whole numbers up to 2^24 exactly. No vector is longer than 2^12, so by Cauchy-Schwarz
no sum of any of the terms of a product is larger than 2^24, and a matrix product in float32 is
exact: the same on every processor and library, in any order of summation and on any number of
threads. Rounding changes the cosine of two embeddings by about 0.0001 (less the nearer it is to 1),
and that of two equal ones not at all.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MAX_DIMENSION = 1 << 14
"""Above that, rounding would take too much of a vector's length."""

_LENGTH = (1 << 12) - 1
_WHOLE = float(1 << 20)  # squares of up to 2^14 such numbers add up to less than 2^63
_PER_WORD = 4  # numbers of 16 bits in a word of 64
TILE, _TILE_NUMBERS = 1024, 1 << 20

Vectors = NDArray[np.int16]
"""[vectors, dimension rounded up to a multiple of 4]; the rest is 0."""


def round_to_unit(rows: NDArray[np.float64]) -> Vectors:
    """Return vectors of the same directions, int16 [rows, dimension]; none is all zeros."""
    # All is exact or rounds a single number, so that no order of summation matters.
    whole = np.rint(rows / np.abs(rows).max(axis=1, keepdims=True) * _WHOLE)
    lengths = np.sqrt((whole.astype(np.int64) ** 2).sum(axis=1, keepdims=True).astype(np.float64))
    # Rounding adds at most a half to each number: the square root of the dimension, halved, in all.
    length = _LENGTH - np.sqrt(rows.shape[1]) / 2
    return np.rint(whole * (length / lengths)).astype(np.int16)


def num_words(dimension: int) -> int:
    """Return how many words of 8 bytes hold a vector."""
    return -(-dimension // _PER_WORD)


def as_words(vectors: Vectors) -> NDArray[np.uint64]:
    """Return vectors as words, uint64 [vectors, words]; of any dimension."""
    missing = -vectors.shape[1] % _PER_WORD
    return np.ascontiguousarray(np.pad(vectors, ((0, 0), (0, missing)))).view(np.uint64)


def as_vectors(words: NDArray[np.uint64]) -> Vectors:
    """Return what `as_words` made, with the zeros that it appended."""
    return np.ascontiguousarray(words).view(np.int16)


class Nearest:
    """Of the vectors that rows are compared with, the most similar one of each.

    Attributes:
      numbers: uint64 [rows], of the most similar vector; of several, the one that came first.
      similarities: float64 [rows], cosines in [-1, 1]; -1 if the row was compared with none.
    """

    def __init__(self, rows: Vectors) -> None:
        self.numbers = np.zeros(len(rows), np.uint64)
        self.similarities = np.full(len(rows), -1.0)
        self._rows = rows
        self._ratios = np.full(len(rows), -np.inf, np.float32)
        self._tile = max(min(TILE, _TILE_NUMBERS // max(rows.shape[1], 1)), 1)

    def compare(
        self,
        others: Vectors,
        numbers: NDArray[np.uint64],
        *,
        only_before: bool = False,
        without: Sequence[NDArray[np.uint64]] = (),
    ) -> None:
        """Compare all rows with vectors.

        Args:
          only_before: the others are the rows themselves; each is compared with those before it.
          without: numbers that each row is not compared with, uint64 [rows] each.
        """
        for start in range(0, len(others), self._tile):
            tile = slice(start, start + self._tile)
            columns = others[tile].astype(np.float32)
            for first in range(start if only_before else 0, len(self._rows), self._tile):
                rows = slice(first, first + self._tile)
                left_out = np.zeros((len(self._rows[rows]), len(columns)), bool)
                if only_before and first == start:
                    left_out |= np.tri(len(columns), dtype=bool).T
                for each in without:
                    left_out |= each[rows, None] == numbers[tile]
                self._compare(rows, columns, numbers[tile], left_out)

    def _compare(
        self,
        rows: slice,
        columns: NDArray[np.float32],
        numbers: NDArray[np.uint64],
        left_out: NDArray[np.bool_],
    ) -> None:
        own = self._rows[rows].astype(np.float32)
        products = own @ columns.T
        squares = _squares(columns)
        # Without the row's own length, which is the same for all others.
        ratios = products * (1 / np.sqrt(squares)).astype(np.float32)
        ratios[left_out] = -np.inf
        best = ratios.argmax(axis=1)
        places = np.arange(len(own))
        better = np.flatnonzero(ratios[places, best] > self._ratios[rows])
        best = best[better]
        self._ratios[rows][better] = ratios[better, best]
        self.numbers[rows][better] = numbers[best]
        cosines = products[better, best] / np.sqrt(_squares(own[better]) * squares[best])
        self.similarities[rows][better] = np.clip(cosines, -1.0, 1.0)


def _squares(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the squares of the lengths of vectors; float32 holds them exactly."""
    return np.einsum("ij,ij->i", vectors, vectors).astype(np.float64)
