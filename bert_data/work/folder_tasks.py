"""Tasks whose files are a folder, and the folder of unfinished work that these lie in.

    .corpus.curation/89abcdef01234567/     named by the fingerprint of a run; gone when it is done
        pass-0/000003/                     a task's folder, which appeared when it was whole
            spool.arrow ... report.json

A run that is killed leaves its work folder. The same run finds it again by its name, and in it the
tasks that are done by theirs.
"""

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from absl import logging

from bert_data.storage import (
    is_folder,
    list_folder,
    make_folder,
    open_folder,
    read_bytes,
    remove,
    remove_abandoned,
    remove_folder,
    write_bytes,
)

_REPORT = "report.json"


class Named(Protocol):
    """An item of a `FolderTask`."""

    @property
    def task_name(self) -> str:
        """What tells it from all others."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FolderTask:
    """A `Task` that makes a folder of each item; its report is the folder's path.

    Attributes:
      parent: of the folders. All that they depend on beside their names is known by its name, or
        that of a folder above it.
      function: fills the folder of an item; what it returns is kept in the folder, see
        `read_report`.
    """

    parent: str
    function: Callable[[Any, str], Any]

    def path(self, item: Named) -> str:
        """The folder of an item."""
        return os.path.join(self.parent, item.task_name)

    def __call__(self, item: Named, /) -> str:
        """Makes the folder of an item; if another process has made it meanwhile, that one stays."""
        with open_folder(self.path(item)) as partial:
            report = self.function(item, partial)
            text = json.dumps(report, default=_plain)
            write_bytes(os.path.join(partial, _REPORT), text.encode())
        return self.path(item)

    def find(self, item: Named, /) -> str | None:
        """The folder of an item if it is there."""
        return self.path(item) if is_folder(self.path(item)) else None


def _plain(value: Any) -> Any:
    """A number of NumPy's as one that JSON can hold, and all else as its text."""
    return value.item() if hasattr(value, "item") else str(value)


def read_report(folder: str) -> Any:
    """What the function of a `FolderTask` returned."""
    return json.loads(read_bytes(os.path.join(folder, _REPORT)))


@contextlib.contextmanager
def open_work_folder(
    parent: str, fingerprint: str, *, is_own: bool, useless_after: tuple[type[Exception], ...] = ()
) -> Iterator[str]:
    """The work folder of a run, for parents of `FolderTask`.

    It is removed when the block ends well. Else it stays, if a task is done, for the same run to go
    on with.

    Args:
      parent: the folder that it is in.
      fingerprint: of all that the run depends on; its name.
      is_own: whether the parent is for this run alone; then it goes, too, when the block ends well,
        and with it unfinished work of other runs.
      useless_after: errors after which it would all be the same again.

    Yields:
      Its path.
    """
    root = os.path.join(parent, fingerprint)
    is_new = not is_folder(parent)
    make_folder(root)
    remove_abandoned(parent)
    others = [name for name in list_folder(parent) if name != fingerprint] if is_own else []
    if others:
        logging.warning(
            "%s has unfinished work of %d other run(s): other files, steps or parameters; this run"
            " begins anew and removes it at its end",
            parent,
            len(others),
        )
    for name in list_folder(root):
        remove_abandoned(os.path.join(root, name))
    try:
        yield root
    except BaseException as error:
        if not isinstance(error, useless_after) and _has_done_tasks(root):
            logging.info("%s keeps what is done; the same command goes on from there", root)
            raise
        _remove_root(parent, root, with_parent=is_own, if_empty=is_new)
        raise
    _remove_root(parent, root, with_parent=is_own, if_empty=is_new)


def _has_done_tasks(root: str) -> bool:
    folders = [os.path.join(root, name) for name in list_folder(root)]
    return any(not task.startswith(".") for folder in folders for task in list_folder(folder))


def _remove_root(parent: str, root: str, *, with_parent: bool, if_empty: bool) -> None:
    """Removes a work folder, and its parent where that is the run's own, or new and empty."""
    for name in list_folder(parent) if with_parent else [os.path.basename(root)]:
        remove_folder(os.path.join(parent, name))
    if with_parent:
        remove(parent)
    if if_empty and is_folder(parent) and not list_folder(parent):
        remove(parent)
