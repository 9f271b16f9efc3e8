"""Makes pieces of words from the counts of words: the neighbours that occur most often are joined.

    {"low": 5, "lot": 2}, [l, o, w, t, ##o, ##w, ##t]  -->  ... lo (7 times) low (5 times) ...

It does what the trainers of the `tokenizers` library do, which only read text: a pair's count is
the sum over the words that hold it, of pairs of equal count that of smaller ids is joined first,
and a pair whose piece exists already is joined without a new piece.
"""

import collections
import heapq
import itertools
from array import array
from collections.abc import Callable, Mapping, Sequence

from bert_data.tokens.vocabulary_file import CONTINUATION

Pair = tuple[int, int]


def merge_pieces(
    words: Mapping[str, int],
    *,
    fixed: Sequence[str],
    characters: Sequence[str],
    continuation: str = CONTINUATION,
    vocab_size: int,
    min_frequency: int,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return a vocabulary, and the pairs of pieces in the order in which they were joined.

    Args:
      words: how often each occurs.
      fixed: the first pieces, by id: all characters, with and without `continuation`, are among
        them.
      characters: those that are kept; words lose others.
      continuation: with which pieces begin that do not begin a word; "" for BPE.
      vocab_size: pieces in all, unless there are no more pairs.
      min_frequency: a pair that occurs less often is not joined.
      advance: called with the number of new pieces.
    """
    pieces, ids = list(fixed), {piece: number for number, piece in enumerate(fixed)}
    kept = set(characters)
    spelled = [
        array("i", (ids[c if i == 0 else continuation + c] for i, c in enumerate(w) if c in kept))
        for w in words
    ]
    counts = array("q", words.values())
    joined_pairs: list[tuple[str, str]] = []
    pairs = _Pairs()
    for number, word in enumerate(spelled):
        for pair in itertools.pairwise(word):
            pairs.add(pair, counts[number], number)
    pairs.push()
    while len(pieces) < vocab_size:
        top = pairs.pop()
        if top is None or top.count < min_frequency:
            break
        first, second = top.pair
        piece = pieces[first] + pieces[second].removeprefix(continuation)
        joined_pairs.append((pieces[first], pieces[second]))
        joined = ids.setdefault(piece, len(pieces))
        if joined == len(pieces):
            pieces.append(piece)
            advance(1)
        for number in top.words:
            for pair, change in _join(spelled[number], top.pair, joined):
                pairs.add(pair, change * counts[number], number)
        pairs.push()
    return pieces, joined_pairs


class _Top:
    """The pair to be joined next: its count, and the words that hold it."""

    def __init__(self, count: int, pair: Pair, words: "array[int]") -> None:
        self.count, self.pair, self.words = count, pair, words


class _Pairs:
    """Counts of pairs, and a queue of those to be joined; counts in the queue may be old."""

    def __init__(self) -> None:
        self._counts: collections.Counter[Pair] = collections.Counter()
        self._new: dict[Pair, array[int]] = {}
        self._queue: list[tuple[int, Pair, int]] = []
        self._words: list[array[int]] = []

    def add(self, pair: Pair, count: int, word: int) -> None:
        """Count a pair that a word holds now, or less where the count is negative."""
        self._counts[pair] += count
        if count > 0:
            if pair not in self._new:
                self._new[pair] = array("q")
            self._new[pair].append(word)

    def push(self) -> None:
        """Put pairs that have been counted into the queue."""
        for pair, words in self._new.items():
            if self._counts[pair] > 0:
                heapq.heappush(self._queue, (-self._counts[pair], pair, len(self._words)))
                self._words.append(words)
        self._new = {}

    def pop(self) -> _Top | None:
        """Return the most frequent pair, or None."""
        while self._queue:
            negative, pair, place = heapq.heappop(self._queue)
            count = self._counts[pair]
            if count == -negative:
                words, self._words[place] = self._words[place], array("q")
                return _Top(count, pair, words)
            if count > 0:
                heapq.heappush(self._queue, (-count, pair, place))
        return None


def _join(word: "array[int]", pair: Pair, joined: int) -> list[tuple[Pair, int]]:
    """Join a pair in a word, in place; return the pairs that the word gains (1) and loses (-1)."""
    changes: list[tuple[Pair, int]] = []
    place = 0
    while place + 1 < len(word):
        if (word[place], word[place + 1]) == pair:
            if place > 0:
                changes += [((word[place - 1], pair[0]), -1), ((word[place - 1], joined), 1)]
            word[place] = joined
            del word[place + 1]
            if place + 1 < len(word):
                changes += [((pair[1], word[place + 1]), -1), ((joined, word[place + 1]), 1)]
        place += 1
    return changes
