"""Tasks: pieces of work that commit what they make, and are found again when it is there.

    run_tasks("tokenize", make_store, partitions, executor)
      -> (report of partition 0, True), (report of partition 1, False: an earlier run made it), ...

A task is a function of one item. It reads files, makes files of its own, which appear when they are
whole, and returns a small report. What it makes depends on its fingerprint alone: the identities of
its inputs, its settings, the version of its format; never on the number of workers, on time, or on
other tasks that run beside it. So a run that was killed, by whatever, goes on with the tasks that
are missing, and any executor may run them, also twice.
"""

import contextlib
import hashlib
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
    """A function of an item; picklable."""

    def __call__(self, item: Item_contra, /) -> Report_co:
        """Makes the files of an item; gives its report."""

    def find(self, item: Item_contra, /) -> Report_co | None:
        """The report of an item whose files an earlier run has made; None if there are none."""


def run_tasks(
    name: str, task: Task[Item, Report], items: Sequence[Item], executor: Executor
) -> Iterator[tuple[Report, bool]]:
    """Runs a task on the items whose files are not there yet.

    Args:
      name: what the log calls it.
      task: the function.
      items: in any order that does not depend on the number of workers.
      executor: runs it.

    Yields:
      (report, whether it was made now) of each item, in their order.
    """
    reports = [task.find(item) for item in items]
    missing = [item for item, report in zip(items, reports, strict=True) if report is None]
    if len(missing) < len(items):
        num_done = len(items) - len(missing)
        logging.info("%s: %d of %d were done by an earlier run", name, num_done, len(items))
    with contextlib.closing(executor.ordered_map(task, missing)) as made:
        for report in reports:
            yield (next(made), True) if report is None else (report, False)


def fingerprint(description: Any) -> str:
    """A digest of all that a result depends on, as JSON; what JSON lacks is taken as its text."""
    text = json.dumps(description, sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:_DIGITS]
