"""One pass over a block of lines: the kernel, and Python for what the kernel cannot do.

data --tokenize_lines--> ids, lengths, breaks     until the kernel stops at
  a new code point                   PointTable fills in its page
  a chunk that tables cannot express the rules tokenize it
  a line that is not UTF-8           Python's codec decodes it, or the run ends in an error

    b"The cat sat.\\n\\nThe end\\n"  ->  ids [1996 4937 2938 1012 1996 2203]
                                      sentence_lengths [4 2]    breaks [1]
"""

import contextlib
import dataclasses
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.tokens import block_kernel
from bert_data.tokens.bert_rules import Action, BertRules, PointRules
from bert_data.tokens.definition import is_ideograph, split_at_spaces
from bert_data.tokens.store import token_dtype
from bert_data.tokens.vocabulary import TokenTable
from bert_data.tokens.wordpiece import (
    DONE,
    FIRST_SYMBOL,
    IS_CASED,
    IS_IGNORABLE,
    IS_SPACE,
    SYMBOL_BITS,
    UNKNOWN,
    UNKNOWN_CODE_POINT,
    UNUSUAL_CHUNK,
    build_trie,
    number_characters,
)

_ASCII_SPACE = re.compile(rb"[ \t\n\r]")
_LINE_FEED = re.compile(rb"\n")
_REPLACEMENT = "\ufffd"
_CACHE_PLACES = 1 << 16  # 2 MB per thread; more would gain little
_NUM_CODE_POINTS = 0x110000
_PAGE_SIZE = 32
_IDEOGRAPHS_PAGE_SIZE = 256  # a text with one of them has hundreds


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
      blank_lines: int64 [blank lines], the numbers of these lines in the block, from 0; of a block
        of documents, nothing.
      special: id -> number of each special token that stands in the text.
    """

    ids: NDArray[Any]
    sentence_lengths: NDArray[np.int32]
    breaks: NDArray[np.int64]
    num_lines: int
    num_unknown: int
    num_replaced: int
    blank_lines: NDArray[np.int64]
    special: Mapping[int, int] = dataclasses.field(default_factory=dict)


class Tables:
    """The state that passes with one tokenizer share; any number of threads may use it at a time.

    Attributes:
      points: the entries of code points, with the vocabulary's symbols.
    """

    def __init__(self, vocabulary: TokenTable, rules: BertRules, max_word_letters: int) -> None:
        """Build the tables; see `FastTokenizer` for the arguments."""
        self.vocabulary, self.rules = vocabulary, rules
        self.max_word_letters = max_word_letters
        self.id_dtype = token_dtype(vocabulary.id_limit)
        self.more = vocabulary.size if vocabulary.has_words else 0
        symbols = number_characters(vocabulary.ids)
        self.trie = build_trie(vocabulary.ids, symbols)
        self.points = PointTable(
            PointRules(rules.describe, rules.are_plain_ideographs),
            lambda letter: symbols.get(letter, UNKNOWN),
        )
        self._caches: list[NDArray[np.uint64]] = []

    @contextlib.contextmanager
    def borrowed_cache(self) -> Iterator[NDArray[np.uint64]]:
        """Lend a cache of chunks that no other thread uses meanwhile."""
        try:
            cache = self._caches.pop()
        except IndexError:
            cache = np.zeros((_CACHE_PLACES, block_kernel.CACHE_WIDTH), np.uint64)
        try:
            yield cache
        finally:
            self._caches.append(cache)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text by the rules themselves, which is slow."""
        if not self.more:
            return self.rules.encode(text)
        ids: list[int] = []
        for part in split_at_spaces(text):
            numbers = self.rules.encode(part)
            ids += numbers[:1] + [number + self.more for number in numbers[1:]]
        return ids


def encode_text(tables: Tables, text: str) -> list[int]:
    """Return the ids of one text; line endings are ordinary spaces."""
    try:
        data = text.encode()
    except UnicodeEncodeError:  # surrogates
        return tables.encode(text)
    run = BlockRun(tables, data, by_lines=False)
    run.finish()
    return run.ids[: run.state[block_kernel.NUM_IDS]].tolist()


class BlockRun:
    """One pass of the kernel over a block; Python helps where it stops.

    Attributes:
      ids, lengths, breaks, blank_lines: of the tokens so far, of the largest size possible.
      state: int64, the kernel's counters; `block_kernel` names them.
      special_at: id, line and document of the first special token; None: there is none.
    """

    def __init__(
        self, tables: Tables, data: Any, *, by_lines: bool, encoding_errors: str = "strict"
    ) -> None:
        self._tables = tables
        self._by_lines = by_lines
        self._encoding_errors = encoding_errors
        self._view = memoryview(data)
        self._data = np.frombuffer(data, np.uint8)
        self._data.flags.writeable = False  # one type for the kernel, so that it is compiled once
        size = len(self._data)
        # Pages that are never written take no memory, so these have the largest size possible.
        num_lines = size + 1 if by_lines else 0
        self.ids: NDArray[Any] = np.empty(size + block_kernel.IDS_A_HIT_WRITES, tables.id_dtype)
        self.lengths = np.empty(num_lines, np.int32)
        self.breaks = np.empty(num_lines, np.int64)
        self.blank_lines = np.empty(num_lines, np.int64)
        self._word = np.empty(tables.max_word_letters, np.int32)
        self.state = np.zeros(block_kernel.STATE_SIZE, np.int64)
        self.num_replaced = 0
        self.special_at: tuple[int, int, int] | None = None

    def finish(self) -> None:
        """Tokenize the whole block; UndecodableLineError if a line is an error."""
        tables = self._tables
        with tables.borrowed_cache() as cache:
            while True:
                status = block_kernel.tokenize_lines(
                    self._data, self._by_lines, tables.points.entries, tables.trie,
                    tables.vocabulary.unk_id, tables.more, cache, self._word, self.ids,
                    self.lengths, self.breaks, self.blank_lines, self.state,
                )  # fmt: skip
                if status == DONE:
                    return
                if status == UNKNOWN_CODE_POINT:
                    tables.points.fill_page(int(self.state[block_kernel.TROUBLE]))
                elif status == UNUSUAL_CHUNK:
                    self._tokenize_chunk()
                else:
                    self._tokenize_line()

    def _tokenize_chunk(self) -> None:
        """Tokenize the chunk at the state's position by the rules themselves."""
        start = int(self.state[block_kernel.POSITION])
        space = _ASCII_SPACE.search(self._view, start)
        end = space.start() if space else len(self._view)
        try:
            text = bytes(self._view[start:end]).decode()
        except UnicodeDecodeError:
            self._tokenize_line()
        else:
            self._append_ids(self._tables.encode(text), end)

    def _tokenize_line(self) -> None:
        """Tokenize the state's line again, without carriage returns and undecodable bytes."""
        state = self.state
        start = int(state[block_kernel.LINE_START])
        feed = _LINE_FEED.search(self._view, start)
        end = feed.start() if feed else len(self._view)
        content = bytes(self._view[start:end]).replace(b"\r", b"")
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            if self._encoding_errors == "strict":
                raise UndecodableLineError(
                    int(state[block_kernel.NUM_LINES]), str(error)
                ) from error
            text = content.decode(errors=self._encoding_errors)
            marked = content.decode(errors="replace").count(_REPLACEMENT)
            self.num_replaced += marked - content.count(_REPLACEMENT.encode())
        state[block_kernel.NUM_IDS] = state[block_kernel.LINE_IDS]
        ids = encode_text(self._tables, text)
        self._append_ids(ids, end + 1 if feed else end)
        if ids:
            self.lengths[state[block_kernel.NUM_SENTENCES]] = len(ids)
            state[block_kernel.NUM_SENTENCES] += 1
        elif (feed or content) and not text.strip():
            self.breaks[state[block_kernel.NUM_BREAKS]] = state[block_kernel.NUM_SENTENCES]
            self.blank_lines[state[block_kernel.NUM_BREAKS]] = state[block_kernel.NUM_LINES]
            state[block_kernel.NUM_BREAKS] += 1
        state[block_kernel.NUM_LINES] += bool(feed or content)
        state[block_kernel.LINE_IDS] = state[block_kernel.NUM_IDS]
        state[block_kernel.LINE_START] = state[block_kernel.POSITION]

    def _append_ids(self, ids: list[int], position: int) -> None:
        """Append ids that Python computed, and continue at a position."""
        first = int(self.state[block_kernel.NUM_IDS])
        end = first + len(ids)
        room = end + len(self._data) - position + block_kernel.IDS_A_HIT_WRITES
        if room > len(self.ids):  # more ids than bytes: the kernel counts on one id per byte
            self.ids = np.resize(self.ids, room)
        self.ids[first:end] = ids
        special_ids = self._tables.vocabulary.special_ids
        if self.special_at is None and not special_ids.isdisjoint(ids):
            number = next(each for each in ids if each in special_ids)
            lines, breaks = self.state[block_kernel.NUM_LINES], self.state[block_kernel.NUM_BREAKS]
            self.special_at = number, int(lines), int(breaks)
        self.state[block_kernel.NUM_IDS] = end
        self.state[block_kernel.POSITION] = position


class PointTable:
    """What kernels do at each code point; any number of threads may use it at a time.

    A page is filled in when a kernel first meets one of its code points.

    Attributes:
      entries: int64 [0x110000], see `wordpiece`; 0 where not filled in.
    """

    def __init__(self, rules: PointRules, symbol_of: Callable[[str], int]) -> None:
        """Begin an empty table.

        Args:
          symbol_of: returns the symbol of a letter, 0 < symbol < 1 << SYMBOL_BITS.
        """
        # Untouched pages of it take no memory.
        self.entries: NDArray[np.int64] = np.zeros(_NUM_CODE_POINTS, np.int64)
        self._rules, self._symbol_of = rules, symbol_of
        self._filling = threading.Lock()

    def fill_page(self, code: int) -> None:
        """Fill in the page of a code point, unless it is filled already."""
        with self._filling:
            if self.entries[code]:
                return
            size = _IDEOGRAPHS_PAGE_SIZE if is_ideograph(chr(code)) else _PAGE_SIZE
            first = code - code % size
            chars = "".join(map(chr, range(first, first + size)))
            if self._rules.are_plain_ideographs(chars):
                symbols = np.array([self._symbol_of(char) for char in chars])
                page = symbols << FIRST_SYMBOL | Action.IDEOGRAPH
            else:
                page = np.array([self._entry(char) for char in chars])
            # Other threads may be reading: each entry is 0 or final to them.
            self.entries[first : first + size] = page

    def _entry(self, char: str) -> int:
        point = self._rules.describe(char)
        entry = int(point.action)
        entry |= IS_SPACE * point.is_space
        entry |= IS_CASED * point.is_cased
        entry |= IS_IGNORABLE * point.is_ignorable
        for place, letter in enumerate(point.letters):
            entry |= self._symbol_of(letter) << FIRST_SYMBOL + place * SYMBOL_BITS
        return entry
