"""Parts of files: which of their bytes, or of their rows, to read.

Span("a.txt")                  all of a.txt
Span("a.txt", 0, 700)          its first 700 bytes of text, decompressed
Span("a.parquet", 2, 5)        its row groups 2, 3 and 4
"""

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Span:
    """A part of a file.

    Attributes:
      path: the file.
      start: where it begins: bytes of text, decompressed; row groups in Parquet files. A line, and
        in most uses a document, begins there.
      end: where it ends, exclusive; None: with the file.
      rows_before: lines of the file before it, if they have been counted.
    """

    path: str
    start: int = 0
    end: int | None = None
    rows_before: int | None = None


def as_spans(files: Sequence[str | Span]) -> list[Span]:
    """Turn paths into spans of whole files."""
    return [Span(file) if isinstance(file, str) else file for file in files]


@dataclasses.dataclass(frozen=True)
class TextPart:
    """A part of a text, by its number: the item of a task."""

    number: int
    spans: Sequence[Span]

    @property
    def task_name(self) -> str:
        """The name of its folder."""
        return f"{self.number:06d}"
