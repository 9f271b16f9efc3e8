r"""The tokens of a block of lines, and the error for a line that is not UTF-8.

b"The cat sat.\n\nThe end\n"  ->  ids [1996 4937 2938 1012 1996 2203]
                                  sentence_lengths [4 2]    breaks [1]

tokenize_texts makes a block of many texts: their ids, and which ids belong to which text.
"""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bert_data.tokens.vocabulary import Vocabulary


class UndecodableLineError(ValueError):
    """A line is not UTF-8.

    Attributes:
      line: its number in the block, from 0.
      reason: the message of Python's codec.
    """

    def __init__(self, line: int, reason: str) -> None:
        self.line = line
        self.reason = reason
        super().__init__(f"line {line} is not UTF-8: {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.line, self.reason)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TokenBlock:
    """The tokens of a block of lines.

    Attributes:
      ids: int32 [tokens], or uint16 when the vocabulary has at most 65536 ids.
      sentence_lengths: int32 [sentences], tokens of each line that has tokens.
      breaks: int64 [blank lines], the number of this block's sentences before each blank line.
      num_lines: lines of the block, including blank ones.
      num_unknown: how many of the ids are [UNK].
      num_replaced: undecodable sequences that were replaced or ignored.
    """

    ids: NDArray[Any]
    sentence_lengths: NDArray[np.int32]
    breaks: NDArray[np.int64]
    num_lines: int
    num_unknown: int
    num_replaced: int


_LINE_ENDS = re.compile(r"[\r\n]")
# A block omits lines without tokens; a token after each text makes sure that every line has one.
_MARK = " .\n"


class BlockTokenizer(Protocol):
    """A tokenizer of lines with BERT's rules; several threads may use it at a time."""

    vocabulary: Vocabulary

    def tokenize_block(self, data: bytes, /) -> TokenBlock:
        """Return the tokens of lines."""


def tokenize_texts(
    tokenizer: BlockTokenizer, texts: Sequence[str]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Tokenize texts separately; a line ending inside one is a space.

    Args:
      tokenizer: of lines.
      texts: one may be empty or have no token.

    Returns:
      ids [tokens] of the block's dtype, and row splits int64 [texts + 1] of them into texts.

    Raises:
      UnicodeEncodeError: a text has surrogates, which UTF-8 cannot encode.
    """
    lines = [_LINE_ENDS.sub(" ", text) if "\n" in text or "\r" in text else text for text in texts]
    block = tokenizer.tokenize_block("".join(line + _MARK for line in lines).encode())
    ends = np.cumsum(block.sentence_lengths, dtype=np.int64)
    assert ends.size == len(texts)
    splits = np.concatenate([[0], ends - np.arange(1, ends.size + 1)])
    return np.delete(block.ids, ends - 1), splits


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TokenizedSentences:
    """Tokens of sentences, end to end.

    Attributes:
      ids: int64[tokens].
      sentence_splits: int64[sentences + 1], row splits of words into sentences.
      word_splits: int64[words + 1], row splits of tokens (pieces) into words.
    """

    ids: NDArray[np.int64]
    sentence_splits: NDArray[np.int64]
    word_splits: NDArray[np.int64]


def tokenize_sentences(tokenizer: BlockTokenizer, sentences: Sequence[str]) -> TokenizedSentences:
    """Tokenize sentences separately, with the bounds of their words; see `tokenize_texts`."""
    ids, splits = tokenize_texts(tokenizer, sentences)
    begins_word = ~tokenizer.vocabulary.continuation[ids]
    words_before = np.concatenate([[0], np.cumsum(begins_word)])
    return TokenizedSentences(
        ids=ids.astype(np.int64),
        sentence_splits=words_before[splits],
        word_splits=np.append(np.flatnonzero(begins_word), ids.size),
    )
