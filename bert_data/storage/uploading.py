"""Uploads: a local file becomes an object, which appears once it is complete.

    upload("/tmp/a", "s3://bucket/a")
    upload_all({"s3://bucket/a": "/tmp/a", "s3://bucket/b": "/tmp/b"})      several at a time

pyarrow publishes what a stream has received when the stream is closed or destroyed, and has no way
to abandon it. So a stream that fails, or is interrupted, is neither: it stays in memory until the
process ends. What it sent is an unfinished upload, which the store's lifecycle rule removes. Where
a file is visible from its first byte on (`Scheme.hides_unfinished`), it gets a hidden name first.
"""

import contextlib
import math
import os
import threading
from collections.abc import Mapping
from typing import IO, Any

from bert_data.storage.failures import naming
from bert_data.storage.file_systems import find_scheme, resolve
from bert_data.storage.hidden import new_token, writing_path
from bert_data.storage.paths import Path, is_remote, split_uri
from bert_data.storage.statuses import file_size

_COPY_BYTES = 8 << 20
_NUM_UPLOADS = 8  # at a time


def can_copy(source: Path, uri: Path) -> bool:
    """Whether an object store can copy an object to a URI by itself.

    Raises:
      OSError: the object does not exist.
    """
    one, other = split_uri(source), split_uri(uri)
    if one is None or other is None or (one.root, one.options) != (other.root, other.options):
        return False
    most_bytes = find_scheme(source).most_copied_bytes
    return bool(most_bytes) and (math.isinf(most_bytes) or file_size(source) <= most_bytes)


def upload(path: Path, uri: Path) -> None:
    """Copy a local file to a URI, where it appears once it is complete.

    Raises:
      OSError: one of them cannot be read or written.
    """
    _upload(path, uri, threading.Event())


def upload_all(sources: Mapping[str, str], begun: list[str]) -> None:
    """Copy files to URIs, several at a time; the first error ends them all.

    Args:
      sources: by URI: local paths, or objects for which `can_copy` is true.
      begun: gets the URIs that may exist now, also if there is an error.

    Raises:
      OSError: one of them cannot be read or written.
    """
    from concurrent.futures import ThreadPoolExecutor  # here, as it would delay the start

    ended = threading.Event()
    with ThreadPoolExecutor(_NUM_UPLOADS, "bert_data-upload") as pool:
        try:
            uploads = {uri: pool.submit(_upload, path, uri, ended) for uri, path in sources.items()}
            begun += uploads
            for each in uploads.values():
                each.result()
        except BaseException:
            ended.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def files_by_depth(folder: str, uri: str) -> list[dict[str, str]]:
    """Return the files of a local folder by their URIs; those of its subfolders come first."""
    inner: dict[str, str] = {}
    outer: dict[str, str] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            files = outer if place == folder else inner
            files[os.path.join(uri, os.path.relpath(path, folder))] = path
    return [inner, outer]


def remove_remote_folder(uri: str) -> None:
    """Remove a remote folder and all that is in it, if it exists.

    Raises:
      OSError: it cannot be removed.
    """
    with contextlib.suppress(FileNotFoundError), naming(uri):
        system, key = resolve(uri)
        system.delete_dir(key)


def _upload(path: Path, uri: Path, ended: threading.Event) -> None:
    if is_remote(path):
        with naming(uri):
            system, key = resolve(uri)
            system.copy_file(resolve(path)[1], key)
        return
    with naming(uri), open(path, "rb") as file:
        system, key = resolve(uri)
        scheme = find_scheme(uri)
        if scheme.hides_unfinished:
            _put(system, key, file, ended)
            return
        if scheme.has_folders:
            system.create_dir(os.path.dirname(key))
        partial = writing_path(key, new_token())
        try:
            _put(system, partial, file, ended)
            scheme.rename(system, partial, key)
        except BaseException:
            with contextlib.suppress(OSError):
                system.delete_file(partial)
            raise


def _put(system: Any, key: str, file: IO[bytes], ended: threading.Event) -> None:
    import ctypes  # not at the top, as most runs do not need it

    stream = system.open_output_stream(key, compression=None)  # not by the ending of the name
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(stream))  # so that nothing destroys it
    _copy(file, stream, ended)
    stream.close()
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(stream))


def _copy(file: IO[bytes], stream: Any, ended: threading.Event) -> None:
    while data := file.read(_COPY_BYTES):
        if ended.is_set():
            raise InterruptedError("another upload of the set failed")
        stream.write(data)
