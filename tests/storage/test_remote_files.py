"""Ranges of remote files: one request each, changes noticed; and files without a name."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from bert_data.errors import CorruptDataError
from bert_data.storage import open_input, read_array, remote_files
from bert_data.storage.remote_files import (
    LOST_REASON,
    RemoteFile,
    RemoteFiles,
    UnnamedFile,
    max_attempts,
    retried,
)
from tests.object_store import ObjectStore


@pytest.mark.parametrize("value", ["0", "many", "-1", "1e9"])
def test_impossible_numbers_of_attempts(monkeypatch, value):
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", value)
    with pytest.raises(ValueError, match="it must be a number from 1 to 9999"):
        max_attempts()


@pytest.mark.parametrize(
    ("errors", "num_reads"),
    [
        ([], 1),
        ([OSError(LOST_REASON)] * 2, 3),
        ([OSError(LOST_REASON)] * 3, 3),
        ([OSError("forbidden")], 1),
        ([OSError(LOST_REASON), OSError("forbidden")], 2),
    ],
)
def test_reads_whose_error_lost_its_reason_are_tried_again(monkeypatch, errors, num_reads):
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "3")
    monkeypatch.setattr(remote_files, "_FIRST_SECONDS", 0)
    left, calls = list(errors), []

    def read(*args):
        calls.append(args)
        if left:
            raise left.pop(0)
        return b"data"

    if len(errors) == 3 or "forbidden" in str(errors[-1:]):
        with pytest.raises(OSError) as caught:
            retried(read, 5, 7)
        assert caught.value is errors[-1]
    else:
        assert retried(read, 5, 7) == b"data"
    assert calls == [(5, 7)] * num_reads


DATA = bytes(range(256)) * 40


def test_a_range_is_one_request(object_store: ObjectStore, tmp_path: Path) -> None:
    object_store.put("a", DATA)
    (tmp_path / "b").write_bytes(DATA)
    files = RemoteFiles([object_store.uri("a"), str(tmp_path / "b")], [len(DATA)] * 2)
    assert files.read(0, 100, 7) == files.read(1, 100, 7) == DATA[100:107]
    object_store.requests.clear()
    assert files.read(0, 5000, 300) == DATA[5000:5300]
    assert [(each.method, each.range) for each in object_store.requests] == [
        ("GET", "bytes=5000-5299")
    ]


def test_changes_are_noticed(object_store: ObjectStore) -> None:
    object_store.put("a", DATA)
    files = RemoteFiles([object_store.uri("a")], [len(DATA)])
    files.read(0, 0, 4)
    for changed in (DATA[::-1], DATA[:10]):
        object_store.put("a", changed)
        with pytest.raises(CorruptDataError, match="has changed since it was opened"):
            files.check(0)
    object_store.remove("a")
    with pytest.raises(FileNotFoundError, match="has been removed since it was opened") as raised:
        files.read(0, 0, 4)
    assert raised.value.filename == object_store.uri("a")


def test_what_could_not_be_opened_is_collected_without_an_error(object_store: ObjectStore) -> None:
    """Since Python 3.13, an error of `close` at that moment is told."""
    file = RemoteFile.__new__(RemoteFile)
    with pytest.raises(FileNotFoundError):
        file.__init__(object_store.uri("none"))  # type: ignore[misc]
    file.close()
    assert file.closed
    RemoteFile.__new__(RemoteFile).close()


def test_errors_of_streams_name_the_uri(object_store: ObjectStore) -> None:
    object_store.put("a", DATA)
    with open_input(object_store.uri("a"), buffering=0) as file:
        assert file.read(3) == DATA[:3]
        object_store.fail("403", method="GET", times=9)
        with pytest.raises(OSError) as raised:
            file.read(3)
    assert raised.value.filename == object_store.uri("a") and raised.value.errno


def test_arrays_of_a_store(object_store: ObjectStore, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(7))
    whole = (tmp_path / "a.npy").read_bytes()
    object_store.put("a.npy", whole)
    assert read_array(object_store.uri("a.npy")).tolist() == list(range(7))
    for damaged in (whole[:-1], whole + b"x", whole[:20], b""):
        object_store.put("b.npy", damaged)
        with pytest.raises(CorruptDataError, match=r"b\.npy"):
            read_array(object_store.uri("b.npy"))


def test_a_file_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    file = UnnamedFile()
    file.write(b"world", 6)
    file.write(b"hello ", 0)
    assert os.pread(file.descriptor, 100, 0) == b"hello world"
    assert os.fstat(file.descriptor).st_nlink == 0

    def is_full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", is_full)
    with pytest.raises(OSError, match=r"TMPDIR names another.*No space left"):
        file.write(b"x", 0)
    file.close()
    file.close()
