"""Runs of words: marked, found and cut out.

begins       . x . . . . x .     runs of 3 words: marks  . x x x . . x x
runs         (1, 4), (6, 8)
cut_words    the words 0, 4 and 5 are left
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.words import Words
from bert_data.kernels import kernel


@kernel
def mark_runs(begins: NDArray[np.bool_], length: int, out: NDArray[np.bool_]) -> None:
    """Mark `length` words from each start; both arrays are bool[words]."""
    until = 0
    for place in range(len(begins)):
        if begins[place]:
            until = place + length
        out[place] = place < until


def runs_of_marked(marks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return where runs of marked words begin and end: int64 [runs, 2], ends exclusive."""
    padded = np.concatenate([[False], marks, [False]]).astype(np.int8)
    changes = np.diff(padded)
    return np.stack([np.flatnonzero(changes == 1), np.flatnonzero(changes == -1)], 1)


def cut_words(words: Words, runs: Iterable[Sequence[int]]) -> str:
    """Return the text without some of its words.

    Of the white space before and after a cut, the one with more line breaks stays (the first if
    they are equal); the text is stripped at both ends.

    Args:
      runs: the first word of each run, and the one after its last; increasing and not adjacent.
    """
    text = words.text
    kept, place = [], 0
    for begin, end in runs:
        before = int(words.ends[begin - 1]) if begin else 0
        first, last = int(words.starts[begin]), int(words.ends[end - 1])
        after = int(words.starts[end]) if end < len(words) else len(text)
        kept.append(text[place:before])
        spaces = text[before:first], text[last:after]
        if begin and end < len(words):
            kept.append(max(spaces, key=lambda space: space.count("\n")))
        place = after
    kept.append(text[place:])
    return "".join(kept)
