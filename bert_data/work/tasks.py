"""Tasks: pieces of work that commit their results, and whose results are found by later runs.

    run_tasks("tokenize", make_store, partitions, executor)
      -> (report of partition 0, True), (report of partition 1, False: an earlier run made it), ...

A task is a function of one item. It reads files, writes its own files, which appear once they are
complete, and returns a small report. Its result depends only on its fingerprint: the identities of
its inputs, its settings, the version of its format; never on the number of workers, on time, or on
other tasks. So a run that was killed resumes with the missing tasks, and any executor may run them,
even twice.
"""

import contextlib
import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

from absl import logging

from bert_data.work.executor import Executor

_DIGITS = 16

Item = TypeVar("Item")
Item_contra = TypeVar("Item_contra", contravariant=True)
Report = TypeVar("Report")
Report_co = TypeVar("Report_co", covariant=True)


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

    Args:
      items: in an order that does not depend on the number of workers.

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
