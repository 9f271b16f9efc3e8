"""Choose words of a text that a vocabulary should have as tokens of their own.

    "the cardiology of ..."  ->  SplitWords: cardiology = card ##iol ##ogy, 27 times
    choose_new_tokens(words, num_tokens=100, min_count=5)  ->  ["cardiology", ...]
    extend_tokens(vocabulary, ["cardiology"])  ->  [unused0] becomes cardiology, or a new last line

Words are those of BERT's basic tokenizer: they are put together from their pieces again, so that a
word that is [UNK] is not counted as one.
"""

import collections
import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from bert_data.progress import progress
from bert_data.storage import read_bytes
from bert_data.tokens.definition import CONTINUATION, BasicTokenizer
from bert_data.tokens.tokenizer import FastTokenizer, tokenize_texts
from bert_data.tokens.vocabulary import TokenTable

_LINES_AT_A_TIME = 4096
_NUM_SAMPLES = 16
_UNUSED = re.compile(r"\[unused[0-9]+\]")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SplitWords:
    """The words of a text that a tokenizer splits into several pieces.

    Attributes:
      counts: how often each of them occurs, by its pieces' ids.
      num_words: words of the text, [UNK] among them.
      samples: for some of the first lines, the ids of each word.
    """

    counts: dict[tuple[int, ...], int]
    num_words: int
    num_tokens: int
    samples: tuple[tuple[tuple[int, ...], ...], ...]


def count_split_words(lines: Iterable[str], tokenizer: FastTokenizer) -> SplitWords:
    """Count the words that a tokenizer splits.

    Memory grows with the number of different words that are split.
    """
    counts: collections.Counter[bytes] = collections.Counter()
    samples: list[tuple[tuple[int, ...], ...]] = []
    num_words = num_tokens = 0
    continuation = tokenizer.vocabulary.continuation
    with progress("words", total=0, unit="line") as advance:
        rest = iter(lines)
        while some := list(islice(rest, _LINES_AT_A_TIME)):
            ids, splits = tokenize_texts(tokenizer, some)
            ids = ids.astype(np.int32)
            starts = np.flatnonzero(~continuation[ids])
            bounds = np.append(starts, len(ids))
            for first in np.flatnonzero(np.diff(bounds) > 1):
                counts[ids[bounds[first] : bounds[first + 1]].tobytes()] += 1
            num_words += len(starts)
            num_tokens += len(ids)
            missing = _NUM_SAMPLES - len(samples)
            if missing:
                samples += list(_sample(ids, splits, continuation, missing))
            advance(len(some))
    if not num_words:
        raise ValueError("the text has no words")
    return SplitWords(
        counts={tuple(np.frombuffer(key, np.int32).tolist()): n for key, n in counts.items()},
        num_words=num_words,
        num_tokens=num_tokens,
        samples=tuple(samples),
    )


def _sample(
    ids: NDArray[np.int32], splits: NDArray[np.int64], continuation: NDArray[np.bool_], most: int
) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield the words of the first lines that have any."""
    for start, end in pairwise(splits.tolist()):
        if most and start < end:
            line = ids[start:end]
            parts = np.split(line, np.flatnonzero(~continuation[line])[1:])
            yield tuple(tuple(part.tolist()) for part in parts)
            most -= 1


def join_word(vocabulary: TokenTable, pieces: Sequence[int]) -> str:
    """Return the word of pieces: card ##iol ##ogy -> cardiology."""
    first, *rest = (vocabulary.tokens[piece] for piece in pieces)
    return first + "".join(piece.removeprefix(CONTINUATION) for piece in rest)


def choose_new_tokens(
    words: SplitWords, vocabulary: TokenTable, *, num_tokens: int, min_count: int
) -> list[str]:
    """Choose the words that would save the most tokens: occurrences times (pieces - 1).

    Args:
      num_tokens: how many to choose, >= 1; there may be fewer.
      min_count: how often a word must occur, >= 1.

    Returns:
      Words with at least one letter, the most useful first, those of equal use in order of the
      alphabet.
    """
    savings = {
        join_word(vocabulary, pieces): count * (len(pieces) - 1)
        for pieces, count in words.counts.items()
        if count >= min_count
    }
    named = {word: saved for word, saved in savings.items() if any(map(str.isalpha, word))}
    if not named:
        raise ValueError(
            f"no word that is split into pieces occurs {min_count} times (min_count): there is"
            " nothing to add"
        )
    return sorted(named, key=lambda word: (-named[word], word))[:num_tokens]


def read_new_tokens(path: str, tokenizer: FastTokenizer) -> list[str]:
    """Read a file with a word in each line, as the tokenizer normalizes it.

    Returns:
      The words that the vocabulary does not have, each once, in the order of the file.
    """
    try:
        lines = read_bytes(path).decode().splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None
    splitter = BasicTokenizer(tokenizer.do_lower_case)
    words: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        parts = splitter.tokenize(line)
        if not parts:
            continue
        if len(parts) > 1:
            raise ValueError(
                f"{path}, line {number}: {line.strip()!r} is not one word but {len(parts)} for this"
                f" tokenizer: {' '.join(parts)}"
            )
        if len(parts[0]) > tokenizer.max_word_letters:
            raise ValueError(
                f"{path}, line {number}: the word has {len(parts[0])} letters; those of more than"
                f" {tokenizer.max_word_letters} are [UNK]"
            )
        words[parts[0]] = None
    new = [word for word in words if word not in tokenizer.vocabulary.ids]
    if not new:
        raise ValueError(f"{path} has no word that the vocabulary lacks")
    return new


def extend_tokens(
    vocabulary: TokenTable, new_tokens: Sequence[str], *, use_unused: bool
) -> tuple[list[str], list[int]]:
    """Put new tokens into a vocabulary.

    Args:
      new_tokens: none of which it has.
      use_unused: whether to replace tokens such as [unused7] first, in the order of their ids.

    Returns:
      The tokens by id, and the ids of the new ones.
    """
    tokens = list(vocabulary.tokens)
    slots = [i for i, token in enumerate(tokens) if use_unused and _UNUSED.fullmatch(token)]
    slots = slots[: len(new_tokens)]
    num_more = len(new_tokens) - len(slots)
    ids = [*slots, *range(len(tokens), len(tokens) + num_more)]
    tokens += [""] * num_more
    for token, number in zip(new_tokens, ids, strict=True):
        tokens[number] = token
    return tokens, ids
