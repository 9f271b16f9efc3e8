"""Write self-contained HTML pages: no scripts, no fonts, nothing from elsewhere.

The page appears when the block ends without an error. What is written goes to the file at once, so
that a page of many records takes no memory. Colours follow the reader's choice of light or dark.
"""

import contextlib
import errno
import html
import os
import pkgutil
from collections.abc import Iterator, Sequence
from typing import IO

from bert_data.datasets.manifest import is_sidecar
from bert_data.inspection.content import (
    STYLES,
    CellTable,
    Plot,
    StyledText,
    Text,
    spans_of,
    visible,
)
from bert_data.inspection.reports import NUM_COLOURS, draw_plot
from bert_data.storage import (
    find_files,
    is_folder,
    is_remote,
    open_whole,
    real_path,
    refuse_existing,
    refuse_inputs,
)

_STYLE = "\n" + (pkgutil.get_data(__name__, "page.css") or b"").decode()
_SERIES = "".join(f".series{i} {{ fill: var(--s{i}); }}\n" for i in range(NUM_COLOURS))


class Page:
    """A page that is being written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def heading(self, *text: str | StyledText) -> None:
        """Write a heading, which begins a part of the page."""
        self._write(f"<h2>{_inline(text)}</h2>\n")

    def paragraph(self, *text: str | StyledText) -> None:
        """Write a paragraph of spans."""
        self._write(f"<p>{_inline(text)}</p>\n")

    def labelled(self, label: str, text: Text) -> None:
        """Write a line beside its label."""
        name = html.escape(visible(label))
        self._write(f'<div class="line"><span class="label">{name}</span>'
                    f"<span>{_inline(text)}</span></div>\n")  # fmt: skip

    def table(self, table: CellTable) -> None:
        """Write a table."""
        self._write(f"<table>{_row('th', table.head, table.is_text)}")
        for row in table.rows:
            self._write(_row("td", row, table.is_text))
        self._write("</table>\n")

    def plot(self, plot: Plot) -> None:
        """Write a plot."""
        self._write(f"<figure>{draw_plot(plot)}</figure>\n")

    def _write(self, text: str) -> None:
        self._file.write(text.encode())


@contextlib.contextmanager
def open_page(
    path: str, title: str, *, reads: Sequence[str] = (), overwrite: bool = False
) -> Iterator[Page]:
    """Begin a page, which appears whole when the block ends without an error.

    Args:
      reads: files and patterns of files that the run reads, which the page must not replace.
    """
    refuse_inputs([path], [file for entry in reads for file in find_files(entry) or [entry]])
    if is_sidecar(path) or is_sidecar(real_path(path)):
        raise ValueError(f"output {path!r} has the name of a set's index or manifest")
    refuse_existing([path], overwrite=overwrite)
    folder = os.path.dirname(path)
    if folder and not is_remote(path) and not is_folder(folder):
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write a page into", path)
    with open_whole(path) as file:
        name = html.escape(visible(title))
        file.write(
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width">'
            f"<title>{name}</title><style>{_STYLE}{_SERIES}</style></head>\n"
            f"<body>\n<h1>{name}</h1>\n".encode()
        )
        yield Page(file)
        file.write(b"</body></html>\n")


def _inline(text: Text) -> str:
    return "".join(map(_span, spans_of(text)))


def _span(span: StyledText) -> str:
    text = html.escape(visible(span.text))
    if not span.style and not span.note:
        return text
    style = f' class="{span.style}"' if span.style else ""
    note = span.note or (STYLES[span.style] if span.style not in ("faint", "strong") else "")
    title = f' title="{html.escape(visible(note))}"' if note else ""
    return f"<span{style}{title}>{text}</span>"


def _row(tag: str, cells: Sequence[Text], is_text: Sequence[int]) -> str:
    written = (
        f"<{tag}{' class=' + chr(34) + 'text' + chr(34) if i in is_text else ''}>"
        f"{_inline(cell)}</{tag}>"
        for i, cell in enumerate(cells)
    )
    return f"<tr>{''.join(written)}</tr>"
