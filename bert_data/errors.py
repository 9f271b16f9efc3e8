"""Errors that are not a caller's mistake: damaged data, and what TensorFlow reports.

A caller's mistake (a flag out of its range, a pattern that matches nothing) is a `ValueError` whose
text names the field, its value and what is allowed. Damaged bytes on disk raise a
`CorruptDataError`.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from typing import Self

_SAY_NOTHING = ("Graph execution error:", "Detected at node", "File ", "<stack traces")
_NODES = re.compile(r"\{\{[^}]*\}\}|\[Op:\w+\]( name:)?")


class CorruptDataError(Exception):
    """Bytes of a file contradict its format, its index or its manifest.

    Attributes:
      offset: byte offset in the (uncompressed) file where the damage was noticed, >= 0.
      reason: what is wrong there, without a full stop.
      record: number of the damaged record in the file, from 0, or None if the file has no records.
      where: what names the file, such as a line of another one; "": nothing.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        offset: int,
        reason: str,
        record: int | None = None,
        where: str = "",
    ) -> None:
        self.path = os.fspath(path)
        self.offset = offset
        self.reason = reason
        self.record = record
        self.where = where
        place = (
            f"byte offset {offset}" if record is None else f"record {record}, byte offset {offset}"
        )
        super().__init__(f"{where}{': ' * bool(where)}{self.path}: {place}: {reason}")

    def __reduce__(self) -> tuple[type[Self], tuple[str, int, str, int | None, str]]:
        return type(self), (self.path, self.offset, self.reason, self.record, self.where)


@contextlib.contextmanager
def named_in_errors(what: str) -> Iterator[None]:
    """Put what a ValueError is about, and a colon, before its text: a file, a row, a step."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


@contextlib.contextmanager
def named_in_file_errors(what: str) -> Iterator[None]:
    """Do so for errors of files, too: CorruptDataError, and OSError, at their end."""
    try:
        with named_in_errors(what):
            yield
    except CorruptDataError as error:
        raise CorruptDataError(
            error.path, error.offset, error.reason, error.record, what
        ) from error
    except OSError as error:
        if error.filename is None or not error.strerror:
            raise type(error)(f"{what}: {error}") from error
        raise type(error)(error.errno, f"{error.strerror} ({what})", error.filename) from error


def first_sentence(error: Exception) -> str:
    """Return the first line that says something in an error of TensorFlow, without its nodes."""
    lines = [line.strip() for line in _NODES.sub("", str(error)).splitlines()]
    telling = (line for line in lines if line and not line.startswith(_SAY_NOTHING))
    return next(telling, repr(error)).rstrip(".")
