"""Sets of outputs that appear together: written under hidden names, and renamed at the end.

    .a.lock  .bert_data-TOKEN/{output-0, output-1, what spills to disk}      while the run works
    a  b                                                                     when it is done

A link is followed: the new file replaces its target, and the link stays. Outputs in several folders
have a hidden folder in each, as files are renamed only within a disk.

A run that dies leaves hidden folders and a lock that names them; the next run for the same set
removes them, after it has undone an unfinished commit: an older set comes back. Runs for other sets
may share a file with this one: only one run at a time renames its files.

Remote files are written in the work folder and uploaded at the end; the lock is local, too. Object
stores have neither renaming nor locks: there, a set is complete once its last file, the manifest,
exists, and nothing keeps runs of two machines from writing the same set.
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Self

from absl import logging

from bert_data import interrupts
from bert_data.storage.changing import follow_link, remove, sync, sync_one
from bert_data.storage.file_systems import check_writable, naming, naming_folder
from bert_data.storage.paths import (
    common_folder,
    hidden_work_folder,
    is_remote,
    is_unfinished,
    local_path,
    new_token,
    open_scratch,
    refuse_tilde,
    work_folder,
)
from bert_data.storage.reading_files import open_input
from bert_data.storage.refusals import (
    PRODUCT_LIST,
    note_product,
    refuse_doubles,
    refuse_existing,
    refuse_inputs,
    refuse_missing_buckets,
)
from bert_data.storage.remote_files import (
    can_copy,
    files_by_depth,
    remove_remote_folder,
    upload_all,
)
from bert_data.storage.run_lock import Move, RunLock, commits_held, identity, undo

_COPY_BYTES = 8 << 20
_NUM_SYNCS = 16  # at a time: a disk takes little longer for all of them than for one


class OutputSet:
    """Files and folders that appear together and complete, or not at all.

    with OutputSet("train.tfrecord", ["train.tfrecord"], reads=inputs, overwrite=False) as outputs:
        with outputs.open("train.tfrecord") as file:
            file.write(...)
        outputs.commit(["train.tfrecord"])

    A second run for the same set at the same time is refused. Leaving the block without `commit`
    removes everything written, including folders made for it.
    """

    def __init__(
        self,
        name: str,
        paths: Sequence[str],
        *,
        reads: Iterable[str],
        overwrite: bool,
        folders: Sequence[str] = (),
        maker: str = "",
        work_dir: str | None = None,
        obsolete: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """Describe a set; nothing is written yet.

        Args:
          name: of the set; its lock lies beside it, or, if it is remote, among the temporary files.
          paths: the final names of all files that the run will write; the one renamed last comes
            last.
          reads: all files that the run reads; none of them may be replaced or removed.
          folders: folders that the run will write; they are renamed before the files.
          maker: the command that writes the folders. Each gets a list of what is in it, and only a
            folder with such a list of this command, and nothing else in it, is replaced.
          work_dir: folder for temporary files; None: the folder of the first output or, if that is
            remote, the system's folder.
          obsolete: finds files of earlier runs, in the same folders, that would be mistaken for
            part of this set or would be wrong; they are removed at the end, while no other run can
            commit.
        """
        assert maker or not folders
        self._name = _plain(name)
        self._lock_path = hidden_work_folder(self._name, "lock")
        self._files, self._folders = tuple(map(_plain, paths)), tuple(map(_plain, folders))
        self._paths = (*self._folders, *self._files)
        self._numbers = {path: number for number, path in enumerate(self._paths)}
        self._reads = tuple(reads)
        self._overwrite, self._maker = overwrite, maker
        self._work_parent = None if work_dir is None else _plain(work_dir)
        self._obsolete = obsolete
        self._is_remote = any(map(is_remote, self._paths))
        local = () if self._is_remote else self._paths
        self._places = {path: os.path.abspath(follow_link(path)) for path in local}
        self._token = new_token()
        self._lock: RunLock | None = None
        self._moves: list[Move] = []
        self._made_folders: list[str] = []
        self._copied: dict[str, str] = {}  # objects that the store copies at the end
        self._work_folders: list[str] = []
        self.work_dir = ""

    def __enter__(self) -> Self:
        self._check_names()
        try:
            parent = self._make_places()
            self._refuse_existing()
            assert self._lock is not None
            folders = {parent, *map(os.path.dirname, self._places.values())}
            self._lock.note_start(self._token, folders)
            self._work_folders = [work_folder(folder, self._token) for folder in folders]
            for folder in self._work_folders:
                os.mkdir(folder, 0o700)
            self.work_dir = work_folder(parent, self._token)
        except BaseException:
            self._remove_everything()
            raise
        return self

    def _check_names(self) -> None:
        refuse_doubles(self._paths)
        if self._work_parent is not None and is_remote(self._work_parent):
            raise ValueError(f"work_dir is {self._work_parent!r}; it must be a local folder")
        for path in self._paths:
            if is_remote(path) != self._is_remote:
                raise ValueError(f"output {path!r} is local, but other outputs are remote")
            if is_unfinished(os.path.basename(path)):
                raise ValueError(
                    f"output {path!r} has a name reserved for unfinished files, like .NAME.lock or"
                    " .NAME.writing"
                )
        refuse_inputs([*self._files, *self._earlier_files()], self._reads, folders=self._folders)

    def _earlier_files(self) -> list[str]:
        """Return what `obsolete` finds; a folder of such a name is nothing that a run has made."""
        paths = list(map(_plain, self._obsolete()))
        if self._is_remote:
            return paths
        return [path for path in paths if os.path.islink(path) or not os.path.isdir(path)]

    def _refuse_existing(self) -> None:
        refuse_existing(
            self._files, folders=self._folders, overwrite=self._overwrite, maker=self._maker
        )

    def _make_places(self) -> str:
        """Make folders, and take the lock; return the parent of the work folder."""
        refuse_missing_buckets(self._paths)
        beside = os.path.dirname(self._lock_path)
        parent = os.path.abspath(self._work_parent or beside)
        folders = map(os.path.dirname, self._places.values())
        for folder in sorted({parent, os.path.abspath(beside), *folders}):
            _make_folders(folder, self._made_folders)
        try:
            self._lock = RunLock(self._lock_path)
        except BlockingIOError as error:
            error.filename = self._paths[0]
            raise
        except (FileNotFoundError, PermissionError) as error:  # /proc and /sys make no files
            is_new = error.filename == self._lock_path and not os.path.lexists(self._lock_path)
            if is_new and not self._is_remote:
                error.filename = self._name
            raise
        return parent

    def __exit__(self, *_: object) -> None:
        try:
            self._remove_everything()
        except BaseException:  # Ctrl-C between two removals
            self._remove_everything()
            raise

    def partial(self, path: str) -> str:
        """Return where a file or folder of the set is written until it gets its name."""
        path = _plain(path)
        folder = self.work_dir if self._is_remote else self._beside(self._places[path])
        return os.path.join(folder, f"output-{self._numbers[path]}")

    def _beside(self, place: str) -> str:
        return work_folder(os.path.dirname(place), self._token)

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[IO[bytes]]:
        """Open a file of the set for writing, under its hidden name."""
        with open_scratch(self.partial(path), name=path) as file:
            yield file

    def take_in(self, path: str, source: str) -> None:
        """Move a file from `work_dir` into the set, under its hidden name."""
        with naming(path):
            shutil.move(source, self.partial(path))

    def link_in(self, path: str, source: str) -> None:
        """Add a file to the set by a link or a copy, and leave it where it is.

        An object is not downloaded if the store can copy it; it must stay until `commit`.
        """
        if can_copy(source, path):
            self._copied[path] = source
            return
        if is_remote(source):
            with open_input(source) as file, self.open(path) as copy:
                shutil.copyfileobj(file, copy, _COPY_BYTES)
            return
        with naming(path):
            try:
                os.link(source, self.partial(path))
            except OSError:  # on another disk, or one without hard links
                shutil.copyfile(source, self.partial(path))

    def commit(self, paths: Sequence[str], vouchers: Sequence[str] = ()) -> None:
        """Give files and folders of the set their final names.

        Args:
          paths: renamed first.
          vouchers: renamed last; each of them means that the others are complete, so those of an
            earlier run are removed first: they must not vouch for a mixture.

        Raises:
          FileExistsError: another program has created one of the files meanwhile, and `overwrite`
            is not set.
        """
        paths, vouchers = list(map(_plain, paths)), list(map(_plain, vouchers))
        final = (*paths, *vouchers)
        written = [path for path in final if path not in self._copied]
        for folder in self._folders:
            note_product(self.partial(folder), self._maker)
        _sync_all([self.partial(path) for path in written])  # raises if one was never written
        if self._is_remote:
            self._upload(final, vouchers)
            return
        folders = {os.path.dirname(self._places[path]) for path in final}
        with commits_held(folders):
            self._refuse_existing()
            self._moves = self._plan_moves(paths, vouchers)
            assert self._lock is not None
            self._lock.note_moves(self._moves)
            for move in self._moves:
                os.replace(move.source, move.target)
            self._moves = []  # from here on other runs may replace and remove these files
            self._made_folders.clear()
            for folder in folders:
                sync_one(folder)

    def _plan_moves(self, paths: Sequence[str], vouchers: Sequence[str]) -> list[Move]:
        """Return what makes room for the set, the last file first, and what gives it its names."""
        places = [self._places[path] for path in (*paths, *vouchers)]
        old = [self._places[path] for path in reversed(vouchers)]
        old += map(os.path.abspath, self._earlier_files())
        if len(places) > 1 or self._folders:  # else a file replaces one in a single step
            old += places
        moves = []
        for number, place in enumerate(dict.fromkeys(old)):
            if which := identity(place):
                hidden = os.path.join(self._beside(place), f"old-{number}")
                moves.append(Move(place, hidden, is_new=False, identity=which))
        for path, place in zip((*paths, *vouchers), places, strict=True):
            which = identity(self.partial(path))
            assert which, "it has just been synced"
            moves.append(Move(self.partial(path), place, is_new=True, identity=which))
        return moves

    def _upload(self, final: Sequence[str], vouchers: Sequence[str]) -> None:
        self._refuse_existing()
        assert self._lock is not None
        self._lock.note_uploads(final, is_vouched=bool(vouchers))
        for path in (*reversed(vouchers), *self._earlier_files()):
            remove(path)
        for path in self._folders:
            remove_remote_folder(path)
        begun: list[str] = []
        try:
            for path in self._folders:
                *inner, outer = files_by_depth(self.partial(path), path)
                note = os.path.join(path, PRODUCT_LIST)  # so that what is left can be replaced
                for sources in ({note: outer.pop(note)}, *inner, outer):
                    upload_all(sources, begun)
            files = [path for path in final if path not in (*vouchers, *self._folders)]
            upload_all({path: self._copied.get(path, self.partial(path)) for path in files}, begun)
            for path in vouchers:
                upload_all({path: self.partial(path)}, begun)
        except BaseException as error:
            interrupts.limit_end(error)
            if isinstance(error, OSError) and not self._copied:  # these are unfinished work
                self._keep(final)
            with contextlib.suppress(OSError):  # the store may be what failed
                for path in reversed(begun):
                    remove(path)
            raise

    def _keep(self, final: Sequence[str]) -> None:
        """Keep the files that could not be uploaded, which may be the work of hours."""
        common = common_folder(final)
        place = os.path.join(os.path.dirname(self.work_dir), f"not-uploaded-{self._token}")
        for path in final:
            target = os.path.join(place, os.path.relpath(path, common))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.rename(self.partial(path), target)
        logging.error(
            "nothing was published in %s; the finished files are in %s. Upload them, %s last, or"
            " remove them and run the same command again, which makes what it has not kept as"
            " unfinished work",
            common,
            place,
            os.path.basename(final[-1]),
        )

    def _remove_everything(self) -> None:
        """Remove what is not committed; the lock last, as its notes name the rest."""
        undo(self._moves)
        for folder in self._work_folders:
            remove(folder)
        if self._lock is not None:
            self._lock.release()
        for folder in reversed(self._made_folders):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _plain(path: str) -> str:
    return local_path(path) or path


def _sync_all(paths: Sequence[str]) -> None:
    from concurrent.futures import ThreadPoolExecutor  # here, as it would delay the start

    with ThreadPoolExecutor(_NUM_SYNCS) as pool:
        list(pool.map(sync, paths))


def _make_folders(folder: str, created: list[str]) -> None:
    """Make a folder and its parents; append those that were missing to `created`, outer first."""
    refuse_tilde(folder)
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for path in reversed(missing):
        with contextlib.suppress(FileExistsError), naming_folder(path):
            os.mkdir(path)  # unless another process has just made it
            created.append(path)
        folder = path
    if not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, "is not a folder", folder)
    check_writable(folder)
