r"""Content to show, on any medium: pieces of text with a style, tables, plots.

Text is shown as it is, but characters that would control a terminal are shown as escapes: "\x1b".
"""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from bert_data.settings import check_choice

STYLES = {
    "": "text",
    "special": "a special token, such as [CLS]",
    "masked": "a token to predict that is [MASK] now",
    "replaced": "a token to predict that is another one now",
    "kept": "a token to predict that was left as it was",
    "original": "what a token to predict was",
    "segment_b": "a token of the second segment",
    "padding": "padding",
    "word": "what was searched for",
    "faint": "what matters less, such as a number of a record",
    "strong": "what matters more, such as a heading",
    "good": "as it should be",
    "warning": "probably a mistake",
    "bad": "a mistake",
}
"""The meaning of each style."""

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class StyledText(NamedTuple):
    """A piece of text in one of `STYLES`; a note is said of it where there is room."""

    text: str
    style: str = ""
    note: str = ""


Text = str | StyledText | Sequence[str | StyledText]
"""A line: its pieces follow each other without spaces between them."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CellTable:
    """Rows of cells; the columns of `is_text` are aligned left, the others hold numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[Text]]
    is_text: Sequence[int] = (0,)

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.head):
                raise ValueError(
                    f"a row has {len(row)} cells; the table has {len(self.head)} columns"
                )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plot:
    """Series of values, finite and >= 0, over the same places, which have names."""

    title: str
    x_label: str
    y_label: str
    x: Sequence[str]
    series: Mapping[str, Sequence[float]]

    def __post_init__(self) -> None:
        for name, values in self.series.items():
            if len(values) != len(self.x):
                raise ValueError(f"series {name!r} has {len(values)} values for {len(self.x)} x")
            if not all(math.isfinite(value) and value >= 0 for value in values):
                raise ValueError(f"series {name!r} has a value that cannot be drawn")


class Medium(Protocol):
    """Medium that shows content: `page.Page`, `terminal.Terminal`."""

    def heading(self, *text: str | StyledText) -> None:
        """Show a heading, which begins a part."""

    def paragraph(self, *text: str | StyledText) -> None:
        """Show a line of its own."""

    def labelled(self, label: str, text: Text) -> None:
        """Show a line beside its label."""

    def table(self, table: CellTable) -> None:
        """Show a table."""

    def plot(self, plot: Plot) -> None:
        """Show a plot."""


def spans_of(text: Text) -> list[StyledText]:
    """Return the spans of a line."""
    parts = [text] if isinstance(text, str | StyledText) else text
    spans = [part if isinstance(part, StyledText) else StyledText(part) for part in parts]
    for span in spans:
        check_choice("style", span.style, STYLES)
    return spans


def plain(text: Text) -> str:
    """Return the characters of a line, as they are shown."""
    return "".join(visible(span.text) for span in spans_of(text))


def visible(text: str) -> str:
    """Replace line ends and characters that control a terminal or hide text by their escapes."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def first_of(names: Sequence[str]) -> str:
    """Return the first name and how many others there are: "a.txt and 2 more"."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"
