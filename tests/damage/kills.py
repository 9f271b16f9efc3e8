"""Kills commands just before one of their changes to files, and gives them again.

    python -m tests.damage.kills --command=tokenize --kills=100 --seed=7
    python -m tests.damage.kills --kills=0      (before every single change)

Events are counted rather than time, by an audit hook; a kill ends the whole group of processes.

What a killed command leaves under final names must be whole; the same command, given again, must
leave the same bytes as one that was never killed, and nothing beside them.
"""

import functools
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from absl import flags, logging

import bert_data
from bert_data.cli import settings_flags
from tests.damage.commands import COMMANDS, Command, prepare

_CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.truncate")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class _Changes:
    """Counts the changes that this process makes to files, and ends its group before one."""

    def __init__(self, folder: Path, last: int | None) -> None:
        self.count = 0
        self._folder, self._last = str(folder), last
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, mode = arguments
            is_path = isinstance(path, str | bytes | os.PathLike)
            if not is_path or not mode & _WRITES or os.fsdecode(path) == os.devnull:
                return
            if not os.path.abspath(os.fsdecode(path)).startswith(self._folder):
                return
        elif event not in _CHANGES:
            return
        self.count += 1
        if self.count == self._last:
            os.killpg(0, signal.SIGKILL)


def _in_child(function: Callable[[], str]) -> tuple[int, str]:
    """(status as of `os.wait`, what a function returns in a forked process of its own group)."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.setpgid(0, 0)
            os.close(reader)
            text = function()
            status = 0
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        finally:
            os.write(writer, text[:60_000].encode())
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    return os.waitpid(child, 0)[1], text


def _run(
    command: Command, module: ModuleType, room: Path, num_workers: int, last: int | None, more: str
) -> str:
    """In a forked process: runs a command; returns how many changes it made, and its modules."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    folder = room / "run"
    os.chdir(folder)
    command.patch()
    changes = _Changes(folder, last)
    workers = f"--num_workers={num_workers}" if "num_workers" in flags.FLAGS else ""
    argv = f"{command.flags} {workers} {more}".replace("{room}", str(room)).split()
    flags.FLAGS([command.module, *argv])
    module.main([command.module])
    modules = [name for name in sys.modules if name.startswith(f"{bert_data.__name__}.")]
    return json.dumps([changes.count, modules])


def contents(folder: Path) -> dict[str, bytes]:
    """All files, hidden ones too."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def visible(files: dict[str, bytes]) -> dict[str, bytes]:
    """Files under their final names."""
    return {k: v for k, v in files.items() if not any(p.startswith(".") for p in k.split("/"))}


def _fill(folder: Path, files: dict[str, bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


class Killer:
    """Kills one command again and again, in a process that has imported it."""

    def __init__(self, command: Command, room: Path, num_workers: int) -> None:
        self._command, self._room, self._num_workers = command, room, num_workers
        self._module = importlib.import_module(command.module)
        settings_flags.define(self._module.main.__globals__["SECTIONS"])
        self._folder = room / "run"

    def _start(self, last: int | None = None, *more: str) -> tuple[int, str]:
        function = functools.partial(
            _run, self._command, self._module, self._room, self._num_workers, last, " ".join(more)
        )
        return _in_child(function)

    def _well(self, *more: str) -> tuple[dict[str, bytes], int]:
        """The files that an undisturbed run leaves, and the number of changes that it makes."""
        status, text = self._start(None, *more)
        assert status == 0, f"{self._command.name}: {text}"
        num_changes, modules = json.loads(text)
        for name in modules:  # what every run would import again
            importlib.import_module(name)
        return contents(self._folder), num_changes

    def bad_kills(self, kills: int, seed: int) -> Iterator[str]:
        """The faults after kills; `kills` of each way to write, or all that there are if 0."""
        for way in ("fresh", "over an older output"):
            _fill(self._folder, {})
            older = self._well(self._command.older)[0] if way != "fresh" else {}
            more = ("--overwrite",) if older else ()
            if way != "fresh":
                _fill(self._folder, older)
            self._well(*more)  # the first run may compile, which is a change, too
            _fill(self._folder, older)
            whole, num_changes = self._well(*more)
            numbers = list(range(1, num_changes + 1))
            if kills and kills < num_changes:
                numbers = sorted(Random(f"{self._command.name}{seed}").sample(numbers, kills))
            for number in numbers:
                _fill(self._folder, older)
                for what in self._kill(number, older, whole, more):
                    name = f"{self._command.name}, {way}, change {number} of {num_changes}"
                    yield f"{name}: {what}"

    def _kill(
        self, number: int, older: dict[str, bytes], whole: dict[str, bytes], more: tuple[str, ...]
    ) -> Iterator[str]:
        status, text = self._start(number, *more)
        if not os.WIFSIGNALED(status):  # some runs make a change or two less than others
            if status or contents(self._folder) != whole:
                yield f"it was not killed ({text})"
            return
        left = visible(contents(self._folder))
        for name, content in left.items():
            if content not in (whole.get(name), older.get(name)):
                yield f"{name} is half-written, or nobody's"
        for files, others in ((whole, older), (older, whole)):
            for voucher in self._command.vouchers:
                if left.get(voucher, b"") == files.get(voucher) != others.get(voucher):
                    missing = [name for name in visible(files) if left.get(name) != files[name]]
                    yield from (f"{voucher} vouches for {name}" for name in missing)
        is_done = left == visible(whole) and not more
        status, text = self._start(None, *(("--overwrite",) if is_done else more))
        if status:
            yield f"the same command fails: {text}"
        after = contents(self._folder)
        if after != whole:
            names = {k for k in {**after, **whole} if after.get(k) != whole.get(k)}
            yield f"the same command leaves other bytes of {sorted(names)[0]}"


def run_command(command: Command, kills: int, seed: int, num_workers: int) -> list[str]:
    """In a forked process, as flags can be defined once: what went wrong."""

    def work() -> str:
        logging.set_verbosity(logging.FATAL)
        with tempfile.TemporaryDirectory() as room:
            prepare(Path(room))
            killer = Killer(command, Path(room), num_workers)
            return json.dumps(list(killer.bad_kills(kills, seed)))

    status, text = _in_child(work)
    return json.loads(text) if status == 0 else [f"{command.name}: {text}"]


def main(argv: list[str]) -> None:
    """Exit status 1 if something went wrong."""
    own = flags.FlagValues()
    flags.DEFINE_list(
        "command",
        None,
        "Commands, in all of their formats; by default, all of them.",
        flag_values=own,
    )
    flags.DEFINE_integer("kills", 10, "Kills of each; 0: at every change.", flag_values=own)
    flags.DEFINE_integer("num_workers", 1, "Workers of the commands.", flag_values=own)
    flags.DEFINE_integer("seed", 0, "Of the changes to kill at.", flag_values=own)
    own(argv)
    num_bad = 0
    for command in COMMANDS:
        if own.command is None or command.program in own.command:
            bad = run_command(command, own.kills, own.seed, own.num_workers)
            num_bad += len(bad)
            print(f"{command.name}: {len(bad)} bad", *bad[:10], sep="\n  ", flush=True)
    sys.exit(1 if num_bad else 0)


if __name__ == "__main__":
    main(sys.argv)
