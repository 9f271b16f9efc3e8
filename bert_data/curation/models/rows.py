"""Texts to rows of ids in batches that are planned by length.

    ids of texts   [7 8 9 5 4] [6]          rows of at most 4 tokens, 2 of them special
    rows           [7 8] [9 5] [4] [6]      the first windows of each text
    batches        [CLS] 4 [SEP]            width 3, the shortest rows together: hardly any padding
                   [CLS] 6 [SEP]
                   [CLS] 7 8 [SEP]          width 4
                   [CLS] 9 5 [SEP]

A batch depends on the texts alone, and so do the last bits of what a model computes of it.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.planning import PlanConfig, make_plan
from bert_data.text.documents import DOCUMENT, TextDocument
from bert_data.tokens.token_block import tokenize_texts
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_file import Tokenizer, vocabulary_of

NUM_SPECIAL = 2
"""Special tokens of a row: [CLS] and [SEP]."""

_MAX_TOKENS = 1024  # of a batch, with padding; on a CPU, more are slower
_ONE_POOL = 1 << 30  # batches: all rows are sorted together
_MAX_CHARACTERS, _MAX_TEXTS = 4_000_000, 4096  # that are planned together


class Batch(NamedTuple):
    """Rows of one width.

    Attributes:
      rows: int64 [rows], their numbers.
      ids: int32 [rows, width].
      mask: int32 [rows, width], 1 for tokens and 0 for padding.
    """

    rows: NDArray[np.int64]
    ids: NDArray[np.int32]
    mask: NDArray[np.int32]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """The rows of texts.

    Attributes:
      ids: int32 [tokens] of all texts.
      starts, lengths: int64 [rows], where a row begins in `ids`, and its tokens, of which none is
        special.
      texts: int64 [rows], ascending: the text that each row is of.
      special: ids of [CLS], [SEP] and [PAD].
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    texts: NDArray[np.int64]
    special: tuple[int, int, int]

    def batches(self, width: int | None = None) -> Iterator[Batch]:
        """Yield all rows by length, in batches as wide as their longest row, or `width`."""
        cls_id, sep_id, pad_id = self.special
        for rows, widest in planned(self.lengths + NUM_SPECIAL, width):
            lengths = self.lengths[rows, np.newaxis]
            columns = np.arange(widest)
            is_token = (columns > 0) & (columns <= lengths)
            ids = np.where(columns == 0, cls_id, np.where(columns == lengths + 1, sep_id, pad_id))
            places = self.starts[rows, np.newaxis] + columns - 1
            ids[is_token] = self.ids[places[is_token]]
            mask = columns < lengths + NUM_SPECIAL
            yield Batch(rows, ids.astype(np.int32), mask.astype(np.int32))


def planned(
    lengths: NDArray[np.int64], width: int | None = None
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield the rows of each batch, and its width.

    Args:
      lengths: [rows], of each row.
      width: of all batches; None: that of the longest row.
    """
    widest = max(int(lengths.max()), width or 0)
    config = PlanConfig(
        batching="pools",
        max_tokens=max(_MAX_TOKENS, widest),
        pool_batches=_ONE_POOL,
        widths=None if width is None else (width,),
    )
    epoch = make_plan(lengths.astype(np.uint32), config).epoch(0)
    for number in range(epoch.num_batches):
        batch = epoch.batch(number)
        yield batch.records, batch.width


class RowMaker:
    """Cuts texts into rows."""

    def __init__(self, tokenizer: Tokenizer, max_seq_length: int, max_windows: int) -> None:
        """Prepare the tokenizer.

        Args:
          max_seq_length: tokens of the longest row, special ones included, > 2.
          max_windows: rows of a text, >= 1; what follows them is not read.

        Raises:
          ValueError: the tokenizer has no tokens that begin and end a row.
        """
        self._tokenizer = tokenizer
        self._room, self._max_windows = max_seq_length - NUM_SPECIAL, max_windows
        vocabulary = vocabulary_of(tokenizer)
        self._special = (vocabulary.cls_id, vocabulary.sep_id, vocabulary.pad_id)

    def make(self, texts: Sequence[str]) -> Rows:
        """Return the rows of texts, one or more of each."""
        ids, splits = self._tokenize([text.encode(errors="replace").decode() for text in texts])
        num_tokens = np.diff(splits)
        num_rows = np.clip(-(-num_tokens // self._room), 1, self._max_windows)
        of_text = np.repeat(np.arange(len(texts)), num_rows)
        first_rows = np.cumsum(num_rows) - num_rows
        before = (np.arange(of_text.size) - first_rows[of_text]) * self._room
        return Rows(
            ids=ids.astype(np.int32),
            starts=splits[of_text] + before,
            lengths=np.minimum(num_tokens[of_text] - before, self._room),
            texts=of_text,
            special=self._special,
        )

    def _tokenize(self, texts: Sequence[str]) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
        """Return the ids of texts, and row splits of them into texts."""
        if isinstance(self._tokenizer, FastTokenizer):
            return tokenize_texts(self._tokenizer, texts)
        documents = [TextDocument(number, text) for number, text in enumerate(texts)]
        block = self._tokenizer.tokenize_documents(documents, DOCUMENT, "")
        ends = np.concatenate([[0], np.cumsum(block.sentence_lengths, dtype=np.int64)])
        return block.ids, np.concatenate([[0], ends[block.breaks]])


def in_groups(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield texts in lists of bounded size, whose rows are planned together."""
    group: list[str] = []
    num_characters = 0
    for text in texts:
        group.append(text)
        num_characters += len(text)
        if num_characters >= _MAX_CHARACTERS or len(group) >= _MAX_TEXTS:
            yield group
            group, num_characters = [], 0
    if group:
        yield group
