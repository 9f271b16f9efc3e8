"""Paths: local ones, and URIs; local files whose errors name them.

"text/a.txt"                 a local file
"s3://bucket/text/a.txt"     split_uri -> root "s3://bucket", key "text/a.txt"
"""

import dataclasses
import io
import itertools
import os
import re
from collections.abc import Callable, Sequence
from typing import IO, Any, cast

_URI = re.compile(
    r"(?P<root>(?P<scheme>[a-z][a-z0-9+.-]*)://[^/?]*)/?(?P<key>.*?)(?P<options>\?\w+=.*)?",
    re.DOTALL,
)

Path = str | os.PathLike[str]
"""A local path, or a URI as a string."""


@dataclasses.dataclass(frozen=True)
class Uri:
    """The parts of a URI: "s3://bucket/a/b?region=us-east-1".

    Attributes:
      scheme: before "://".
      root: "s3://bucket".
      key: "a/b".
      options: "?region=us-east-1", or "".
    """

    scheme: str
    root: str
    key: str
    options: str


def is_remote(path: Path) -> bool:
    """Whether a path is a URI, `file://` included."""
    return "://" in os.fspath(path)


def split_uri(path: Path) -> Uri | None:
    """Return the parts of a URI; None for what is not one."""
    match = _URI.fullmatch(os.fspath(path))
    if match is None:
        return None
    return Uri(match["scheme"], match["root"], match["key"], match["options"] or "")


def local_path(path: Path) -> str | None:
    """Return the local path of a local file or a `file://` URI; None for other URIs."""
    if not is_remote(path):
        return os.fspath(path)
    uri = split_uri(path)
    return f"/{uri.key}" if uri is not None and uri.root == "file://" else None


def absolute_path(path: Path) -> str:
    """Return the absolute path of a local path; URIs stay as they are."""
    return os.fspath(path) if is_remote(path) else os.path.abspath(path)


def common_folder(paths: Sequence[Path]) -> str:
    """Return the innermost folder that holds all files: "/data/web", "s3://bucket/web"."""
    folders = [absolute_path(path).split("/")[:-1] for path in paths]
    first, last = min(folders), max(folders)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "/".join(part for part, _ in same)


def split_root(path: str) -> tuple[str, str]:
    """Split off the part that cannot have a pattern: "s3://bucket/", "a/*.txt"."""
    if not is_remote(path):
        rest = path.lstrip("/")
        return path[: len(path) - len(rest)], rest
    uri = split_uri(path)
    return (f"{uri.root}/", uri.key) if uri else (path, "")


class _NamedFile(io.FileIO):
    """A file whose errors name it."""

    def __init__(self, path: Path, mode: str, name: Path) -> None:
        self._name = os.fspath(name)
        self._named(super().__init__, path, mode)

    def _named(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except OSError as error:
            error.filename = self._name
            raise

    def write(self, data: Any) -> int:
        return int(self._named(super().write, data))

    def read(self, size: int | None = -1) -> Any:
        return self._named(super().read, size)

    def readall(self) -> Any:
        return self._named(super().readall)

    def readinto(self, buffer: Any) -> Any:
        return self._named(super().readinto, buffer)


def open_named(
    path: Path, mode: str = "wb", *, name: Path | None = None, buffering: int = -1
) -> IO[bytes]:
    """Open a local file; the errors of opening, reading and writing name it.

    Args:
      mode: as for `open`, binary.
      name: the caller's name for the file, if it differs.
      buffering: bytes of the buffer; 0: none, to read; -1: as `open`.
    """
    raw = _NamedFile(path, mode, path if name is None else name)
    size = buffering if buffering > 0 else io.DEFAULT_BUFFER_SIZE
    if mode == "rb":
        return cast(IO[bytes], raw) if buffering == 0 else io.BufferedReader(raw, size)
    return io.BufferedRandom(raw, size) if "+" in mode else io.BufferedWriter(raw, size)
