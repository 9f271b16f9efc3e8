"""Draw docs/pictures/: what commands show in a terminal, as SVG.

    .venv/bin/python -m examples.pictures

The commands are those that stand above the pictures in the guides. They run on English text that
comes with Python, in a folder for temporary files.
"""

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from examples.demo.python_prose import read_documents, write_documents

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
CHECKOUT = PICTURES.parent.parent
COLUMNS = 100
NUM_DOCUMENTS = 120
MAX_LINES = 44
NUM_WIKI = 300  # documents of the first store of a recipe

CREATE = (
    "bert-data create --vocab_file=vocab.txt --max_seq_length=64"
    " --max_predictions_per_seq=10 --dupe_factor=2 --do_whole_word_mask"
)
PREPARATIONS = (
    "bert-data train-vocab --input_file=text.txt --vocab_size=3000 --output_file=vocab.txt",
    f"{CREATE} --input_file=text.txt --output_file=train@2",
    "bert-data create --vocab_file=vocab.txt --input_file=one.txt --output_file=one@2"
    " --max_seq_length=256 --dupe_factor=2",
    *(
        f"bert-data tokenize --input_file={name}.txt --output_prefix=data/{name}"
        " --vocab_file=vocab.txt --level=sentence"
        for name in ("wiki", "books")
    ),
)
# A command, and the picture below it.
_SHOWN = re.compile(
    r"^```sh\n(bert-data [^`]+)\n```\n+!\[[^]]*\]\(\.\./pictures/(\w+)\.svg\)", re.M
)
# The library's own format loads fonts from a server.
FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 15px; font-weight: bold; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def main() -> None:
    """Make a set of records, and draw what the commands show of it."""
    documents = read_documents()[:NUM_DOCUMENTS]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_documents(folder / "text.txt", documents)
        text = (folder / "text.txt").read_text(encoding="utf-8")
        (folder / "one.txt").write_text(text.replace("\n\n", "\n"), encoding="utf-8")
        (folder / "data").mkdir()
        write_documents(folder / "wiki.txt", read_documents()[:NUM_WIKI])
        write_documents(folder / "books.txt", read_documents()[NUM_WIKI:])
        guide = (CHECKOUT / "docs" / "guides" / "recipes.md").read_text(encoding="utf-8")
        recipe = guide.partition("```yaml\n")[2].partition("```")[0]
        (folder / "recipe.yaml").write_text(recipe, encoding="utf-8")
        for command in PREPARATIONS:
            run(command, folder)
        PICTURES.mkdir(parents=True, exist_ok=True)
        for picture, command in read_commands().items():
            path = PICTURES / f"{picture}.svg"
            path.write_text(draw(picture, command, run(command, folder)), encoding="utf-8")
            print(path.relative_to(CHECKOUT))


def read_commands() -> dict[str, str]:
    """Return the commands of the guides below which a picture shows their output, by its name."""
    guides = (path.read_text(encoding="utf-8") for path in CHECKOUT.glob("docs/guides/*.md"))
    return {name: command for guide in guides for command, name in _SHOWN.findall(guide)}


def run(command: str, folder: Path) -> str:
    """Run a command of bert-data as in a terminal; return what it shows."""
    name, *flags = shlex.split(command)[1:]
    words = ["-m", f"bert_data.cli.{name.replace('-', '_')}", *flags]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "FORCE_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**environment, "COLUMNS": str(COLUMNS)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        sys.exit(f"pictures: {command} ended with status {done.returncode}")
    return done.stdout


def draw(name: str, command: str, output: str) -> str:
    """Return an SVG of a command and its output, of which a long one is cut."""
    lines = output.rstrip("\n").split("\n")
    shown = [*lines[:MAX_LINES], *(["..."] if len(lines) > MAX_LINES else [])]
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi("\n".join([f"$ {command}", "", *shown])))
    return console.export_svg(
        title=name, theme=MONOKAI, code_format=FORMAT, unique_id=name, font_aspect_ratio=0.6
    )


if __name__ == "__main__":
    main()
