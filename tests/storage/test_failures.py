"""Every failure of an object store is one sentence that names the URI, and ends in bounded time."""

import itertools

import pytest
from pyarrow import ArrowException

from bert_data import storage
from bert_data.inspection.sources.opening import expand_records
from bert_data.reader.config import ReaderConfig
from bert_data.reader.files.shards import find_shards
from bert_data.storage.file_systems import naming
from bert_data.storage.remote_files import upload
from bert_data.storage.schemes import s3
from bert_data.tokens.store_files import expand_stores


@pytest.fixture
def actions(object_store, tmp_path):
    """First requests of runs, with the URI that an error must name."""
    object_store.put("in/a", b"content")
    (tmp_path / "b").write_bytes(b"more")
    return [
        (storage.read_bytes, "in/a"),
        (storage.file_size, "in/a"),
        (storage.list_folder, "in"),
        (storage.glob, "in/*"),
        (lambda uri: upload(tmp_path / "b", uri), "out/b"),
    ]


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("403", "access is forbidden; check the credentials and what they may do with the bucket"),
        ("expired", "the credentials have expired; get new ones and run the same command again"),
    ],
)
def test_refused_credentials(object_store, actions, kind, sentence):
    object_store.fail(kind, times=100)
    for action, key in actions:
        with pytest.raises(PermissionError) as caught:
            action(object_store.uri(key))
        assert caught.value.strerror == sentence
        assert caught.value.filename.rstrip("*/") == object_store.uri(key).rstrip("*/")
    assert len(object_store.requests) <= 2 * len(actions)  # tried once, and asked for the reason
    assert object_store.keys() == ["in/a"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("500", r"the object store failed in 3 attempts \(.*(500|INTERNAL_FAILURE)\)"),
        ("503", r"the object store failed in 3 attempts \((HTTP status 503|SLOW_DOWN)\)"),
        ("reset", r"cannot be reached, or broke off, in 3 attempts .*reset by peer"),
        ("cut", r"cannot be reached, or broke off, in 3 attempts"),
    ],
)
def test_what_does_not_pass(object_store, actions, kind, sentence):
    object_store.fail(kind, times=100)
    for action, key in (actions[0], actions[-1]):
        with pytest.raises(OSError, match=sentence) as caught:
            action(object_store.uri(key))
        assert caught.value.filename == object_store.uri(key)
    object_store.clear()
    assert object_store.keys() == ["in/a"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["500", "503", "reset", "cut", "slow"])
def test_what_passes_is_tried_again(object_store, actions, kind):
    for action, key in (actions[0], actions[-1]):
        object_store.fail(kind)
        action(object_store.uri(key))
    assert storage.read_bytes(object_store.uri("in/a")) == b"content"
    assert object_store.contents("out/") == {"b": b"more"}


def test_a_connection_that_breaks_in_the_middle_of_a_range(object_store):
    content = bytes(range(256)) * 10_000
    object_store.put("a", content)
    with storage.open_input(object_store.uri("a")) as file:
        object_store.fail("reset", method="GET")
        file.seek(1_000_000)
        assert file.read(1_200_000) == content[1_000_000:2_200_000]
    ranges = [request.range for request in object_store.requests if request.method == "GET"]
    assert ranges[0] == ranges[1]


@pytest.mark.slow
def test_a_server_that_hangs(object_store, monkeypatch):
    monkeypatch.setattr(s3, "STALL_SECONDS", 1.0)
    object_store.put("a", b"content")
    object_store.fail("hang", times=100)
    with pytest.raises(ConnectionError, match="Less than 1 bytes/sec"):
        storage.read_bytes(f"s3://{object_store.bucket}/a?region=us-east-1")


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [("@none", "no file matches"), ("@none*", "no file matches"), ("@in", "is a directory")],
)
def test_inputs_that_are_not_there(object_store, uri, sentence):
    object_store.put("in/a", b"content")
    uri = uri.replace("@", object_store.uri())
    with pytest.raises((OSError, ValueError), match=sentence) as caught:
        storage.expand_inputs(uri)
    assert uri in str(caught.value)


FINDERS = {
    "shards": lambda uri: find_shards(ReaderConfig(input_patterns=uri, batch_size=1)),
    "items": expand_records,
    "stores": lambda uri: expand_stores([uri]),
}


@pytest.mark.parametrize(
    ("finder", "key"),
    [*itertools.product(["shards", "items"], ["a", "a*", "a@2"]), ("stores", "a@2")],
)
def test_every_reader_says_that_a_bucket_does_not_exist(object_store, finder, key):
    with pytest.raises(FileNotFoundError, match="the bucket does not exist") as caught:
        FINDERS[finder](f"s3://no-such-bucket/{key}")
    assert caught.value.filename == "s3://no-such-bucket"


def test_a_server_that_is_not_there(monkeypatch):
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    uri = "s3://bucket/a?endpoint_override=127.0.0.1:1&scheme=http"
    with pytest.raises(ConnectionError, match=r"in 1 attempt .*:1 ") as caught:
        storage.read_bytes(uri)
    assert caught.value.filename == uri


@pytest.mark.parametrize(
    ("uri", "error", "kind", "sentence"),
    [
        (
            "gs://b/a",
            OSError(
                "google::cloud::Status(UNAVAILABLE: Retry policy exhausted - CURL error [6]=Could"
                " not resolve hostname error_info={reason=, domain=})"
            ),
            ConnectionError,
            r"cannot be reached, .* again and again \(Could not resolve hostname\)",
        ),
        (
            "abfs://c@a.dfs.core.windows.net/b",
            ArrowException("Unknown error: AuthenticationException: Failed to get token.\nSee"),
            PermissionError,
            "no credentials were found",
        ),
        (
            "abfs://c@a.dfs.core.windows.net/b",
            OSError(
                "GetProperties failed for 'http://h/a'. Azure Error: [ServerBusy] 503 Service"
                " Unavailable\n\nRequest ID: 1"
            ),
            OSError,
            r"the object store failed again and again \(503 Service Unavailable\)",
        ),
        (
            "abfs://c@a.dfs.core.windows.net/b",
            OSError(
                "GetProperties failed for 'http://h/a'. Azure Error: [] Error while reading from"
                " network socket. CURLE code: 56. Failure when receiving data from the peer"
            ),
            ConnectionError,
            r"cannot be reached, .* again and again \(Error while reading from network socket\.",
        ),
        (
            "abfs://c@a.dfs.core.windows.net/b",
            OSError(
                "StageBlock failed. Azure Error: [AuthenticationFailed] 403 Server failed to"
                " authenticate the request. Signature not valid in the specified time frame"
            ),
            PermissionError,
            "the credentials have expired",
        ),
        (
            "abfs://c/b",
            OSError("http://h/a?sig=c2VjcmV0&sv=1' Azure Error: [BlobImmutable] 409 Conflict"),
            OSError,
            r"http://h/a\?sig=\.\.\.&sv=1' .* 409 Conflict",
        ),
        (
            "gs://b/a",
            OSError(
                "google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of"
                " Could not create a OAuth2 access token to authenticate the request. - CURL error"
                " [6]=Could not resolve hostname error_info={reason=, domain=})"
            ),
            PermissionError,
            "no credentials were found",
        ),
        ("gs://b/a", OSError("no such thing " * 100), OSError, "no such thing"),
    ],
)
def test_errors_of_other_stores(uri, error, kind, sentence):
    with pytest.raises(kind, match=sentence) as caught, naming(uri):
        raise error
    assert caught.value.filename == uri and len(caught.value.strerror) <= 300
    assert "c2VjcmV0" not in str(caught.value)


def test_an_error_without_a_file_keeps_its_sentence(tmp_path):
    lost = ConnectionError("the head of the cluster is lost")
    with pytest.raises(ConnectionError, match="head of the cluster is lost"), naming(tmp_path):
        raise lost
    full = OSError(28, "No space left on device")
    with pytest.raises(OSError, match="No space left") as caught, naming(tmp_path):
        raise full
    assert caught.value.filename == str(tmp_path)
