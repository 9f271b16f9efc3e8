"""Lines and other units of a text, found by kernels without a Python object per line."""

import re
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.characters import SPACE
from bert_data.curation.document import Document
from bert_data.curation.words import Words, code_points
from bert_data.kernels import Scalar, inner, kernel
from bert_data.text.sentences import join_wrapped_lines, split_sentences
from bert_data.text.text_config import DEFAULT_LANGUAGE

NEWLINE = 10
_RETURN, _ZERO_WIDTH_SPACE = 13, 0x200B
_DOT, _ELLIPSIS = 46, 0x2026


class LineMarks(NamedTuple):
    """Beginnings and ends of the lines of a text.

    Attributes:
      num_lines: as `str.splitlines` finds them, including blank ones.
      num_bullets: lines whose first visible character is a bullet.
      num_ellipses: lines that end with "…" or "...", followed by any spaces.
    """

    num_lines: int
    num_bullets: int
    num_ellipses: int


class LineEnds(NamedTuple):
    r"""Ends and lengths of the lines of a text.

    Attributes:
      num_lines: lines between "\n", without blank ones.
      num_terminal: lines whose last character is a sentence-ending mark.
      num_short: lines of at most `max_short` characters.
    """

    num_lines: int
    num_terminal: int
    num_short: int


class SpacedLines(NamedTuple):
    """The lines of a text that are not blank, as `str.splitlines` and `str.strip` give them.

    All are int32 [lines]. Words are separated by spaces; `longest_words` has the characters of the
    longest one of a line.
    """

    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    num_words: NDArray[np.int32]
    longest_words: NDArray[np.int32]


def spaced_lines(words: Words) -> SpacedLines:
    """Find the lines that are not blank; takes 16 bytes of memory per line."""
    num_lines = _find_lines(words.characters, np.empty((4, 0), np.int32))
    out = np.empty((4, num_lines), np.int32)
    _find_lines(words.characters, out)
    return SpacedLines(*out)


def line_marks(words: Words, bullets: str) -> LineMarks:
    """Count bullets and ellipses."""
    return LineMarks(*_count_marks(words.characters, code_points(bullets)))


def line_ends(words: Words, terminals: NDArray[np.uint32], max_short: int) -> LineEnds:
    r"""Count lines that end like a sentence, and short ones; "\r\n" ends a line, too.

    The code points of sentence-ending marks, uint32 [marks], are increasing.
    """
    return LineEnds(*_count_ends(words.characters, terminals, max_short))


@inner
def _ends_line(code: Scalar) -> bool:
    """Whether `str.splitlines` ends a line at a code point."""
    if code > 0x85:
        return code == 0x2028 or code == 0x2029
    return NEWLINE <= code <= _RETURN or 0x1C <= code <= 0x1E or code == 0x85


@inner
def is_blank_at(codes: NDArray[np.uint32], classes: NDArray[np.uint8], place: Scalar) -> bool:
    """Whether `str.strip` strips the character."""
    return classes[codes[place]] == SPACE and codes[place] != _ZERO_WIDTH_SPACE


@inner
def _is_among(code: Scalar, codes: NDArray[np.uint32]) -> bool:
    """Whether a code point is one of an increasing array of them."""
    low, high = 0, len(codes)
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low < len(codes) and codes[low] == code


@kernel
def _count_marks(
    characters: tuple[NDArray[np.uint32], NDArray[np.uint8]], bullets: NDArray[np.uint32]
) -> tuple[int, int, int]:
    """Compute `LineMarks`; bullets in any order."""
    codes, classes = characters
    num_lines, num_bullets, num_ellipses = 0, 0, 0
    place = 0
    while place < len(codes):
        first, last = -1, -1  # of the line's characters that are visible
        start = place
        while place < len(codes) and not _ends_line(codes[place]):
            if not is_blank_at(codes, classes, place):
                if first < 0:
                    first = place
                last = place
            place += 1
        if first >= 0:
            for bullet in bullets:
                num_bullets += codes[first] == bullet
            num_ellipses += codes[last] == _ELLIPSIS or (
                last - 2 >= start
                and codes[last] == _DOT
                and codes[last - 1] == _DOT
                and codes[last - 2] == _DOT
            )
        num_lines += 1
        if place + 1 < len(codes) and codes[place] == _RETURN and codes[place + 1] == NEWLINE:
            place += 1
        place += 1
    return num_lines, num_bullets, num_ellipses


@kernel
def _count_ends(
    characters: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    terminals: NDArray[np.uint32],
    max_short: int,
) -> tuple[int, int, int]:
    """Compute `LineEnds`."""
    codes, classes = characters
    num_lines, num_terminal, num_short = 0, 0, 0
    place = 0
    while place < len(codes):
        start, all_blank = place, True
        while place < len(codes) and codes[place] != NEWLINE:
            all_blank &= is_blank_at(codes, classes, place)
            place += 1
        if not all_blank:
            end = place - 1 if codes[place - 1] == _RETURN else place
            num_lines += 1
            num_terminal += _is_among(codes[end - 1], terminals)
            num_short += end - start <= max_short
        place += 1
    return num_lines, num_terminal, num_short


@kernel
def _find_lines(
    characters: tuple[NDArray[np.uint32], NDArray[np.uint8]], out: NDArray[np.int32]
) -> int:
    """Write the lines that are not blank, as far as there is room, and return their number.

    `out` has the rows of `SpacedLines`, for as many lines as there are columns.
    """
    codes, classes = characters
    num_lines, place = 0, 0
    while place < len(codes):
        start, end, num_words, longest, length = -1, 0, 0, 0, 0
        while place < len(codes) and not _ends_line(codes[place]):
            if is_blank_at(codes, classes, place):
                length = 0
            else:
                if start < 0:
                    start = place
                end = place + 1
                num_words += length == 0
                length += 1
                longest = max(longest, length)
            place += 1
        if start >= 0:
            if num_lines < out.shape[1]:
                out[0, num_lines], out[1, num_lines] = start, end
                out[2, num_lines], out[3, num_lines] = num_words, longest
            num_lines += 1
        place += 1
    return num_lines


Unit = Literal["document", "paragraph", "line", "sentence"]
"""Blank lines separate paragraphs; "\\n" ends a line."""

BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_CODE = re.compile("[a-z]{2,3}")


def with_whole_sentences(document: Document, unit: Unit) -> Document:
    """Join the lines of wrapped paragraphs if the units are sentences, which may span them."""
    if unit != "sentence" or "\n" not in document.text:
        return document
    return document.with_text(join_wrapped_lines(document.text))


def unit_bounds(words: Words, unit: Unit, language: str) -> NDArray[np.int64]:
    """Return where units begin, and the end of the last: int64 [units + 1], in words, increasing.

    A unit "document" has all words. Sentences are those of `with_whole_sentences`, by the rules of
    a language.
    """
    if unit == "line":
        starts = np.flatnonzero(words.codes == NEWLINE)
    elif unit == "paragraph":
        starts = np.array([blank.end() for blank in BLANK_LINES.finditer(words.text)], np.int64)
    elif unit == "sentence":
        starts = np.array(_sentence_starts(words.text, language), np.int64)
    else:
        starts = np.empty(0, np.int64)
    bounds = np.searchsorted(words.starts, starts)
    return np.unique(np.concatenate([[0], bounds, [len(words)]])).astype(np.int64)


def unit_texts(words: Words, bounds: NDArray[np.int64]) -> list[str]:
    """Return the texts of units, by what `unit_bounds` returns."""
    starts, ends = words.starts[bounds[:-1]].tolist(), words.ends[bounds[1:] - 1].tolist()
    return [words.text[start:end] for start, end in zip(starts, ends, strict=True)]


def split_text(text: str, language: str) -> list[str]:
    """Return the sentences of a text, by the rules for English if the language is no code.

    Lines end sentences. A lone surrogate, which the splitter cannot encode, becomes "?".
    """
    known = language if _CODE.fullmatch(language) else DEFAULT_LANGUAGE
    return split_sentences(_encodable(text), known, joins_lines=False)


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode(errors="replace").decode()


def _sentence_starts(text: str, language: str) -> list[int]:
    starts, place = [], 0
    text = _encodable(text)
    for sentence in split_text(text, language):
        starts.append(text.index(sentence, place))
        place = starts[-1] + len(sentence)
    return starts
