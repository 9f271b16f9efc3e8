"""One file or folder that appears whole, uploads, removals.

    with open_whole("a.json") as file: ...      .a.json.node7-89abcdef01234567.writing, then a.json
    with open_folder("000003") as folder: ...   the same for a folder, which nothing replaces

While it is written its lock is held, so that `remove_abandoned` knows what a killed run has left.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from typing import IO, cast

from bert_data.storage.hidden import is_of_this_host, new_token, token_of, writing_path
from bert_data.storage.paths import Path, is_remote, naming, resolve

_COPY_BYTES = 8 << 20
_OBJECT_STORES = ("s3", "gcs", "abfs")


@contextlib.contextmanager
def open_whole(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file for writing; it gets its name when the block is left without error.

    What has the name until then is replaced. A remote file is written here first, and uploaded.

    Raises:
      OSError: it cannot be written.
    """
    if is_remote(path):
        import tempfile  # not at the top: it costs each start 10 ms, and few runs need it

        with tempfile.NamedTemporaryFile() as file:
            yield file
            file.flush()
            upload(file.name, path)
        return
    partial = writing_path(path, new_token())
    try:
        with naming(path), open(partial, "xb") as file:
            _try_lock(file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(partial, path)
    except BaseException as error:
        remove(partial)
        if isinstance(error, OSError) and error.filename == partial:
            error.filename = path
        raise


def open_scratch(path: Path, mode: str = "wb", *, buffering: int = -1) -> IO[bytes]:
    """Opens a file in the run's own work folder, which may be seen half-written.

    Raises:
      OSError: it cannot be opened.
    """
    return cast(IO[bytes], open(path, mode, buffering))


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a file, which appears whole and replaces what has its name.

    Raises:
      OSError: it cannot be written.
    """
    with open_whole(path) as file:
        file.write(data)


@contextlib.contextmanager
def open_folder(path: Path) -> Iterator[str]:
    """A new folder to write into; it gets its name when the block is left without error.

    If another process has given a folder this name meanwhile, that one stays: of what does not
    depend on who makes it, either is right.

    Yields:
      Its path until then.

    Raises:
      OSError: it cannot be made.
    """
    partial = writing_path(path, new_token())
    os.makedirs(partial)
    descriptor = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _try_lock(descriptor)
        yield partial
        sync(partial)
        try:
            os.rename(partial, path)
        except OSError:
            if not os.path.isdir(path):
                raise
    finally:
        remove(partial)
        os.close(descriptor)


def remove_folder(path: str) -> None:
    """Removes a local folder if it is there; killed amid this, a run leaves none of its name.

    What it leaves is for `remove_abandoned`.
    """
    hidden = writing_path(path, new_token())
    with contextlib.suppress(FileNotFoundError):
        os.rename(path, hidden)
        remove(hidden)


def remove_abandoned(folder: str) -> None:
    """Removes what killed runs of this host have left of what is made or removed here."""
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        token = token_of(name)
        if token is None or not is_of_this_host(token):
            continue
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):  # alive, or gone
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(path)
            finally:
                os.close(descriptor)


def _try_lock(descriptor: int) -> None:
    """Takes a lock where the file system has locks; where it has none nothing is abandoned."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def sync(path: Path) -> None:
    """Waits until a file, or a folder and all in it, is on the disk."""
    for folder, _, names in os.walk(path):
        for name in names:
            _sync(os.path.join(folder, name))
        _sync(folder)
    if not os.path.isdir(path):
        _sync(path)


def sync_folder(path: Path) -> None:
    """Waits until the names in a folder are on the disk."""
    _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def upload(path: Path, uri: Path) -> None:
    """Copies a local file to a URI, where it appears when all of it is there.

    Raises:
      OSError: one of them cannot be read or written.
    """
    with naming(uri), open(path, "rb") as file:
        system, key = resolve(uri)
        if system.type_name not in _OBJECT_STORES:
            system.create_dir(os.path.dirname(key))
        stream = system.open_output_stream(key)
        try:
            while data := file.read(_COPY_BYTES):
                stream.write(data)
        except BaseException:
            # To close a stream is to publish what it has got, and there is no other way to end it.
            stream.close()
            system.delete_file(key)
            raise
        stream.close()


def make_folder(path: Path) -> None:
    """Makes a folder and its parents, if they are not there; object stores have none.

    Raises:
      OSError: it cannot be made.
    """
    if not is_remote(path):
        os.makedirs(path or ".", exist_ok=True)
        return
    with naming(path):
        system, key = resolve(path)
        if system.type_name not in _OBJECT_STORES:
            system.create_dir(key)


def remove(path: Path) -> None:
    """Removes a file, or a local folder and all in it, if it is there.

    Raises:
      OSError: it cannot be removed.
    """
    if is_remote(path):
        with contextlib.suppress(FileNotFoundError), naming(path):
            system, key = resolve(path)
            system.delete_file(key)
    elif os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.remove(path)
