"""Special tokens that stand in a text, such as [SEP] or <|endoftext|> written in a page.

special_ids {0, 101, 102, 103} of 30,522  --ordinary_range-->  (104, 30418)
ids [5, 103, 7, 103]                      --count_special-->   {103: 2}

What becomes of them is a setting, here for GPT-2's file:

"a <|endoftext|>"   TOKEN    [64, 220, 50256]                         as `tokenizers` has it
                    TEXT     [64, 1279, 91, 437, 1659, 5239, 91, 29]  as tiktoken's encode_ordinary
                    REFUSE   SpecialTokenError
"""

import collections
import functools
import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner

_MOST_NAMED = 10


class SpecialTokenError(ValueError):
    """A text has a special token; the message is only the reason.

    Attributes:
      reason: the message.
      line, document: the numbers of the line, or text, and of the document that have it, from 0.
    """

    def __init__(self, reason: str, line: int, document: int) -> None:
        self.reason, self.line, self.document = reason, line, document
        super().__init__(reason)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.line, self.document)


def refusal(token: str) -> str:
    """Return why a text with a special token is refused."""
    return (
        f"the text has {token!r}, a special token; `special_tokens_in_text=text` takes it for"
        " ordinary text, `special_tokens_in_text=token` for the token"
    )


def special_table(ids: Collection[int]) -> NDArray[np.bool_]:
    """Return a table for `is_special`, which is False at its end and beyond."""
    table = np.zeros(max(ids, default=-1) + 2, np.bool_)
    table[list(ids)] = True
    return table


@inner
def is_special(token: Scalar, table: NDArray[np.bool_]) -> bool:
    """Whether a token is special; a damaged record may have any number."""
    return bool(table[min(np.int64(np.uint32(token)), np.int64(table.size - 1))])


@functools.lru_cache(16)
def ordinary_range(special_ids: frozenset[int], num_ids: int) -> tuple[int, int]:
    """Return the longest range of ids without a special one: where it begins, and its size."""
    bounds = sorted({-1, *special_ids, num_ids})
    size, begin = max((after - one - 1, one + 1) for one, after in itertools.pairwise(bounds))
    return begin, size


def find_special(
    ids: NDArray[np.integer], special_ids: frozenset[int], num_ids: int
) -> NDArray[np.int64]:
    """Return the places of special tokens among uint16 or int32 [tokens], all in [0, num_ids)."""
    begin, size = ordinary_range(special_ids, num_ids)
    # Few others are outside of the range, and one comparison finds them all.
    unsigned = np.dtype(f"u{ids.itemsize}")
    places = np.flatnonzero(ids.view(unsigned) - unsigned.type(begin) >= size)
    return places[np.isin(ids[places], list(special_ids))]


def count_special(
    ids: NDArray[np.integer], special_ids: frozenset[int], num_ids: int
) -> dict[int, int]:
    """Count the special tokens by their ids; see `find_special`."""
    found = ids[find_special(ids, special_ids, num_ids)]
    numbers, counts = np.unique(found, return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def sum_counts(counts: Sequence[Mapping[str, int] | None]) -> dict[str, int] | None:
    """Return the sums of counts by token; None if some are unknown."""
    sums = collections.Counter[str]()
    for each in counts:
        if each is None:
            return None
        sums.update(each)
    return dict(sums)


def describe_counts(counts: Mapping[str, int]) -> str:
    """Return the most frequent tokens with their numbers, such as "[SEP] 3, [MASK] 1"."""
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    named = ", ".join(f"{token} {count:,}" for token, count in ranked[:_MOST_NAMED])
    return named + ", ..." * (len(ranked) > _MOST_NAMED)
