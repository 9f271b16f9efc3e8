"""Runs many tries in a forked process with limits, and starts another where one kills it.

    run(open_file, range(300))  ->  (0, Equal), (1, Error("a.json: ...")), (2, Crash)

A try that ends its process, or does not end, costs a new one; the others share one, so that what is
loaded is loaded once.
"""

import contextlib
import dataclasses
import json
import os
import resource
import select
import signal
import traceback
from collections.abc import Callable, Iterator

from bert_data.errors import CorruptDataError

MAX_BYTES = 3_000_000_000
"""Address space that tries may take, beside what the process has at its start."""
MAX_CPU_SECONDS = 20
_MAX_WALL_SECONDS = 300  # for a deadlock, which takes no CPU time


@dataclasses.dataclass(frozen=True)
class Result:
    """The outcome of a try.

    Attributes:
      kind: "value", "error", "crash" or "hang".
      text: the value; the traceback of an error; the signal of a crash.
      sentence: what a user would read of an error; "" for a traceback.
    """

    kind: str
    text: str = ""
    sentence: str = ""


def run(function: Callable[[int], str], numbers: range) -> Iterator[tuple[int, Result]]:
    """Yields the result of each number, in order."""
    left = list(numbers)
    while left:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            _work(function, left, writer)
        os.close(writer)
        with os.fdopen(reader, "rb", buffering=0) as pipe:
            for result in _results(pipe.fileno()):
                yield left.pop(0), result
            if left:
                yield left.pop(0), _end_of(child)
            else:
                os.waitpid(child, 0)


def _results(pipe: int) -> Iterator[Result]:
    """Results as they come, until the process ends or stands still."""
    rest = b""
    while select.select([pipe], [], [], _MAX_WALL_SECONDS)[0]:
        data = os.read(pipe, 1 << 16)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield Result(**json.loads(line))


def _end_of(child: int) -> Result:
    """The end of the process that was at a try."""
    ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            return Result("hang", "no CPU time")
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        kind = "hang" if number == signal.SIGXCPU else "crash"
        return Result(kind, signal.Signals(number).name)
    return Result("crash", f"exit status {os.waitstatus_to_exitcode(status)}")


def _work(function: Callable[[int], str], numbers: list[int], pipe: int) -> None:
    """In the child: never returns."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        _limit(resource.RLIMIT_AS, _address_space() + MAX_BYTES)
        for number in numbers:
            usage = resource.getrusage(resource.RUSAGE_SELF)
            _limit(resource.RLIMIT_CPU, int(usage.ru_utime + usage.ru_stime) + MAX_CPU_SECONDS)
            result = dataclasses.asdict(_try(function, number))
            data = json.dumps(result).encode() + b"\n"
            while data:
                data = data[os.write(pipe, data) :]
    finally:
        os._exit(0)


def _limit(what: int, value: int) -> None:
    resource.setrlimit(what, (value, resource.getrlimit(what)[1]))


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _try(function: Callable[[int], str], number: int) -> Result:
    try:
        return Result("value", function(number))
    except BaseException as error:  # a panic of a library is no Exception
        lines = "".join(traceback.format_exception(error)).splitlines()
        return Result("error", "\n".join(lines[-12:])[-3000:], _sentence(error)[:3000])


def _sentence(error: BaseException) -> str:
    """The message that a command prints for an error; "" where it ends in a traceback."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ValueError | OSError | CorruptDataError):
        return " ".join(str(error).split())
    return ""
