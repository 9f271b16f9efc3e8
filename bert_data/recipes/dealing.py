"""Deal the sequences of a stage among its sources, in proportion to weights.

    wiki 0.5, books 0.3, code 0.2         wiki  |  books, code        halves of the list
                                                 books  |  code
    wiki code wiki books wiki books wiki code wiki books ...

Each node of a tree sends every sequence that reaches it left or right, so that after any m of them
floor(phase + m * share) have gone left. The tree is as deep as the logarithm of the number of
sources, and after any n sequences a source is off its share by less than that depth, and by less
than one if there are two. Shares and phases are fractions of 2**64, so all of this is exact, and
the n-th sequence is found without those before it.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, kernel
from bert_data.reader.splitmix import key_of

_ONE = 1 << 64


class Dealer:
    """Deals sequences among sources by weights, each above 0."""

    def __init__(self, weights: Sequence[float], *key: int) -> None:
        self.num_sources = len(weights)
        self._shares: list[int] = []
        self._phases: list[int] = []
        self._children: list[tuple[int, int]] = []
        self._key = key
        self._root = self._grow([Fraction(weight) for weight in weights], 0)
        self.depth = (len(weights) - 1).bit_length()

    def _grow(self, weights: list[Fraction], first: int) -> int:
        """Add a node for the sources from `first` on; return it, or for one source ~source."""
        if len(weights) == 1:
            return ~first
        node, half = len(self._shares), len(weights) // 2
        left, total = sum(weights[:half]), sum(weights)
        self._shares.append(int(left * _ONE / total))
        self._phases.append(int(key_of(*self._key, node)))
        self._children.append((0, 0))
        children = self._grow(weights[:half], first), self._grow(weights[half:], first + half)
        self._children[node] = children
        return node

    def counts(self, num_sequences: int) -> list[int]:
        """Return how many of the first sequences each source gets."""
        counts = [0] * self.num_sources
        reached = [(self._root, num_sequences)]
        while reached:
            node, number = reached.pop()
            if node < 0:
                counts[~node] = number
                continue
            left = (self._phases[node] + number * self._shares[node]) >> 64
            reached += zip(self._children[node], (left, number - left), strict=True)
        return counts

    def deal(self, start: int, stop: int) -> NDArray[np.int16]:
        """Return the source of sequences `start` to `stop`."""
        sources = np.zeros(stop - start, np.int16)
        if self.num_sources > 1:
            before = self._reached(start)
            state = [
                (phase + number * share) % _ONE
                for phase, share, number in zip(self._phases, self._shares, before, strict=True)
            ]
            _deal(
                np.array(self._shares, np.uint64), np.array(state, np.uint64),
                np.array(self._children, np.int64), sources,
            )  # fmt: skip
        return sources

    def _reached(self, num_sequences: int) -> list[int]:
        """Return how many of the first sequences reach each node."""
        numbers = [0] * len(self._shares)
        numbers[self._root] = num_sequences
        for node, children in enumerate(self._children):  # parents come first
            left = (self._phases[node] + numbers[node] * self._shares[node]) >> 64
            for child, number in zip(children, (left, numbers[node] - left), strict=True):
                if child >= 0:
                    numbers[child] = number
        return numbers


@kernel
def _deal(
    shares: NDArray[np.uint64],
    state: NDArray[np.uint64],
    children: NDArray[np.int64],
    sources: NDArray[np.int16],
) -> None:
    """Send sequences down the tree; a node sends one left whenever its state overflows.

    Args:
      state: uint64[nodes], phase + m * share modulo 2**64, changed.
      children: int64[nodes, 2], left and right: a node, or ~source.
      sources: int16[sequences], filled.
    """
    for i in range(sources.size):
        node: Scalar = np.int64(0)
        while node >= 0:
            state[node] += shares[node]
            node = children[node, np.int64(state[node] >= shares[node])]
        sources[i] = ~node
