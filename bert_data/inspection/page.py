"""Write what a terminal shows as a page for a browser, by rich's own export.

The page appears when the block ends without an error. On a narrow screen it scrolls.
"""

import contextlib
import errno
import html
import io
import os
from collections.abc import Iterator, Sequence

from rich.console import Console

from bert_data.inspection.terminal import Terminal, visible
from bert_data.records.sets.manifest import is_sidecar
from bert_data.storage import (
    HTML,
    TEXT,
    find_files,
    is_folder,
    is_remote,
    open_whole,
    real_path,
    refuse_existing,
    refuse_inputs,
    refuse_other_endings,
)

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


@contextlib.contextmanager
def open_page(
    path: str, title: str, *, reads: Sequence[str] = (), overwrite: bool = False
) -> Iterator[Terminal]:
    """Begin a page, which appears whole when the block ends without an error.

    Args:
      reads: files and patterns of files that the run reads, which the page must not replace.
    """
    refuse_inputs([path], [file for entry in reads for file in find_files(entry) or [entry]])
    if is_sidecar(path) or is_sidecar(real_path(path)):
        raise ValueError(f"output {path!r} has the name of a set's index or manifest")
    refuse_other_endings([path], (HTML, TEXT))
    refuse_existing([path], overwrite=overwrite)
    folder = os.path.dirname(path)
    if folder and not is_remote(path) and not is_folder(folder):
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write a page into", path)
    with open_whole(path) as file:
        console = Console(
            file=io.StringIO(), record=True, width=_COLUMNS, force_terminal=True, highlight=False
        )
        yield Terminal(console.file, console=console)
        name = html.escape(visible(title)).replace("{", "{{").replace("}", "}}")
        page = console.export_html(code_format=_FORMAT.replace("TITLE", name))
        file.write(page.encode())
