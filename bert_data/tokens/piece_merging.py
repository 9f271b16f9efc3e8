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

from bert_data.progress import progress
from bert_data.tokens.definition import CONTINUATION
from bert_data.tokens.word_counts import WORDPIECE, VocabularyTrainingConfig

Pair = tuple[int, int]


def merge_pieces(
    config: VocabularyTrainingConfig,
    words: Mapping[str, int],
    *,
    fixed: Sequence[str],
    characters: Sequence[str],
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return a vocabulary, and the pairs of pieces in the order in which they were joined.

    Args:
      words: how often each occurs.
      fixed: the first pieces, by id: all characters, with and without "##", are among them.
      characters: those that are kept; words lose others.
    """
    total = config.vocab_size - len(fixed)
    with progress("merge pieces", total=total, unit="piece") as advance:
        return _merge(config, words, fixed, set(characters), advance)


def _merge(
    config: VocabularyTrainingConfig,
    words: Mapping[str, int],
    fixed: Sequence[str],
    kept: set[str],
    advance: Callable[[int], object],
) -> tuple[list[str], list[tuple[str, str]]]:
    continuation = CONTINUATION if config.model == WORDPIECE else ""
    pieces, ids = list(fixed), {piece: number for number, piece in enumerate(fixed)}
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
    while len(pieces) < config.vocab_size:
        count, pair, holders = pairs.pop()
        if count < config.min_frequency:
            break
        first, second = pair
        piece = pieces[first] + pieces[second].removeprefix(continuation)
        joined_pairs.append((pieces[first], pieces[second]))
        joined = ids.setdefault(piece, len(pieces))
        if joined == len(pieces):
            pieces.append(piece)
            advance(1)
        for number in holders:
            for changed, change in _join(spelled[number], pair, joined):
                pairs.add(changed, change * counts[number], number)
        pairs.push()
    return pieces, joined_pairs


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

    def pop(self) -> "tuple[int, Pair, array[int]]":
        """Return the count of the most frequent pair, the pair, and the words that hold it."""
        while self._queue:
            negative, pair, place = heapq.heappop(self._queue)
            count = self._counts[pair]
            if count == -negative:
                words, self._words[place] = self._words[place], array("q")
                return count, pair, words
            if count > 0:
                heapq.heappush(self._queue, (-count, pair, place))
        return 0, (0, 0), array("q")


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
