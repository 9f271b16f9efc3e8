"""Sizes, kinds and times of files, and the names in folders."""

import collections
import dataclasses
import errno
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bert_data.storage.file_systems import find_scheme, naming, resolve
from bert_data.storage.paths import Path, is_remote, local_path

if TYPE_CHECKING:
    from pyarrow import fs

_LISTED_FROM = 100  # paths in a folder; a listing has 1,000 in an answer
_NUM_REQUESTS = 16  # at a time


@dataclasses.dataclass(frozen=True, kw_only=True)
class Status:
    """Properties that tell a file from others, and from itself before a change.

    Attributes:
      modified_ns: time of the last change, ns since 1970.
      inode: its number; 0 for a remote file.
      is_folder, is_file: its type; a pipe or a device is neither.
    """

    num_bytes: int
    modified_ns: int
    inode: int = 0
    is_folder: bool = False
    is_file: bool = True


def read_status(path: Path) -> Status | None:
    """Return the status of a path, following links; None if nothing exists there."""
    if is_remote(path):
        with naming(path):
            system, key = resolve(path)
            return _as_status(system.get_file_info(key))
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a name with a NUL
        return None
    return Status(
        num_bytes=status.st_size,
        modified_ns=status.st_mtime_ns,
        inode=status.st_ino,
        is_folder=stat.S_ISDIR(status.st_mode),
        is_file=stat.S_ISREG(status.st_mode),
    )


def read_statuses(paths: Sequence[str]) -> list[Status | None]:
    """Return the statuses of many paths; remote ones are listed, or read in parallel."""
    folders = collections.Counter(os.path.dirname(path) for path in paths if is_remote(path))
    listed = {
        folder: list_statuses(folder) for folder, count in folders.items() if count >= _LISTED_FROM
    }

    def read(path: str) -> Status | None:
        folder, name = os.path.split(path)
        return listed[folder].get(name) if folder in listed else read_status(path)

    if len(folders) == len(listed):
        return list(map(read, paths))
    from concurrent.futures import ThreadPoolExecutor  # here, as it would delay the start

    with ThreadPoolExecutor(_NUM_REQUESTS) as pool:
        return list(pool.map(read, paths))


def list_statuses(folder: Path) -> dict[str, Status]:
    """Return the statuses of what is in a remote folder, by name; {} if it does not exist."""
    return _list(folder, allow_not_found=True)


def _list(folder: Path, *, allow_not_found: bool) -> dict[str, Status]:
    """Return the statuses of what is in a remote folder, by name.

    Where folders are not listed, they are in the paths of the objects in them.
    """
    from pyarrow import fs

    with naming(folder):
        system, key = resolve(folder)
        is_flat = not find_scheme(folder).lists_folders
        infos = system.get_file_info(
            fs.FileSelector(key, recursive=is_flat, allow_not_found=allow_not_found)
        )
    start = len(key.rstrip("/")) + 1
    statuses: dict[str, Status] = {}
    for info in infos:
        name, is_deeper, _ = info.path[start:].partition("/")
        status = Status(num_bytes=0, modified_ns=0, is_folder=True, is_file=False)
        statuses.setdefault(name, status if is_deeper else _as_status(info) or status)
    return statuses


def _as_status(info: "fs.FileInfo") -> Status | None:
    from pyarrow import fs

    if info.type == fs.FileType.NotFound:
        return None
    return Status(
        num_bytes=info.size or 0,
        modified_ns=info.mtime_ns or 0,
        is_folder=info.type == fs.FileType.Directory,
        is_file=info.type == fs.FileType.File,
    )


def exists(path: Path) -> bool:
    """Return whether a path exists."""
    return read_status(path) is not None


def is_file(path: Path) -> bool:
    """Return whether a path is a regular file: not a folder, pipe or device."""
    status = read_status(path)
    return status is not None and status.is_file


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder."""
    status = read_status(path)
    return status is not None and status.is_folder


def file_size(path: Path) -> int:
    """Return the size of a file in bytes."""
    return _status(path).num_bytes


def _status(path: Path) -> Status:
    status = read_status(path)
    if status is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return status


def free_bytes(folder: Path) -> int | None:
    """Return the bytes that may still be written to a local folder; None of a remote one."""
    local = local_path(folder)
    return None if local is None else shutil.disk_usage(local or os.curdir).free


def modified_ns(path: Path) -> int:
    """Return when a file was last changed, in ns since 1970."""
    return _status(path).modified_ns


def folder_size(path: Path) -> int:
    """Return the size in bytes of all files in a folder and its subfolders."""
    return sum(file_sizes(path).values())


def file_sizes(path: Path) -> dict[str, int]:
    """Return the sizes of all files in a folder and its subfolders, by their paths in it.

    Local names that begin with a dot are left out: NFS gives them to files that are removed while
    they are open. A remote folder that does not exist has no files; a local one is an OSError.
    """
    if is_remote(path):
        from pyarrow import fs

        with naming(path):
            system, key = resolve(path)
            selector = fs.FileSelector(key, recursive=True, allow_not_found=True)
            infos = system.get_file_info(selector)
        start = len(key.rstrip("/")) + 1
        return {info.path[start:]: info.size or 0 for info in infos if info.is_file}
    return dict(_local_sizes(path, ""))


def _local_sizes(folder: Path, inside: str) -> Iterator[tuple[str, int]]:
    with os.scandir(os.path.join(folder, inside)) as entries:
        for entry in entries:
            name = os.path.join(inside, entry.name)
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield from _local_sizes(folder, name)
            else:
                yield name, entry.stat().st_size


def walk_files(folder: str) -> Iterator[str]:
    """Yield the files in a folder and its subfolders, sorted within each.

    Names that begin with a dot, and local links to folders, are left out.
    """
    if is_remote(folder):
        kinds = {name: status.is_folder for name, status in list_statuses(folder).items()}
    else:
        with os.scandir(folder) as entries:
            kinds = {
                entry.name: entry.is_dir(follow_symlinks=False)
                for entry in entries
                if entry.is_file() or entry.is_dir(follow_symlinks=False)
            }
    for name, is_subfolder in sorted(kinds.items()):
        if name.startswith("."):
            continue
        path = f"{folder.rstrip('/')}/{name}"
        if is_subfolder:
            yield from walk_files(path)
        else:
            yield path


def is_link(path: str) -> bool:
    """Return whether a path is a local symbolic link."""
    return not is_remote(path) and os.path.islink(path)


def is_inside(path: str, folder: str) -> bool:
    """Return whether a file is in a folder when the links on both ways are followed."""
    if is_remote(path):
        return True
    root = os.path.realpath(folder)
    return os.path.commonpath([root, os.path.realpath(path)]) == root


def list_folder(path: Path) -> list[str]:
    """Return the names in a folder, sorted."""
    if not is_remote(path):
        return sorted(os.listdir(path or "."))
    return sorted(_list(path, allow_not_found=False))
