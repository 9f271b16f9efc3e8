"""The work folder of a run, in which its tasks keep what is finished, and the workers for them.

    .corpus.curation/89abcdef01234567/     named after the run's fingerprint; removed at its end
        pass-0/000003/  pass-0/000004/     folders of finished tasks, see `tasks.py`

A run that is killed leaves its work folder, and the same run, started again, finds it. Before it
goes on, its workers look for damage, so that on a cluster all nodes read what is there. Damaged
tasks run again; if others have removed what these would read, the run starts from the beginning.
"""

import contextlib
import functools
import os
import re
from collections.abc import Callable, Iterator, Sequence

from absl import logging

from bert_data import interrupts, storage
from bert_data.errors import CorruptDataError
from bert_data.progress import how_many, progress, tell_time
from bert_data.work.engine import Engine, open_executor
from bert_data.work.executor import Executor, open_threads
from bert_data.work.tasks import NUM_STATUS_REQUESTS, find_damage

_NUM_BATCHES, _MOST_IN_BATCH = 64, 16
"""Finished tasks are checked in so many batches, or in more, each of up to so many tasks."""
_RUN = re.compile(r"[0-9a-f]{16}")  # a fingerprint: nothing else in the folder above is a run's
_NOTE = ("committed", "last_file")  # in a work folder: of a run that was killed at its very end
_LEAST_DEPTH = 3  # of a task's file: kind of tasks, task, file

_Find = Callable[[str], CorruptDataError | None]


@contextlib.contextmanager
def open_work(
    parent: str,
    fingerprint: str,
    *,
    is_own: bool,
    keeps_inputs: bool,
    num_workers: int,
    engine: Engine,
    task_bytes: int,
    useless_after: tuple[type[Exception], ...] = (),
) -> Iterator[tuple[str, Executor]]:
    """Open the work folder of a run, and workers for its tasks; what is damaged is removed.

    Args:
      parent, fingerprint, is_own, useless_after: see `open_work_folder`.
      keeps_inputs: whether whatever a task reads stays until the run's end, so that a damaged task
        can run again without the others.
      num_workers, engine, task_bytes: see `open_executor`.
    """
    with (
        open_work_folder(parent, fingerprint, is_own=is_own, useless_after=useless_after) as root,
        open_executor(num_workers, engine=engine, folder=root, task_bytes=task_bytes) as executor,
    ):
        remove_damaged(root, executor, keeps_inputs=keeps_inputs)
        try:
            yield root, executor
        except CorruptDataError as error:
            _drop_damaged(error.path, root, keeps_inputs=keeps_inputs)
            raise


def remove_damaged(root: str, executor: Executor, *, keeps_inputs: bool) -> None:
    """Let workers look for damaged tasks in a work folder, and remove them; see `open_work`."""
    find = functools.partial(find_damage, must_be_whole=keeps_inputs)
    for folder, damage in _damaged_tasks(find, list(_task_folders(root)), executor):
        if not keeps_inputs:
            logging.warning("%s: unfinished work is damaged; starting from the beginning", damage)
            _remove_tasks(root)
            return
        logging.warning("%s: unfinished work is damaged; this task runs again", damage)
        storage.remove_folder(folder)


def _drop_damaged(path: str, root: str, *, keeps_inputs: bool) -> None:
    """Remove what a run must make again, if the file in which it has met damage is a task's."""
    parts = os.path.relpath(path, root).split(os.sep)
    if parts[0] == os.pardir or len(parts) < _LEAST_DEPTH or not storage.is_folder(root):
        return
    if keeps_inputs:
        storage.remove_folder(os.path.join(root, *parts[:2]))
    else:
        _remove_tasks(root)
    logging.error("%s was unfinished work; the same command makes it again", path)


def _remove_tasks(root: str) -> None:
    for name in filter(_is_visible, _names(root)):
        storage.remove_folder(os.path.join(root, name))


def _damaged_tasks(
    find: _Find, folders: Sequence[str], executor: Executor
) -> Iterator[tuple[str, CorruptDataError]]:
    size = min(max(len(folders) // _NUM_BATCHES, 1), _MOST_IN_BATCH)
    batches = [folders[start : start + size] for start in range(0, len(folders), size)]
    find_in_batch = functools.partial(_find_damages, find)
    with (
        contextlib.closing(executor.ordered_map(find_in_batch, batches)) as found,
        progress("check finished work", total=len(folders), unit="task") as advance,
    ):
        for batch, damages in zip(batches, found, strict=True):
            advance(len(batch))
            yield from damages


def _find_damages(find: _Find, folders: Sequence[str]) -> list[tuple[str, CorruptDataError]]:
    num_threads = min(NUM_STATUS_REQUESTS if storage.is_remote(folders[0]) else 1, len(folders))
    with open_threads(num_threads) as executor:
        damages = executor.ordered_map(find, folders)
        return [(folder, damage) for folder, damage in zip(folders, damages, strict=True) if damage]


@contextlib.contextmanager
def open_work_folder(
    parent: str, fingerprint: str, *, is_own: bool, useless_after: tuple[type[Exception], ...] = ()
) -> Iterator[str]:
    """Open the work folder of a run, for the parents of `FolderTask`s.

    It is removed when the block succeeds. Otherwise it stays, if a task may be finished, so that
    the same run can resume.

    Args:
      fingerprint: of all that the run depends on; the folder's name.
      is_own: whether the parent belongs to this output alone; then it is also removed when the
        block succeeds, with unfinished work of other runs, if there is nothing else in it.
      useless_after: errors that the same run would raise again.
    """
    root = os.path.join(parent, fingerprint)
    if is_own:
        storage.refuse_planted(parent)
    storage.refuse_planted(root)
    is_new = not storage.is_folder(parent)
    with storage.naming_folder(parent):
        storage.make_folder(root)
    storage.remove_abandoned(parent)
    others = [name for name in _runs(parent) if name != fingerprint] if is_own else []
    if others:
        logging.warning(
            "%s has unfinished work of %s, with other files, steps or parameters; this"
            " run starts from the beginning and removes it at the end",
            parent,
            how_many(len(others), "other run"),
        )
    for name in _names(root):
        storage.remove_abandoned(os.path.join(root, name))
    try:
        yield root
    except BaseException as error:
        interrupts.limit_end(error)
        if not isinstance(error, useless_after) and any(_task_folders(root)):
            logging.info("%s keeps the finished work; the same command resumes from there", root)
            raise
        _remove_root(parent, root, with_parent=is_own, if_empty=is_new)
        raise
    _remove_root(parent, root, with_parent=is_own, if_empty=is_new)


def _names(folder: str) -> list[str]:
    """Return the names in a folder; of an object store's, there may be none."""
    return (
        storage.list_folder(folder)
        if not storage.is_remote(folder) or storage.is_folder(folder)
        else []
    )


def _runs(parent: str) -> list[str]:
    """Return the names of the folders of runs; others that somebody has put there stay."""
    names = filter(_RUN.fullmatch, _names(parent))
    return [name for name in names if storage.is_users_folder(os.path.join(parent, name))]


def _task_folders(root: str) -> Iterator[str]:
    """Yield the folders of tasks; of those in an object store, some may be unfinished."""
    for folder in (os.path.join(root, name) for name in filter(_is_visible, _names(root))):
        yield from (
            os.path.join(folder, task) for task in filter(_is_visible, storage.list_folder(folder))
        )


def _is_visible(name: str) -> bool:
    return not name.startswith(".")


def _remove_root(parent: str, root: str, *, with_parent: bool, if_empty: bool) -> None:
    """Remove a work folder, and its parent if that is the run's own, or new and empty."""
    with tell_time("removing the work folder"):
        for name in {*(_runs(parent) if with_parent else ()), os.path.basename(root)}:
            storage.remove_folder(os.path.join(parent, name))
    if with_parent or if_empty:
        storage.remove_if_empty(parent)


def note_commit(folder: str, data: bytes) -> None:
    """Note in a work folder what the last file holds that the run is about to give its name."""
    storage.make_folder(os.path.join(folder, _NOTE[0]))
    storage.write_bytes(os.path.join(folder, *_NOTE), data)


def has_committed(parent: str, fingerprint: str, path: str) -> bool:
    """Return whether a file is the last one of a run, which was killed after it was committed."""
    note = os.path.join(parent, fingerprint, *_NOTE)
    return (
        storage.is_file(note)
        and storage.is_file(path)
        and storage.read_bytes(note) == storage.read_bytes(path)
    )


def finish_removal(parent: str, *, is_own: bool) -> None:
    """Remove what a run was removing when it was killed: folders, and the parent if it is own."""
    storage.remove_abandoned(parent)
    if is_own:
        storage.remove_if_empty(parent)
