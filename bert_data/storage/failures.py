"""What went wrong with a file, in one sentence that names it.

with naming("s3://bucket/a"): ...     PermissionError: s3://bucket/a: access is forbidden; ...
with naming("a"): ...                 the errors of a full disk name a
with naming_folder("b"): ...          what cannot be made in b names b, not a lock or a work folder
"""

import contextlib
import errno
import os
import re
from collections.abc import Iterator

from bert_data.storage.file_systems import find_scheme, resolve
from bert_data.storage.paths import Path, is_remote, split_uri

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

    Errors of remote files get the caller's name for the file instead of the store's, and a sentence
    that says what is the matter.
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
    """Refuse a local folder in which nothing can be made.

    Raises:
      OSError: with the folder; its file system is read-only, or there is no permission.
    """
    if os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise _read_only(folder)
    raise PermissionError(errno.EACCES, "no permission to write into this folder", folder)


def _read_only(folder: str) -> OSError:
    return OSError(errno.EROFS, os.strerror(errno.EROFS), folder)


def _explain(error: OSError, path: str) -> OSError:
    """Return the error of a remote file with the name of the file and a sentence."""
    if isinstance(error, FileNotFoundError) or _MISSING.match(str(error)):
        reason = _NO_BUCKET if is_bucket_missing(path) else "No such file or directory"
        return FileNotFoundError(errno.ENOENT, reason, path)
    scheme = find_scheme(path)
    if scheme.explains_errors and error.strerror:
        return OSError(error.errno, error.strerror, path)
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
    """Whether the bucket of a URI is known not to exist."""
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
