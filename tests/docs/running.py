"""Runs the blocks of a page in order, in a folder of its own."""

import contextlib
import functools
import importlib.util
import io
import linecache
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tests.docs.corpus_inputs  # noqa: F401
from bert_data.curation.running.pipeline_file import read_pipeline_file
from bert_data.text.text_config import TextConfig
from tests.docs.blocks import Block, as_pattern
from tests.docs.inputs import make_inputs
from tests.forking import Programs
from tests.object_store import ObjectStore

CHECKOUT = Path(__file__).resolve().parent.parent.parent
BUCKET = "s3://my-bucket/"
# What only a shell understands.
SHELL = re.compile(r"[|<&;$`]|^export ", re.MULTILINE)
# On one core, commands start no workers, which takes longer than their work here.
BERT_DATA = f"""#!{sys.executable}
import os
import sys
from bert_data.cli.main import main
if hasattr(os, "sched_setaffinity"):  # macOS has none
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
sys.exit(main())
"""


class PageRun:
    """A page that is being run in the current folder.

    Attributes:
      printed: what the last block printed: commands' logs first, then their outputs.
    """

    def __init__(
        self, programs: Programs, bin_folder: Path, bucket: Callable[[], ObjectStore]
    ) -> None:
        self._programs, self._bucket = programs, functools.cache(bucket)
        self._program = bin_folder / "bert-data"
        self._program.write_text(BERT_DATA, encoding="utf-8")
        self._program.chmod(0o755)
        self._scope: dict[str, Any] = {"__name__": "__main__"}
        self.printed = ""

    def run(self, block: Block) -> None:
        """Do with a block what it is for.

        Raises:
          AssertionError: a command ends with another status, or prints something else.
        """
        names = block.marks.get("inputs", "").split()
        make_inputs(name for name in names if not name.startswith(BUCKET))
        for name in names:
            if name.startswith(BUCKET):
                self._put(name.removeprefix(BUCKET))
        needed = block.marks.get("needs", "").split()
        if not all(map(importlib.util.find_spec, needed)):
            return
        if block.role == "file":
            path = Path(block.marks["file"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.code, encoding="utf-8")
        elif block.role == "output":
            numbers_vary = block.marks.get("output") == "numbers vary"
            check_output(block, block.code, self.printed, numbers_vary)
        elif block.role == "sh":
            self.printed, status = self._run_commands(block.code)
            expected = int(block.marks.get("ends with", 0))
            assert status == expected, f"{block}: status {status}\n{self.printed}"
        elif block.role == "console":
            self._run_console(block)
        elif block.role == "python":
            self._run_python(block)
        elif block.role == "sql":
            self._run_sql(block.code)
        elif block.role == "pipeline":
            path = self._program.parent / "pipeline.yaml"
            is_list = block.code.startswith("-")
            path.write_text(f"steps:\n{block.code}" if is_list else block.code, encoding="utf-8")
            read_pipeline_file(str(path), TextConfig())

    def _put(self, key: str) -> None:
        """Make an input in the bucket."""
        with contextlib.chdir(self._program.parent):
            make_inputs([key])
            self._bucket().put(key, Path(key).read_bytes())

    def _run_console(self, block: Block) -> None:
        for part in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
            command = re.match(r"(?:.*\\\n)*.*\n", part)
            assert command is not None
            printed, status = self._run_commands(command[0])
            expected = part[command.end() :]
            assert (status != 0) == (": error: " in expected), f"{block}: {status}\n{printed}"
            check_output(block, expected, printed, numbers_vary=False)

    def _run_commands(self, script: str) -> tuple[str, int]:
        """Return what the commands of a script print, and the status of the last one."""
        commands = self._python_commands(script)
        if commands is None:
            return self._run_shell(script)
        printed, status = "", 0
        for arguments, output in commands:
            done = self._programs.run(arguments, cwd=Path.cwd())
            if output:
                Path(output).write_text(done.stdout, encoding="utf-8")
            printed += done.stderr + ("" if output else done.stdout)
            status = done.returncode
            if status:
                break
        return printed, status

    def _python_commands(self, script: str) -> list[tuple[list[str], str]] | None:
        """Return Python's arguments for each command, and the file that gets its output or "".

        None, if the script needs a shell, or runs other programs.
        """
        commands = []
        for line in script.replace("\\\n", " ").splitlines():
            command, _, output = line.partition(" > ")
            words = shlex.split(command, comments=True)
            if words and words[0] == "bert-data":
                words[0] = str(self._program)
            elif words and words[0] in ("python", "python3"):
                del words[0]
            elif words:
                return None
            commands += [(words, output.strip())] if words else []
        return None if SHELL.search(script) else commands

    def _run_shell(self, script: str) -> tuple[str, int]:
        folders = [str(self._program.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            env={**os.environ, "PATH": os.pathsep.join(folders), "PYTHONPATH": str(CHECKOUT)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stderr + done.stdout, done.returncode

    def _run_python(self, block: Block) -> None:
        name, lines = str(block), block.code.splitlines(keepends=True)
        linecache.cache[name] = (len(block.code), None, lines, name)  # for AutoGraph, tracebacks
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(block.code, name, "exec"), self._scope)
        self.printed = output.getvalue()

    def _run_sql(self, code: str) -> None:
        import duckdb

        self.printed = str(duckdb.sql(code))


def check_output(block: Block, expected: str, printed: str, numbers_vary: bool) -> None:
    """Check that what a page shows are consecutive lines of what was printed.

    All of them, if Python or SQL has printed it: those have no log.
    """
    found = as_pattern(expected, numbers_vary).search(printed)
    assert found, f"{block} shows\n{expected}\nand this was printed:\n{printed}"
