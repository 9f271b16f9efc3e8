"""The labelled sets: texts with their personal data marked, and lines with what becomes of them.

A row of either begins with the language and with "before" or "after": whether it was written before
the rules had their final form, or after it. In privacy_labels.tsv, [[email:a@example.com]] marks
what is to be found; line_labels.tsv has the line and, behind it, what is to be left of it.
"""

import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent / "data"

_MARK = re.compile(r"\[\[([a-z_]+):(.*?)\]\]")


class MarkedText(NamedTuple):
    language: str
    written: str
    text: str
    spans: set[tuple[str, int, int]]  # kind, start, end


class MarkedLine(NamedTuple):
    language: str
    written: str
    line: str
    corrected: str


def marked_texts() -> list[MarkedText]:
    return [MarkedText(language, written, *_unmark(text)) for language, written, text in _rows(3)]


def marked_lines() -> list[MarkedLine]:
    return [MarkedLine(*row) for row in _rows(4)]


def _rows(num_columns: int) -> list[list[str]]:
    name = {3: "privacy_labels.tsv", 4: "line_labels.tsv"}[num_columns]
    text = (FOLDER / name).read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
    assert all(len(row) == num_columns for row in rows)
    return rows


def _unmark(marked: str) -> tuple[str, set[tuple[str, int, int]]]:
    text, spans, done = "", set(), 0
    for mark in _MARK.finditer(marked):
        text += marked[done : mark.start()]
        spans.add((mark[1], len(text), len(text) + len(mark[2])))
        text += mark[2]
        done = mark.end()
    return text + marked[done:], spans
