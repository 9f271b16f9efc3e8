r"""Books of Project Gutenberg: without its header, licence and credits, wrapped lines joined.

    Title: Pride and Prejudice                    TextDocument(row 1, "It is a truth universally
    Author: Jane Austen                             acknowledged, ...",
    *** START OF THIS PROJECT GUTENBERG ... ***     {"title": "Pride and Prejudice",
    Produced by ...                           ->     "author": "Jane Austen", "language": "en",
    It is a truth universally                        "gutenberg_id": "1342"})
    acknowledged, ...
    *** END OF THIS PROJECT GUTENBERG ... ***

Headers and footers of all years are known: "START OF THE PROJECT GUTENBERG EBOOK", the "SMALL
PRINT" of the nineties, "End of Project Gutenberg's Etext". A file without them is no book of theirs
(their archive has listings, too), which is an error. A file is UTF-8, or else Windows-1252.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bert_data.text.compression import open_bytes, read_up_to
from bert_data.text.documents import DocumentBlock, RowError, Span
from bert_data.text.html import visible_text
from bert_data.text.prose import count_heading_lines
from bert_data.text.sentences import join_wrapped_lines
from bert_data.text.text_config import HEADING, TextConfig
from bert_data.text.xhtml import as_html, is_xhtml


@dataclasses.dataclass(frozen=True)
class Chapter:
    """A part of a book: its heading, "" if it has none, and its text."""

    heading: str
    text: str


def split_chapters(text: str) -> list[Chapter]:
    """Split a book at its headings; parts without text, such as lines of contents, are left out."""
    chapters: list[Chapter] = []
    heading, paragraphs = "", list[str]()
    for paragraph in [*text.split("\n\n"), None]:
        lines = (
            [] if paragraph is None else [line for line in paragraph.split("\n") if line.strip()]
        )
        num_headings = count_heading_lines(lines)
        if paragraph is None or num_headings:
            body = "\n\n".join(paragraphs).rstrip()
            if body:
                chapters.append(Chapter(heading, body))
            heading, paragraphs = " ".join(map(str.strip, lines[:num_headings])), []
        if len(lines) > num_headings:
            paragraphs.append("\n".join(lines[num_headings:]))
    return chapters


def make_block(
    path: str,
    chapters: Sequence[Chapter],
    fields: Mapping[str, Any],
    num_file_bytes: int,
    config: TextConfig,
) -> DocumentBlock:
    """Return a book as a block of documents; if headings end documents, each chapter is one."""
    block = DocumentBlock(path=path, num_rows=1, num_file_bytes=num_file_bytes)
    is_split = config.document_end == HEADING
    for row, chapter in enumerate(chapters if is_split else [Chapter("", _whole(chapters))], 1):
        is_long = block.drops(row, len(chapter.text.encode()), config)
        if chapter.text and not is_long:
            block.add(row, chapter.text, {**fields, "chapter": chapter.heading}, config)
    return block


def _whole(chapters: Sequence[Chapter]) -> str:
    return "\n\n".join(
        part for chapter in chapters for part in (chapter.heading, chapter.text) if part
    )


MAX_GUTENBERG_BYTES = 64 << 20

_PAGES = (".htm", ".html")
_NAME = r"(?:THE |THIS )?PROJECT GUTENBERG"
_START = re.compile(rf"^[ \t]*\*{{3}} ?START OF {_NAME}[^*]*\*{{3}}[^\n]*$", re.I | re.M)
_SMALL_PRINT = re.compile(r"^[ \t]*\*END ?\*? ?THE SMALL PRINT!?[^\n]*$", re.I | re.M)
_END = re.compile(
    rf"^[ \t]*(?:\*{{3}} ?END OF {_NAME}|End of {_NAME}"
    r"|\*{3} ?START\*{0,2}:? ?(?:THE SMALL PRINT|FULL LICENSE))[^\n]*$",
    re.I | re.M,
)
_CREDIT = re.compile(
    r"\s*(?:\[?(?:this )?(?:e-?text |e-?book |transcription )?(?:was )?"
    r"(?:produced|prepared|transcribed|scanned|digitized|proofed|created|converted)\b.{0,40}\bby\b"
    r"|\[?(?:updated|html version)\b|(?:distributed |online distributed )?proofread)",
    re.IGNORECASE | re.DOTALL,
)
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*+\n)+")
_NUM_CREDITS = 6  # paragraphs in which to look for them
_ILLUSTRATION = re.compile(r"\[(?:Illustration|Blank Page)[^\]]{0,300}\]", re.IGNORECASE)
_FIELD = r"^[ \t]*{}:[ \t]*(\S[^\n]*(?:\n[ \t]+\S[^\n]*)*)"
_FIELDS = {
    name: re.compile(_FIELD.format(name), re.IGNORECASE | re.MULTILINE)
    for name in ("Title", "Author", "Language")
}
_OF_TITLE_BY = re.compile(
    r"\bE(?:text|book) of (?P<title>[^\n]+?)(?:,?\s+by (?P<author>[^\n]+))?$",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBER = re.compile(r"\[?E(?:text|book) ?#\s?(\d+)", re.IGNORECASE)
_LANGUAGES = {
    "english": "en", "french": "fr", "german": "de", "spanish": "es", "italian": "it",
    "dutch": "nl", "portuguese": "pt", "finnish": "fi", "chinese": "zh", "latin": "la",
    "swedish": "sv", "danish": "da", "greek": "el", "hungarian": "hu", "polish": "pl",
    "esperanto": "eo", "catalan": "ca", "japanese": "ja", "russian": "ru", "norwegian": "no",
    "tagalog": "tl",
}  # fmt: skip


def read(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield books; one is in memory as a whole."""
    for span in spans:
        with open_bytes(span.path) as (stream, file):
            data = read_up_to(stream, MAX_GUTENBERG_BYTES + 1)
            num_file_bytes = file.tell()
        try:
            if len(data) > MAX_GUTENBERG_BYTES:
                raise RowError(f"a book has more than {MAX_GUTENBERG_BYTES:,} bytes")
            text = _decode(data)
            if span.path.lower().endswith(_PAGES):
                page = as_html(text) if is_xhtml(text) else text
                text = visible_text(page, f"{span.path}: HTML")
            head, body = _strip(text)
        except RowError as error:
            block = DocumentBlock(path=span.path, num_rows=1, num_file_bytes=num_file_bytes)
            block.skip(1, error, config)
            yield block
            continue
        book = join_wrapped_lines(body)
        yield make_block(span.path, _chapters(book), _describe(head), num_file_bytes, config)


def _chapters(book: str) -> list[Chapter]:
    paragraphs = list(filter(str.strip, _BLANK_LINES.split(_ILLUSTRATION.sub("", book))))
    first = [part for part in paragraphs[:_NUM_CREDITS] if not _CREDIT.match(part)]
    return split_chapters("\n\n".join(first + paragraphs[_NUM_CREDITS:]))


def _decode(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _strip(text: str) -> tuple[str, str]:
    """Return the header and the body of a book; RowError if it has no header."""
    start = _START.search(text) or _SMALL_PRINT.search(text)
    if start is None:
        raise RowError("no book of Project Gutenberg: the line that ends its header is missing")
    end = _END.search(text, start.end())
    return text[: start.start()], text[start.end() : end.start() if end else len(text)]


def _describe(head: str) -> dict[str, str]:
    fields = {
        name.lower(): " ".join(match[1].split())
        for name, pattern in _FIELDS.items()
        if (match := pattern.search(head))
    }
    old = _OF_TITLE_BY.search(head)
    if old and "title" not in fields:
        fields |= {name: value.strip() for name, value in old.groupdict().items() if value}
    if "language" in fields:
        fields["language"] = _LANGUAGES.get(fields["language"].lower(), fields["language"])
    number = _NUMBER.search(head)
    return fields | ({"gutenberg_id": number[1]} if number else {})
