"""Ranges of remote files: one request each, changes noticed."""

import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.storage import open_input, read_array, remote_files
from bert_data.storage.remote_files import (
    LOST_REASON,
    RemoteFile,
    RemoteFiles,
    max_attempts,
    retried,
    upload,
    upload_all,
)
from tests.object_store import ObjectStore
from tests.rows import mostly_slow
from tests.storage.output_sets import write_set


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
    monkeypatch.setattr(remote_files, "FIRST_SECONDS", 0)
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


PART = "partNumber="
BYTES = 21 << 20  # three parts


@pytest.fixture
def source(tmp_path):
    (tmp_path / "a").write_bytes(b"0123456" * (BYTES // 7))
    return tmp_path / "a"


@pytest.mark.slow
def test_faults_in_every_step_of_an_upload(object_store, source):
    object_store.fail("503", method="POST", query="uploads", times=2)
    object_store.fail("reset", method="PUT", query=PART, times=2, skip=1)
    object_store.fail("500", method="POST", query="uploadId", times=1)
    upload(source, object_store.uri("out/a"))
    assert object_store.contents() == {"out/a": source.read_bytes()}


@mostly_slow("step", ["uploads", PART, "uploadId"])
def test_an_upload_that_fails_replaces_nothing(object_store, source, step):
    object_store.put("a", b"before")
    skip = int(step == PART)
    object_store.fail("403", query=step, times=100, skip=skip)
    with pytest.raises(PermissionError, match="access is forbidden"):
        upload(source, object_store.uri("a"))
    object_store.clear()
    assert object_store.contents() == {"a": b"before"}


@pytest.mark.slow
@pytest.mark.parametrize("size", [BYTES, 3])
def test_an_upload_that_is_interrupted(object_store, source, monkeypatch, size):
    source.write_bytes(source.read_bytes()[:size])

    class Interrupted(io.FileIO):
        def read(self, _):
            if self.tell():
                raise KeyboardInterrupt
            return super().read(min(size, BYTES // 2))

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(remote_files, "open", Interrupted, raising=False)
        upload(source, object_store.uri("a"))
    assert object_store.keys() == []
    upload(source, object_store.uri("a"))
    assert object_store.contents() == {"a": source.read_bytes()}


@pytest.mark.slow
def test_the_first_error_ends_all_uploads(object_store, tmp_path):
    sources = {}
    for number in range(30):
        (tmp_path / f"{number:02d}").write_bytes(b"content")
        sources[object_store.uri(f"{number:02d}")] = str(tmp_path / f"{number:02d}")
    begun: list[str] = []
    object_store.fail("403", key="/03$", times=10)
    with pytest.raises(PermissionError, match="access is forbidden"):
        upload_all(sources, begun)
    assert begun == list(sources)
    uploads = [each for each in threading.enumerate() if each.name.startswith("bert_data-upload")]
    assert len(uploads) <= 8
    object_store.clear()
    upload_all(sources, begun)
    assert object_store.contents() == {f"{number:02d}": b"content" for number in range(30)}


def test_a_name_does_not_change_the_bytes(object_store, tmp_path):
    (tmp_path / "a").write_bytes(b"content")
    for ending in ("gz", "zst", "bz2", "lz4"):
        upload(tmp_path / "a", object_store.uri(f"a.{ending}"))
        upload(tmp_path / "a", f"file://{tmp_path}/b.{ending}")
        assert (tmp_path / f"b.{ending}").read_bytes() == b"content"
    assert set(object_store.contents().values()) == {b"content"}


def test_the_manifest_of_a_set_is_put_last(object_store):
    write_set(object_store.uri("out"), "one")
    puts = [request.key for request in object_store.requests if request.method == "PUT"]
    assert sorted(puts) == sorted(object_store.bucket + f"/out/{n}" for n in "abm")
    assert puts[-1].endswith("/m")
    with pytest.raises(FileExistsError, match="exists already"):
        write_set(object_store.uri("out"), "two")
    write_set(object_store.uri("out"), "two", overwrite=True)
    assert set(object_store.contents("out/").values()) - {b""} == {b"two"}


def test_work_is_local():
    path = "s3://bucket/a"
    outputs = storage.OutputSet(path, [path], reads=[], overwrite=True, work_dir="s3://bucket/w")
    with pytest.raises(ValueError, match="work_dir is 's3://bucket/w'; it must be a local folder"):
        outputs.__enter__()


def test_a_folder_is_put_with_what_is_directly_in_it_last(object_store):
    def write(names, *, overwrite):
        folder = object_store.uri("out/f")
        with storage.OutputSet(
            object_store.uri("out/e"),
            [],
            folders=[folder],
            reads=[],
            overwrite=overwrite,
            maker="test",
        ) as outputs:
            for name in names:
                path = Path(outputs.partial(folder), name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(name)
            outputs.commit([folder])

    write(["a.pb", "in/b", "in/c/d"], overwrite=False)
    objects = {f"out/f/{name}": name.encode() for name in ("a.pb", "in/b", "in/c/d")}
    note = object_store.get("out/f/bert_data.json")
    assert object_store.contents() == {**objects, "out/f/bert_data.json": note}
    puts = [request.key for request in object_store.requests if request.method == "PUT"]
    assert puts[-1].endswith("a.pb") and puts[0].endswith("bert_data.json")
    assert storage.folder_size(object_store.uri("out/f")) == 14 + len(note)
    with pytest.raises(FileExistsError, match="exists already"):
        write(["a.pb"], overwrite=False)
    write(["a.pb", "in/e"], overwrite=True)
    files = [key for key in object_store.keys("out/f/") if not key.endswith("/")]
    assert files == ["out/f/a.pb", "out/f/bert_data.json", "out/f/in/e"]


@pytest.mark.process
def test_the_next_run_goes_on_after_a_kill_in_the_upload(
    object_store, tmp_path, monkeypatch, checkout
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    object_store.put("out/other", b"stays")
    object_store.fail("hang", method="PUT", key="out/b$", times=100)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", SET, object_store.uri("out")]
    with subprocess.Popen(command, cwd=checkout, env=environment) as process:
        object_store.wait_for("PUT", key="out/b$")
        object_store.wait_for("PUT", key="out/a$")
        process.kill()
    assert set(object_store.keys()) <= {"out/a", "out/other"}
    object_store.clear()
    write_set(object_store.uri("out"), "whole")
    objects = {"a": b"whole", "b": b"whole", "m": b"whole", "other": b"stays"}
    assert {k: v for k, v in object_store.contents("out/").items() if k} == objects
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileExistsError, match="exists already"):
        write_set(object_store.uri("out"), "again")


SET = """
import sys
from bert_data import storage
paths = [f"{sys.argv[1]}/{name}" for name in ("a", "b", "m")]
with storage.OutputSet(paths[0], paths, reads=[], overwrite=False) as outputs:
    for path in paths:
        with outputs.open(path) as file:
            file.write(b"half")
    outputs.commit(paths[:-1], paths[-1:])
"""

KILLED = """
import os, signal, sys
from bert_data import storage
outputs = storage.OutputSet(sys.argv[1], [sys.argv[1]], reads=[], overwrite=False)
with outputs, outputs.open(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.process
def test_the_next_run_removes_what_a_killed_one_left(object_store, checkout, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    uri = object_store.uri("out/a")
    command = [sys.executable, "-c", KILLED, uri]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=checkout, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.rglob("output-0"))) == 1 and object_store.keys() == []
    with storage.OutputSet(uri, [uri], reads=[], overwrite=False) as outputs:
        assert list(tmp_path.rglob("output-0")) == []
        with pytest.raises(BlockingIOError, match="another run is writing this output"):
            storage.OutputSet(uri, [uri], reads=[], overwrite=False).__enter__()
        with outputs.open(uri) as file:
            file.write(b"whole")
        outputs.commit([uri])
    assert object_store.contents() == {"out/a": b"whole"} and list(tmp_path.iterdir()) == []


@mostly_slow("failing", ["b", "m"])
def test_a_set_that_cannot_be_put_whole_is_not_put(
    object_store, failing, tmp_path, monkeypatch, caplog
):
    """Its files stay on this machine, and the log says where."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    object_store.fail("403", method="PUT", key=f"out/{failing}$")
    with pytest.raises(PermissionError, match="access is forbidden"):
        write_set(object_store.uri("out"), "one")
    assert not [key for key, data in object_store.contents().items() if data]
    (kept,) = tmp_path.iterdir()
    assert f"the finished files are in {kept}" in caplog.text
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == dict.fromkeys("abm", b"one")
    write_set(object_store.uri("out"), "two")
    assert set(object_store.contents("out/").values()) - {b""} == {b"two"}
