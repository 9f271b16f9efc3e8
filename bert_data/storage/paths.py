"""Paths: of this machine, or URIs that pyarrow.fs resolves.

    "text/a.txt"             a local file; memory maps and plain files
    "s3://bucket/text/a.txt" resolve -> S3FileSystem, "bucket/text/a.txt"

A key is taken as it is written: %20 is three characters. Options of pyarrow's may follow it, as in
"s3://bucket/a.txt?endpoint_override=localhost:9000&scheme=http".
"""

import contextlib
import errno
import functools
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyarrow import fs

_URI = re.compile(
    r"(?P<root>(?P<scheme>[a-z][a-z0-9+.-]*)://[^/?]*)/?(?P<key>.*?)(?P<options>\?\w+=.*)?",
    re.DOTALL,
)
SCHEMES = ("file", "s3", "gs", "abfs", "abfss", "hdfs")


Path = str | os.PathLike[str]
"""What functions take that are for local files, too; a URI is a string."""


def is_remote(path: Path) -> bool:
    """Whether a path is a URI, `file://` included."""
    return "://" in os.fspath(path)


def resolve(path: Path) -> tuple["fs.FileSystem", str]:
    """The file system of a URI, and the path in it.

    Raises:
      ValueError: the URI has no scheme that is known.
      OSError: the file system cannot be reached.
    """
    uri = os.fspath(path)
    match = _URI.fullmatch(uri)
    if match is None or match["scheme"] not in SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise ValueError(f"{uri!r} is no path that can be read or written; a local one or {known}")
    system, base = _file_system(match["root"] + "/" + (match["options"] or ""))
    return system, f"{base.rstrip('/')}/{match['key']}"


def split_root(path: str) -> tuple[str, str]:
    """The part of a path that no pattern may be in, and the rest: "s3://bucket/", "a/*.txt"."""
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
    """Gives an OSError that comes without a file's name (a full disk, say) the name of `path`.

    Those of a remote file have the name that the caller knows, not the store's.
    """
    path = os.fspath(path)
    try:
        yield
    except OSError as error:
        if is_remote(path) and error.filename != path:
            if isinstance(error, FileNotFoundError):
                raise FileNotFoundError(errno.ENOENT, "No such file or directory", path) from error
            reason = " ".join(str(error).split())
            raise OSError(error.errno or errno.EIO, reason, path) from error
        if error.filename is None:
            error.filename = path
        raise
