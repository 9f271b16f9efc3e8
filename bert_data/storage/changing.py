"""Single files and folders that appear complete or not at all; removals.

    with open_whole("a.json") as file: ...      .a.json.TOKEN.writing, then a.json
    with open_folder("000003") as folder: ...   the same for a folder, which nothing replaces

A lock is held while it is written, so that `remove_abandoned` can tell what killed runs left.
"""

import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
from collections.abc import Callable, Collection, Iterator
from typing import IO, Any

from bert_data.storage.file_systems import find_scheme, naming, naming_folder, resolve
from bert_data.storage.paths import (
    Path,
    is_of_this_host,
    is_remote,
    new_token,
    open_scratch,
    refuse_tilde,
    token_of,
    writing_path,
)
from bert_data.storage.remote_files import files_by_depth, remove_remote_folder, upload, upload_all
from bert_data.storage.statuses import is_folder, list_folder, list_statuses

MANY_FOLDERS, _NUM_REMOVALS = 1000, 16  # at a time; a network file system needs ms for each file


@contextlib.contextmanager
def open_whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing; it gets its name when the block ends without an error.

    It replaces a file of that name, or the target of a link. A remote file is first written
    locally, then uploaded.
    """
    if is_remote(path):
        import tempfile  # not at the top: it adds 10 ms to each start, and few runs need it

        with tempfile.NamedTemporaryFile() as file:
            yield file
            file.flush()
            upload(file.name, path)
        return
    place = follow_link(path)
    with naming(path), _hidden_file(place, name=path) as (partial, file):
        yield file
        file.flush()
        os.fsync(file.fileno())
        os.replace(partial, place)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, which appears complete and replaces a file of that name."""
    with open_whole(path) as file:
        file.write(data)


@contextlib.contextmanager
def open_folder(path: Path, *, last: str = "") -> Iterator[str]:
    """Make a new folder to write into; it gets its name when the block ends without an error.

    If another process has created a folder of that name meanwhile, that one stays: folders of tasks
    do not depend on who makes them, so either is right. A remote folder is written locally, then
    its files are uploaded.

    Args:
      last: name of the file in it that is uploaded last: a remote folder is whole once it has it.

    Yields:
      The path of the folder until then, always a local one.
    """
    if is_remote(path):
        import tempfile  # not at the top: it adds 10 ms to each start, and few runs need it

        with tempfile.TemporaryDirectory(prefix="bert_data-") as folder:
            yield folder
            inner, outer = files_by_depth(folder, os.fspath(path))
            voucher = outer.pop(os.path.join(path, last), None)
            upload_all({**inner, **outer}, [])
            if voucher is not None:
                upload(voucher, os.path.join(path, last))
        return
    with _hidden_folder(path) as partial:
        yield partial
        sync(partial)
        try:
            os.rename(partial, path)
        except OSError:
            if not os.path.isdir(path):
                raise


@contextlib.contextmanager
def open_marker(folder: Path, data: bytes) -> Iterator[str]:
    """Keep a hidden file with these bytes in a folder while the block runs; yield its path."""
    path = os.path.join(folder, "marker")
    if not is_remote(folder):
        with _hidden_file(path, name=folder) as (hidden, file):
            file.write(data)
            file.flush()
            yield hidden
        return
    hidden = writing_path(path, new_token())
    try:
        write_bytes(hidden, data)
        yield hidden
    finally:
        remove(hidden)


def open_shared_folder(parent: Path) -> contextlib.AbstractContextManager[str]:
    """Make a hidden local folder that several machines use until the block ends."""
    return _hidden_folder(os.path.join(parent, "shared"))


def remove_folder(path: str) -> None:
    """Remove a folder, if it exists; a run killed meanwhile never leaves part of a local one there.

    `remove_abandoned` removes what is left under a hidden name.
    """
    if is_remote(path):
        remove_remote_folder(path)
        return
    hidden = writing_path(path, new_token())
    with contextlib.suppress(FileNotFoundError):
        os.rename(path, hidden)
        remove(hidden)


def remove_abandoned(folder: str) -> None:
    """Remove what killed runs of this host left in a folder, half made or half removed."""
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        token = token_of(name)
        if token is None or not is_of_this_host(token):
            continue
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):  # its run is alive, or it is gone already
            mode = os.O_RDONLY if os.path.isdir(path) else os.O_RDWR  # NFS locks no read-only file
            descriptor = os.open(path, mode | os.O_NOFOLLOW)
            try:
                if os.fstat(descriptor).st_uid != os.geteuid():
                    continue
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(path)
            finally:
                os.close(descriptor)


def remove_matching(folder: Path, names: "re.Pattern[str]") -> list[str]:
    """Remove the regular files of a folder whose whole names match a pattern; return the names."""
    found = sorted(filter(names.fullmatch, list_folder(folder)))
    if not is_remote(folder):
        found = [name for name in found if _kind(os.path.join(folder, name)) == stat.S_IFREG]
    for name in found:
        remove(os.path.join(folder, name))
    return found


def remove_if_empty(folder: Path) -> None:
    """Remove a folder with nothing in it; any other stays."""
    if not is_remote(folder):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    elif is_folder(folder) and not list_folder(folder):
        remove_remote_folder(os.fspath(folder))


def is_users_folder(path: Path) -> bool:
    """Return whether a path is a folder, not a link; a local one must be this user's."""
    if is_remote(path):
        return is_folder(path)
    return _kind(path) == stat.S_IFDIR and os.lstat(path).st_uid == os.geteuid()


def refuse_planted(folder: Path) -> None:
    """Refuse a hidden folder under a name that others may foresee, unless it is this user's own.

    Raises:
      PermissionError: it is a link or, where everyone may write, of another user.
    """
    if is_remote(folder) or not os.path.lexists(folder):
        return
    may_be_planted = os.stat(os.path.dirname(os.path.abspath(folder))).st_mode & stat.S_IWOTH
    if _kind(folder) != stat.S_IFDIR or (may_be_planted and not is_users_folder(folder)):
        reason = "is not a folder of this user; remove it, or name another work folder"
        raise PermissionError(errno.EACCES, reason, os.fspath(folder))


def _kind(path: Path) -> int:
    """Return the type of what has a name, or is a link; 0 if there is nothing."""
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        return 0


def remove_unfinished_uploads(folder: str, names: Collection[str] | None = None) -> None:
    """Remove what killed uploads of this host into a remote folder have left under hidden names.

    With `names`, only what was to become these files, to which nothing else uploads.
    """
    for hidden in list_statuses(folder) if _shows_unfinished(folder) else ():
        token = token_of(hidden)
        if token is None or not is_of_this_host(token):
            continue
        if names is None or hidden[1:].removesuffix(f".{token}.writing") in names:
            remove(os.path.join(folder, hidden))


def _shows_unfinished(folder: str) -> bool:
    return is_remote(folder) and not find_scheme(folder).hides_unfinished


@contextlib.contextmanager
def _hidden_file(path: Path, name: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Open a locked file under a hidden name beside a path, and remove what still has that."""
    hidden = writing_path(path, new_token())
    try:
        while True:
            with open_scratch(hidden, "xb", name=name) as file:
                if _lock(file.fileno(), hidden):
                    yield hidden, file
                    return
    finally:
        if os.path.lexists(hidden):
            remove(hidden)


@contextlib.contextmanager
def _hidden_folder(path: Path) -> Iterator[str]:
    """Do the same with a folder, whose parents are made."""
    hidden = writing_path(path, new_token())
    descriptor = _make_locked(hidden)
    try:
        yield hidden
    finally:
        remove(hidden)
        os.close(descriptor)


def _make_locked(path: str) -> int:
    refuse_tilde(path)
    while True:
        with naming_folder(os.path.dirname(path)):
            os.makedirs(path)
        with contextlib.suppress(FileNotFoundError):  # see `_lock`
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            if _lock(descriptor, path):
                return descriptor
            os.close(descriptor)


def _lock(descriptor: int, path: str) -> bool:
    """Lock what was just created; return whether it still exists.

    `remove_abandoned` of another process may have taken it for abandoned before it was locked. On a
    file system without locks, nothing counts as abandoned.
    """
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return os.path.exists(path)


def _remove_tree(path: Path) -> None:
    """Remove a folder; one with many subfolders, such as those of tasks, by several threads."""
    inner = [folder for outer in _subfolders(path) for folder in _subfolders(outer)]
    if len(inner) >= MANY_FOLDERS:
        from concurrent.futures import ThreadPoolExecutor  # here, as it would delay the start

        with ThreadPoolExecutor(_NUM_REMOVALS) as pool:
            for folder in inner:
                pool.submit(shutil.rmtree, folder, ignore_errors=True)
    shutil.rmtree(path, ignore_errors=True)


def _subfolders(path: Path) -> list[str]:
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        return [os.fspath(each.path) for each in entries if each.is_dir(follow_symlinks=False)]
    return []


def follow_link(path: Path) -> str:
    """Return the path of the file to which a link leads; other paths stay as they are."""
    return os.path.realpath(path) if os.path.islink(path) else os.fspath(path)


def sync(path: Path) -> None:
    """Wait until a file, or a folder and all its contents, is on the disk."""
    for folder, _, names in os.walk(path):
        for name in names:
            sync_one(os.path.join(folder, name))
        sync_one(folder)
    if not os.path.isdir(path):
        sync_one(path)


def sync_one(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make a folder and its parents, if they do not exist; object stores have no folders."""
    if not is_remote(path):
        refuse_tilde(path)
        os.makedirs(path or ".", exist_ok=True)
        return
    with naming(path):
        system, key = resolve(path)
        if find_scheme(path).has_folders:
            system.create_dir(key)


def remove(path: Path) -> None:
    """Remove a file, or a local folder and all its contents, if it exists."""
    if is_remote(path):
        with contextlib.suppress(FileNotFoundError), naming(path):
            system, key = resolve(path)
            find_scheme(path).remove(system, key)
    elif os.path.isdir(path) and not os.path.islink(path):
        _remove_tree(path)
    else:
        try:
            os.remove(path)
        except OSError:  # a read-only file system refuses also what is not there
            if os.path.lexists(path):
                raise


class SummedFile:
    """Counts and sums the bytes that are written; pyarrow treats it as a Python file.

    Attributes:
      file: that they are written to; whoever opened it closes it.
    """

    closed = False  # for Arrow, which asks

    def __init__(self, file: IO[bytes], extend_checksum: Callable[[Any, int], int]) -> None:
        self.file = file
        self.num_bytes = self.checksum = 0
        self._extend_checksum = extend_checksum
        self._is_given_up = False

    def write(self, data: Any) -> int:
        """Write bytes, or the memory of an object; return how many."""
        view = memoryview(data)
        if not self._is_given_up:
            self.num_bytes += view.nbytes
            self.checksum = self._extend_checksum(view, self.checksum)
            self.file.write(view)
        return view.nbytes

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self.num_bytes

    def flush(self) -> None:
        """Do nothing, as Arrow does not know when the file is done."""

    def give_up(self) -> None:
        """Drop whatever is written from now on."""
        self._is_given_up = True
