"""Paths: local ones, and URIs that pyarrow.fs resolves.

    "text/a.txt"             a local file; memory maps and plain files
    "s3://bucket/text/a.txt" resolve -> S3FileSystem, "bucket/text/a.txt"

A key is used literally: %20 is three characters. pyarrow's options may follow it, as in
"s3://bucket/a.txt?endpoint_override=localhost:9000&scheme=http".
"""

import contextlib
import errno
import functools
import io
import os
import re
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyarrow import fs

_URI = re.compile(
    r"(?P<root>(?P<scheme>[a-z][a-z0-9+.-]*)://[^/?]*)/?(?P<key>.*?)(?P<options>\?\w+=.*)?",
    re.DOTALL,
)
SCHEMES = ("file", "s3", "gs", "abfs", "abfss", "hdfs")


Path = str | os.PathLike[str]
"""A local path, or a URI as a string."""


def is_remote(path: Path) -> bool:
    """Whether a path is a URI, `file://` included."""
    return "://" in os.fspath(path)


def resolve(path: Path) -> tuple["fs.FileSystem", str]:
    """Return the file system of a URI, and the path in it.

    Raises:
      ValueError: the URI's scheme is unknown.
      OSError: the file system cannot be reached.
    """
    uri = os.fspath(path)
    match = _URI.fullmatch(uri)
    if match is None or match["scheme"] not in SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise ValueError(f"{uri!r} is not a supported path; use a local path or {known}")
    system, base = _file_system(match["root"] + "/" + (match["options"] or ""))
    return system, f"{base.rstrip('/')}/{match['key']}"


def split_root(path: str) -> tuple[str, str]:
    """Split off the part that cannot have a pattern: "s3://bucket/", "a/*.txt"."""
    if not is_remote(path):
        rest = path.lstrip("/")
        return path[: len(path) - len(rest)], rest
    match = _URI.fullmatch(path)
    return (f"{match['root']}/", match["key"]) if match else (path, "")


@functools.lru_cache
def _file_system(root: str) -> tuple["fs.FileSystem", str]:
    from pyarrow import ArrowInvalid, fs

    try:
        return fs.FileSystem.from_uri(root)
    except ArrowInvalid as error:
        raise ValueError(f"{root!r} cannot be used: {' '.join(str(error).split())}") from error


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the name `path` to OSErrors that lack a file's name, such as those of a full disk.

    Errors of remote files get the caller's name for the file instead of the store's.
    """
    path = os.fspath(path)
    try:
        yield
    except ChildProcessError:
        raise  # a worker that died; no file's error
    except OSError as error:
        if is_remote(path) and error.filename != path:
            if isinstance(error, FileNotFoundError):
                raise FileNotFoundError(errno.ENOENT, "No such file or directory", path) from error
            reason = " ".join(str(error).split())
            raise OSError(error.errno or errno.EIO, reason, path) from error
        if type(error) is OSError and error.errno is None:  # from NumPy, when a disk is full
            raise OSError(errno.EIO, " ".join(str(error).split()), path) from error
        if error.filename is None:
            error.filename = path
        raise


class _NamedFile(io.FileIO):
    """A file whose errors name it."""

    def __init__(self, path: Path, mode: str, name: Path) -> None:
        self._name = os.fspath(name)
        try:
            super().__init__(path, mode)
        except OSError as error:
            error.filename = self._name
            raise

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self._name
            raise


def open_named(
    path: Path, mode: str = "wb", *, name: Path | None = None, buffering: int = -1
) -> IO[bytes]:
    """Open a local file for writing; the errors of opening and writing name the file.

    Args:
      path: of the file.
      mode: as for `open`, binary.
      name: the caller's name for the file, if it differs.
      buffering: bytes of the buffer; -1: as `open`.

    Raises:
      OSError: it cannot be opened.
    """
    raw = _NamedFile(path, mode, path if name is None else name)
    size = buffering if buffering > 0 else io.DEFAULT_BUFFER_SIZE
    return io.BufferedRandom(raw, size) if "+" in mode else io.BufferedWriter(raw, size)
