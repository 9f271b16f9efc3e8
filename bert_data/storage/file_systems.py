"""The file systems of URIs, by pyarrow.fs, what each can do, and what their errors mean.

    resolve("s3://bucket/text/a.txt")       -> S3FileSystem, "bucket/text/a.txt"
    find_scheme("s3://bucket/text/a.txt")   -> schemes.s3.S3, of which hides_unfinished is True
    with naming("s3://bucket/a"): ...       PermissionError: s3://bucket/a: access is forbidden; ...

A key is used literally: %20 is three characters. Credentials are found as the file system's own
library finds them. The environment names other servers than the stores' own, and for Azure also an
account's key; options of the URI come before it, as in
"s3://bucket/a.txt?endpoint_override=localhost:9000&scheme=http". AWS_MAX_ATTEMPTS says how often a
request to S3 that fails is sent.
"""

import abc
import contextlib
import dataclasses
import errno
import functools
import importlib
import math
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from bert_data import interrupts
from bert_data.storage.paths import Path, Uri, is_remote, split_uri

if TYPE_CHECKING:
    from pyarrow import fs

SCHEMES = {
    "file": "LocalFiles",
    "s3": "s3.S3",
    "gs": "google.GoogleStore",
    "abfs": "azure.Azure",
    "abfss": "azure.Azure",
}
"""The class of each scheme: here, or in a module of `schemes/` that the first URI imports."""

MOST_OPEN = 16
"""File systems that are kept: each keeps the connections of all threads that have read from it."""

_HADOOP = "copy files of Hadoop with `hdfs dfs -get` and `hdfs dfs -put`, or mount it (FUSE)"
_NO_NAMES = {"", ".", ".."}
_SECRET = re.compile(r"[?&]\w*(?:key|secret|password|token)\w*=", re.IGNORECASE)
_CURL = re.compile(
    r"curlCode: \d+, (?P<reason>[^;]*)(?:; Details: (?P<details>.*))?"
    r"|CURL error \[\d+\]=(?P<google>.*?)(?: error_info|$)"
)


@dataclasses.dataclass(frozen=True)
class Failure:
    """Why a store has failed, how often its library tried, and whether it did not answer."""

    reason: str
    tried: str = "again and again"
    is_lost: bool = False


def curl_failure(text: str, tried: str = "again and again") -> Failure | None:
    """Return the failure of a connection that libcurl reports in an error, None for others."""
    match = _CURL.search(text)
    if match is None:
        return None
    return Failure(match["details"] or match["reason"] or match["google"], tried, is_lost=True)


class Scheme(abc.ABC):
    """The abilities of a scheme's file system; by default it is one with folders.

    Attributes:
      servers: variables of the environment that name another server, the first that is set.
      takes_user: whether "user@" may stand before the host.
      any_key: whether a key may have parts such as "..".
      has_folders: whether folders are made and removed; objects need none, and are in buckets.
      lists_folders: whether listing a folder gives the folders in it.
      hides_unfinished: whether a file appears when it is closed; else it gets a hidden name first.
      most_copied_bytes: of the largest file that the store copies by itself; 0: it copies none.
    """

    servers: ClassVar[tuple[str, ...]] = ()
    takes_user: ClassVar[bool] = True
    any_key: ClassVar[bool] = False
    has_folders: ClassVar[bool] = True
    lists_folders: ClassVar[bool] = True
    hides_unfinished: ClassVar[bool] = False
    most_copied_bytes: ClassVar[float] = 0.0

    @abc.abstractmethod
    def open(self, uri: Uri, server: str) -> "tuple[fs.FileSystem, str]":
        """Return the file system of a URI, and what its keys begin with.

        `server` is the value of one of `servers`, or "".
        """

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
        """Return what all URIs of one file have in common."""
        host = uri.root.rpartition("@")[2].rpartition("://")[2]
        return f"{uri.scheme}://{host}/{uri.key.rstrip('/')}"

    def rename(self, system: Any, source: str, target: str) -> None:
        """Give a file its final name, in place of any that has it."""
        system.move(source, target)

    def remove(self, system: Any, key: str) -> None:
        """Remove a file; raise FileNotFoundError if there is none and the store says so."""
        system.delete_file(key)

    def hides_reason(self, text: str) -> bool:
        """Whether another request may tell the reason that an error does not."""
        return False

    def failure(self, text: str) -> Failure | None:
        """Return why the store has failed, by the text of an error; None if it says enough."""
        return None


class LocalFiles(Scheme):
    """Local files by `file://`; their paths may have `..` in them as elsewhere."""

    any_key = True

    def open(self, uri: Uri, server: str) -> "tuple[fs.FileSystem, str]":
        """Return the local file system."""
        return self.from_uri(uri.root, uri.options)


class ObjectStore(Scheme):
    """A store of objects in buckets, without folders, which copies objects."""

    has_folders = False
    most_copied_bytes = math.inf


def find_scheme(path: Path) -> Scheme:
    """Return the scheme of a URI; for errors see `split_known`."""
    return _scheme(split_known(path).scheme)


@functools.cache
def _scheme(name: str) -> Scheme:
    module, _, kind = SCHEMES[name].rpartition(".")
    if not module:
        return LocalFiles()
    scheme: Scheme = getattr(importlib.import_module(f"{__package__}.schemes.{module}"), kind)()
    return scheme


def resolve(path: Path) -> tuple["fs.FileSystem", str]:
    """Return the file system of a URI, and the path in it; for errors see `split_known`."""
    interrupts.note_server()
    parts = split_known(path)
    scheme = _scheme(parts.scheme)
    server = next(filter(None, map(os.environ.get, scheme.servers)), "")
    system, base = file_system(dataclasses.replace(parts, key=""), server, os.getpid())
    return system, scheme.key(base, parts.key)


@functools.lru_cache(maxsize=MOST_OPEN)
def file_system(uri: Uri, server: str, process: int) -> tuple["fs.FileSystem", str]:
    """Return the file system of a process: a forked child has not its parent's connections."""
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
        kind = uri.partition("://")[0]
        shown = f"{kind}://..." if "@" in uri else uri
        remedy = f"; {_HADOOP}" if kind in ("hdfs", "viewfs") else ""
        raise ValueError(f"{shown!r} is not a supported path; use a local path or {known}{remedy}")
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


_NO_BUCKET = "the bucket does not exist"
_FORBIDDEN = "access is forbidden; check the credentials and what they may do with the bucket"
_EXPIRED = "the credentials have expired; get new ones and run the same command again"
_NO_CREDENTIALS = "no credentials were found, or they could not be used to get a token"
_KINDS: tuple[tuple[str, int, str], ...] = (
    ("OAuth2 access token|Failed to get token", errno.EACCES, _NO_CREDENTIALS),
    (
        "Expired_?Token|TokenRefreshRequired|RequestExpired|token is expired"
        "|Signature not valid in the specified time frame",
        errno.EACCES,
        _EXPIRED,
    ),
    (
        "No_?Such_?Bucket|Bucket '[^']*' not found|Container_?Not_?Found"
        "|specified bucket does not exist",
        errno.ENOENT,
        _NO_BUCKET,
    ),
    (
        "Access_?Denied|Forbidden|status 403|Signature|Invalid_?Access_?Key|Invalid_?Client"
        "|Unrecognized_?Client|Authentication|Authorization|Permission_?Denied|Unauthenticated",
        errno.EACCES,
        _FORBIDDEN,
    ),
)
_MISSING = re.compile("No such (file or )?directory")  # of Google's store, without a number
_MAX_CHARACTERS = 300  # of a reason: some libraries tell their whole history
_SIGNATURE = re.compile(r"(\bsig=)[^&\s']+")  # of a URL of Azure's, which whoever has it may use


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the name `path` to OSErrors that lack a file's name, such as those of a full disk.

    Errors of remote files get the caller's name for the file, not the store's, and a sentence.
    """
    path = os.fspath(path)
    try:
        yield
    except ChildProcessError:
        raise  # a worker that died; no file's error
    except OSError as error:
        if is_remote(path) and error.filename != path:
            raise _explain(error, path) from error
        if type(error) is OSError and error.errno is None:  # from NumPy, when a disk is full
            raise OSError(errno.EIO, " ".join(str(error).split()), path) from error
        if error.filename is None and error.errno is not None:  # without, it is a cluster's error
            error.filename = path
        raise
    except Exception as error:
        if is_remote(path) and type(error).__name__ == "ArrowException":  # of unknown kind: Azure's
            raise _explain(OSError(str(error)), path) from error
        raise


@contextlib.contextmanager
def naming_folder(folder: str) -> Iterator[None]:
    """Name a folder in errors that nothing can be made in it, in place of hidden names."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EROFS:
            raise _read_only(folder) from error
        if isinstance(error, PermissionError) and os.path.isdir(folder):
            check_writable(folder)
        raise


def check_writable(folder: str) -> None:
    """Raise OSError for a local folder in which nothing can be made."""
    if os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise _read_only(folder)
    raise PermissionError(errno.EACCES, "no permission to write into this folder", folder)


def _read_only(folder: str) -> OSError:
    return OSError(errno.EROFS, os.strerror(errno.EROFS), folder)


def _explain(error: OSError, path: str) -> OSError:
    if isinstance(error, FileNotFoundError) or _MISSING.match(str(error)):
        reason = _NO_BUCKET if is_bucket_missing(path) else "No such file or directory"
        return FileNotFoundError(errno.ENOENT, reason, path)
    scheme = find_scheme(path)
    text = _SIGNATURE.sub(r"\1...", " ".join(str(error).split()))
    if scheme.hides_reason(text):
        text += _ask_again(path)
    for pattern, number, reason in _KINDS:
        if re.search(pattern, text, re.IGNORECASE):
            return OSError(number, reason, path)
    failure = scheme.failure(text)
    if failure is None:
        return OSError(error.errno or errno.EIO, text[:_MAX_CHARACTERS], path)
    reason = failure.reason.strip().rstrip(".")[:_MAX_CHARACTERS]
    how = f"{failure.tried} ({reason})"
    if failure.is_lost:
        sentence = f"the object store cannot be reached, or broke off, {how}"
        return ConnectionError(errno.EIO, sentence, path)
    return OSError(errno.EIO, f"the object store failed {how}", path)


def is_bucket_missing(path: Path) -> bool:
    """Return whether the bucket of a URI is known not to exist."""
    from pyarrow import fs

    uri = split_uri(path)
    if uri is None or find_scheme(path).has_folders:
        return False
    try:
        system, key = resolve(path)
        return system.get_file_info(key.partition("/")[0]).type == fs.FileType.NotFound
    except OSError:
        return False


def _ask_again(path: str) -> str:
    """Return the error of a request whose answer has a body, or ""."""
    from pyarrow import fs

    try:
        system, key = resolve(path)
        system.get_file_info(fs.FileSelector(key, allow_not_found=True))
    except OSError as error:
        return f" {error}"
    return ""
