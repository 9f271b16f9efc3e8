r"""Content to show: lines of pieces of text with a style, and tables.

Text is shown as it is, but characters that would control a terminal are shown as escapes: "\x1b".
"""

import dataclasses
import re
from collections.abc import Sequence
from typing import NamedTuple

from bert_data.settings import check_choice

STYLES = {
    "": "",
    "special": "bright_black",  # a special token, such as [CLS]
    "masked": "bold red",  # a token to predict that is [MASK] now
    "replaced": "bold yellow",  # one that is another token now
    "kept": "bold magenta",  # one that was left as it was
    "original": "green",  # what a token to predict was
    "segment_b": "blue",
    "padding": "bright_black",
    "word": "reverse",  # what was searched for
    "faint": "bright_black",
    "strong": "bold",
    "good": "green",
    "warning": "yellow",
    "bad": "bold red",
}
"""The styles, as rich draws them."""

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class StyledText(NamedTuple):
    """A piece of text in one of `STYLES`."""

    text: str
    style: str = ""


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
