r"""Split a text into sentences; first, join the lines of wrapped paragraphs.

    "It is so-so. Why? Mr. Smith (the hero!) dies."
      -> "It is so-so." "Why?" "Mr. Smith (the hero!) dies."
    "First sentence that is\nwrapped at a short\nwidth."
      -> "First sentence that is wrapped at a short width."
    "Roses are red,\nViolets are blue,\nSugar is sweet,"  -> the same

The `sentencex` library splits, by rules about each language's full stops and abbreviations. Every
line end that is no wrap ends a sentence: in modern texts a line is a paragraph, a heading or a list
item. If the sentences are known, provide them one per line instead.

A program that wraps a paragraph ends a line only where the next word does not fit, so the lengths
of the lines show it: the width is that of the longest line of the paragraph, and a line end is a
wrap if the line and the first word of the next one together exceed 85% of the width. The lines of a
paragraph are joined if four fifths of their ends are wraps, the width is 20 to 200 characters,
and a third of the lines after the first begin with a small letter; in scripts without capitals, if
half of the lines end within a sentence. Not if three quarters of the lines end with a comma, a full
stop or the like, as those of poems do; nor poems, lists, tables and code. Nothing but the paragraph
decides, so joining the result again changes nothing.
"""

import functools
import re
from collections.abc import Iterator, Sequence

from bert_data.text.text_config import DEFAULT_LANGUAGE

# The library takes quadratic time for some hostile lines, so it gets long ones in parts.
MAX_SEGMENTED_CHARACTERS = 10_000
# Neighbours with nearly the same rules; the library's patterns for Danish and Catalan, which these
# languages share, are very slow.
_NEIGHBOURS = {"da": "de", "jut": "de", "kl": "de", "ca": "es", "oc": "es"}
_GOES_ON = ".,;:)"

_LEAST_WIDTH, _MOST_WIDTH = 20, 200
_FULL = 0.85  # the share of the width from which on a line is full
_LONGEST_WORD = 25  # characters of a word that count, with the space before it
_LEAST_WRAPS = 0.8  # the share of line ends that are wraps
_MOST_STOPS = 0.75  # the share of line ends at commas and the like from which on it is a poem
_LEAST_SMALL = 1 / 3  # the share of lines that begin with a small letter
_LEAST_OPEN = 50  # characters of a line without an end of a sentence, which a capital may continue

FENCE = re.compile(r"[ \t]*+```")
"""Begins and ends a block of code, in Markdown."""

# What blank lines and fences begin with.
_BREAKS = frozenset(["", "`", *filter(str.isspace, map(chr, range(0x3001)))])
_BULLET = re.compile(r"\s*([-*+•‣◦▪–]|\(?(\d{1,3}|[A-Za-z])[.)])\s")
_TABLE = re.compile(r"\A\s*[|>]|\S\t|\S {3,}\S")  # or quoted mail
# What the lines of a paragraph with several units may begin with; cheaper than a pattern.
_LAYOUT_FIRST, _LAYOUT_SECOND = frozenset(" \t\u3000-*+•‣◦▪–(0123456789"), frozenset(".)")
_TABLE_SIGNS, _CODE_SIGNS = ("|", ">", "\t", "   "), (";", "{", "}", "(", "=")
_CODE = re.compile(r"[;{}]\s*\Z|\w\(|\w\s*[=!<>]?=\s*\S")
_SOFT_HYPHEN = "\u00ad"
_HYPHENATED = re.compile(r"(\w*[^\W\d_])[-‐]\Z")
_WORD = re.compile(r"\w+")
_LINE_ENDS = "-‐—―–\u00ad"
_DASHES = ("--", "—", "―", "–")
_FIRST_WORD = re.compile(r"\s*(\S+)")
_SMALL, _CAPITAL = "small", "capital"
_OPENING = "\"'“‘«„([{*_"
_STOPS = (",", ";", ":", ".", "!", "?", "，", "。", "；")
_ENDS = (".", "!", "?", ":", "…", "。", "！", "？", "»", "”", '"')
# Scripts without spaces between words: their lines are joined without one.
_LATIN = "\u02ff"  # scripts up to here have spaces
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
    r"\U00020000-\U0003ffff]"
)


def split_sentences(
    text: str, language: str = DEFAULT_LANGUAGE, *, joins_lines: bool = True
) -> list[str]:
    """Return the sentences of a text, stripped; none is empty.

    Args:
      text: any that UTF-8 can encode. A sentence of more than 8,750 characters may be cut, and one
        of more than 10,000 is.
      language: its language code. The rules of a related language, in the end English, apply to one
        that the library does not know, and to Danish, Greenlandic, Catalan and Occitan, whose own
        take a hundred times as long.
    """
    from sentencex import segment  # takes 4 MB, which jobs without whole documents save

    language = _NEIGHBOURS.get(language, language)
    if joins_lines:
        text = join_wrapped_lines(text)
    sentences: list[str] = []
    for line in text.replace("\r", "\n").split("\n"):
        of_line: list[str] = []
        start = 0
        while len(line) - start > MAX_SEGMENTED_CHARACTERS:
            sentences_of_part = segment(language, line[start : start + MAX_SEGMENTED_CHARACTERS])
            complete = sentences_of_part[:-1]  # the last one may continue
            if sum(map(len, complete)) < max(1, MAX_SEGMENTED_CHARACTERS // 8):
                complete = sentences_of_part  # else the time is quadratic
            of_line += complete
            start += sum(map(len, complete))
        if start < len(line):
            of_line += segment(language, line[start:])
        sentences += _join_cited(of_line) if "]" in line else of_line
    stripped = (sentence.strip() for sentence in sentences)
    return [sentence for sentence in stripped if sentence]


def _join_cited(sentences: list[str]) -> list[str]:
    """Join sentences that the library ends after brackets: "by Lee et al. [4]", " shows it."."""
    joined: list[str] = []
    for sentence in sentences:
        first = sentence.lstrip()[:1]
        goes_on = first.islower() or first in _GOES_ON
        if joined and first and goes_on and joined[-1].rstrip().endswith("]"):
            joined[-1] += sentence
        else:
            joined.append(sentence)
    return joined


def join_wrapped_lines(text: str) -> str:
    r"""Return a text with each wrapped paragraph on one line.

    Args:
      text: lines end with "\n", "\r\n" or "\r"; blank lines separate paragraphs.

    Returns:
      The text; where only a part of a paragraph is wrapped, blank lines separate its parts. A
      hyphen between letters at the end of a line stays, unless the text has the word without it.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\n" not in text:
        return text
    words = _LazyWords(text)
    lines = text.split("\n")
    if _BREAKS.isdisjoint([line[:1] for line in lines]):
        return "\n".join(_join_paragraph(lines, words))
    out: list[str] = []
    for paragraph in _paragraphs(lines):
        out += _join_paragraph(paragraph, words) if len(paragraph) > 1 else paragraph
    return "\n".join(out)


def _paragraphs(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield runs of lines that are not blank; blank ones, and those between fences, alone."""
    paragraph: list[str] = []
    is_fenced = False
    for line in lines:
        is_fence = line[:1] in _BREAKS and FENCE.match(line) is not None
        if line and not line.isspace() and not is_fence and not is_fenced:
            paragraph.append(line)
            continue
        if paragraph:
            yield paragraph
            paragraph = []
        is_fenced ^= is_fence
        yield [line]
    if paragraph:
        yield paragraph


class _LazyWords:
    """The words of a text, which are collected when the first one is looked up."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words: frozenset[str] | None = None

    def __contains__(self, word: str) -> bool:
        if self._words is None:
            self._words = frozenset(re.findall(r"\w+", self._text.lower()))
        return word.lower() in self._words


def _join_paragraph(lines: list[str], words: _LazyWords) -> list[str]:
    """Return the lines of a paragraph: as they are, or joined, with blank lines between units."""
    if max(map(len, lines)) > _MOST_WIDTH:
        return lines
    is_plain = _LAYOUT_FIRST.isdisjoint([line[:1] for line in lines]) and (
        _LAYOUT_SECOND.isdisjoint([line[1:2] for line in lines])
    )
    units = [lines] if is_plain else list(_units(lines))
    wraps = [_find_wraps(unit) for unit in units]
    if not any(map(any, wraps)):
        return lines
    out: list[str] = []
    for unit, is_wrap in zip(units, wraps, strict=True):
        if out:
            out.append("")
        # What is kept is a paragraph of its own now.
        join = functools.partial(_join_unit, is_wrap=is_wrap) if any(is_wrap) else _join_paragraph
        out += join(unit, words=words)
    return out


def _units(lines: Sequence[str]) -> Iterator[list[str]]:
    """Cut lines where an item of a list begins, or a paragraph with an indented first line."""
    indents = [_indent(line) for line in lines]
    base = min(indents)
    indents_paragraphs = 2 * sum(indent > base for indent in indents) <= len(lines)
    unit: list[str] = []
    for i, line in enumerate(lines):
        begins = _BULLET.match(line) is not None
        if i and not begins:
            if _BULLET.match(unit[0]):
                begins = indents[i] < _indent(unit[0])
            elif indents_paragraphs:
                begins = indents[i] > base == indents[i - 1]
            else:
                begins = indents[i - 1] > base == indents[i] and len(unit) > 1
        if begins and unit:
            yield unit
            unit = []
        unit.append(line)
    yield unit


def _indent(line: str) -> int:
    indent = len(line) - len(line.lstrip())
    return indent if indent > 1 else 0  # a single space is a slip


def _join_unit(lines: Sequence[str], is_wrap: Sequence[bool], words: _LazyWords) -> list[str]:
    """Return the lines of a unit with wraps; blank lines separate them where there is none."""
    stripped = [line.strip() for line in lines]
    parts = [stripped[0]]
    for before, line, joins in zip(stripped, stripped[1:], is_wrap, strict=False):
        if joins:
            parts[-1], separator = _joint(before, line, words)
            parts += [separator, line]
        else:
            parts += ["\n\n", line]
    return ["".join(parts)]


def _is_laid_out(lines: Sequence[str]) -> bool:
    """Whether lines are a table or code, or their indentation means something."""
    if len({_indent(line) for line in lines[1:]}) > 1:
        return True
    text = "\n".join(lines)
    for signs, pattern in ((_TABLE_SIGNS, _TABLE), (_CODE_SIGNS, _CODE)):
        has_sign = any(sign in text for sign in signs)  # cheaper than a pattern for each line
        if has_sign and 2 * sum(pattern.search(line) is not None for line in lines) >= len(lines):
            return True
    return False


def _find_wraps(lines: Sequence[str]) -> list[bool]:
    """Return for each line but the last whether its end is a wrap."""
    margin = min(map(_indent, lines))
    lengths = [len(line.rstrip()) - margin for line in lines]
    width = max(lengths)
    num_ends = len(lines) - 1
    none = [False] * num_ends
    least = _FULL * width - _LONGEST_WORD
    num_nearly_full = sum(length > least for length in lengths[:-1])
    if num_nearly_full < _LEAST_WRAPS * num_ends or not _LEAST_WIDTH <= width <= _MOST_WIDTH:
        return none
    if _is_laid_out(lines):
        return none
    is_full = [
        length + _first_length(line, following) > _FULL * width or _is_hyphenated(line, following)
        for length, line, following in zip(lengths, lines, lines[1:], strict=False)
    ]
    if sum(is_full) < _LEAST_WRAPS * num_ends:
        return none
    num_stops = sum(line.rstrip().endswith(_STOPS) for line in lines[:-1])
    if num_ends > 2 and num_stops >= _MOST_STOPS * num_ends:
        return none
    cases = [_case(line) for line in lines[1:]]
    num_small, num_capital = cases.count(_SMALL), cases.count(_CAPITAL)
    num_open = sum(not line.rstrip().endswith(_ENDS) for line in lines[:-1])
    if num_small or (num_capital and not all(line.isupper() for line in lines)):
        is_prose = num_small >= _LEAST_SMALL * (num_small + num_capital)
        is_long = num_ends == num_open == 1 and lengths[0] >= _LEAST_OPEN
        if not (is_prose or is_long):
            return none
    elif num_ends < 2 or 2 * num_open < num_ends:  # nothing but lengths and full stops tell
        return none
    return [full or case == _SMALL for full, case in zip(is_full, cases, strict=True)]


def _first_length(line: str, following: str) -> int:
    """Return the characters that the first word of the next line would have added to a line."""
    match = _FIRST_WORD.match(following)
    word = match[1] if match else ""
    return 1 if _UNSPACED.match(word) else 1 + min(len(word), _LONGEST_WORD - 1)


def _is_hyphenated(line: str, following: str) -> bool:
    return (
        line[-1] in _LINE_ENDS
        and _HYPHENATED.search(line) is not None
        and _case(following) == _SMALL
    )


def _case(line: str) -> str:
    """Return whether a line begins with a small or a capital letter, or neither (digits, 中)."""
    first = line.lstrip().lstrip(_OPENING)[:1]
    if first.islower():
        return _SMALL
    return _CAPITAL if first.isupper() else ""


def _joint(line: str, following: str, words: _LazyWords) -> tuple[str, str]:
    """Return a line as it is joined with the next one, and what separates the two."""
    last = line[-1]
    if last in _LINE_ENDS:
        if last == _SOFT_HYPHEN:
            return line[:-1], ""
        hyphenated = _HYPHENATED.search(line)
        if hyphenated and following[0].isalpha():
            rest = _WORD.match(following)
            assert rest is not None
            is_one_word = following[0].islower() and hyphenated[1] + rest[0] in words
            return line[:-1] if is_one_word else line, ""
        if line.endswith(_DASHES) and line[-3:-2].strip():
            return line, ""
    is_unspaced = last > _LATIN and _UNSPACED.match(last) and _UNSPACED.match(following[0])
    return line, "" if is_unspaced else " "
