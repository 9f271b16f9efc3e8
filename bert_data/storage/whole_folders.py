"""Folders that appear whole: made in a hidden work folder, renamed together at the end.

    out/.bert_data-89abcdef01234567/encoder   while the run works; out/.export.lock tells of it
    out/encoder                               when it is done

A run that is killed leaves nothing under a final name that is not whole; the next one for the same
folder removes what it has left.
"""

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Sequence
from typing import Self

from bert_data.storage.run_lock import RunLock, commits_held, hidden_path, work_folder

_SET_NAME = "export"
_REPLACED = "replaced"


class WholeFolders:
    """Folders inside one output folder.

    with WholeFolders("out", ["encoder"], overwrite=False) as folders:
        write(folders.path("encoder"))
        folders.commit()
    """

    def __init__(self, parent: str, names: Sequence[str], *, overwrite: bool) -> None:
        """Describes them; nothing is made yet.

        Args:
          parent: the folder that they appear in; made if it is missing.
          names: of the folders.
          overwrite: whether folders that exist under these names are replaced.
        """
        self._parent, self._names, self._overwrite = parent, tuple(names), overwrite
        self._token = secrets.token_hex(8)
        self._lock: RunLock | None = None
        self._work = ""
        self._made: list[str] = []

    def __enter__(self) -> Self:
        self.refuse_existing()
        try:
            self._make_parent()
            self._lock = RunLock(hidden_path(os.path.join(self._parent, _SET_NAME), "lock"))
            self.refuse_existing()
            finals = [os.path.join(self._parent, name) for name in self._names]
            self._lock.note_start(self._token, finals, self._parent)
            self._work = work_folder(self._parent, self._token)
            os.mkdir(self._work)
        except BaseException:
            self._remove_everything()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._remove_everything()

    def path(self, name: str) -> str:
        """Where to write a folder until it has its final name; the caller makes it."""
        return os.path.join(self._work, name)

    def commit(self) -> None:
        """Gives the folders their final names.

        Old ones are set aside first, all of them: a run that is killed amid this leaves no mixture
        of old and new.

        Raises:
          FileExistsError: another program has made one of the folders in the meantime, and
            `overwrite` is not set.
        """
        with commits_held([self._parent]):
            self.refuse_existing()
            os.mkdir(self.path(_REPLACED))
            for name in self._names:
                with contextlib.suppress(FileNotFoundError):
                    os.rename(self._final(name), os.path.join(self.path(_REPLACED), name))
            for name in self._names:
                os.rename(self.path(name), self._final(name))
        self._made.clear()

    def refuse_existing(self) -> None:
        """Tells what stands in the way.

        Raises:
          OSError: the output folder is a file, or a folder exists and `overwrite` is not set.
        """
        if os.path.lexists(self._parent) and not os.path.isdir(self._parent):
            raise NotADirectoryError(errno.ENOTDIR, "is not a folder", self._parent)
        for name in self._names:
            path = self._final(name)
            if not os.path.lexists(path):
                continue
            if not self._overwrite:
                reason = "exists already (--overwrite replaces it)"
                raise FileExistsError(errno.EEXIST, reason, path)
            if not os.path.isdir(path) or os.path.islink(path):
                raise NotADirectoryError(errno.ENOTDIR, "is not a folder to replace", path)

    def _final(self, name: str) -> str:
        return os.path.join(self._parent, name)

    def _make_parent(self) -> None:
        """Makes the output folder and its parents, and notes those that were missing."""
        missing, folder = [], os.path.abspath(self._parent)
        while not os.path.lexists(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for path in reversed(missing):
            os.mkdir(path)
            self._made.append(path)

    def _remove_everything(self) -> None:
        """Removes what is not committed; the lock last, for it tells the next run what is left."""
        if self._work:
            shutil.rmtree(self._work, ignore_errors=True)
        if self._lock is not None:
            self._lock.release()
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
