"""Tasks: pieces of work that commit their results, and whose results are found by later runs.

    run_tasks("tokenize", make_store, partitions, executor)
      -> (report of partition 0, True), (report of partition 1, False: an earlier run made it), ...

    pass-0/                   the parent of all folders of a kind of `FolderTask`s
        000003/               a task's folder, which appeared once it was complete
            spool.arrow ... report.json sums.json (size and CRC-32C of each file)

A task is a function of one item. It reads files, writes its own files, which appear once they are
complete, and returns a small report. Its result depends only on its fingerprint: the identities of
its inputs, its settings, the version of its format; never on the number of workers, on time, or on
other tasks. So a run that was killed resumes with the missing tasks, and any executor may run them,
even twice.
"""

import contextlib
import dataclasses
import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from absl import logging

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.work.executor import Executor, open_threads

_DIGITS = 16

Item = TypeVar("Item")
Item_contra = TypeVar("Item_contra", contravariant=True)
Report = TypeVar("Report")
Report_co = TypeVar("Report_co", covariant=True)


@dataclasses.dataclass(frozen=True)
class Numbered:
    """An item of a task, whose folder has its number as a name."""

    number: int

    @property
    def task_name(self) -> str:
        """Name of its folder."""
        return f"{self.number:06d}"


class Task(Protocol[Item_contra, Report_co]):
    """A picklable function of an item."""

    def __call__(self, item: Item_contra, /) -> Report_co:
        """Make the files of an item; return its report."""

    def find(self, items: Sequence[Item_contra], /) -> Sequence[bool]:
        """Return of each item whether an earlier run made its files."""

    def reports(self, items: Sequence[Item_contra], /) -> Iterator[Report_co]:
        """Yield the reports of items whose files an earlier run made."""


def run_tasks(
    name: str, task: Task[Item, Report], items: Sequence[Item], executor: Executor
) -> Iterator[tuple[Report, bool]]:
    """Run a task on the items whose files do not exist yet.

    Yields:
      (report, whether this run made it) of each item, in order.
    """
    are_done = task.find(items)
    done = list(itertools.compress(items, are_done))
    missing = [item for item, is_done in zip(items, are_done, strict=True) if not is_done]
    if done:
        logging.info("%s: %d of %d were done by an earlier run", name, len(done), len(items))
    with contextlib.closing(executor.ordered_map(task, missing)) as new_reports:
        reports = task.reports(done)
        for is_done in are_done:
            yield (next(reports), False) if is_done else (next(new_reports), True)


def fingerprint(description: Any) -> str:
    """Return a digest of all that a result depends on, as JSON; other types count as their text."""
    text = json.dumps(description, sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:_DIGITS]


_REPORT, _SUMS = "report.json", "sums.json"
_BLOCK_BYTES = 1 << 20
NUM_STATUS_REQUESTS = 16
"""At a time, of object stores."""


class Named(Protocol):
    """An item of a `FolderTask`."""

    @property
    def task_name(self) -> str:
        """A unique name."""


class Made(NamedTuple):
    """A folder of a finished task, and the result of the function that filled it, as JSON."""

    folder: str
    report: Any


class Filled(NamedTuple):
    """The result of a task's function, if it summed up files while it wrote them.

    Attributes:
      sums: path of a file in the folder -> (size, CRC-32C). The other files are read for theirs.
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
    """

    parent: str
    function: Callable[[Any, str], Any]

    def path(self, item: Named) -> str:
        """Return the path of an item's folder."""
        return os.path.join(self.parent, item.task_name)

    def __call__(self, item: Named, /) -> Made:
        """Make the folder of an item; if another process has made it meanwhile, it stays."""
        # Errors of a full disk that name no file get the folder's name.
        folder = storage.open_folder(self.path(item), last=_SUMS)
        with storage.naming(self.path(item)), folder as partial:
            result = self.function(item, partial)
            report, known = result if isinstance(result, Filled) else Filled(result, {})
            names = list(storage.file_sizes(partial))
            assert not {_REPORT, _SUMS} & set(names)
            text = json.dumps(report, default=_plain)
            storage.write_bytes(os.path.join(partial, _REPORT), text.encode())
            sums = {
                name: known[name] if name in known else _sum_up(os.path.join(partial, name))
                for name in sorted([*names, _REPORT])
            }
            storage.write_json(os.path.join(partial, _SUMS), sums)
        return Made(self.path(item), json.loads(text))

    def find(self, items: Sequence[Named], /) -> list[bool]:
        """Return whether the folder of each item exists."""
        done = _done_tasks(self.parent)
        return [item.task_name in done for item in items]

    def reports(self, items: Sequence[Named], /) -> Iterator[Made]:
        """Yield what finished tasks made."""
        folders = [self.path(item) for item in items]
        with open_threads(NUM_STATUS_REQUESTS if storage.is_remote(self.parent) else 1) as executor:
            yield from executor.ordered_map(_read_made, folders)


def _done_tasks(parent: str) -> set[str]:
    """Return the names of complete folders; those in an object store appear file by file.

    A local parent is made, and nothing in it is asked for by name: a network file system may
    remember for a minute what it did not find, and hide what other hosts make meanwhile.
    """
    if not storage.is_remote(parent):
        storage.make_folder(parent)
        return set(storage.list_folder(parent))
    paths = (path.split("/") for path in storage.file_sizes(parent))
    return {path[0] for path in paths if path[1:] == [_SUMS]}


def _read_made(folder: str) -> Made:
    return Made(folder, read_report(folder))


def _sum_up(path: str) -> list[int]:
    from bert_data.kernels.crc32c import crc32c  # loads LLVM: not for every command

    size = crc = 0
    with storage.open_input(path, buffering=0) as file:
        while data := file.read(_BLOCK_BYTES):
            size, crc = size + len(data), crc32c(data, crc)
    return [size, crc]


def find_damage(folder: str, *, must_be_whole: bool) -> CorruptDataError | None:
    """Compare the files of a finished task with what they were; None if they are the same.

    Sizes are compared, and the checksums of local files; object stores check the contents of their
    objects themselves.

    Args:
      must_be_whole: whether all files must be there, and not the report alone: no task removes what
        it has read.
    """
    try:
        if not (storage.is_remote(folder) or storage.is_folder(folder)):
            return None  # another file of the run
        sizes = storage.file_sizes(folder)
        if storage.is_remote(folder) and _SUMS not in sizes:
            return None  # not finished
        sums = storage.read_json(os.path.join(folder, _SUMS), dict[str, list[int]])
        for name, size in sizes.items():
            if name == _SUMS or storage.is_unfinished(os.path.basename(name)):  # of a killed upload
                continue
            path, (known_size, crc) = os.path.join(folder, name), sums.get(name, (None, None))
            if size != known_size or not (storage.is_remote(path) or _sum_up(path) == [size, crc]):
                return CorruptDataError(path, 0, "not the file that the task wrote")
        for name in sums if must_be_whole else [_REPORT]:
            if name not in sizes:
                return CorruptDataError(os.path.join(folder, name), 0, "no longer there")
    except (CorruptDataError, OSError, LookupError, ValueError, TypeError) as error:
        return CorruptDataError(os.path.join(folder, _SUMS), 0, f"not readable ({error})")
    return None


def _plain(value: Any) -> Any:
    """Return a NumPy number as a Python number, and anything else as its text, for JSON."""
    return value.item() if hasattr(value, "item") else str(value)


def read_report(folder: str) -> Any:
    """Return the result of a `FolderTask`'s function."""
    path = os.path.join(folder, _REPORT)
    return storage.parse_json(storage.read_bytes(path), path)
