"""The file systems of URIs, by pyarrow.fs, and what each of them can do.

    resolve("s3://bucket/text/a.txt")       -> S3FileSystem, "bucket/text/a.txt"
    find_scheme("s3://bucket/text/a.txt")   -> schemes.s3.S3, of which hides_unfinished is True

A key is used literally: %20 is three characters. Credentials are found as the file system's own
library finds them. The environment names other servers than the stores' own, and for Azure also an
account's key; options of the URI come before it, as in
"s3://bucket/a.txt?endpoint_override=localhost:9000&scheme=http". AWS_MAX_ATTEMPTS says how often a
request to S3 that fails is sent.
"""

import dataclasses
import functools
import importlib
import math
import os
import re
from typing import TYPE_CHECKING, Any, ClassVar

from bert_data import forced_end
from bert_data.storage.paths import Path, Uri, split_uri

if TYPE_CHECKING:
    from pyarrow import fs

SCHEMES = {
    "file": "local.LocalFiles",
    "s3": "s3.S3",
    "gs": "google.GoogleStore",
    "abfs": "azure.Azure",
    "abfss": "azure.Azure",
    "hdfs": "hadoop.Hadoop",
    "viewfs": "hadoop.Hadoop",
}
"""The class of each scheme, in a module of `schemes/` that the first URI imports."""

_NO_NAMES = {"", ".", ".."}
_SECRET = re.compile(r"[?&]\w*(?:key|secret|password|token)\w*=", re.IGNORECASE)
_CURL = re.compile(
    r"curlCode: \d+, (?P<reason>[^;]*)(?:; Details: (?P<details>.*))?"
    r"|CURL error \[\d+\]=(?P<google>.*?)(?: error_info|$)"
)


@dataclasses.dataclass(frozen=True)
class Failure:
    """Why a store has failed.

    Attributes:
      reason: in the store's words.
      tried: how often its library has tried.
      is_lost: whether the store did not answer, or broke off.
    """

    reason: str
    tried: str = "again and again"
    is_lost: bool = False


def curl_failure(text: str, tried: str = "again and again") -> Failure | None:
    """Return the failure of a connection of which libcurl tells in an error, if it does."""
    match = _CURL.search(text)
    if match is None:
        return None
    return Failure(match["details"] or match["reason"] or match["google"], tried, is_lost=True)


class Scheme:
    """What the file system of a scheme can do; by default it is one with folders.

    Attributes:
      servers: variables of the environment that name another server, the first that is set.
      takes_user: whether "user@" may stand before the host.
      any_key: whether a key may have parts such as "..".
      has_folders: whether folders are made and removed; objects need none, and are in buckets.
      lists_folders: whether listing a folder gives the folders in it.
      hides_unfinished: whether a file appears when it is closed; else it gets a hidden name first.
      most_copied_bytes: of the largest file that the store copies by itself; 0: it copies none.
      explains_errors: whether its errors have a number and a sentence already.
    """

    servers: ClassVar[tuple[str, ...]] = ()
    takes_user: ClassVar[bool] = True
    any_key: ClassVar[bool] = False
    has_folders: ClassVar[bool] = True
    lists_folders: ClassVar[bool] = True
    hides_unfinished: ClassVar[bool] = False
    most_copied_bytes: ClassVar[float] = 0.0
    explains_errors: ClassVar[bool] = False

    def open(self, uri: Uri, server: str) -> "tuple[fs.FileSystem, str]":
        """Return the file system of a URI, and what its keys begin with.

        Args:
          server: the value of one of `servers`, or "".

        Raises:
          ValueError: an option is unknown, or the URI names no store.
          OSError: the file system cannot be reached.
        """
        raise NotImplementedError

    def from_uri(self, root: str, options: str) -> "tuple[fs.FileSystem, str]":
        """Return what pyarrow makes of a URI."""
        from pyarrow import ArrowInvalid, fs

        try:
            return fs.FileSystem.from_uri(f"{root}/{options}")
        except ArrowInvalid as error:
            raise ValueError(f"{root!r} cannot be used: {' '.join(str(error).split())}") from error

    def key(self, base: str, key: str) -> str:
        """Return the path of a key in the file system."""
        path = f"{base.rstrip('/')}/{key}"
        return path if base else path[1:]  # of an Azure account: the container begins the key

    def place(self, uri: Uri) -> str:
        """Return what all names of one file have in common."""
        host = uri.root.rpartition("@")[2].rpartition("://")[2]
        return f"{uri.scheme}://{host}/{uri.key.rstrip('/')}"

    def rename(self, system: Any, source: str, target: str) -> None:
        """Give a file its final name; it replaces one of that name."""
        system.move(source, target)

    def remove(self, system: Any, key: str) -> None:
        """Remove a file.

        Raises:
          FileNotFoundError: there is none, if the store tells.
        """
        system.delete_file(key)

    def hides_reason(self, text: str) -> bool:
        """Whether another request may tell the reason that an error does not."""
        return False

    def failure(self, text: str) -> Failure | None:
        """Return why the store has failed, by the text of an error; None if it says enough."""
        return None


class ObjectStore(Scheme):
    """A store of objects in buckets, which has no folders, and copies objects."""

    has_folders = False
    most_copied_bytes = math.inf


def find_scheme(path: Path) -> Scheme:
    """Return the scheme of a URI; for errors see `split_known`."""
    return _scheme(split_known(path).scheme)


@functools.cache
def _scheme(name: str) -> Scheme:
    module, _, kind = SCHEMES[name].partition(".")
    loaded = importlib.import_module(f"{__package__}.schemes.{module}")
    scheme: Scheme = getattr(loaded, kind)()
    return scheme


def resolve(path: Path) -> tuple["fs.FileSystem", str]:
    """Return the file system of a URI, and the path in it.

    Raises:
      ValueError: see `split_known`; or an option is unknown.
      OSError: the file system cannot be reached.
    """
    forced_end.note_server()
    parts = split_known(path)
    scheme = _scheme(parts.scheme)
    server = next(filter(None, map(os.environ.get, scheme.servers)), "")
    system, base = _file_system(dataclasses.replace(parts, key=""), server)
    return system, scheme.key(base, parts.key)


@functools.lru_cache
def _file_system(uri: Uri, server: str) -> tuple["fs.FileSystem", str]:
    return _scheme(uri.scheme).open(uri, server)


def split_known(path: Path) -> Uri:
    """Return the parts of a URI.

    Raises:
      ValueError: its scheme is unknown, it holds credentials, or its key has a part that some
        stores leave out, so that it would be another name of the same file.
    """
    uri = os.fspath(path)
    parts = split_uri(uri)
    if parts is None or parts.scheme not in SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        shown = f"{uri.partition('://')[0]}://..." if "@" in uri else uri
        raise ValueError(f"{shown!r} is not a supported path; use a local path or {known}")
    scheme = _scheme(parts.scheme)
    user, _, host = parts.root.partition("://")[2].rpartition("@")
    has_colon = ":" in (user or ("" if scheme.has_folders else host))
    if has_colon or (user and not scheme.takes_user) or _SECRET.search(parts.options):
        raise ValueError(
            f"{parts.scheme}:// URI with credentials, which logs would show; set them in the"
            " environment or the store's own configuration"
        )
    names = parts.key.removesuffix("/").split("/") if parts.key else ()
    if not scheme.any_key and not _NO_NAMES.isdisjoint(names):
        raise ValueError(f"{uri!r} has a part '', '.' or '..', which some stores leave out")
    return parts
