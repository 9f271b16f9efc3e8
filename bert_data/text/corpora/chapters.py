r"""Books: one document each, or one for each of their chapters.

"CHAPTER I\n\nIt was.\n\nCHAPTER II\n\nIt is."
document_end="file"      ->  (1, the whole text)
document_end="heading"   ->  (1, "It was.", chapter "CHAPTER I"), (2, "It is.", "CHAPTER II")
(row, text, chapter) of each TextDocument; rows count chapters
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from bert_data.text.documents import HEADING, DocumentBlock, TextConfig, TextDocument
from bert_data.text.headings import count_heading_lines


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
            body = "\n\n".join(paragraphs).strip()
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
    """Return a book as a block of documents.

    Args:
      config: how to read it; if headings end documents, each chapter is one.
    """
    block = DocumentBlock(path=path, num_rows=1, num_file_bytes=num_file_bytes)
    is_split = config.document_end == HEADING
    for row, chapter in enumerate(chapters if is_split else [Chapter("", _whole(chapters))], 1):
        num_bytes = len(chapter.text.encode())
        if config.max_row_bytes is not None and num_bytes > config.max_row_bytes:
            block.too_long.append((row, num_bytes))
        elif chapter.text:
            kept = {name: value for name, value in fields.items() if value}
            if chapter.heading:
                kept["chapter"] = chapter.heading
            document = TextDocument(row, chapter.text, kept if config.keep_fields else None)
            block.documents.append(document)
    return block


def _whole(chapters: Sequence[Chapter]) -> str:
    return "\n\n".join(
        part for chapter in chapters for part in (chapter.heading, chapter.text) if part
    )
