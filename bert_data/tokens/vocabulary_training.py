"""Trains a WordPiece vocabulary on text.

    "low lower lowest ..."  -->  [PAD] [UNK] [CLS] [SEP] [MASK] e l o ... ##e ##o ... low ##er ...

Text is split into words as by BERT's basic tokenizer; then, starting from single characters, the
two pieces that most often are neighbours become one piece, until the vocabulary is full (Sennrich
et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", with WordPiece's "##").

The `tokenizers` library merges. By default it numbers the single characters in the order of a hash
table, and that order decides between pairs of equal count: each run gives another vocabulary. Here
the characters are found first and numbered in order, so that the same text gives the same bytes.
"""

import collections
import dataclasses
import heapq
import itertools
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from absl import logging

from bert_data.progress import draws_bars, progress, tell_time
from bert_data.tokens.definition import CONTINUATION
from bert_data.tokens.vocabulary import SPECIAL
from bert_data.tokens.word_counts import WORDPIECE, VocabularyTrainingConfig, count_words

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


if TYPE_CHECKING:
    import tokenizers

TEXT_CHARACTERS = 100_000  # that the library gets at a time
MOST_CHARACTERS = 4_000_000_000  # that it gets in all; it counts words by 32 bits


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedVocabulary:
    """A vocabulary and what it was made from.

    Attributes:
      tokens: the pieces by id: special tokens, characters, "##" characters, then by merge.
      num_characters: different characters in the text, without spaces, after lower-casing.
      num_characters_kept: those that are in the vocabulary.
    """

    tokens: tuple[str, ...]
    num_lines: int
    num_skipped: int
    num_characters: int
    num_characters_kept: int


def train_vocabulary(config: VocabularyTrainingConfig) -> TrainedVocabulary:
    """Train a vocabulary, the same one on every machine; smaller if the text has too few pieces."""
    text = count_words(config)
    counts = text.characters
    kept = sorted(counts, key=lambda character: (-counts[character], character))
    kept = kept[: config.max_characters]

    continuing = text.continuing.intersection(kept)
    characters = [*sorted(kept), *sorted(CONTINUATION + character for character in continuing)]
    fixed = [*SPECIAL, *characters]
    if len(fixed) > config.vocab_size:
        raise ValueError(
            f"vocab_size is {config.vocab_size}, but the special tokens and the text's {len(kept)}"
            f" characters (with and without ##) take {len(fixed)}; use a larger vocab_size or a"
            " smaller max_characters"
        )
    if joins_pieces(config, text.words):
        tokens, _ = merge_pieces(config, text.words, fixed=fixed, characters=kept)
    else:
        tokens = [*_train(config, text.words, fixed=fixed, characters=kept)]
    return TrainedVocabulary(
        tokens=tuple(tokens),
        num_lines=text.num_lines,
        num_skipped=text.num_skipped,
        num_characters=len(counts),
        num_characters_kept=len(kept),
    )


def joins_pieces(config: VocabularyTrainingConfig, words: Mapping[str, int]) -> bool:
    """Return whether this process joins pieces itself, which takes it longer than the library.

    The result is the same. On a cluster, and of long texts, the library would have to read all
    words as often as they occur.
    """
    return config.engine.is_cluster or _count_characters(words) > MOST_CHARACTERS


def _count_characters(words: Mapping[str, int]) -> int:
    return sum((len(word) + 1) * count for word, count in words.items())


def _train(
    config: VocabularyTrainingConfig,
    words: Mapping[str, int],
    *,
    fixed: list[str],
    characters: list[str],
) -> dict[str, int]:
    """Return the tokens with their ids, `fixed` first: the library breaks ties by id."""
    from tokenizers import Tokenizer, models, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trainer = trainers.WordPieceTrainer(
        vocab_size=config.vocab_size,
        min_frequency=config.min_frequency,
        special_tokens=fixed,
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        continuing_subword_prefix=CONTINUATION,
        show_progress=draws_bars(),
    )
    logging.info("merging pieces until there are %s", f"{config.vocab_size:,}")
    with tell_time("merge pieces"):
        train_on_words(tokenizer, words, trainer)
    ids = tokenizer.get_vocab()
    return dict(sorted(ids.items(), key=lambda item: item[1]))


def train_on_words(
    tokenizer: "tokenizers.Tokenizer",
    words: Mapping[str, int],
    trainer: "tokenizers.trainers.Trainer",
) -> None:
    """Train a tokenizer of the library on words that occur so often.

    The library counts words only in text, and splits at spaces ten times faster than by a model's
    rules, so it gets each word as often as it occurs; of a text that would be too long, all of them
    equally less often.
    """
    from tokenizers import pre_tokenizers

    num_characters = _count_characters(words)
    if num_characters > MOST_CHARACTERS:
        share = MOST_CHARACTERS / num_characters
        words = {word: max(round(count * share), 1) for word, count in words.items()}
    tokenizer.pre_tokenizer = pre_tokenizers.CharDelimiterSplit(" ")
    tokenizer.train_from_iterator(_repeated(words), trainer)


def _repeated(words: Mapping[str, int]) -> Iterator[str]:
    """Yield texts that hold each word as often as it occurs."""
    parts: list[str] = []
    num_characters = 0
    for word, count in words.items():
        at_most = max(1, TEXT_CHARACTERS // (len(word) + 1))
        while count > 0:
            times = min(count, at_most)
            parts.append(f"{word} " * times)
            num_characters += times * (len(word) + 1)
            count -= times
            if num_characters >= TEXT_CHARACTERS:
                yield "".join(parts)
                parts, num_characters = [], 0
    yield "".join(parts)
