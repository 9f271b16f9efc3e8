"""The table that tells kernels what to do at each code point; see `wordpiece.py` for its entries.

A page of it is filled in when a kernel first meets one of its code points.
"""

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bert_data.tokens.bert_rules import Action, PointRules
from bert_data.tokens.definition import is_ideograph
from bert_data.tokens.wordpiece import FIRST_SYMBOL, IS_CASED, IS_IGNORABLE, IS_SPACE, SYMBOL_BITS

_NUM_CODE_POINTS = 0x110000
_PAGE_SIZE = 32
_IDEOGRAPHS_PAGE_SIZE = 256  # a text with one of them has hundreds


class PointTable:
    """Entries of code points; any number of threads may use it at a time.

    Attributes:
      entries: int64 [0x110000], 0 where not filled in.
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
