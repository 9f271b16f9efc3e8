"""Many texts in one block: their ids, and which ids belong to which text and which word.

["The cats", "", "sat."]  ->  ids [1996 4937 2015 2938 1012]    cats = cat ##s
                              splits into texts [0 3 3 5], into words [0 1 3 4 5]
"""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bert_data.tokens.token_block import TokenBlock
from bert_data.tokens.vocabulary import Vocabulary

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
