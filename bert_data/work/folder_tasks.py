"""Tasks that each fill a folder, and the work folder that holds these.

    .corpus.curation/89abcdef01234567/     named after the run's fingerprint; removed at its end
        pass-0/000003/                     a task's folder, which appeared once it was complete
            spool.arrow ... report.json sums.json

A run that is killed leaves its work folder. The same run, started again, finds the folder and its
finished tasks by their names. sums.json has the size and CRC-32C of each file: if one was damaged
meanwhile, the run starts from the beginning.
"""

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from absl import logging

from bert_data import forced_end
from bert_data.errors import CorruptDataError
from bert_data.storage import (
    file_size,
    is_file,
    is_folder,
    is_remote,
    is_unfinished,
    list_folder,
    make_folder,
    naming,
    naming_folder,
    open_folder,
    open_input,
    read_json,
    remove,
    remove_abandoned,
    remove_folder,
    write_bytes,
)
from bert_data.work.executor import count_workers, open_threads

_REPORT, _SUMS = "report.json", "sums.json"
_BLOCK_BYTES = 1 << 20
_NUM_REQUESTS = 16  # at a time


class Named(Protocol):
    """An item of a `FolderTask`."""

    @property
    def task_name(self) -> str:
        """A unique name."""


class Filled(NamedTuple):
    """What a task's function returns if it summed up files while it wrote them.

    Attributes:
      report: its result.
      sums: name of a file -> (size, CRC-32C). The other files of the folder are read for theirs.
    """

    report: Any
    sums: Mapping[str, tuple[int, int]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FolderTask:
    """A `Task` that makes a folder for each item; its report is the folder's path.

    Attributes:
      parent: of the folders. Its name, or that of a folder above it, identifies all that they
        depend on besides their own names.
      function: fills the folder of an item; its result, which may be in a `Filled`, is kept in the
        folder, see `read_report`.
      is_synced: whether folders must be on the disk before they appear. Without it a machine that
        loses power may damage them, which a run that resumes notices; but tasks of other machines
        would not.
    """

    parent: str
    function: Callable[[Any, str], Any]
    is_synced: bool = True

    def path(self, item: Named) -> str:
        """Return the path of an item's folder."""
        return os.path.join(self.parent, item.task_name)

    def __call__(self, item: Named, /) -> str:
        """Make the folder of an item; if another process has made it meanwhile, that one stays."""
        # Errors of a full disk that name no file get the folder's name.
        folder = open_folder(self.path(item), last=_SUMS, is_synced=self.is_synced)
        with naming(self.path(item)), folder as partial:
            result = self.function(item, partial)
            report, known = result if isinstance(result, Filled) else Filled(result, {})
            assert not {_REPORT, _SUMS} & set(list_folder(partial))
            text = json.dumps(report, default=_plain)
            write_bytes(os.path.join(partial, _REPORT), text.encode())
            sums = {
                name: known[name] if name in known else _sum_up(os.path.join(partial, name))
                for name in _list_files(partial)
            }
            write_bytes(os.path.join(partial, _SUMS), json.dumps(sums).encode())
        return self.path(item)

    def find(self, item: Named, /) -> str | None:
        """Return the folder of an item if it exists."""
        return self.path(item) if _is_done(self.path(item)) else None


def _is_done(folder: str) -> bool:
    """Whether the folder of a task is complete; one in an object store appears file by file."""
    return is_file(os.path.join(folder, _SUMS)) if is_remote(folder) else is_folder(folder)


def _list_files(folder: str, inside: str = "") -> Iterator[str]:
    """Yield the files of a folder and its subfolders, relative to it."""
    for name in list_folder(os.path.join(folder, inside)):
        path = os.path.join(inside, name)
        if is_folder(os.path.join(folder, path)):
            yield from _list_files(folder, path)
        else:
            yield path


def _sum_up(path: str) -> list[int]:
    """Return the size and the checksum of a file of any size."""
    from bert_data.kernels.crc32c import crc32c  # loads LLVM: not for every command

    size = crc = 0
    with open_input(path, buffering=0) as file:
        while data := file.read(_BLOCK_BYTES):
            size, crc = size + len(data), crc32c(data, crc)
    return [size, crc]


def _find_damage(folder: str) -> CorruptDataError | None:
    """Compare the files of a finished task with what they were; used ones may be gone.

    Object stores check the contents of their objects themselves, so that sizes are compared there.
    """
    try:
        sums = dict(read_json(os.path.join(folder, _SUMS)))
        for name in _list_files(folder):
            path, known = os.path.join(folder, name), sums.get(name, [])
            if name == _SUMS or is_unfinished(os.path.basename(name)):  # of a killed upload
                continue
            is_same = file_size(path) == known[0] if is_remote(path) else _sum_up(path) == known
            if not is_same:
                return CorruptDataError(path, 0, "not the file that the task wrote")
    except (CorruptDataError, OSError, LookupError, ValueError, TypeError) as error:
        return CorruptDataError(os.path.join(folder, _SUMS), 0, f"not readable ({error})")
    return None


def _find_any_damage(root: str) -> CorruptDataError | None:
    """Look for damage in all finished tasks, several at a time."""
    folders = list(_done_tasks(root))
    if not folders:
        return None
    num_threads = _NUM_REQUESTS if is_remote(root) else count_workers(0)
    with open_threads(min(num_threads, len(folders))) as executor:
        return next(filter(None, executor.ordered_map(_find_damage, folders)), None)


def _plain(value: Any) -> Any:
    """Return a NumPy number as a Python number, and anything else as its text, for JSON."""
    return value.item() if hasattr(value, "item") else str(value)


def read_report(folder: str) -> Any:
    """Return the result of a `FolderTask`'s function.

    Raises:
      CorruptDataError: it is not JSON.
    """
    return read_json(os.path.join(folder, _REPORT))


@contextlib.contextmanager
def open_work_folder(
    parent: str, fingerprint: str, *, is_own: bool, useless_after: tuple[type[Exception], ...] = ()
) -> Iterator[str]:
    """Open the work folder of a run, for the parents of `FolderTask`s.

    It is removed when the block succeeds. Otherwise it stays, if a task is finished, so that the
    same run can resume.

    Args:
      parent: the folder above it.
      fingerprint: of all that the run depends on; the folder's name.
      is_own: whether the parent belongs to this output alone; then it is also removed when the
        block succeeds, with unfinished work of other runs.
      useless_after: errors that the same run would raise again.

    Yields:
      The path of the folder.
    """
    root = os.path.join(parent, fingerprint)
    is_new = not is_folder(parent)
    with naming_folder(parent):
        make_folder(root)
    remove_abandoned(parent)
    others = [name for name in _names(parent) if name != fingerprint] if is_own else []
    if others:
        logging.warning(
            "%s has unfinished work of %d other run(s), with other files, steps or parameters; this"
            " run starts from the beginning and removes it at the end",
            parent,
            len(others),
        )
    for name in _names(root):
        remove_abandoned(os.path.join(root, name))
    damage = _find_any_damage(root)
    if damage is not None:  # tasks have removed what they used, so they cannot be run again alone
        logging.warning("%s: unfinished work is damaged; starting from the beginning", damage)
        remove_folder(root)
        make_folder(root)
    try:
        yield root
    except BaseException as error:
        forced_end.limit(error)
        if not isinstance(error, useless_after) and any(_done_tasks(root)):
            logging.info("%s keeps the finished work; the same command resumes from there", root)
            raise
        _remove_root(parent, root, with_parent=is_own, if_empty=is_new)
        raise
    _remove_root(parent, root, with_parent=is_own, if_empty=is_new)


def _names(folder: str) -> list[str]:
    """Return the names in a folder; of an object store's, there may be none."""
    return list_folder(folder) if not is_remote(folder) or is_folder(folder) else []


def _done_tasks(root: str) -> Iterator[str]:
    """Yield the folders of finished tasks."""
    for folder in (os.path.join(root, name) for name in _names(root) if name[0] != "."):
        tasks = (os.path.join(folder, task) for task in list_folder(folder) if task[0] != ".")
        yield from filter(_is_done, tasks)


def _remove_root(parent: str, root: str, *, with_parent: bool, if_empty: bool) -> None:
    """Remove a work folder, and its parent if that is the run's own, or new and empty."""
    for name in _names(parent) if with_parent else [os.path.basename(root)]:
        remove_folder(os.path.join(parent, name))
    is_empty = is_folder(parent) and not list_folder(parent)
    if with_parent or (if_empty and is_empty):
        (remove_folder if is_remote(parent) else remove)(parent)
