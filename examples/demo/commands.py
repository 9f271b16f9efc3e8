"""Run a command as a user would, and show it and its output."""

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

# TensorFlow's C++ part logs before it can be silenced: "I0000 00:00:1.8    14 port.cc:153] ".
_NATIVE_LOG = re.compile(
    r"^(?:[IWE]0000 00:00:\d+\.\d+ +\d+ \S+\] |WARNING: All log messages before absl"
    r"|To enable the following instructions)"
)


class ExampleParser(argparse.ArgumentParser):
    """Parser of an example's arguments, which says in one sentence what is wrong with them."""

    def __init__(self, name: str, description: str | None) -> None:
        super().__init__(
            prog=f"python -m examples.{name}",
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self._name = name

    def error(self, message: str) -> NoReturn:
        """Print the sentence, and exit with status 2."""
        self.exit(2, f"{self._name}: {message} (see --help)\n")


def run(arguments: Sequence[str], *, example: str, leave_out: str | None = None) -> None:
    """Print a command of this project, run it with this Python, and print its log, indented.

    Args:
      arguments: what follows "python" on the command line.
      example: name of the example, for errors.
      leave_out: regular expression; matching lines of the log are not shown.

    Raises:
      SystemExit: the command failed; its whole output has been shown.
    """
    print(f"\n{_pasteable(arguments)}", flush=True)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said = line.rstrip()
            if not _NATIVE_LOG.match(line) and not (leave_out and re.search(leave_out, said)):
                print(f"    {said}", flush=True)
    if process.returncode:
        sys.exit(f"{example}: the command above ended with status {process.returncode}")


def _pasteable(arguments: Sequence[str]) -> str:
    """Return the command with one flag per line."""
    words = [shlex.quote(argument) for argument in arguments]
    num_first = next((i for i, word in enumerate(words) if word.startswith("--")), len(words))
    python = os.path.relpath(sys.executable)
    return " \\\n    ".join([" ".join(["$", python, *words[:num_first]]), *words[num_first:]])
