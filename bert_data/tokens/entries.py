"""The table of what to do at each code point, filled in as texts need it.

    entries[ord("É")]  0 until a text has it, then LETTERS with the symbol of "e"

The kernels look up the code points of a text here; `chunks` describes the layout of an entry.
`codepoints` fills the table page by page, so that scripts that do not occur cost neither time nor
memory.
"""

import threading
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bert_data.tokens.bert_rules import BertRules
from bert_data.tokens.characters import is_ideograph
from bert_data.tokens.chunks import FIRST_SYMBOL, IS_CASED, IS_IGNORABLE, IS_SPACE
from bert_data.tokens.codepoints import Action
from bert_data.tokens.wordpiece import SYMBOL_BITS, UNKNOWN

_NUM_CODE_POINTS = 0x110000
_PAGE_SIZE = 32
_IDEOGRAPHS_PAGE_SIZE = 256  # a text with one of them has hundreds


class EntryTable:
    """The entries of one vocabulary and its rules; many threads may use it at a time.

    Attributes:
      entries: int64 [0x110000], 0 where not filled in.
    """

    def __init__(self, symbols: Mapping[str, int], rules: BertRules) -> None:
        """Create an empty table; `symbols` are those of `wordpiece.number_characters`."""
        self.entries: NDArray[np.int64] = np.zeros(
            _NUM_CODE_POINTS, np.int64
        )  # untouched: no memory
        self._symbols = symbols
        self._rules = rules
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
                symbols = np.array([self._symbols.get(char, UNKNOWN) for char in chars])
                page = symbols << FIRST_SYMBOL | Action.IDEOGRAPH
            else:
                page = np.array([self._entry(char) for char in chars])
            # Other threads may be reading: each entry is 0 or final to them.
            self.entries[first : first + size] = page

    def _entry(self, char: str) -> int:
        point = self._rules.describe(char)
        entry = int(point.action)
        if point.is_space:
            entry |= IS_SPACE
        if point.is_cased:
            entry |= IS_CASED
        if point.is_ignorable:
            entry |= IS_IGNORABLE
        shift = FIRST_SYMBOL
        for letter in point.letters:
            entry |= self._symbols.get(letter, UNKNOWN) << shift
            shift += SYMBOL_BITS
        return entry
