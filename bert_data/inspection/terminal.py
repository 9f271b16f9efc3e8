"""Content in a terminal, in colour; and as plain text, in lines that are never folded.

Whether there is a terminal, and what it can show, is rich's to find out: it respects NO_COLOR.
"""

from collections.abc import Mapping
from typing import IO

from rich import box
from rich.console import Console
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text as RichText

from bert_data.inspection.content import (
    STYLES,
    CellTable,
    StyledText,
    Text,
    plain,
    spans_of,
    visible,
)

_BAR_WIDTH = 40


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

    def table(self, table: CellTable) -> None:
        """Write a table."""
        if self._console is None:
            self._plain_table(table)
            return
        drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for i, name in enumerate(table.head):
            drawn.add_column(_rich(name), justify="left" if i in table.is_text else "right")
        for row in table.rows:
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
        self.table(CellTable(head=(*head, ""), rows=rows, is_text=(0, 2)))

    def labelled(self, label: str, text: Text) -> None:
        """Write a line after a label; a folded line stays beside it."""
        if self._console is None:
            self._print([f"  {label}  ", *spans_of(text)])
            return
        grid = RichTable.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(_rich(f"  {label}", "bright_black"), _rich(text))
        self._console.print(grid)

    def _plain_table(self, table: CellTable) -> None:
        cells = [[plain(cell) for cell in row] for row in (table.head, *table.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            padded = (
                cell.ljust(width) if i in table.is_text else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            self._print("  ".join(padded).rstrip())

    def _print(self, text: Text) -> None:
        if self._console is None:
            self._file.write(f"{plain(text)}\n")
        else:
            self._console.print(_rich(text))


def _rich(text: Text, style: str = "") -> RichText:
    drawn = RichText(style=style)
    for span in spans_of(text):
        drawn.append(visible(span.text), Style.parse(STYLES[span.style]))
    return drawn
