"""The fenced blocks of a page, and what is to be done with each.

    ```sh                                  commands, run in the page's folder
    ```python                              run in one interpreter for the whole page
    ```sql                                 run by DuckDB
    ```console                             commands after "$ ", each with what it prints
    ```text, or without a language         what the block above printed, if it follows it directly

Comments directly above a block, which readers do not see, say the rest:

    <!-- file: recipe.yaml -->             it is written to this file
    <!-- pipeline -->                      it is read as a pipeline of curation, or a part of one
    <!-- output -->                        it is what the last commands printed, though it stands
                                           further below; `numbers vary` after it leaves out numbers
    <!-- not run: needs a cluster -->      and why
    <!-- inputs: corpus.txt vocab.txt -->  what a reader has, made by tests/docs/inputs.py
    <!-- smaller: 100_000 => 20; ... -->   what takes long, or what small inputs cannot have
    <!-- ends with: 1 -->                  the status of its last command
    <!-- needs: torch -->                  modules without which it is left out
"""

import dataclasses
import re
import textwrap
from pathlib import Path

_COMMENT = r"^ *<!--(?:(?!-->).)*-->\n"
_FENCE = re.compile(
    rf"(?P<comments>(?:{_COMMENT})*)^(?P<indent> *)```(?P<language>\w*)[^\n]*\n"
    r"(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"<!--\s*(?P<name>[^:]+?)(?::\s*(?P<value>.*?))?\s*-->", re.DOTALL)
MARKS = {"file", "pipeline", "output", "not run", "inputs", "smaller", "ends with", "needs"}
COMMANDS = {"sh", "console", "python", "sql"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block.

    Attributes:
      page: "docs/tutorial.md".
      line: of its fence, from 1.
      language: of its fence; "" without one.
      code: its lines, as they are to be run: what is too large for tests is smaller.
      marks: what the comments above it say, by name; "" for those without a value.
      follows: nothing stands between it and the block above.
    """

    page: str
    line: int
    language: str
    code: str
    marks: dict[str, str]
    follows: bool

    @property
    def role(self) -> str:
        """`not run`, `file`, `pipeline`, `output` or a language of `COMMANDS`.

        Raises:
          ValueError: nothing says what it is.
        """
        for mark in ("not run", "file", "pipeline", "output"):
            if mark in self.marks:
                return mark
        if self.language in COMMANDS:
            return self.language
        if self.language in ("", "text") and self.follows:
            return "output"
        raise ValueError(f"{self}: a comment above it has to say what it is: {__file__}")

    def __str__(self) -> str:
        return f"{self.page}, line {self.line}"


def read_blocks(page: Path, name: str) -> list[Block]:
    """Return the blocks of a page in order.

    Raises:
      ValueError: a comment above one has no known mark, or what is to be smaller does not occur.
    """
    text = page.read_text(encoding="utf-8")
    blocks, end, smaller = [], 0, ""
    for match in _FENCE.finditer(text):
        line = text[: match.end("comments")].count("\n") + 1
        marks = {each["name"]: each["value"] or "" for each in _MARK.finditer(match["comments"])}
        if not marks.keys() <= MARKS:
            raise ValueError(f"{name}, line {line}: {marks.keys() - MARKS} are none of {MARKS}")
        follows = bool(blocks) and not text[end : match.start()].strip()
        block = Block(
            page=name,
            line=line,
            language=match["language"],
            code=textwrap.dedent(match["code"]),
            marks=marks,
            follows=follows,
        )
        is_output = block.language not in COMMANDS and block.role == "output"
        smaller = marks.get("smaller", smaller if is_output else "")
        blocks.append(dataclasses.replace(block, code=_make_smaller(block, smaller, is_output)))
        end = match.end()
    return blocks


def _make_smaller(block: Block, pairs: str, is_output: bool) -> str:
    code = block.code
    for pair in filter(None, pairs.split(";")):
        large, arrow, small = (part.strip() for part in pair.partition("=>"))
        if not arrow or (large not in code and not is_output):
            raise ValueError(f"{block}: {large!r}, which is to be smaller, is not in it")
        code = code.replace(large, small)
    return code


def as_pattern(expected: str, numbers_vary: bool) -> re.Pattern[str]:
    """Return what matches an output that a page shows, whose `...` stand for anything."""
    lines = []
    for line in expected.rstrip("\n").splitlines():
        if line.strip() == "...":
            lines.append(r"(?:[^\n]*\n)*?")
            continue
        pattern = ".*".join(map(re.escape, line.rstrip().split("...")))
        if numbers_vary:
            pattern = re.sub(r"\d[\d,]*(?:\\\.\d+)?", r"\\d[\\d,]*(?:\\.\\d+)?", pattern)
            pattern = re.sub(r"(?:\\ )+", r"\\s+", pattern)
            pattern = re.sub(r"\b[kMGT]?B\b", "[kMGT]?B", pattern)
        lines.append(rf"{pattern}[ \t]*\n")
    return re.compile("^" + "".join(lines), re.MULTILINE)
