"""Find runs of words that may recur, by one n-gram of each: winnowing, which misses none.

words         a  b  c  d  e  f  g       runs of 5 words: a-e, b-f, c-g
n-grams       ab bc cd de ef fg         of 2 words, 4 of them in a run
their hashes  71 38 90 57 64 12         the least of a run:   38, 38, 12

Equal runs have equal least n-grams. So only the n-grams that are the least of a run somewhere (few,
as neighbouring runs share them) need to be compared first, and then only the runs whose least
n-gram recurs (Schleimer et al. 2003, "Winnowing: local algorithms for document fingerprinting").
Where the least n-gram occurs several times in a run, the run takes the place of the run before it,
if it can (their "robust winnowing"): a word repeated a thousand times needs few n-grams.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel

_BASE = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)


class Winnowed(NamedTuple):
    """The least n-grams of all runs.

    Attributes:
      hashes: uint64 [words], of the n-gram that begins at each word, if it fits in the document.
      least: int64 [words], where the least n-gram begins of the run that begins at each word; -1
        for runs that do not fit.
    """

    hashes: NDArray[np.uint64]
    least: NDArray[np.int64]

    def chosen(self) -> NDArray[np.int64]:
        """Return where the n-grams begin that are the least of a run, increasing: int64 [any]."""
        places = self.least[self.least >= 0]
        return places[np.diff(places, prepend=-1) > 0]


def winnow(words: NDArray[np.uint64], bounds: NDArray[np.int64], length: int) -> Winnowed:
    """Find the least n-grams of all runs of `length` words within documents.

    `bounds` has where each document begins, and the end of the last one.
    """
    winnowed = Winnowed(np.zeros(len(words), np.uint64), np.full(len(words), -1, np.int64))
    size = (length + 1) // 2
    _find_least(words, bounds, size, length - size + 1, winnowed.hashes, winnowed.least)
    return winnowed


def hash_runs(
    words: NDArray[np.uint64], starts: NDArray[np.int64], length: int
) -> NDArray[np.uint64]:
    """Return 128 bits for each run of `length` words that begins at a place: uint64 [2, runs]."""
    hashes = np.empty((2, len(starts)), np.uint64)
    _hash_runs(words, starts, length, hashes)
    return hashes


@inner
def _last_least(hashes: NDArray[np.uint64], begin: Scalar, end: Scalar) -> Scalar:
    """Return the place of the least of hashes[begin:end], the last one of several."""
    least = begin
    for place in range(begin + 1, end):
        if hashes[place] <= hashes[least]:
            least = place
    return least


@kernel
def _find_least(
    words: NDArray[np.uint64],
    bounds: NDArray[np.int64],
    size: int,
    num_ngrams: int,
    hashes: NDArray[np.uint64],
    least: NDArray[np.int64],
) -> None:
    """Compute `Winnowed`, from `least` all -1; `size` is that of an n-gram in words."""
    power = np.uint64(1)
    for _ in range(size):
        power *= _BASE
    for document in range(len(bounds) - 1):
        begin, end = bounds[document], bounds[document + 1]
        rolled = np.uint64(0)
        for place in range(begin, end):
            rolled = rolled * _BASE + words[place]
            if place >= begin + size:
                rolled -= words[place - size] * power
            if place + 1 >= begin + size:
                mixed = (rolled ^ (rolled >> np.uint64(32))) * _MULTIPLIER_1
                hashes[place + 1 - size] = mixed ^ (mixed >> np.uint64(29))
        current = begin - 1
        for start in range(begin, end - size - num_ngrams + 2):
            last = start + num_ngrams - 1
            if current < start:  # it is not in this run any more
                current = _last_least(hashes, start, last + 1)
            elif hashes[last] < hashes[current]:  # of equal ones, the next run may keep its place
                current = last
            least[start] = current


@kernel
def _hash_runs(
    words: NDArray[np.uint64], starts: NDArray[np.int64], length: int, hashes: NDArray[np.uint64]
) -> None:
    for i in range(len(starts)):
        one, other = _BASE, _MULTIPLIER_2
        for place in range(starts[i], starts[i] + length):
            one = (one ^ words[place]) * _MULTIPLIER_1
            one ^= one >> np.uint64(29)
            other = (other + words[place]) * _MULTIPLIER_2
            other ^= other >> np.uint64(32)
        hashes[0, i], hashes[1, i] = one, other
