r"""Prose: wrapped lines, blank lines between paragraphs, books with headings.

    CHAPTER I            document_end="heading"     (3, "It was the best of times.")
                                                    (8, "And the worst.\n\nIt was.")
    It was the best      document_end="blank_line"  (1, "CHAPTER I"), (3, "It was the best of ...
    of times.                                       (6, "CHAPTER II"), (8, "And the worst."), ...
                         document_end="file"        (1, all of it)
    CHAPTER II
                         (row, text) of each TextDocument
    And the worst.

    It was.

The end of a file always ends a document. Wrapped lines are joined (`sentences.py`); headings that
end documents are left out, others are lines of their own.
"""

import io
import re
from collections.abc import Iterator, Sequence

from bert_data.text.documents import DocumentBlock, Span
from bert_data.text.lines import (
    OpenDocument,
    TextLines,
    find_after_blank_line,
    read_line_blocks,
    read_marked_blocks,
    read_texts,
)
from bert_data.text.sentences import FENCE, join_wrapped_lines
from bert_data.text.text_config import BLANK_LINE, HEADING, TextConfig

_MOST_CHARACTERS_OF_HEADING = 100  # of a heading, or of the title that follows it
_MOST_TITLE_LINES = 2

_MARKED = re.compile(r"\s{0,3}#{1,6}\s+\S|\s*=[=\s]*+\S.*=\s*\Z")
_UNDERLINE = re.compile(r"\s*([=\-~^*])\1{2,}\s*\Z")
_WORDS = (
    "chapter|book|part|section|volume|act|scene|canto|stave|adventure|story|letter|lecture|lesson"
    "|chapitre|livre|partie|kapitel|buch|teil|abschnitt|cap[ií]tulo|libro|parte|capitolo|hoofdstuk|deel"
    "|kapitola|rozdział|luku|глава|часть|книга"
)
_ROMAN = r"(?=[MDCLXVI])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
_NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    "|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|first|second|third|fourth|fifth"
    "|sixth|seventh|eighth|ninth|tenth|last"
)
_NUMBER = (
    rf"(?:{_ROMAN}|(?!\w*[md]){_ROMAN.lower()}|\d{{1,3}}"
    rf"|(?i:(?:the\s+)?(?:{_NUMBER_WORDS})(?:-\w+)?))"
)
_NUMBERED = re.compile(
    rf"\s*[_*]*(?i:{_WORDS})\s+{_NUMBER}(?!\w)(?:\s*(?P<stop>[.:—–-]+)|(?=\s)|\Z)(?P<title>.*)\Z"
)
_NUMBERED_CHINESE = re.compile(
    r"\s*第\s*[\d〇零一二三四五六七八九十百千两]+\s*[章回节節部卷篇幕](?P<stop>)(?P<title>(?:\s.*)?)\Z"
)
# Words in capitals, such as MIX, and initials, such as D. or C. S. LEWIS, are not numbers.
_NUMERAL = re.compile(
    rf"\s*(?!\w*[MD])(?![CL]\b|C\w\b){_ROMAN}(?:\.|\s*\Z)(?!\s*[^\W\d_]\.)(?P<title>.*)\Z"
)
_NAMED = re.compile(
    r"\s*(?:preface|foreword|introduction|prologue|epilogue|afterword|conclusion|contents"
    r"|table of contents|appendix(?:\s+[A-Z\d]{1,3})?|acknowledge?ments|bibliography|index|vorwort"
    r"|nachwort|einleitung|pr[ée]face|avant-propos|épilogue|prologo|prólogo|序|序言|前言|后记)[.:]?\s*\Z",
    re.IGNORECASE,
)
_SENTENCE_ENDS = (".", "!", "?", ",", ";", "。", "！", "？", "，")
_QUOTES = "\"'“”‘’«»()_* "
_SMALL_WORD = re.compile(  # lower-case in titles
    "an?|and|as|at|but|by|for|from|into?|nor|of|on|or|over|the|to|upon|with|am|das|dem|den|der|des"
    "|die|im|mit|und|von|zu|aux?|de|du|en|et|la|les?|à|da|del|di|e|el|il|los|las|y|een|het|van"
)


def count_heading_lines(paragraph: Sequence[str]) -> int:
    """Return how many lines at the start of a paragraph are headings; none of it is blank."""
    place = 0
    while place < len(paragraph):
        lines = _heading_at(paragraph, place)
        if not lines:
            break
        place += lines
    return place


def is_marked(line: str) -> bool:
    """Whether a line is a heading wherever it is, by the # or = that it begins with."""
    return _MARKED.match(line) is not None


def _heading_at(lines: Sequence[str], place: int) -> int:
    """Return the lines of the heading that begins at a line; 0 if there is none."""
    line, following = lines[place], lines[place + 1 :]
    if len(line.strip()) > _MOST_CHARACTERS_OF_HEADING:
        return 0
    if is_marked(line):
        return 1
    is_rule, *are_rules = (_UNDERLINE.match(each) is not None for each in lines[place : place + 3])
    if is_rule:
        return 3 if are_rules == [False, True] else 0  # a title between two lines
    if are_rules[:1] == [True]:
        return 2
    if _is_numbered(line):
        return _numbered_lines(line, following)
    is_alone = not following and place == 0
    return int(is_alone and (_is_numeral(line) or _NAMED.match(line) is not None))


def _numbered_lines(line: str, following: Sequence[str]) -> int:
    """Return the lines of a heading with a number; 0 if it is the first line of running text."""
    title = _title_after_number(line)
    if _is_title(following) and (
        not title or _has_capitals_of_title(" ".join([title, *following]))
    ):
        return 1 + len(following)
    if not following or _is_numbered(following[0]):
        return 1
    return int(not title and not following[0].lstrip(_QUOTES)[:1].islower())


def _is_numbered(line: str) -> bool:
    """Whether a line is a word such as "chapter" with a number, and at most a title after it."""
    match = _match_number(line)
    title = _title_after_number(line)
    if match is None or not title:
        return match is not None
    is_sentence = title.endswith(_SENTENCE_ENDS)
    if _has_capitals_of_title(title):
        may_end_so = match["stop"] and title[0].isupper() and title[-1] in ".!?"
        return not is_sentence or bool(may_end_so)
    return bool(match["stop"]) and not title[0].islower() and not is_sentence


def _match_number(line: str) -> re.Match[str] | None:
    return _NUMBERED.match(line) or _NUMBERED_CHINESE.match(line)


def _title_after_number(line: str) -> str:
    match = _match_number(line)
    return " ".join(match["title"].split()).strip(_QUOTES) if match else ""


def _has_capitals_of_title(title: str) -> bool:
    """Whether all words but articles, prepositions and the like begin with capitals."""
    first, *others = title.split()
    return not first[0].islower() and not any(
        word.lstrip(_QUOTES)[:1].islower() and not _SMALL_WORD.fullmatch(word.strip(_QUOTES))
        for word in others
    )


def _is_numeral(line: str) -> bool:
    """Whether a line is a Roman numeral, alone or with a title in capitals."""
    match = _NUMERAL.match(line)
    return match is not None and (not match["title"].strip() or match["title"].isupper())


def _is_title(lines: Sequence[str]) -> bool:
    """Whether the lines after a numbered heading, up to a blank one, are its title."""
    return 0 < len(lines) <= _MOST_TITLE_LINES and not any(
        len(line.strip()) > _MOST_CHARACTERS_OF_HEADING
        or line.rstrip().endswith(_SENTENCE_ENDS)
        or _is_numbered(line)
        for line in lines
    )


MAX_DOCUMENT_BYTES = 64 << 20
"""The largest document where nothing else is set: it is in memory as a whole."""

MOST_LINES, _MOST_CHARACTERS = 1000, 1 << 20  # of a paragraph that is held to find headings


def read_prose(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield the documents of files of prose; one is kept in memory until it ends."""
    reader: _ProseReader | None = None
    file = -1
    blocks = read_marked_blocks(spans, config.max_row_bytes)
    for lines in read_texts(blocks, spans, config, keeps_indents=True):
        if reader is None or lines.block.file != file:
            if reader is not None:
                yield reader.finish()
            file, reader = lines.block.file, _ProseReader(lines.block.path, config)
        yield reader.read(lines)
    if reader is not None:
        yield reader.finish()


class _ProseReader:
    def __init__(self, path: str, config: TextConfig) -> None:
        self._path, self._end = path, config.document_end
        self._is_bounded = config.max_row_bytes is not None
        self._document = OpenDocument(config.max_row_bytes or MAX_DOCUMENT_BYTES, _text_of)
        self._block = DocumentBlock(path=path)
        self._paragraph: list[str] = []  # while headings may be at its start
        self._row = self._num_characters = 0  # its first row, and its size
        self._is_long = self._is_fenced = False

    def read(self, lines: TextLines) -> DocumentBlock:
        """Return the documents that end within a block of lines."""
        self._block = DocumentBlock(
            path=self._path,
            num_rows=len(lines.texts),
            num_file_bytes=lines.block.num_file_bytes,
            num_replaced=lines.num_replaced,
        )
        if lines.block.num_dropped_bytes:
            self._release()
            self._document.drop(lines.rows_before + 1, lines.block.num_dropped_bytes)
            return self._block
        for row, line in enumerate(lines.texts, lines.rows_before + 1):
            self._add(row, line)
        return self._block

    def finish(self) -> DocumentBlock:
        """Return the last document of the file, if one is open."""
        self._block = DocumentBlock(path=self._path)
        self._release()
        self._close()
        return self._block

    def _add(self, row: int, line: str) -> None:
        is_fence = FENCE.match(line) is not None
        if is_fence or self._is_fenced:
            self._is_fenced ^= is_fence
            self._release()
            self._keep(row, line)
        elif not line:
            self._release()
            if self._end == BLANK_LINE:
                self._close()
            elif self._document.start:
                self._keep(row, line)
        elif self._end == HEADING and is_marked(line):
            self._release()
            self._close()
        else:
            self._hold(row, line)

    def _hold(self, row: int, line: str) -> None:
        if self._is_long:
            self._keep(row, line)
            return
        self._row = self._row if self._paragraph else row
        self._paragraph.append(line)
        self._num_characters += len(line)
        if len(self._paragraph) >= MOST_LINES or self._num_characters >= _MOST_CHARACTERS:
            self._release()
            self._is_long = True

    def _release(self) -> None:
        """Add the paragraph to the document, which the headings at its start end."""
        num_headings = count_heading_lines(self._paragraph) if self._end == HEADING else 0
        if num_headings:
            self._close()
        for row, line in enumerate(self._paragraph[num_headings:], self._row + num_headings):
            self._keep(row, line)
        self._paragraph.clear()
        self._num_characters, self._is_long = 0, False

    def _keep(self, row: int, line: str) -> None:
        self._document.add(row, line)
        if self._document.is_dropped and not self._is_bounded:
            ends = "heading or blank_line" if self._end != BLANK_LINE else "heading"
            raise ValueError(
                f"{self._path}:{self._document.start}: the document that begins here has more than"
                f" {MAX_DOCUMENT_BYTES:,} bytes; `document_end={ends}` may end it earlier"
            )

    def _close(self) -> None:
        if self._document.start:
            self._document.close(self._block)


def _text_of(lines: Sequence[str]) -> str:
    return join_wrapped_lines("\n".join(lines)).strip("\n")


def find_document(document_end: str, path: str, position: int) -> int | None:
    """Return the first document of a file that begins at or after a position; None: there is none.

    Where headings end documents, it begins with a heading that follows a blank line.
    """
    if position < 1:
        return 0
    if document_end == BLANK_LINE:
        return find_after_blank_line(path, position)
    if document_end != HEADING:
        return None
    return _find_heading(path, position)


def _find_heading(path: str, position: int) -> int | None:
    start = find_after_blank_line(path, position)
    if start is None:
        return None
    paragraph: list[str] = []
    offset = start
    for block in read_line_blocks([Span(path, start)], _MOST_CHARACTERS):
        for data in io.BytesIO(block.data):
            line = data.decode(errors="replace").rstrip()
            if line and len(paragraph) < MOST_LINES:
                start = start if paragraph else offset
                paragraph.append(line)
            elif not line:
                if count_heading_lines(paragraph):
                    return start
                paragraph.clear()
            offset += len(data)
        offset += block.num_dropped_bytes
    return start if count_heading_lines(paragraph) else None
