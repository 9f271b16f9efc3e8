r"""Lines and tables in a terminal, in colour; and as plain text, in lines that are never folded.

Text is shown as it is, but characters that would control a terminal are shown as escapes: "\x1b".
Whether there is a terminal, and what it can show, is rich's to find out: it respects NO_COLOR. It
also exports what a terminal shows as a page for a browser.
"""

import contextlib
import errno
import html
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, NamedTuple

from rich import box
from rich.console import Console
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text as RichText

from bert_data import storage
from bert_data.records.sets.manifest import is_sidecar

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

_BAR_WIDTH = 40
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_COLUMNS = 100
_FORMAT = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>TITLE</title><style>
body {{ color: {foreground}; background: {background}; }}
pre {{ overflow-x: auto; font: 14px/1.4 monospace; }}
{stylesheet}
</style></head>
<body><pre>
{code}</pre></body></html>
"""


class StyledText(NamedTuple):
    """A piece of text in one of `STYLES`."""

    text: str
    style: str = ""


ShownText = str | StyledText | Sequence[str | StyledText]
"""A line: its pieces follow each other without spaces between them."""


def spans_of(text: ShownText) -> list[StyledText]:
    """Return the spans of a line."""
    parts = [text] if isinstance(text, str | StyledText) else text
    return [part if isinstance(part, StyledText) else StyledText(part) for part in parts]


def shown_text(text: ShownText) -> str:
    """Return the characters of a line, as they are shown."""
    return "".join(visible(span.text) for span in spans_of(text))


def visible(text: str) -> str:
    """Replace line ends and characters that control a terminal or hide text by their escapes."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def first_of(names: Sequence[str]) -> str:
    """Return the first name and how many others there are: "a.txt and 2 more"."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"


class Terminal:
    """Writes content to a text file, in colour if that is a terminal."""

    def __init__(self, file: IO[str], *, console: Console | None = None) -> None:
        """Take a file, and a console of rich's in place of the one that fits the file."""
        self._file = file
        console = console or Console(file=file, highlight=False, markup=False, emoji=False)
        self._console = console if console.is_terminal else None

    def heading(self, *text: str | StyledText) -> None:
        """Write a heading after an empty line."""
        self._print("")
        if self._console is None:
            self._print(text)
        else:
            self._console.print(_rich(text, "bold"))

    def paragraph(self, *text: str | StyledText) -> None:
        """Write a line."""
        self._print(text)

    def table(
        self,
        head: Sequence[str],
        rows: Sequence[Sequence[ShownText]],
        is_text: Sequence[int] = (0,),
    ) -> None:
        """Write a table; its columns of `is_text` are aligned left, the others hold numbers."""
        if self._console is None:
            self._plain_table(head, rows, is_text)
            return
        drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for i, name in enumerate(head):
            drawn.add_column(_rich(name), justify="left" if i in is_text else "right")
        for row in rows:
            drawn.add_row(*map(_rich, row))
        self._console.print(drawn)

    def bars(self, title: str, head: tuple[str, str], counts: Mapping[str, int]) -> None:
        """Write counts by name as a table with bars, under a title."""
        largest = max(counts.values(), default=0) or 1
        rows = [
            (name, f"{count:,}", "#" * round(_BAR_WIDTH * count / largest))
            for name, count in counts.items()
        ]
        self.heading(title)
        self.table((*head, ""), rows, is_text=(0, 2))

    def labelled(self, label: str, text: ShownText) -> None:
        """Write a line after a label; a folded line stays beside it."""
        if self._console is None:
            self._print([f"  {label}  ", *spans_of(text)])
            return
        grid = RichTable.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(_rich(f"  {label}", "bright_black"), _rich(text))
        self._console.print(grid)

    def _plain_table(
        self, head: Sequence[str], rows: Sequence[Sequence[ShownText]], is_text: Sequence[int]
    ) -> None:
        cells = [[shown_text(cell) for cell in row] for row in (head, *rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            padded = (
                cell.ljust(width) if i in is_text else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            self._print("  ".join(padded).rstrip())

    def _print(self, text: ShownText) -> None:
        if self._console is None:
            self._file.write(f"{shown_text(text)}\n")
        else:
            self._console.print(_rich(text))


def _rich(text: ShownText, style: str = "") -> RichText:
    drawn = RichText(style=style)
    for span in spans_of(text):
        drawn.append(visible(span.text), Style.parse(STYLES[span.style]))
    return drawn


@contextlib.contextmanager
def open_page(
    path: str, title: str, *, reads: Sequence[str] = (), overwrite: bool = False
) -> Iterator[Terminal]:
    """Begin a page for a browser, which appears whole when the block ends without an error.

    Args:
      reads: files and patterns of files that the run reads, which the page must not replace.
    """
    storage.refuse_inputs(
        [path], [file for entry in reads for file in storage.find_files(entry) or [entry]]
    )
    if is_sidecar(path) or is_sidecar(storage.real_path(path)):
        raise ValueError(f"output {path!r} has the name of a set's index or manifest")
    storage.refuse_other_endings([path], (storage.HTML, storage.TEXT))
    storage.refuse_existing([path], overwrite=overwrite)
    folder = os.path.dirname(path)
    if folder and not storage.is_remote(path) and not storage.is_folder(folder):
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write a page into", path)
    with storage.open_whole(path) as file:
        console = Console(
            file=io.StringIO(), record=True, width=_COLUMNS, force_terminal=True, highlight=False
        )
        yield Terminal(console.file, console=console)
        name = html.escape(visible(title)).replace("{", "{{").replace("}", "}}")
        page = console.export_html(code_format=_FORMAT.replace("TITLE", name))
        file.write(page.encode())
