"""Remote files: raw streams, ranges, reads that are tried again, and uploads of local files.

RemoteFile("s3://b/a").read_at(100, 4096)      bytes 4096 to 4195, in one request
files = RemoteFiles(["s3://b/a", "s3://b/c"], [9_000_000, 8_000_000])
files.read(1, 4096, 100)                       bytes 4096 to 4195 of s3://b/c

The position is kept here, and each read asks for a range: pyarrow's own position in a file of
Google's store asks for all that follows, even if only a few bytes are read, or none. The libraries
of the file systems send failing requests again. Only for reads that are shorter than the text of an
error does S3's lose the error's kind, and with it the knowledge that it may pass.

pyarrow publishes what a stream has received when the stream is closed or destroyed, and has no way
to abandon it. So a stream that fails, or is interrupted, is neither: it stays in memory until the
process ends. What it sent is an unfinished upload, which the store's lifecycle rule removes. Where
a file is visible from its first byte on (`Scheme.hides_unfinished`), it gets a hidden name first.
"""

import collections
import contextlib
import errno
import io
import math
import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, TypeVar

from bert_data.errors import CorruptDataError
from bert_data.storage.file_systems import find_scheme, naming, resolve
from bert_data.storage.paths import (
    Path,
    is_remote,
    new_token,
    split_uri,
    temporary_folder,
    writing_path,
)
from bert_data.storage.statuses import file_size

LOST_REASON = "Failed to flush response stream"
_MAX_ATTEMPTS = 6  # for some 25 s in all, if each fails at once
FIRST_SECONDS, _MOST_SECONDS = 0.1, 10.0

Result = TypeVar("Result")
Version = tuple[object, ...]


def max_attempts() -> int:
    """Return how often a request to S3 is sent before its error is raised."""
    value = os.environ.get("AWS_MAX_ATTEMPTS") or str(_MAX_ATTEMPTS)
    if not re.fullmatch("[1-9][0-9]{0,3}", value):
        raise ValueError(f"AWS_MAX_ATTEMPTS is {value!r}; it must be a number from 1 to 9999")
    return int(value)


def retried(read: Callable[..., Result], *args: Any) -> Result:
    """Return what a read returns, after further attempts if the reason of its error was lost."""
    seconds = FIRST_SECONDS
    for _ in range(max_attempts() - 1):
        try:
            return read(*args)
        except OSError as error:
            if LOST_REASON not in str(error):
                raise
        time.sleep(seconds)
        seconds = min(2 * seconds, _MOST_SECONDS)
    return read(*args)


class RemoteFile(io.RawIOBase):
    """A remote file, open for reading; each read is one request, and its errors name the URI."""

    _file: Any = None  # not there if it could not be opened; it is closed nevertheless

    def __init__(self, uri: str) -> None:
        self._uri, self._position = uri, 0
        with naming(uri):
            system, key = resolve(uri)
            self._file = system.open_input_file(key)

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def size(self) -> int:
        """Return the number of bytes when it was opened."""
        return int(self._file.size())

    def version(self) -> Version:
        """Return what tells the file, as it was when opened, from what may replace it."""
        with naming(self._uri):
            described = self._file.metadata()  # with a digest, from object stores
            if not described:
                system, key = resolve(self._uri)
                described = system.get_file_info(key).mtime_ns
        return self.size(), repr(described)

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position, and return it."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size()}[whence]
        if start + offset < 0:
            raise ValueError(f"a position of {start + offset} is before the file")
        self._position = start + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Read what follows the position, in one request."""
        view = memoryview(buffer).cast("B")
        size = min(len(view), self.size() - self._position)
        if size <= 0:
            return 0
        data = self.read_at(size, self._position)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)

    def read_at(self, size: int, offset: int) -> bytes:
        """Return a range, or less at the end of the file; threads may do so at the same time."""
        with naming(self._uri):
            return bytes(retried(self._file.read_at, size, offset))

    def close(self) -> None:
        """Close the file."""
        if not self.closed and self._file is not None:
            self._file.close()
        super().close()


_MAX_OPEN = 1024
_READS_BETWEEN_CHECKS = 64


class RemoteFiles:
    """Remote files, by their numbers; threads may read them at the same time.

    Local files may be among them.

    Attributes:
      sizes: of the files, in bytes.
    """

    def __init__(
        self, paths: Sequence[str], sizes: Sequence[int], versions: Sequence[Version] = ()
    ) -> None:
        """Open none of them yet.

        Args:
          versions: of all of them, see `RemoteFile`; without, those that they have when opened.
        """
        self._uris = [
            path if is_remote(path) else f"file://{os.path.abspath(path)}" for path in paths
        ]
        self.sizes = tuple(sizes)
        self._versions: dict[int, Version] = dict(enumerate(versions))
        self._num_reads: collections.Counter[int] = collections.Counter()
        self._open: collections.OrderedDict[int, RemoteFile] = collections.OrderedDict()
        self._lock = threading.Lock()

    def read(self, number: int, offset: int, size: int) -> bytes:
        """Return `size` bytes of a file from `offset` on.

        If an object has become shorter since it was opened, pyarrow returns zeros in place of what
        is missing: who finds damage should `check`.
        """
        try:
            data = self._file(number).read_at(size, offset)
        except OSError:
            self.check(number)
            raise
        if len(data) < size:
            self.check(number)
            reason = f"ends here, before the {size:,} bytes from byte {offset:,} on"
            raise CorruptDataError(self._uris[number], offset + len(data), reason)
        return data

    def uri(self, number: int) -> str:
        """Return the URI of a file."""
        return self._uris[number]

    def identify(self, number: int) -> tuple[object, ...]:
        """Return what tells a file from all others, and from itself before a change."""
        if number not in self._versions:
            self.check(number)
        return self._uris[number], *self._versions[number]

    def check(self, number: int) -> RemoteFile:
        """Open a file again; raise CorruptDataError if it is not the one that was first opened."""
        uri = self._uris[number]
        try:
            file = RemoteFile(uri)
        except FileNotFoundError:
            reason = "has been removed since it was opened"
            raise FileNotFoundError(errno.ENOENT, reason, uri) from None
        version = file.version()
        is_first = self._versions.setdefault(number, version) == version
        if file.size() != self.sizes[number] or not is_first:
            raise CorruptDataError(uri, 0, "has changed since it was opened")
        return file

    def _file(self, number: int) -> RemoteFile:
        with self._lock:
            file = self._open.get(number)
            is_due = self._num_reads[number] % _READS_BETWEEN_CHECKS == 0
            self._num_reads[number] += 1
        if file is None or is_due:
            file = self.check(number)
        with self._lock:
            self._open[number] = file
            self._open.move_to_end(number)
            if len(self._open) > _MAX_OPEN:
                self._open.popitem(last=False)  # closed when no thread reads it
        return file


_COPY_BYTES = 8 << 20
_NUM_UPLOADS = 8  # at a time


def can_copy(source: Path, uri: Path) -> bool:
    """Return whether an object store can copy an object, which exists, to a URI by itself."""
    one, other = split_uri(source), split_uri(uri)
    if one is None or other is None or (one.root, one.options) != (other.root, other.options):
        return False
    most_bytes = find_scheme(source).most_copied_bytes
    return bool(most_bytes) and (math.isinf(most_bytes) or file_size(source) <= most_bytes)


def upload(path: Path, uri: Path) -> None:
    """Copy a local file to a URI, where it appears once it is complete."""
    _upload(path, uri, threading.Event())


def upload_all(sources: Mapping[str, str], begun: list[str]) -> None:
    """Copy files to URIs, several at a time; the first error ends them all.

    Args:
      sources: by URI: local paths, or objects for which `can_copy` is true.
      begun: gets the URIs that may exist now, also if there is an error.
    """
    from concurrent.futures import ThreadPoolExecutor  # here, as it would delay the start

    ended = threading.Event()
    with ThreadPoolExecutor(_NUM_UPLOADS, "bert_data-upload") as pool:
        try:
            uploads = {uri: pool.submit(_upload, path, uri, ended) for uri, path in sources.items()}
            begun += uploads
            for each in uploads.values():
                each.result()
        except BaseException:
            ended.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def files_by_depth(folder: str, uri: str) -> list[dict[str, str]]:
    """Return the files of a local folder by their URIs; those of its subfolders come first."""
    inner: dict[str, str] = {}
    outer: dict[str, str] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            files = outer if place == folder else inner
            files[os.path.join(uri, os.path.relpath(path, folder))] = path
    return [inner, outer]


def remove_remote_folder(uri: str) -> None:
    """Remove a remote folder and all that is in it, if it exists."""
    with contextlib.suppress(FileNotFoundError), naming(uri):
        system, key = resolve(uri)
        system.delete_dir(key)


def _upload(path: Path, uri: Path, ended: threading.Event) -> None:
    if is_remote(path):
        with naming(uri):
            system, key = resolve(uri)
            system.copy_file(resolve(path)[1], key)
        return
    with naming(uri), open(path, "rb") as file:
        system, key = resolve(uri)
        scheme = find_scheme(uri)
        if scheme.hides_unfinished:
            _put(system, key, file, ended)
            return
        if scheme.has_folders:
            system.create_dir(os.path.dirname(key))
        partial = writing_path(key, new_token())
        try:
            _put(system, partial, file, ended)
            scheme.rename(system, partial, key)
        except BaseException:
            with contextlib.suppress(OSError):
                system.delete_file(partial)
            raise


def _put(system: Any, key: str, file: IO[bytes], ended: threading.Event) -> None:
    import ctypes  # not at the top, as most runs do not need it

    stream = system.open_output_stream(key, compression=None)  # not by the ending of the name
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(stream))  # so that nothing destroys it
    _copy(file, stream, ended)
    stream.close()
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(stream))


def _copy(file: IO[bytes], stream: Any, ended: threading.Event) -> None:
    while data := file.read(_COPY_BYTES):
        if ended.is_set():
            raise InterruptedError("another upload of the set failed")
        stream.write(data)


class StagedFolder:
    """A folder for files of programs such as TensorFlow; those of a remote one are uploaded.

    Attributes:
      path: the folder itself, or, of a remote one, a temporary folder that goes with this object.
    """

    def __init__(self, folder: str) -> None:
        self._folder, self.path = folder, folder
        if is_remote(folder):
            self.path = temporary_folder(self)

    def upload(self, *, last: str = "") -> None:
        """Upload all files, if the folder is remote; each of them replaces one of its name.

        Args:
          last: files whose names end so are uploaded when the others are there.
        """
        if not is_remote(self._folder):
            return
        names = sorted(os.listdir(self.path))
        for name in sorted(names, key=lambda name: bool(last) and name.endswith(last)):
            upload(os.path.join(self.path, name), os.path.join(self._folder, name))
