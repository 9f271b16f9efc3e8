"""The S3 server of the tests: its faults happen, to the requests that they name."""

import http.client
import urllib.error
import urllib.request

import pytest

from tests.object_store import HEADERS


def ask(store, key, method="GET", data=None, headers=None):
    url = f"{store.endpoint}/{store.bucket}/{key}"
    headers = {**HEADERS, **(headers or {})}
    asked = urllib.request.Request(url, data=data, method=method, headers=headers)
    with urllib.request.urlopen(asked, timeout=600) as answer:
        return answer.read()


def test_objects(object_store):
    assert object_store.keys() == [] and object_store.get("a/b") is None
    object_store.put("a/b", b"content")
    object_store.put("c ä", b"more")
    assert object_store.keys() == ["a/b", "c ä"]
    assert object_store.contents("a/") == {"b": b"content"}
    assert object_store.requests == []
    assert ask(object_store, "a/b", headers={"Range": "bytes=1-3"}) == b"ont"
    (request,) = object_store.requests
    assert (request.method, request.key) == ("GET", f"{object_store.bucket}/a/b")
    assert request.range == "bytes=1-3"


@pytest.mark.parametrize(
    ("kind", "code"), [("500", 500), ("503", 503), ("403", 403), ("expired", 400)]
)
def test_errors(object_store, kind, code):
    object_store.put("a", b"content")
    object_store.fail(kind, key="a$", times=1, skip=1)
    assert ask(object_store, "a") == b"content"
    with pytest.raises(urllib.error.HTTPError) as error:
        ask(object_store, "a")
    assert error.value.code == code
    error.value.close()
    assert ask(object_store, "a") == b"content"


@pytest.mark.parametrize("kind", ["reset", "cut"])
def test_broken_connections(object_store, kind):
    object_store.put("a", b"content" * 100_000)
    object_store.fail(kind, method="GET")
    with pytest.raises((OSError, http.client.HTTPException)):
        ask(object_store, "a")
    object_store.fail(kind, method="PUT")
    with pytest.raises((OSError, http.client.HTTPException)):
        ask(object_store, "b", "PUT", b"half" * 100_000)
    assert object_store.keys() == ["a"]
    assert len(ask(object_store, "a")) == 700_000


def test_slow_answers_come_and_hanging_ones_do_not(object_store):
    object_store.put("a", b"content")
    object_store.fail("slow")
    assert ask(object_store, "a") == b"content"
    object_store.fail("hang")
    url = f"{object_store.endpoint}/{object_store.bucket}/a"
    with pytest.raises(TimeoutError):
        urllib.request.urlopen(url, timeout=0.2)
