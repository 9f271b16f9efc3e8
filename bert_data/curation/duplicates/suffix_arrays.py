"""Find runs of words that occur again in a shard, by its suffix array, and cut them out.

words        the cat sat | and the cat sat too      copies of 3 words: the second "the cat sat"
suffixes     ... the cat sat|, the cat sat too ...  suffixes that begin alike are neighbours
cut_words    the cat sat | and too
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.words import Words
from bert_data.kernels import Scalar, inner, kernel
from bert_data.packages import load_package

pydivsufsort = load_package("pydivsufsort", "the step substring_duplicates")


def mark_copied_words(
    hashes: NDArray[np.uint64], bounds: NDArray[np.int64], length: int
) -> NDArray[np.bool_]:
    """Mark the words of runs that occurred before, in the same document or an earlier one.

    A run of `length` words within a document is a copy if an equal run, also within one document,
    ended before it began. All words of copies are marked, so the first of several equal runs of
    that length or more stays, unless parts of it occurred before.

    Takes 55 bytes of memory per word, about 10 times the text. libdivsufsort (Mori 2015) builds the
    suffix array, from the words' numbers as bytes.

    Args:
      hashes: uint64 [words], of all documents, one after the other.
      bounds: int64 [documents + 1], where each begins, and the end of the last one.
      length: of a run, >= 1.

    Returns:
      bool [words].
    """
    is_copied = np.zeros(len(hashes), bool)
    if len(hashes) < 2 * length:
        return is_copied
    numbers = np.unique(hashes, return_inverse=True)[1].astype(np.uint32)
    suffixes = pydivsufsort.divsufsort(numbers)
    ends = np.repeat(bounds[1:], np.diff(bounds))
    begins_copy = np.zeros(len(hashes), bool)
    # Its integers have 32 bits, or 64 for large shards.
    find_copies(numbers, suffixes.astype(np.int64, copy=False), ends, length, begins_copy)
    mark_runs(begins_copy, length, is_copied)
    return is_copied


@inner
def begin_alike(numbers: NDArray[np.uint32], one: Scalar, other: Scalar, length: Scalar) -> bool:
    """Whether two suffixes share their first `length` words."""
    if max(one, other) + length > len(numbers):
        return False
    same = 0
    while same < length and numbers[one + same] == numbers[other + same]:
        same += 1
    return same == length


@kernel
def find_copies(
    numbers: NDArray[np.uint32],
    suffixes: NDArray[np.int64],
    ends: NDArray[np.int64],
    length: int,
    begins_copy: NDArray[np.bool_],
) -> None:
    """Mark where copies begin.

    Args:
      numbers: uint32[words], equal for equal words.
      suffixes: int64[words], the suffix array.
      ends: int64[words], where the document of each word ends.
      length: words per run.
      begins_copy: bool[words], all false; set where a copy begins.
    """
    begin = 0
    while begin < len(suffixes):
        end = begin + 1
        while end < len(suffixes) and begin_alike(
            numbers, suffixes[end - 1], suffixes[end], length
        ):
            end += 1
        if end - begin > 1:
            first = len(numbers)
            for i in range(begin, end):
                if suffixes[i] + length <= ends[suffixes[i]]:
                    first = min(first, suffixes[i])
            for i in range(begin, end):
                place = suffixes[i]
                if place + length <= ends[place] and place - first >= length:
                    begins_copy[place] = True
        begin = end


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
      words: of the text.
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
