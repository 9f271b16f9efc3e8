"""Refuse to replace what a run reads, what belongs to that, and, unless allowed, what exists.

note_product(partial, "bert-data export-hub")            encoder/bert_data.json: what is there
refuse_foreign("hub/encoder", "bert-data export-hub")    raises if anything else is there
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import TypedDict

from bert_data.errors import CorruptDataError
from bert_data.storage.file_systems import find_scheme, is_bucket_missing, split_known
from bert_data.storage.json_files import read_json, write_json
from bert_data.storage.paths import is_remote, local_path, split_uri
from bert_data.storage.statuses import (
    exists,
    file_sizes,
    is_file,
    is_folder,
    list_folder,
    read_statuses,
)

PRODUCT_LIST = "bert_data.json"
"""Name of the list in the folder."""
_HAND = "remove it yourself, or choose another name"

_Finder = Callable[[Sequence[str]], Iterable[str]]
_finders: list[_Finder] = []


def side_files(find: _Finder) -> _Finder:
    """Register a function that returns the files, which need not exist, that belong to some files.

    Such as the index of a shard, the parts of a store: who reads a file may read those, too. It
    takes local paths and URIs, and returns paths that are not damaged by a wrong guess.
    """
    _finders.append(find)
    return find


def refuse_existing(
    paths: Sequence[str], *, overwrite: bool, folders: Sequence[str] = (), maker: str = ""
) -> None:
    """Raise OSError for the first output that exists.

    Args:
      overwrite: whether a file may replace a file, and a folder a folder.
      maker: the command whose folders may be replaced.
    """
    every = (*folders, *paths)
    for path, status in zip(every, read_statuses(every), strict=True):
        is_folder = path in folders
        if not is_folder and status is not None and status.is_folder:
            raise IsADirectoryError(errno.EISDIR, "is a directory, not a file to write", path)
        if status is None and (is_remote(path) or not os.path.lexists(path)):
            continue
        if not overwrite:
            reason = "exists already (`overwrite` replaces it)"
            if status is None:
                reason = "is a link to nothing (`overwrite` makes what it leads to)"
            raise FileExistsError(errno.EEXIST, reason, path)
        if is_folder and (status is None or not status.is_folder or os.path.islink(path)):
            raise NotADirectoryError(errno.ENOTDIR, "is not a folder to replace", path)
        if is_folder:
            refuse_foreign(path, maker)
        if not is_folder and status is not None and not status.is_file:
            raise FileExistsError(errno.EEXIST, "is not a regular file", path)


def refuse_inputs(
    outputs: Iterable[str], inputs: Sequence[str], *, folders: Iterable[str] = ()
) -> None:
    """Refuse to replace or remove what a run reads, under whatever name or link.

    Args:
      folders: outputs that are folders; none may hold an input.
    """
    read = {key: "an input too" for path in inputs for key in _keys(path)}
    for path in (path for find in _finders for path in find(inputs)):
        if is_remote(path) or os.path.exists(path):
            for key in _keys(path):
                read.setdefault(key, f"read too: {path!r} belongs to an input")
    for path in outputs:
        for key in _keys(path):
            if key in read:
                raise ValueError(f"output {path!r} is {read[key]}")
    for folder in folders:
        place = PurePath(real_path(folder))
        for path in inputs:
            if PurePath(real_path(path)).is_relative_to(place):
                raise ValueError(f"output {folder!r} holds the input {path!r}")


def refuse_missing_buckets(paths: Iterable[str]) -> None:
    """Raise OSError for URIs in a bucket that does not exist, naming it."""
    for root, path in {uri.root: path for path in paths if (uri := split_uri(path))}.items():
        if is_bucket_missing(path):
            raise FileNotFoundError(errno.ENOENT, "the bucket does not exist", root)


def refuse_doubles(paths: Sequence[str]) -> None:
    """Raise ValueError for a list in which two paths are the same file, naming both."""
    seen: dict[str, str] = {}
    for path in paths:
        place = real_path(path)
        if place in seen:
            raise ValueError(f"two outputs have the same name: {seen[place]!r} and {path!r}")
        seen[place] = path


def refuse_undecodable(role: str, path: str) -> None:
    """Refuse a path that is not UTF-8, as the files that name it must be."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{role} {path!r} has a name that is not UTF-8; rename it") from None


def refuse_pipes(paths: Iterable[str], reason: str) -> None:
    """Refuse standard input, and other pipes, where files are read from several places."""
    for path in paths:
        if not is_remote(path) and exists(path) and not (is_file(path) or is_folder(path)):
            raise ValueError(f"{path} is a pipe, and {reason}; write what it gives to a file first")


def _keys(path: str) -> Iterator[object]:
    """Yield what two paths of one file have in common: the target of links, or the inode."""
    place = real_path(path)
    yield place
    if not is_remote(place):
        try:
            status = os.stat(place)
        except OSError:
            return
        yield status.st_dev, status.st_ino


def real_path(path: str) -> str:
    """Return the path without links; for a remote file what all its URIs have in common."""
    local = local_path(path)
    if local is None:
        return find_scheme(path).place(split_known(path))
    return os.path.realpath(local)


class _Product(TypedDict):
    made_by: str
    files: list[str]


def note_product(folder: str, maker: str) -> None:
    """Write the list of all that a command has made in a finished local folder."""
    path = os.path.join(folder, PRODUCT_LIST)
    entries = sorted({*_entries(folder), PRODUCT_LIST})
    write_json(path, {"made_by": maker, "files": entries})


def refuse_foreign(folder: str, maker: str) -> None:
    """Refuse to replace a folder that a command has not made, or in which something else lies.

    An empty folder may be replaced.
    """
    entries = set(_entries(folder))
    if not entries:
        return
    try:
        note = read_json(os.path.join(folder, PRODUCT_LIST), _Product)
    except (OSError, CorruptDataError):
        reason = f"was not made by {maker} (it has no {PRODUCT_LIST}); {_HAND}"
        raise FileExistsError(errno.EEXIST, reason, folder) from None
    if note["made_by"] != maker:
        reason = f"was made by {note['made_by']}, not by {maker}; {_HAND}"
        raise FileExistsError(errno.EEXIST, reason, folder)
    if foreign := sorted(entries.difference(note["files"])):
        reason = f"holds {foreign[0]!r}, which {maker} has not written; {_HAND}"
        raise FileExistsError(errno.EEXIST, reason, folder)


def _entries(folder: str) -> Iterator[str]:
    """Yield the paths of files and links inside a folder, and of folders with a slash behind."""
    if is_remote(folder):
        yield from file_sizes(folder)
        return
    for name in list_folder(folder):
        path = os.path.join(folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            yield f"{name}/"
            yield from (f"{name}/{inner}" for inner in _entries(path))
        else:
            yield name
