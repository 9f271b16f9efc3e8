"""A server that speaks S3 on loopback, in this process, into which tests put faults.

    store.put("in/a.txt", b"...")
    store.fail("503", method="GET", times=2)       the next two GETs of any key
    main(["--input_file", store.uri("in/a.txt")])  s3://bucket-7/in/a.txt
    store.keys(), store.get("out/t"), store.requests

The fixture `object_store` of conftest.py gives each test a fresh bucket. Credentials and the
endpoint are in the environment, so programs that a test starts reach the server, too.
"""

import contextlib
import dataclasses
import itertools
import os
import re
import socket
import struct
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar
from urllib.parse import quote, unquote

KINDS = ("500", "503", "403", "expired", "slow", "reset", "cut", "hang")
HEADERS = {
    "Authorization": "AWS a-key:a-signature",  # the server checks only that there is one
    "Content-Type": "application/octet-stream",
}
_OWN = {**HEADERS, "X-Test": "1"}  # of requests that meet no faults
_SLOW_SECONDS = 0.3
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@dataclasses.dataclass(frozen=True)
class Request:
    """The requests that the server got.

    Attributes:
      method: GET, PUT, ...
      key: with the bucket, "bucket-7/in/a.txt".
      query: "partNumber=1&uploadId=..."
      range: the header, "bytes=10-14"; "" without.
    """

    method: str
    key: str
    query: str
    range: str


@dataclasses.dataclass
class Fault:
    """A fault of the next requests that fit.

    Attributes:
      kind: a status; "expired" credentials; "slow" answers; "reset", a connection that is reset in
        the middle of the request's body, or of the answer's if the request has none; "cut", the
        same with an orderly end; "hang", no answer until the test ends.
      method, key, query: of the requests; key and query are searched as regular expressions.
      times: how many requests.
      skip: how many that fit go well before.
    """

    kind: str
    method: str
    key: str
    query: str
    times: int
    skip: int

    def meets(self, request: Request) -> bool:
        fits = self.method in ("", request.method) and re.search(self.key, request.key)
        if not (fits and re.search(self.query, request.query) and self.times):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class ObjectStore:
    """A bucket of the server.

    Attributes:
      endpoint: the server's, "http://127.0.0.1:5000".
      bucket: its name.
      scheme: of its URIs.
      requests: all since `clear`, but the tests' own.
    """

    _numbers = itertools.count()
    scheme = "s3"

    def __init__(self, server: "Server", bucket: str = "") -> None:
        self.endpoint, self._server = server.endpoint, server
        self.bucket = bucket or f"bucket-{next(self._numbers)}"
        self.requests = server.requests
        self._ask("PUT")

    def uri(self, key: str = "") -> str:
        return f"{self.scheme}://{self.bucket}/{key}"

    def fail(
        self,
        kind: str,
        *,
        method: str = "",
        key: str = "",
        query: str = "",
        times: int = 1,
        skip: int = 0,
    ) -> None:
        """Make the next `times` requests that fit fail."""
        assert kind in KINDS
        self._server.fail(Fault(kind, method, key, query, times, skip))

    def release(self) -> None:
        """End what hangs."""
        self._server.release()

    def clear(self) -> None:
        """End all faults, and forget the requests."""
        self._server.clear()

    def put(self, key: str, data: bytes) -> None:
        self._ask("PUT", key, data)

    def remove(self, key: str) -> None:
        self._ask("DELETE", key)

    def get(self, key: str) -> bytes | None:
        """The object's bytes; None if there is none."""
        try:
            return self._ask("GET", key)
        except urllib.error.HTTPError:
            return None

    def keys(self, prefix: str = "") -> list[str]:
        """The keys of all objects, sorted; the first 1,000."""
        listing = self._ask("GET", query=f"?list-type=2&encoding-type=url&prefix={quote(prefix)}")
        return sorted(unquote(key) for key in re.findall("<Key>(.*?)</Key>", listing.decode()))

    def contents(self, prefix: str = "") -> dict[str, bytes | None]:
        """All objects whose keys begin so, by the rest of their keys."""
        return {key.removeprefix(prefix): self.get(key) for key in self.keys(prefix)}

    def uploads(self) -> list[str]:
        """The keys of uploads in parts that have not ended."""
        return re.findall("<Key>(.*?)</Key>", self._ask("GET", query="?uploads").decode())

    def wait_for(self, method: str, *, key: str = "", query: str = "", count: int = 1) -> None:
        """Wait until `count` requests that fit have arrived; fails after ten minutes."""
        arrived = self._server.wait_for(Fault("", method, key, query, -1, 0), count)
        assert arrived, f"the server got {self.requests[-5:]}"

    def _ask(self, method: str, key: str = "", data: bytes | None = None, query: str = "") -> bytes:
        url = f"{self.endpoint}/{self.bucket}" + (f"/{quote(key)}" if key else query)
        asked = urllib.request.Request(url, data=data, method=method, headers=_OWN)
        with _opener.open(asked) as answer:
            return answer.read()


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Server:
    """The server, on a thread of its own.

    Attributes:
      endpoint: its address.
      requests: that arrived.
      faults: those to come.
      arrived: notified of each request.
    """

    errors: ClassVar = {  # by kind: the status, and its name in the answer's body
        "500": ("500 Internal Server Error", "InternalError"),
        "503": ("503 Service Unavailable", "SlowDown"),
        "403": ("403 Forbidden", "AccessDenied"),
        "expired": ("400 Bad Request", "ExpiredToken"),
    }

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.arrived = threading.Condition()
        self._released = threading.Event()
        self._server = _quiet_server(self._answer)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self._app = self.open_application()
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def open_application(self) -> Application:
        """The application that answers the requests that meet no faults."""
        from moto.server import DomainDispatcherApplication, create_backend_app

        application: Application = DomainDispatcherApplication(create_backend_app)
        return application

    def environment(self) -> dict[str, str]:
        """The environment that programs need to reach the server."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "a-key",
            "AWS_SECRET_ACCESS_KEY": "a-secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_MAX_ATTEMPTS": "3",
        }

    def fail(self, fault: Fault) -> None:
        """Add a fault."""
        self.faults.append(fault)

    def wait_for(self, probe: Fault, count: int) -> bool:
        """Wait until `count` requests that fit have arrived, or ten minutes have passed."""
        with self.arrived:
            return self.arrived.wait_for(
                lambda: sum(map(probe.meets, self.requests)) >= count, timeout=600
            )

    def clear(self) -> None:
        """End all faults, and forget the requests."""
        self.faults.clear()
        self.requests.clear()

    def release(self) -> None:
        """End what hangs."""
        self._released.set()
        self._released = threading.Event()

    def close(self) -> None:
        self.release()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if "HTTP_X_TEST" in environ:
            return self._app(environ, start)
        key, query = environ["PATH_INFO"].lstrip("/"), environ["QUERY_STRING"]
        request = Request(environ["REQUEST_METHOD"], key, query, environ.get("HTTP_RANGE", ""))
        with self.arrived:
            self.requests.append(request)
            fault = next((each for each in self.faults if each.meets(request)), None)
            self.arrived.notify_all()
        if fault is None:
            return self._app(environ, start)
        return self._fail(fault.kind, environ, start)

    def _fail(
        self, kind: str, environ: dict[str, Any], start: Callable[..., Any]
    ) -> Iterable[bytes]:
        # pyarrow sends parts of uploads in chunks.
        length = environ.get("HTTP_X_AMZ_DECODED_CONTENT_LENGTH", environ.get("CONTENT_LENGTH"))
        num_bytes, body = int(length or 0), environ["wsgi.input"]
        if kind in self.errors:
            body.read(-1 if "HTTP_TRANSFER_ENCODING" in environ else num_bytes)
            status, code = self.errors[kind]
            text = f"<Error><Code>{code}</Code><Message>put in by a test</Message></Error>"
            given = [("Content-Length", str(len(text))), ("x-ms-error-code", code)]
            is_head = environ["REQUEST_METHOD"] == "HEAD"
            start(status, given if is_head else [("Content-Type", "application/xml"), *given])
            return [b"" if is_head else text.encode()]
        if kind in ("slow", "hang"):
            self._released.wait(_SLOW_SECONDS if kind == "slow" else 600)
            return self._app(environ, start)
        connection = environ["werkzeug.socket"]
        if num_bytes or environ["REQUEST_METHOD"] == "HEAD":
            body.read(num_bytes // 2)
            _break(connection, kind)
        return _half(b"".join(self._app(environ, start)), connection, kind)


def _half(body: bytes, connection: socket.socket, kind: str) -> Iterator[bytes]:
    """Yield half of an answer, then break the connection."""
    yield body[: len(body) // 2]
    _break(connection, kind)


def _break(connection: socket.socket, kind: str) -> None:
    if kind == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.close(connection.detach())
    raise ConnectionResetError("put in by a test")


def _quiet_server(app: Callable[..., Iterable[bytes]]) -> Any:
    """A server that says nothing about requests, nor about connections that a fault broke."""
    from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

    class Handler(WSGIRequestHandler):
        def log_request(self, *_: Any) -> None:
            pass

        def handle(self) -> None:
            with contextlib.suppress(OSError):
                super().handle()

        def make_environ(self) -> Any:
            return super().make_environ() | {"test.headers": list(self.headers.items())}

        def handle_expect_100(self) -> bool:
            # A client whose body comes in chunks waits for a second if it is not told to go on.
            if int(self.headers.get("Content-Length") or 0) or "Transfer-Encoding" in self.headers:
                super().handle_expect_100()
            del self.headers["Expect"]  # else werkzeug answers it once more
            return True

    class Server(ThreadedWSGIServer):
        daemon_threads = True

        def log(self, *_: Any) -> None:
            pass

    return Server("127.0.0.1", 0, app, Handler)
