r"""The tokens of a block of lines, and the error for a line that is not UTF-8.

b"The cat sat.\n\nThe end\n"  ->  ids [1996 4937 2938 1012 1996 2203]
                                  sentence_lengths [4 2]    breaks [1]
"""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
