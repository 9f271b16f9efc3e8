"""Many texts in one block: their ids, and which ids belong to which text.

["The cat", "", "sat."]  ->  ids [1996 4937 2938 1012], splits [0 2 2 4]
"""

import re
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bert_data.tokens.token_block import TokenBlock

_LINE_ENDS = re.compile(r"[\r\n]")
# A block omits lines without tokens; a token after each text makes sure that every line has one.
_MARK = " .\n"


class BlockTokenizer(Protocol):
    """A tokenizer of lines."""

    def tokenize_block(self, data: bytes, /) -> TokenBlock:
        """Return the tokens of lines."""


def tokenize_texts(
    tokenizer: BlockTokenizer, texts: Sequence[str]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Tokenize texts separately; a line ending inside one is a space.

    Args:
      tokenizer: must allow calls from several threads at a time.
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
