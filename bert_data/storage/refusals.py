"""What no run may replace: files that it reads, and what is there unless it is told to."""

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath

from bert_data.storage.paths import is_remote, resolve
from bert_data.storage.reading import read_status


def refuse_existing(paths: Sequence[str], *, overwrite: bool, folders: Sequence[str] = ()) -> None:
    """Refuses to replace what is there.

    Args:
      paths: of files.
      overwrite: whether a file may replace a file, and a folder a folder.
      folders: paths of folders.

    Raises:
      OSError: with what is there.
    """
    for path in (*folders, *paths):
        status, is_folder = read_status(path), path in folders
        if not is_folder and status is not None and status.is_folder:
            raise IsADirectoryError(errno.EISDIR, "is a directory, not a file to write", path)
        if status is None and (is_remote(path) or not os.path.lexists(path)):
            continue
        if not overwrite:
            reason = "exists already (--overwrite replaces it)"
            raise FileExistsError(errno.EEXIST, reason, path)
        if is_folder and (status is None or not status.is_folder or os.path.islink(path)):
            raise NotADirectoryError(errno.ENOTDIR, "is not a folder to replace", path)
        if not is_folder and status is not None and not status.is_file:
            raise FileExistsError(errno.EEXIST, "is a device or the like, not a file", path)


def refuse_inputs(outputs: Iterable[str], inputs: Iterable[str]) -> None:
    """Refuses to replace or remove what a run reads, by whatever name or link it is reached.

    Raises:
      ValueError: with the output.
    """
    read: set[object] = set()
    for path in inputs:
        read |= set(_keys(path))
        read |= set(map(str, PurePath(real_path(path)).parents))  # a folder that is replaced
    for path in outputs:
        if not read.isdisjoint(_keys(path)):
            raise ValueError(f"output {path!r} is an input too")


def refuse_doubles(paths: Sequence[str]) -> None:
    """Refuses paths of which two are the same file.

    Raises:
      ValueError: with both of them.
    """
    seen: dict[str, str] = {}
    for path in paths:
        place = real_path(path)
        if place in seen:
            raise ValueError(f"two outputs have the same name: {seen[place]!r} and {path!r}")
        seen[place] = path


def _keys(path: str) -> Iterator[object]:
    """What two paths of one file have in common: the place that links lead to, or the inode."""
    place = real_path(path)
    yield place
    if not is_remote(place):
        try:
            status = os.stat(place)
        except OSError:
            return
        yield status.st_dev, status.st_ino


def real_path(path: str) -> str:
    """The path without links; the URI of a remote file, but the path of one that is local."""
    if is_remote(path):
        system, key = resolve(path)
        if system.type_name != "local":
            return path
        path = key
    return os.path.realpath(path)
