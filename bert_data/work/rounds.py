"""Decisions over all data, in rounds of tasks that each see a part of it.

    over_parts    part 0 ─▶ records sorted by key ┐   ┌─▶ keys   0 to  99 ─▶ records    over_ranges
                  part 1 ─▶ records sorted by key ┴─┬─┴─▶ keys 100 to ... ─▶ records
                                                    └─▶ in the next round, each part reads its own

A part owns consecutive numbers (of documents): those that it reads back are the records whose first
field is one of its numbers. A task reads its records in portions and writes sorted files, so that
its memory is bounded whatever it receives; parts are grouped to tasks, and keys cut to ranges, by
the amount of data alone. What a function writes for a range must depend on nothing but the records
in it: then the result does not depend on how the data is divided.
"""

import collections
import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bert_data.progress import progress
from bert_data.storage import is_remote, make_folder, remove, remove_if_empty
from bert_data.work.executor import Executor
from bert_data.work.ranges import Range, RangeReader, split_keys
from bert_data.work.sorted_records import Layout, RecordFile, RecordWriter, SortedRecords
from bert_data.work.tasks import TASK, FolderTask, Made, Numbered, run_tasks

PROCESS_BYTES = 200_000_000
"""Memory of a process before it does anything: the interpreter, packages, machine code."""

PORTION_SHARE, TASK_SHARE = 8, 2
"""Of the rest: the part that one portion of records takes, and the records of a small task."""

_WRITTEN_PORTIONS = 3
"""Portions that a task's writers hold; the larger its files are, the fewer are merged."""

_NUM_TASKS, MIN_TASK_BYTES, _MAX_TASK_BYTES = 128, 128_000_000, 1_000_000_000
"""Of more than so many tasks, each gets more, up to the last number: a task reads in portions."""

LEAST_READ_BYTES, LEAST_READ_RECORDS = 3000, 64
MAX_FILES, _MAX_REMOTE_FILES = 4096, 256
"""Each portion is read from all files: there are fewer, and reads are no smaller than that."""

MERGED_FILES, _MERGED_PORTIONS = 128, 3
"""Of more files, so many are merged to one; merging holds more records, as it does nothing else."""

MIN_BYTES = 1 << 20

Writers = Mapping[str, RecordWriter]
RangeFunction = Callable[[RangeReader, Writers], Mapping[str, int] | None]


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the data.

    Attributes:
      source: name of its data set.
      first, end: it owns the numbers from `first` to `end`, exclusive; parts follow each other.
    """

    path: str
    source: str
    first: int
    end: int
    num_bytes: int


Own = Mapping[str, RangeReader]
PartFunction = Callable[[Part, Own, Writers], Mapping[str, int] | None]


class Rounds:
    """Runs the rounds of a decision.

    Attributes:
      parts: of the data; a decision may replace them by parts that own other numbers.
      portion_bytes: of records that a task holds at a time; its memory is some eight times that.
      counted: the sums of what the functions returned.
      num_bytes: of all records that the rounds have written.
    """

    def __init__(
        self, folder: str, parts: Sequence[Part], max_bytes: int, executor: Executor | None = None
    ) -> None:
        """Describe the rounds.

        Args:
          folder: for their files; its name identifies all that they depend on.
          parts: of the data, in the order of their numbers.
          max_bytes: of the memory of a process that runs a task, about.
          executor: runs the tasks; a later run finds them again. None: they are done here, as
            parts of a task, and a killed run does them again.
        """
        self.parts, free = parts, max(max_bytes - PROCESS_BYTES, MIN_BYTES)
        self.portion_bytes = free // PORTION_SHARE
        self._small_task_bytes = min(free // TASK_SHARE, MIN_TASK_BYTES)
        self._most_files = _MAX_REMOTE_FILES if is_remote(folder) else MAX_FILES
        self.counted: collections.Counter[str] = collections.Counter()
        self.num_bytes = 0
        self._in_use: dict[str, set[int]] = collections.defaultdict(set)  # begins of records
        self.folder, self._executor = folder, executor
        self._num_rounds = 0

    def over_parts(
        self,
        name: str,
        function: PartFunction,
        outputs: Mapping[str, Layout],
        reads: Mapping[str, SortedRecords] | None = None,
        *,
        keeps: bool = False,
    ) -> dict[str, SortedRecords]:
        """Call a function with each part; return what was written, and remove what it read.

        Args:
          function: picklable; receives a part, readers of the records of `reads` that are its own,
            and the writers of `outputs`; it may return numbers to count.
          keeps: whether a later round reads the records of `reads`, too.
        """
        groups: list[list[Part]] = []
        size, max_bytes = 0, self._task_bytes(sum(part.num_bytes for part in self.parts))
        for part in self.parts:
            if not groups or size + part.num_bytes > max_bytes:
                groups.append([])
                size = 0
            groups[-1].append(part)
            size += part.num_bytes
        work = functools.partial(_do_parts, function, reads or {})
        written = self._run(name, work, groups, outputs)
        if not keeps:
            self.remove(*(reads or {}).values())
        return written

    def over_ranges(
        self,
        name: str,
        function: RangeFunction,
        source: SortedRecords,
        outputs: Mapping[str, Layout],
        *,
        keeps: bool = False,
    ) -> dict[str, SortedRecords]:
        """Call a function with each range of keys of records of an earlier round.

        Records that agree in their first field are in one range. For arguments and result see
        `over_parts`.
        """
        ranges = split_keys(source, self._task_bytes(source.num_bytes))
        written = self._run(name, functools.partial(_do_range, function, source), ranges, outputs)
        if not keeps:
            self.remove(source)
        return written

    def remove(self, *used: SortedRecords) -> None:
        """Remove records that no later round reads; a file goes with the last that is in it."""
        for file in (file for records in used for file in records.files):
            self._in_use[file.path].discard(file.begin)
            if not self._in_use[file.path]:
                _remove(file.path)

    def _task_bytes(self, num_bytes: int) -> int:
        return max(self._small_task_bytes, min(num_bytes // _NUM_TASKS, _MAX_TASK_BYTES))

    def _run(
        self, name: str, work: Any, items: Sequence[Any], outputs: Mapping[str, Layout]
    ) -> dict[str, SortedRecords]:
        folder = f"{self.folder}-{self._num_rounds:02d}-{name}"
        self._num_rounds += 1
        task = _RoundTask(work, dict(outputs), self.portion_bytes)
        files: dict[str, list[RecordFile]] = {output: [] for output in outputs}
        for place, report, _ in self._reports(folder, task, items):
            self.counted.update(report["counted"])
            for output, parts in report["files"].items():
                path = os.path.join(place, TASK)
                files[output] += (RecordFile(path, *each) for each in parts)
                self._in_use[path].update(begin for begin, *_ in parts)
        written = {key: SortedRecords(outputs[key], tuple(each)) for key, each in files.items()}
        self.num_bytes += sum(records.num_bytes for records in written.values())
        for key, records in written.items():
            written[key] = self._merge(f"{name}-{key}", records)
        return written

    def _reports(self, folder: str, task: "_RoundTask", items: Sequence[Any]) -> Iterable[Made]:
        numbered = [_Item(number, item) for number, item in enumerate(items)]
        if self._executor is None:
            for item in numbered:
                place = os.path.join(folder, item.task_name)
                make_folder(place)
                yield Made(place, task(item, place))
            return
        name = os.path.basename(folder)
        folders = FolderTask(parent=folder, function=task)
        with progress(name, total=len(items), unit="task") as advance:
            for _ in run_tasks(name, folders, numbered, self._executor):
                advance(1)
        yield from folders.join(numbered, self._executor, with_files=False)

    def _merge(self, name: str, records: SortedRecords) -> SortedRecords:
        """Return the same records in fewer files, if they are in too many."""
        least_bytes = max(LEAST_READ_BYTES, LEAST_READ_RECORDS * records.layout.num_bytes)
        max_files = max(self.portion_bytes // least_bytes, MERGED_FILES)
        if len(records.files) <= min(max_files, self._most_files):
            return records
        groups = [
            dataclasses.replace(records, files=records.files[start : start + MERGED_FILES])
            for start in range(0, len(records.files), MERGED_FILES)
        ]
        merged = self._run(f"{name}-merged", _merge_files, groups, {"all": records.layout})
        self.remove(records)
        return merged["all"]


def remove_records(*used: SortedRecords) -> None:
    """Remove the last records of rounds."""
    for path in {file.path for records in used for file in records.files}:
        _remove(path)


def _remove(path: str) -> None:
    remove(path)
    remove_if_empty(os.path.dirname(path))


@dataclasses.dataclass(frozen=True)
class _Item(Numbered):
    item: Any


@dataclasses.dataclass(frozen=True)
class _RoundTask:
    """Does the work of an item, writes records to `TASK` in a folder, and reports where."""

    work: Callable[[Any, Writers, int], Mapping[str, int] | None]
    outputs: dict[str, Layout]
    max_bytes: int

    def __call__(self, item: _Item, folder: str) -> dict[str, Any]:
        share = _WRITTEN_PORTIONS * self.max_bytes // max(len(self.outputs), 1)
        path = os.path.join(folder, TASK)
        writers = {name: RecordWriter(layout, path, share) for name, layout in self.outputs.items()}
        counted = self.work(item.item, writers, self.max_bytes)
        files = {}
        for name, writer in writers.items():
            writer.flush()
            files[name] = [dataclasses.astuple(file)[1:] for file in writer.files]
        return {"files": files, "counted": dict(counted or {})}


def _do_parts(
    function: PartFunction,
    reads: Mapping[str, SortedRecords],
    parts: Sequence[Part],
    writers: Writers,
    max_bytes: int,
) -> Mapping[str, int]:
    counted: collections.Counter[str] = collections.Counter()
    for part in parts:
        keys = Range(part.first, part.end)
        own = {name: RangeReader(each, keys, max_bytes) for name, each in reads.items()}
        counted.update(function(part, own, writers) or {})
    return counted


def _do_range(
    function: RangeFunction, source: SortedRecords, keys: Range, writers: Writers, max_bytes: int
) -> Mapping[str, int] | None:
    return function(RangeReader(source, keys, max_bytes), writers)


def _merge_files(records: SortedRecords, writers: Writers, max_bytes: int) -> None:
    (writer,) = writers.values()
    writer.add_sorted(RangeReader(records, Range(), _MERGED_PORTIONS * max_bytes).portions())
