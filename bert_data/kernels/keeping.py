"""Machine code on disk: `__pycache__/pairing.make_rows-STAMP-TYPES.kernel`.

    sha256 of the name and all that follows, 32 bytes | machine code, see `MachineCode.to_bytes`

Machine code runs, so only files are loaded that nobody but this user or root can have written: the
file and its folder belong to one of them, and no other user may write to them. A file that is
damaged, or has another's name, is compiled again. Files appear complete. The first machine code of
a changed kernel removes that of its earlier source. Of several processes that need the same kernel,
one compiles it while the others wait for its file.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator

from absl import logging

from bert_data import storage
from bert_data.kernels.machine_code import MachineCode, processor

CACHE_DIR_VARIABLE = "BERT_DATA_CACHE_DIR"
_ENDING = ".kernel"
_DIGITS = 16
_ROOT = 0
_MAX_WAIT_SECONDS = 60.0  # for another process, which compiles for some seconds
_POLL_SECONDS = 0.05


class Shelf:
    """Files of one kernel's machine code; its stamp is of all but the types and the processor."""

    def __init__(self, source: str, name: str, stamp: str) -> None:
        self._source, self._stamp = source, stamp[:_DIGITS]
        self._name = f"{os.path.splitext(os.path.basename(source))[0]}.{name}"

    def _file_name(self, types: str) -> str:
        digest = hashlib.sha256(f"{processor()} {types}".encode()).hexdigest()
        return f"{self._name}-{self._stamp}-{digest[:_DIGITS]}{_ENDING}"

    def _folders(self) -> Iterator[str]:
        """Yield the folders to try, the best first."""
        cache_dir = os.environ.get(CACHE_DIR_VARIABLE)
        place = os.path.dirname(os.path.abspath(self._source))
        # One folder per checkout, so that two of them do not remove each other's files.
        own = hashlib.sha256(place.encode()).hexdigest()[:_DIGITS]
        if cache_dir:
            yield os.path.join(cache_dir, own)
            return
        yield os.path.join(place, "__pycache__")
        yield os.path.join(user_cache(), own)

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """Keep other processes of this user from compiling this file's kernels meanwhile.

        The lock is on the source file, so nothing is left behind. Without it, as on some network
        file systems, each process compiles for itself.
        """
        try:
            source = os.open(self._source, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            yield
            return
        try:
            if os.fstat(source).st_uid == os.geteuid():  # another user could hold it for ever
                _wait_for_lock(source)
            yield
        finally:
            with contextlib.suppress(OSError):
                fcntl.flock(source, fcntl.LOCK_UN)  # closing does not, after a fork
            os.close(source)

    def find(self, types: str) -> MachineCode | None:
        """Return the machine code for arguments of these types, if it is intact and trusted."""
        name = self._file_name(types)
        for folder in self._folders():
            try:
                content = read_trusted(folder, name)
            except OSError:
                continue
            if content[:_DIGEST_BYTES] == _digest(name, content[_DIGEST_BYTES:]):
                return MachineCode.from_bytes(content[_DIGEST_BYTES:])
        return None

    def keep(self, types: str, code: MachineCode) -> None:
        """Keep machine code, if a folder is writable; otherwise the next run compiles again."""
        name = self._file_name(types)
        content = code.to_bytes()
        problem: OSError | None = None
        for folder in self._folders():
            try:
                write_trusted(folder, name, _digest(name, content) + content)
                self._remove_outdated(folder)
                return
            except OSError as error:
                problem = error
        logging.warning("compiled kernels cannot be kept: %s", problem)

    def _remove_outdated(self, folder: str) -> None:
        storage.remove_abandoned(folder)
        others = f"(?!{self._stamp})[0-9a-f]{{{_DIGITS}}}-[0-9a-f]{{{_DIGITS}}}"
        storage.remove_matching(
            folder, re.compile(f"{re.escape(self._name)}-{others}{re.escape(_ENDING)}")
        )


def _wait_for_lock(descriptor: int) -> None:
    """Take a lock, or give up after a while."""
    end = time.monotonic() + _MAX_WAIT_SECONDS
    while time.monotonic() < end:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(_POLL_SECONDS)
        except OSError:
            return


def user_cache() -> str:
    """Return this program's folder among the user's caches."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "bert_data")


def read_trusted(folder: str, name: str) -> bytes:
    """Return the content of a file that nobody but this user or root can have written."""
    _refuse_strangers(os.stat(folder), folder)
    with open(os.path.join(folder, name), "rb") as file:
        _refuse_strangers(os.fstat(file.fileno()), file.name)
        return file.read()


def write_trusted(folder: str, name: str, content: bytes) -> None:
    """Write a file for `read_trusted`; it appears complete."""
    os.makedirs(folder, mode=0o755, exist_ok=True)
    _refuse_strangers(os.stat(folder), folder)
    with storage.open_whole(os.path.join(folder, name)) as file:
        os.fchmod(file.fileno(), 0o644)
        file.write(content)


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + content).digest()


_DIGEST_BYTES = len(_digest("", b""))


def _refuse_strangers(status: os.stat_result, path: str) -> None:
    """Raise PermissionError if another user may have written, or may write."""
    if status.st_uid not in (os.geteuid(), _ROOT):
        raise PermissionError(f"{path} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"other users may write to {path}")
