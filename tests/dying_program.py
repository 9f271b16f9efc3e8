"""Runs a script that is ended by a signal just before its n-th change to the file system.

    python dying_program.py SIGKILL N FOLDER SCRIPT FLAGS...

Changes are files opened in FOLDER (and what is in it), and folders made, files renamed and removed
anywhere. They are counted by an audit hook, so the script is as it is. One that makes fewer than N
changes ends as it would.
"""

import os
import runpy
import signal
import sys
from typing import Any

CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir")


def count_down(signal_number: int, left: int, folder: str) -> None:
    """Installs the hook."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event == "open":
            path = os.path.abspath(os.fsdecode(arguments[0])) if _is_path(arguments[0]) else ""
            if not path.startswith(folder):
                return
        elif event not in CHANGES:
            return
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal_number)

    sys.addaudithook(hook)


def _is_path(value: object) -> bool:
    return isinstance(value, str | bytes | os.PathLike)


if __name__ == "__main__":
    _, signal_name, count, folder, *sys.argv = sys.argv
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    count_down(signal.Signals[signal_name], int(count), folder)
    runpy.run_path(sys.argv[0], run_name="__main__")
