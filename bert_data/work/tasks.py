"""Tasks: pieces of work that commit their results, and whose results are found by later runs.

    run_tasks("tokenize", make_store, partitions, executor)
      -> (report of partition 0, True), (report of partition 1, False: an earlier run made it), ...

    pass-0/                   the parent of all folders of a kind of `FolderTask`s
        000067/               a task's folder, which appeared once it was complete
            0000 ... task     `task` ends in a table: the report, size and CRC-32C of each file
        joined-000000/task    what the files `task` of tasks 0 to 63 held, and their reports

A task is a function of one item. It reads files, writes its own files, which appear once they are
complete, and returns a small report. Its result depends only on its fingerprint: the identities of
its inputs, its settings, the version of its format; never on the number of workers, on time, or on
other tasks. So a run that was killed resumes with the missing tasks, and any executor may run them,
even twice.
"""

import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple, Protocol, TypeVar

from absl import logging

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.storage.paths import Path
from bert_data.work.executor import Executor, InProcess, open_threads

_DIGITS = 16

Item = TypeVar("Item")
Item_contra = TypeVar("Item_contra", contravariant=True)
Report = TypeVar("Report")
Report_co = TypeVar("Report_co", covariant=True)
_END = struct.Struct("<QQ")  # CRC-32 and size of a table
_TAIL_BYTES = 1 << 16  # that are read at once: most tables are shorter


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


TASK = "task"
"""The file of a task that ends in its table; the task's function may write what is before that."""

_JOINED = 64  # tasks
NUM_STATUS_REQUESTS = 16
"""At a time, of object stores."""


class Named(Protocol):
    """An item of a `FolderTask`."""

    @property
    def task_name(self) -> str:
        """A unique name."""


class Made(NamedTuple):
    """A finished task.

    Attributes:
      folder: its folder, or the one in which its file `TASK` was joined with others.
      report: the result of the function that filled it, as JSON.
      begin: where the task's own bytes begin in the file `TASK` of the folder.
    """

    folder: str
    report: Any
    begin: int = 0


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
        folder = storage.open_folder(self.path(item), last=TASK)
        with storage.naming(self.path(item)), folder as partial:
            result = self.function(item, partial)
            report, known = result if isinstance(result, Filled) else Filled(result, {})
            sums = {
                name: known[name] if name in known else _sum_up(os.path.join(partial, name))
                for name in sorted(storage.file_sizes(partial))
            }
            text = json.dumps({"report": report, "sums": sums}, default=_plain)
            with storage.open_scratch(os.path.join(partial, TASK), "ab") as file:
                write_table(file, text)
        return Made(self.path(item), json.loads(text)["report"])

    def find(self, items: Sequence[Named], /) -> list[bool]:
        """Return whether each item is done: its folder exists, or is joined with others."""
        done = _done_tasks(self.parent)
        return [bool(done & {item.task_name, _joined_name(item)}) for item in items]

    def reports(self, items: Sequence[Named], /) -> Iterator[Made]:
        """Yield what finished tasks made."""
        done = _done_tasks(self.parent)

        def with_joined() -> Iterator[tuple[Named, dict[str, Any]]]:
            for name, group in itertools.groupby(items, _joined_name):
                joined = read_report(os.path.join(self.parent, name)) if name in done else {}
                yield from ((item, joined) for item in group)

        def find(item_and_joined: tuple[Named, dict[str, Any]]) -> Made:
            item, joined = item_and_joined
            folder = self.path(item)
            if item.task_name not in joined:
                return Made(folder, read_report(folder))
            report, begin = joined[item.task_name]
            if begin is None:
                return Made(folder, report)
            return Made(os.path.join(self.parent, _joined_name(item)), report, begin)

        with open_threads(NUM_STATUS_REQUESTS if storage.is_remote(self.parent) else 1) as executor:
            yield from executor.ordered_map(find, with_joined())

    def join(
        self, items: Sequence[Numbered], executor: Executor, *, with_files: bool
    ) -> Iterator[Made]:
        """Keep the reports of finished tasks in few files; yield what `reports` yields from then.

        Args:
          with_files: whether to join the files `TASK`, too, and remove the folders, in which there
            is nothing else; if not, the folders may be removed from now on.
        """
        groups = [_Joined(n, list(each)) for n, each in itertools.groupby(items, _joined_name)]
        task = FolderTask(
            parent=self.parent, function=functools.partial(_join, self.parent, with_files)
        )
        if len(groups) == 1 and not with_files:
            executor = InProcess()  # no job of a cluster for a few tables
        for _ in run_tasks("join", task, groups, executor):
            pass
        with open_threads(NUM_STATUS_REQUESTS if storage.is_remote(self.parent) else 1) as threads:
            folders = map(self.path, items if with_files else ())
            for _ in threads.ordered_map(storage.remove_folder, folders):
                pass
        return self.reports(items)


@dataclasses.dataclass(frozen=True)
class _Joined:
    task_name: str
    tasks: Sequence[Numbered]


def _joined_name(item: Named) -> str:
    """Return the name of the folder in which a task may be joined with others."""
    return f"joined-{item.number // _JOINED:06d}" if isinstance(item, Numbered) else ""


def _join(parent: str, with_files: bool, joined: _Joined, folder: str) -> dict[str, Any]:
    """Join tasks; return their reports, and where the files of each begin, by their names."""
    reports: dict[str, Any] = {}
    with storage.open_scratch(os.path.join(folder, TASK)) as file:
        for task in joined.tasks:
            path, begin = os.path.join(parent, task.task_name, TASK), file.tell()
            table, size = read_table(path)
            reports[task.task_name] = table["report"], begin if with_files else None
            for data in storage.read_portions(path, 0, size) if with_files else ():
                file.write(data)
    return reports


def _done_tasks(parent: str) -> set[str]:
    """Return the names of complete folders; those in an object store appear file by file.

    A local parent is made, and nothing in it is asked for by name: a network file system may
    remember for a minute what it did not find, and hide what other hosts make meanwhile.
    """
    if not storage.is_remote(parent):
        storage.make_folder(parent)
        return set(storage.list_folder(parent))
    paths = (path.split("/") for path in storage.file_sizes(parent))
    return {path[0] for path in paths if path[1:] == [TASK]}


def _sum_up(path: str, end: int | None = None) -> list[int]:
    """Return the size and CRC-32C of a file, or of its bytes before `end`."""
    from bert_data.kernels.crc32c import crc32c  # loads LLVM: not for every command

    size = crc = 0
    for data in storage.read_portions(path, 0, end):
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
        if TASK not in sizes and (storage.is_remote(folder) or not (sizes or must_be_whole)):
            return None  # not finished, or removed
        table, sizes[TASK] = read_table(os.path.join(folder, TASK))
        sums = {TASK: [0, 0], **table["sums"]}
        for name, size in sizes.items():
            if storage.is_unfinished(os.path.basename(name)):  # of a killed upload
                continue
            path, known = os.path.join(folder, name), sums.get(name, [None, None])
            if size != known[0] or not (storage.is_remote(path) or _sum_up(path, size) == known):
                return CorruptDataError(path, 0, "not the file that the task wrote")
        for name in sums if must_be_whole else ():
            if name not in sizes:
                return CorruptDataError(os.path.join(folder, name), 0, "no longer there")
    except (CorruptDataError, OSError, LookupError, ValueError, TypeError) as error:
        return CorruptDataError(os.path.join(folder, TASK), 0, f"not readable ({error})")
    return None


def _plain(value: Any) -> Any:
    """Return a NumPy number as a Python number, and anything else as its text, for JSON."""
    return value.item() if hasattr(value, "item") else str(value)


def read_report(folder: str) -> Any:
    """Return the result of a `FolderTask`'s function."""
    table, _ = read_table(os.path.join(folder, TASK))
    return table["report"]


def write_table(file: IO[bytes], table: str) -> None:
    """Write a table, in JSON, where a file ends."""
    text = table.encode()
    file.write(text + _END.pack(zlib.crc32(text), len(text)))


def read_table(path: Path) -> tuple[Any, int]:
    """Return the table of a file, local or remote, and the number of bytes before it.

    Raises:
      CorruptDataError: it is not whole.
    """
    with storage.naming(path), storage.open_input(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _TAIL_BYTES, 0))
        tail = file.read(_TAIL_BYTES)
        checksum, num_bytes = _END.unpack(tail[-_END.size :].rjust(_END.size, b"\0"))
        begin = max(size - _END.size - num_bytes, 0)
        if num_bytes > len(tail) - _END.size:
            file.seek(begin)
            tail = file.read(size - begin)
    text = tail[: -_END.size][-num_bytes:]
    if len(text) != num_bytes or not num_bytes or zlib.crc32(text) != checksum:
        raise CorruptDataError(path, begin, "not the table that was written")
    return json.loads(text), begin
