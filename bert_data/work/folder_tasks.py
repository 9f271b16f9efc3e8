"""Tasks that each fill a folder.

    pass-0/                   the parent of all folders of a kind of tasks
        000003/               a task's folder, which appeared once it was complete
            spool.arrow ... report.json sums.json

The same run, started again, finds the folders of finished tasks by their names. sums.json has the
size and CRC-32C of each file; `work_folder.py` looks for damage.
"""

import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from bert_data.errors import CorruptDataError
from bert_data.storage import (
    file_sizes,
    is_folder,
    is_remote,
    is_unfinished,
    list_folder,
    make_folder,
    naming,
    open_folder,
    open_input,
    read_json,
    write_bytes,
)
from bert_data.work.threads import open_threads

_REPORT, _SUMS = "report.json", "sums.json"
_BLOCK_BYTES = 1 << 20
NUM_REQUESTS = 16
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
    """What a task's function returns if it summed up files while it wrote them.

    Attributes:
      report: its result.
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
        """Make the folder of an item; if another process has made it meanwhile, that one stays."""
        # Errors of a full disk that name no file get the folder's name.
        folder = open_folder(self.path(item), last=_SUMS)
        with naming(self.path(item)), folder as partial:
            result = self.function(item, partial)
            report, known = result if isinstance(result, Filled) else Filled(result, {})
            names = list(file_sizes(partial))
            assert not {_REPORT, _SUMS} & set(names)
            text = json.dumps(report, default=_plain)
            write_bytes(os.path.join(partial, _REPORT), text.encode())
            sums = {
                name: known[name] if name in known else _sum_up(os.path.join(partial, name))
                for name in sorted([*names, _REPORT])
            }
            write_bytes(os.path.join(partial, _SUMS), json.dumps(sums).encode())
        return Made(self.path(item), json.loads(text))

    def find(self, items: Sequence[Named], /) -> list[bool]:
        """Return whether the folder of each item exists."""
        done = _done_tasks(self.parent)
        return [item.task_name in done for item in items]

    def reports(self, items: Sequence[Named], /) -> Iterator[Made]:
        """Yield what finished tasks made."""
        folders = [self.path(item) for item in items]
        with open_threads(NUM_REQUESTS if is_remote(self.parent) else 1) as executor:
            yield from executor.ordered_map(_read_made, folders)


def _done_tasks(parent: str) -> set[str]:
    """Return the names of complete folders; those in an object store appear file by file.

    A local parent is made, and nothing in it is asked for by name: a network file system may
    remember for a minute what it did not find, and hide what other hosts make meanwhile.
    """
    if not is_remote(parent):
        make_folder(parent)
        return set(list_folder(parent))
    paths = (path.split("/") for path in file_sizes(parent))
    return {path[0] for path in paths if path[1:] == [_SUMS]}


def _read_made(folder: str) -> Made:
    return Made(folder, read_report(folder))


def _sum_up(path: str) -> list[int]:
    """Return the size and the checksum of a file of any size."""
    from bert_data.kernels.crc32c import crc32c  # loads LLVM: not for every command

    size = crc = 0
    with open_input(path, buffering=0) as file:
        while data := file.read(_BLOCK_BYTES):
            size, crc = size + len(data), crc32c(data, crc)
    return [size, crc]


def find_damage(folder: str, *, must_be_whole: bool) -> CorruptDataError | None:
    """Compare the files of a finished task with what they were.

    Sizes are compared, and the checksums of local files; object stores check the contents of their
    objects themselves.

    Args:
      must_be_whole: whether all files must be there, and not the report alone: no task removes what
        it has read.
    """
    try:
        if not (is_remote(folder) or is_folder(folder)):
            return None  # another file of the run
        sizes = file_sizes(folder)
        if is_remote(folder) and _SUMS not in sizes:
            return None  # not finished
        sums = dict(read_json(os.path.join(folder, _SUMS)))
        for name, size in sizes.items():
            if name == _SUMS or is_unfinished(os.path.basename(name)):  # of a killed upload
                continue
            path, (known_size, crc) = os.path.join(folder, name), sums.get(name, (None, None))
            if size != known_size or not (is_remote(path) or _sum_up(path) == [size, crc]):
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
    """Return the result of a `FolderTask`'s function.

    Raises:
      CorruptDataError: it is not JSON.
    """
    return read_json(os.path.join(folder, _REPORT))
