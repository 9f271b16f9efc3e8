"""Tokenizers that the `tokenizers` library runs: BPE, Unigram, WordPiece with other rules.

load_tokenizer(None, "tokenizer.json").tokenize_sequences(["a b", "c"], ends=[1, 2])
  -> ids [1 2 3], sentence_lengths [2 1], breaks [1 2]
"""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_data.tokens.token_block import TokenBlock

if TYPE_CHECKING:
    import tokenizers

NO_ID = -1


class LibraryTokenizer:
    """Converts text to ids, without special tokens and without truncation.

    One object serves any number of threads at a time.

    Attributes:
      path: the file it was read from.
      sha256: hex digest of the file's bytes.
      has_continuations: whether tokens that begin with "##" continue a word.
      ids: token -> id, of all tokens, including added ones.
      num_ids: number of tokens.
      id_limit: all ids are below it; there may be gaps.
      unk_id: id of the unknown token, or `NO_ID`.
    """

    def __init__(
        self,
        tokenizer: "tokenizers.Tokenizer",
        *,
        path: str = "",
        sha256: str = "",
        unk_token: str | None = None,
        has_continuations: bool = False,
    ) -> None:
        """Wrap a tokenizer of the library, and switch off its truncation and padding."""
        self.do_lower_case = self.max_word_letters = None  # the file has its own rules
        self.path = path
        self.sha256 = sha256
        self.has_continuations = has_continuations
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.ids: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)
        self.num_ids = len(self.ids)
        self.id_limit = max(self.ids.values(), default=-1) + 1
        self.unk_id = self.ids.get(unk_token or "", NO_ID)

    def tokenize_sequences(self, texts: Sequence[str], ends: Sequence[int]) -> TokenBlock:
        """Tokenize texts, each by itself.

        Args:
          texts: strings that UTF-8 can encode.
          ends: ascending, how many texts precede the end of each document.

        Returns:
          The tokens; a text without tokens is not a sentence.

        Raises:
          ValueError: the tokenizer.json has rules that the text cannot be tokenized by, such as an
            unknown token that is not in its vocabulary.
        """
        try:
            encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        except Exception as error:  # the library raises nothing more specific
            raise ValueError(f"{self.path} cannot tokenize the text: {error}") from None
        of_texts = [encoding.ids for encoding in encodings]
        lengths = np.fromiter(map(len, of_texts), np.int32, len(of_texts))
        num_ids = int(lengths.sum(dtype=np.int64))
        ids: Any = np.fromiter(itertools.chain.from_iterable(of_texts), np.int32, num_ids)
        before = np.concatenate([[0], np.cumsum(lengths > 0)])
        return TokenBlock(
            ids=ids,
            sentence_lengths=lengths[lengths > 0],
            breaks=before[np.asarray(ends, np.int64)],
            num_lines=len(of_texts),
            num_unknown=int(np.count_nonzero(ids == self.unk_id)),
            num_replaced=0,
        )
