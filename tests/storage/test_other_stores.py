"""What holds for s3://, gs:// and abfs://, against servers of their own."""

import signal
import subprocess
import sys

import pytest

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.storage.remote_files import RemoteFiles, can_copy, upload
from bert_data.storage.schemes import google
from tests.object_store import ObjectStore
from tests.other_stores import OtherStore

pytestmark = pytest.mark.process

BYTES = 21 << 20  # several requests
# In the queries of requests with a file's bytes.
BODIES = {"s3": "partNumber=", "gs": "upload_id", "abfs": "comp=block"}
UPLOAD = """
import sys
from bert_data.storage.remote_files import upload
upload(sys.argv[1], sys.argv[2])
"""


@pytest.fixture
def source(tmp_path):
    (tmp_path / "a").write_bytes(b"0123456" * (BYTES // 7))
    return tmp_path / "a"


def visible_in(store: ObjectStore, folder: str) -> dict[str, bytes | None]:
    """The objects of a folder, without its own marker."""
    return {key: data for key, data in store.contents(folder).items() if key}


def visible(store: ObjectStore) -> list[str]:
    """The keys of objects that a pattern or a listing of inputs finds."""
    return [path.removeprefix(store.uri()) for path in storage.glob(store.uri("*"))]


def test_names(any_store):
    for key in ("in/a.txt", "in/x/b%20.txt", "in/.b.txt", "inn"):
        any_store.put(key, key.encode())
    uri = any_store.uri
    assert storage.list_folder(uri("in")) == storage.list_folder(uri("in/"))
    assert storage.list_folder(uri("in")) == [".b.txt", "a.txt", "x"]
    assert storage.list_folder(uri()) == ["in", "inn"]
    assert storage.glob(uri("*/*.txt")) == [uri("in/.b.txt"), uri("in/a.txt")]
    assert storage.glob(uri("in/*/*")) == [uri("in/x/b%20.txt")]
    assert storage.glob(uri("none/*")) == []
    assert list(storage.walk_files(uri("in"))) == [uri("in/a.txt"), uri("in/x/b%20.txt")]
    assert storage.is_folder(uri("in")) and storage.is_file(uri("inn"))
    assert storage.read_bytes(uri("in/x/b%20.txt")) == b"in/x/b%20.txt"
    storage.remove(uri("inn"))
    any_store.clear()
    storage.remove(uri("none"))
    # Azurite breaks off connections after it has refused a lease.
    assert not any("lease" in request.query for request in any_store.requests)
    storage.remove_folder(uri("in"))
    storage.remove_folder(uri("none"))
    assert any_store.keys() == []


def test_what_is_not_there(any_store, tmp_path):
    (tmp_path / "b").write_bytes(b"more")
    none = f"{any_store.scheme}://no-such-bucket/a"
    for uri, sentence in ((any_store.uri("a"), "No such file"), (none, "the bucket does not")):
        for read in (storage.read_bytes, storage.file_size, storage.list_folder):
            with pytest.raises(FileNotFoundError) as caught:
                read(uri)
            assert caught.value.filename == uri
            if read is not storage.file_size:
                assert caught.value.strerror.startswith(sentence)
    with pytest.raises(FileNotFoundError, match="the bucket does not exist"):
        upload(tmp_path / "b", none)
    for pattern in (none, f"{none}*"):
        with pytest.raises(FileNotFoundError, match="the bucket does not exist"):
            storage.expand_inputs(pattern)
    with pytest.raises(FileNotFoundError, match="the bucket does not exist"):
        storage.OutputSet(none, [none], reads=[], overwrite=True).__enter__()
    with pytest.raises(ValueError, match="no file matches"):
        storage.expand_inputs(any_store.uri("in/*"))


def test_an_empty_object_and_names_of_compressed_files(any_store, tmp_path):
    for name, content in (("a", b""), ("a.gz", b"content")):
        (tmp_path / "a").write_bytes(content)
        upload(tmp_path / "a", any_store.uri(f"x/{name}"))
    assert any_store.contents("x/") == {"a": b"", "a.gz": b"content"}


def test_ranges(any_store):
    content = bytes(range(256)) * 10_000
    any_store.put("a", content)
    any_store.clear()
    files = RemoteFiles([any_store.uri("a")], [len(content)])
    assert files.read(0, 1_000_000, 300) == content[1_000_000:1_000_300]
    assert files.read(0, 17, 5) == content[17:22]
    with storage.open_input(any_store.uri("a")) as file:
        assert file.read(3) == content[:3]
        assert file.seek(-5, 2) == len(content) - 5
        assert file.read() == content[-5:] and file.read(1) == b""
    any_store.put("a", content[:-1])
    with pytest.raises(CorruptDataError, match="has changed"):
        files.check(0)


def test_an_upload_that_fails_replaces_nothing(any_store, source):
    any_store.put("a", b"before")
    any_store.fail("403", method="PUT", query=BODIES[any_store.scheme], times=100, skip=1)
    with pytest.raises(PermissionError, match="access is forbidden"):
        upload(source, any_store.uri("a"))
    any_store.clear()
    assert any_store.contents() == {"a": b"before"}
    upload(source, any_store.uri("a"))
    assert any_store.contents() == {"a": source.read_bytes()}


def test_a_kill_in_an_upload_leaves_no_object(any_store, checkout, source):
    any_store.put("a", b"before")
    body = BODIES[any_store.scheme]
    for name in ("a", "b"):
        any_store.clear()
        any_store.fail("hang", method="PUT", query=body, times=100, skip=1)
        command = [sys.executable, "-c", UPLOAD, str(source), any_store.uri(name)]
        with subprocess.Popen(command, cwd=checkout) as process:
            any_store.wait_for("PUT", query=body, count=2)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        any_store.release()
    assert visible(any_store) == ["a"] and any_store.get("a") == b"before"


def test_a_process_whose_upload_failed_ends(any_store, checkout, source):
    """Neither does it hang, nor does its end publish what it has sent."""
    any_store.fail("403", method="PUT", query=BODIES[any_store.scheme], skip=1)
    command = [sys.executable, "-c", UPLOAD, str(source), any_store.uri("a")]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert "PermissionError: [Errno 13] access is forbidden" in done.stderr.splitlines()[-1]
    assert any_store.keys() == []


def test_a_set_appears_with_its_manifest(any_store):
    def write(text: bytes) -> None:
        paths = [any_store.uri(f"out/{name}") for name in "abm"]
        with storage.OutputSet(paths[0], paths, reads=[], overwrite=text != b"one") as outputs:
            for path in paths:
                with outputs.open(path) as file:
                    file.write(text)
            outputs.commit(paths[:-1], paths[-1:])

    write(b"one")
    with pytest.raises(FileExistsError, match="exists already"):
        write(b"one")
    any_store.clear()
    write(b"two")
    assert visible_in(any_store, "out/") == dict.fromkeys("abm", b"two")
    any_store.fail("403", method="PUT", key=r"/\.b\.", times=100)
    any_store.fail("403", method="POST", query="name=out%2Fb", times=100)
    any_store.fail("403", method="PUT", key="out/b$", times=100)
    with pytest.raises(PermissionError, match="access is forbidden"):
        write(b"three")
    assert set(visible_in(any_store, "out/")) <= {"b"}


def test_the_store_copies(any_store, tmp_path):
    any_store.put("work/a", b"content")
    one, other = any_store.uri("work/a"), any_store.uri("out/a")
    assert can_copy(one, other)
    any_store.clear()
    storage.remote_files.upload_all({other: one}, [])
    assert any_store.get("out/a") == b"content"
    assert not any(request.method == "GET" and request.range for request in any_store.requests)


@pytest.mark.slow
def test_what_passes_is_tried_again(any_store, tmp_path):
    (tmp_path / "b").write_bytes(b"more")
    any_store.put("in/a", b"content")
    any_store.fail("503", method="GET")
    assert storage.read_bytes(any_store.uri("in/a")) == b"content"
    any_store.fail("503", method="POST" if any_store.scheme == "gs" else "PUT")
    upload(tmp_path / "b", any_store.uri("out/b"))
    assert any_store.contents("out/") == {"b": b"more"}


@pytest.mark.parametrize("kind", ["403", "expired"])
def test_refused_credentials(any_store, tmp_path, kind):
    (tmp_path / "b").write_bytes(b"more")
    any_store.put("in/a", b"content")
    any_store.fail(kind, times=100)
    for action, key in (
        (storage.read_bytes, "in/a"),
        (storage.file_size, "in/a"),
        (storage.list_folder, "in"),
        (lambda uri: upload(tmp_path / "b", uri), "out/b"),
    ):
        with pytest.raises(PermissionError, match=r"access is forbidden|have expired") as caught:
            action(any_store.uri(key))
        assert caught.value.filename == any_store.uri(key)
    any_store.clear()
    assert any_store.keys() == ["in/a"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["503", "reset"])
def test_what_does_not_pass_at_googles_store(google_server, monkeypatch, kind):
    monkeypatch.setattr(google, "RETRY_SECONDS", "1")
    store = OtherStore(google_server, "gs")
    store.put("a", b"content")
    store.clear()
    store.fail(kind, times=1000)
    with pytest.raises(OSError, match="again and again") as caught:
        storage.read_bytes(store.uri("a"))
    assert caught.value.filename == store.uri("a")
    store.clear()
