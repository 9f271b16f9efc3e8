"""The fast tokenizer: blocks of lines to ids, equal to the definition's for every text.

    FastTokenizer(load_vocabulary("vocab.txt")).tokenize_block(b"The cat sat.\\n\\nThe end\\n")
      -> ids [1996 4937 2938 1012 1996 2203], sentence_lengths [4 2], breaks [1]

Kernels do the work (`blocks`, `chunks`, `wordpiece`) and come back for what they cannot do: a code
point that is new (`entries`), a chunk that tables cannot express (`definition`), a line with
bytes that are not UTF-8 (Python's codec).
"""

import contextlib
import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.tokens import blocks, chunks
from bert_data.tokens.definition import BasicTokenizer, WordpieceTokenizer
from bert_data.tokens.entries import EntryTable
from bert_data.tokens.store import token_dtype
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.tokens.wordpiece import MAX_LETTERS_OF_WORD, build_trie, number_characters

_ASCII_SPACE = re.compile(rb"[ \t\n\r]")
_LINE_FEED = re.compile(rb"\n")
_REPLACEMENT = "\ufffd"
_CACHE_PLACES = 1 << 16  # 2 MB a thread; more would gain little


class UndecodableLineError(ValueError):
    """A line is not UTF-8.

    Attributes:
      line: its number in the block, from 0.
      reason: what Python's codec says of it.
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
      sentence_lengths: int32 [sentences], tokens of each line that has any.
      breaks: int64 [blank lines], the number of this block's sentences before each blank line.
      num_lines: lines of the block, of all kinds.
      num_unknown: how many of the ids are [UNK].
      num_replaced: undecodable sequences that were replaced or ignored.
    """

    ids: NDArray[Any]
    sentence_lengths: NDArray[np.int32]
    breaks: NDArray[np.int64]
    num_lines: int
    num_unknown: int
    num_replaced: int


class FastTokenizer:
    """Text to ids as `definition.FullTokenizer` gives them.

    One object serves any number of threads at a time, and can be pickled.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        do_lower_case: bool = True,
        max_word_letters: int = MAX_LETTERS_OF_WORD,
    ) -> None:
        """Prepares the tables.

        Args:
          vocabulary: the pieces.
          do_lower_case: lower-case the text and drop the accents.
          max_word_letters: >= 1, a longer word is unknown; other programs than Google's have 100.
        """
        self.vocabulary = vocabulary
        self.do_lower_case = do_lower_case
        self.max_word_letters = max_word_letters
        self._basic = BasicTokenizer(do_lower_case)
        self._wordpiece = WordpieceTokenizer(
            vocabulary.ids, max_input_chars_per_word=max_word_letters
        )
        symbols = number_characters(vocabulary.ids)
        self._trie = build_trie(vocabulary.ids, symbols)
        self.id_dtype = token_dtype(vocabulary.size)
        self.table = EntryTable(symbols, do_lower_case)
        self._caches: list[NDArray[np.uint64]] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.vocabulary, self.do_lower_case, self.max_word_letters)

    @property
    def num_ids(self) -> int:
        """Size of the vocabulary."""
        return self.vocabulary.size

    @property
    def id_limit(self) -> int:
        """All ids are below it."""
        return self.vocabulary.size

    @property
    def ids(self) -> dict[str, int]:
        """The id of each token."""
        return self.vocabulary.ids

    @property
    def sha256(self) -> str:
        """Digest of the vocabulary."""
        return self.vocabulary.sha256

    def tokenize_block(self, data: Any, *, encoding_errors: str = "strict") -> TokenBlock:
        """Tokenizes whole lines; each is a sentence, a blank one ends a document.

        Args:
          data: bytes-like, lines of UTF-8 that end at "\\n"; the last one's end may be missing.
            Every "\\r" is dropped, wherever it stands.
          encoding_errors: "strict", "replace" or "ignore", as for `bytes.decode`.

        Raises:
          UndecodableLineError: a line is not UTF-8 and encoding_errors is "strict".
        """
        run = _Run(self, data, by_lines=True, encoding_errors=encoding_errors)
        run.finish()
        state = run.state
        ids = run.ids[: state[blocks.NUM_IDS]].copy()
        return TokenBlock(
            ids=ids,
            sentence_lengths=run.lengths[: state[blocks.NUM_SENTENCES]].copy(),
            breaks=run.breaks[: state[blocks.NUM_BREAKS]].copy(),
            num_lines=int(state[blocks.NUM_LINES]),
            num_unknown=int(np.count_nonzero(ids == self.vocabulary.unk_id)),
            num_replaced=run.num_replaced,
        )

    def encode(self, text: str) -> list[int]:
        """Returns the ids of one text, in which the ends of lines are spaces like others."""
        try:
            data = text.encode()
        except UnicodeEncodeError:  # surrogates
            return self.encode_by_definition(text)
        run = _Run(self, data, by_lines=False)
        run.finish()
        return run.ids[: run.state[blocks.NUM_IDS]].tolist()

    def encode_by_definition(self, text: str) -> list[int]:
        """Returns the ids of one text in the slow and sure way."""
        ids = self.vocabulary.ids
        words = self._basic.tokenize(text)
        return [ids[piece] for word in words for piece in self._wordpiece.tokenize(word)]

    @contextlib.contextmanager
    def borrowed_cache(self) -> Iterator[NDArray[np.uint64]]:
        """Lends a cache of chunks that no other thread uses meanwhile."""
        try:
            cache = self._caches.pop()
        except IndexError:
            cache = np.zeros((_CACHE_PLACES, blocks.CACHE_WIDTH), np.uint64)
        try:
            yield cache
        finally:
            self._caches.append(cache)

    def _tokenize_lines(self, run: "_Run", cache: NDArray[np.uint64]) -> int:
        return blocks.tokenize_lines(
            run.data,
            run.by_lines,
            self.table.entries,
            self._trie,
            self.vocabulary.unk_id,
            cache,
            run.word,
            run.ids,
            run.lengths,
            run.breaks,
            run.state,
        )


class _Run:
    """The kernel's way over a block, and Python's help where it stops."""

    def __init__(
        self,
        tokenizer: FastTokenizer,
        data: Any,
        *,
        by_lines: bool,
        encoding_errors: str = "strict",
    ) -> None:
        self.tokenizer = tokenizer
        self.by_lines = by_lines
        self.encoding_errors = encoding_errors
        self.num_replaced = 0
        self.view = memoryview(data)
        self.data = np.frombuffer(data, np.uint8)
        self.data.flags.writeable = False  # one type for the kernel, so that it is compiled once
        size = len(self.data)
        # What is not written to takes no memory, so these may be as large as they can ever get.
        num_lines = size + 1 if by_lines else 0
        self.ids: NDArray[Any] = np.empty(size + blocks.IDS_A_HIT_WRITES, tokenizer.id_dtype)
        self.lengths = np.empty(num_lines, np.int32)
        self.breaks = np.empty(num_lines, np.int64)
        self.word = np.empty(tokenizer.max_word_letters, np.int32)
        self.state = np.zeros(blocks.STATE_SIZE, np.int64)

    def finish(self) -> None:
        with self.tokenizer.borrowed_cache() as cache:
            while True:
                status = self.tokenizer._tokenize_lines(self, cache)
                if status == chunks.DONE:
                    return
                if status == chunks.UNKNOWN_CODE_POINT:
                    self.tokenizer.table.fill_page(int(self.state[blocks.TROUBLE]))
                elif status == chunks.UNUSUAL_CHUNK:
                    self._tokenize_chunk()
                else:
                    self._tokenize_line()

    def _tokenize_chunk(self) -> None:
        """Tokenizes the chunk at the state's position by the definition."""
        start = int(self.state[blocks.POSITION])
        space = _ASCII_SPACE.search(self.view, start)
        end = space.start() if space else len(self.view)
        try:
            text = bytes(self.view[start:end]).decode()
        except UnicodeDecodeError:
            self._tokenize_line()
        else:
            self._append_ids(self.tokenizer.encode_by_definition(text), end)

    def _tokenize_line(self) -> None:
        """Tokenizes the state's line anew, without carriage returns and what is not UTF-8."""
        state = self.state
        start = int(state[blocks.LINE_START])
        feed = _LINE_FEED.search(self.view, start)
        end = feed.start() if feed else len(self.view)
        content = bytes(self.view[start:end]).replace(b"\r", b"")
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            if self.encoding_errors == "strict":
                raise UndecodableLineError(int(state[blocks.NUM_LINES]), str(error)) from error
            text = content.decode(errors=self.encoding_errors)
            marked = content.decode(errors="replace").count(_REPLACEMENT)
            self.num_replaced += marked - content.count(_REPLACEMENT.encode())
        state[blocks.NUM_IDS] = state[blocks.LINE_IDS]
        ids = self.tokenizer.encode(text)
        self._append_ids(ids, end + 1 if feed else end)
        if ids:
            self.lengths[state[blocks.NUM_SENTENCES]] = len(ids)
            state[blocks.NUM_SENTENCES] += 1
        elif (feed or content) and not text.strip():
            self.breaks[state[blocks.NUM_BREAKS]] = state[blocks.NUM_SENTENCES]
            state[blocks.NUM_BREAKS] += 1
        state[blocks.NUM_LINES] += bool(feed or content)
        state[blocks.LINE_IDS] = state[blocks.NUM_IDS]
        state[blocks.LINE_START] = state[blocks.POSITION]

    def _append_ids(self, ids: list[int], position: int) -> None:
        """Appends ids that Python found, and goes on at a position."""
        first = int(self.state[blocks.NUM_IDS])
        end = first + len(ids)
        room = end + len(self.data) - position + blocks.IDS_A_HIT_WRITES
        if room > len(self.ids):  # more ids than bytes: the kernel counts on one id a byte
            self.ids = np.resize(self.ids, room)
        self.ids[first:end] = ids
        self.state[blocks.NUM_IDS] = end
        self.state[blocks.POSITION] = position
