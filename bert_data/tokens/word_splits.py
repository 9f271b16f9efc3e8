"""Tokenizes sentences into one ragged array of words and pieces.

    "he played", "", "so"  ->  ids                [2002 2209 2098 2061]     played = play ##ed
                               sentences of words [0 2 2 3]
                               words of pieces    [0 1 3 4]

All sentences of a call go through the tokenizer's kernel at once.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.tokens.tokenize_texts import tokenize_texts
from bert_data.tokens.tokenizer import FastTokenizer


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


def tokenize_sentences(tokenizer: FastTokenizer, sentences: Sequence[str]) -> TokenizedSentences:
    """Tokenize sentences separately; a line ending inside one is a space.

    Args:
      tokenizer: several threads may use it at a time.
      sentences: texts that UTF-8 can encode; one may be empty or have no tokens.
    """
    ids, splits = tokenize_texts(tokenizer, sentences)
    begins_word = ~tokenizer.vocabulary.continuation[ids]
    words_before = np.concatenate([[0], np.cumsum(begins_word)])
    return TokenizedSentences(
        ids=ids.astype(np.int64),
        sentence_splits=words_before[splits],
        word_splits=np.append(np.flatnonzero(begins_word), ids.size),
    )
