"""URIs get the file systems that they, or the environment, ask for."""

import re
import weakref

import pytest

from bert_data import storage
from bert_data.storage.file_systems import MOST_OPEN, SCHEMES, resolve, split_known

COVERS = ("storage/schemes/s3", "storage/schemes/azure", "storage/schemes/google")


def test_the_parts_of_uris(tmp_path):
    uri = "s3://bucket/a?b/%20*?region=us-east-1&endpoint_override=localhost:1"
    system, key = resolve(uri)
    assert (system.type_name, system.region, key) == ("s3", "us-east-1", "bucket/a?b/%20*")
    assert resolve(f"file://{tmp_path}/a%20b")[1] == f"{tmp_path}/a%20b"
    for wrong in ("ftp://a/b", "://", "s3:/a", "C://a"):
        with pytest.raises(ValueError, match="is not a supported path"):
            resolve(wrong)


def test_the_endpoint_of_a_uri_comes_before_that_of_the_environment(object_store, monkeypatch):
    object_store.put("a", b"content")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    host = object_store.endpoint.removeprefix("http://")
    options = f"?endpoint_override={host}&scheme=http"
    assert storage.read_bytes(object_store.uri("a") + options) == b"content"
    options = f"?endpoint_override={object_store.endpoint}"
    assert storage.read_bytes(object_store.uri("a") + options) == b"content"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", object_store.endpoint)
    assert storage.read_bytes(object_store.uri("a")) == b"content"


@pytest.mark.parametrize(
    "uri",
    [
        "s3://AKIA:hunter2@bucket/a",
        "s3://AKIA:hun/hunter2@bucket/a",
        "s3://hunter2@bucket/a",
        "s3://bucket/a?secret_key=hunter2",
        "abfs://container:hunter2@account.dfs.core.windows.net/a",
        "abfss://c@account.dfs.core.windows.net/a?tenant_id=b&client_secret=hunter2",
        "gs://anonymous:hunter2@bucket/a",
        "hdfs://ann:hunter2@namenode:8020/a",
        "https://ann:hunter2@example.com/a",
    ],
)
def test_credentials_in_a_uri_are_refused_and_not_repeated(uri):
    calls = [storage.read_bytes, storage.exists, storage.expand_inputs, storage.remove]
    for call in calls:
        with pytest.raises(ValueError, match=r"with credentials|is not a supported path") as caught:
            call(uri)
        assert "hunter2" not in str(caught.value)
    with pytest.raises(ValueError, match=r"with credentials|is not a supported path") as caught:
        storage.OutputSet(uri, [uri], reads=[], overwrite=False).__enter__()
    assert "hunter2" not in str(caught.value)


def test_users_that_are_no_credentials():
    for uri in ("gs://anonymous@bucket/a@2", "abfs://c@account.dfs.core.windows.net/a:b@2"):
        assert split_known(uri).scheme in uri


@pytest.mark.parametrize("scheme", ["hdfs", "viewfs"])
def test_files_of_hadoop_are_refused_with_a_remedy(scheme):
    for call in (storage.read_bytes, storage.expand_inputs, storage.expand_outputs):
        with pytest.raises(ValueError, match=rf"'{scheme}://n/a' is not .*`hdfs dfs -get`.*FUSE"):
            call(f"{scheme}://n/a")


@pytest.mark.parametrize(
    "key", ["x/../text.txt", "./text.txt", "x/.", "x//text.txt", "/text.txt", "..", "x/..", "x//"]
)
def test_keys_that_name_another_file_on_some_stores(key):
    for scheme in ("s3", "gs", "abfs"):
        with pytest.raises(ValueError, match=r"has a part '', '\.' or '\.\.'"):
            storage.exists(f"{scheme}://bucket/{key}")
        with pytest.raises(ValueError, match=r"has a part '', '\.' or '\.\.'"):
            storage.refuse_inputs([f"{scheme}://bucket/{key}"], [])


def test_keys_with_dots_in_names():
    for key in ("", "x/", ".x/..y/a..", "a./.b"):
        assert split_known(f"s3://bucket/{key}").key == key


@pytest.mark.parametrize(
    ("connection", "blob", "dfs"),
    [
        (
            "AccountName=acme;AccountKey=a2V5;EndpointSuffix=core.windows.net",
            ("https", ".blob.core.windows.net"),
            ("https", ".dfs.core.windows.net"),
        ),
        (
            "BlobEndpoint=https://acme.blob.example.com/;SharedAccessSignature=sv=1&sig=a%3D",
            ("https", ".blob.example.com"),
            ("https", ".dfs.example.com"),
        ),
        (
            "AccountName=acme;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:10000/acme",
            ("http", "127.0.0.1:10000"),
            ("http", "127.0.0.1:10000"),
        ),
    ],
)
def test_connection_strings_of_azure(monkeypatch, connection, blob, dfs):
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection)
    for root in ("abfs://c", "abfss://c@acme.dfs.core.windows.net"):
        system, key = resolve(f"{root}/a b/c")
        options = system.__reduce__()[1][0]
        assert key == "c/a b/c" and options["account_name"] == "acme"
        assert (options["blob_storage_scheme"], options["blob_storage_authority"]) == blob
        assert (options["dfs_storage_scheme"], options["dfs_storage_authority"]) == dfs
        assert options["account_key"] == "a2V5" or options["sas_token"] == "?sv=1&sig=a%3D"
    system, key = resolve("abfs://c@another.dfs.core.windows.net/a")
    assert (system.__reduce__()[1][0]["account_name"], key) == ("another", "c/a")


def test_accounts_of_azure(monkeypatch):
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING", raising=False)
    assert resolve("abfs://account.blob.core.windows.net/c/a")[1] == "c/a"
    with pytest.raises(ValueError, match=r"'abfs://c' cannot be used: .*account name"):
        resolve("abfs://c/a")
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=a;Key=secret")
    with pytest.raises(ValueError, match=r"CONNECTION_STRING must have Acc.*;") as caught:
        resolve("abfs://c/a")
    assert "secret" not in str(caught.value)


def test_an_emulator_of_googles_store(monkeypatch):
    for host in ("http://localhost:9023", "localhost:9023/"):
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", host)
        system, key = resolve("gs://bucket/a")
        options = system.__reduce__()[1][0]
        assert (options["endpoint_override"], options["scheme"]) == ("localhost:9023", "http")
        assert options["anonymous"] and key == "bucket/a"
    system, _ = resolve("gs://bucket/a?endpoint_override=other:1")
    assert system.__reduce__()[1][0]["endpoint_override"] == "other:1"


def test_unknown_options():
    with pytest.raises(ValueError, match="option 'endpoint' must be one of endpoint_override, "):
        resolve("s3://bucket/a?endpoint=localhost:1")


@pytest.mark.slow
def test_many_statuses_cost_few_requests(object_store):
    for number in range(120):
        object_store.put(f"in/{number:03d}", b"x" * number)
    paths = storage.expand_inputs(object_store.uri("in/*"))
    assert paths == [object_store.uri(f"in/{number:03d}") for number in range(120)]
    assert len(object_store.requests) <= 5
    statuses = storage.read_statuses([*paths, object_store.uri("in/none")])
    assert [status and status.num_bytes for status in statuses] == [*range(120), None]
    assert len(object_store.requests) <= 6
    few = storage.read_statuses([paths[7], object_store.uri("none")])
    assert [status and status.num_bytes for status in few] == [7, None]


def test_file_systems_of_many_buckets_are_let_go_of():
    """Their connections would be more than the descriptors that a process may have."""
    options = "?endpoint_override=localhost:9"
    first = weakref.ref(resolve(f"s3://bucket/a{options}")[0])
    assert resolve(f"s3://bucket/b{options}")[0] is first()
    for number in range(MOST_OPEN):
        resolve(f"s3://bucket-{number}/a{options}")
    assert first() is None


def test_one_file_has_one_place(monkeypatch):
    """Under whatever URI, so that no run replaces what it reads."""
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=acme;AccountKey=a2V5")
    for names in (
        ("s3://bucket/a/b", "s3://bucket/a/b/", "s3://bucket/a/b?region=us-east-1"),
        ("gs://bucket/a", "gs://anonymous@bucket/a"),
        (
            "abfs://c/a/b",
            "abfss://c@acme.dfs.core.windows.net/a/b",
            "abfs://acme.blob.core.windows.net/c/a/b",
        ),
    ):
        assert len({storage.real_path(name) for name in names}) == 1
        with pytest.raises(ValueError, match="is an input too"):
            storage.refuse_inputs(names[:1], names[1:])
    others = [
        "s3://bucket/a",
        "s3://bucket/b",
        "s3://bucket/a?endpoint_override=h:1",
        "gs://bucket/a",
    ]
    assert len(set(map(storage.real_path, others))) == 4


def test_only_its_own_file_knows_a_scheme(checkout):
    """Only `Scheme` knows the differences between stores: a new one is one file."""
    names = "|".join(name for name in SCHEMES if name != "file")
    knows = re.compile(rf"""\.type_name\b|["'](?:{names}|gcs)["']|storage\.schemes""")
    found = [
        f"{path}:{number}"
        for path in (checkout / "bert_data").rglob("*.py")
        if path.parent.name != "schemes" and path.name != "file_systems.py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if knows.search(line)
    ]
    assert found == []
