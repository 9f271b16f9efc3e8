"""What a worker on another machine does for an item: checks its node, calls the function, answers.

    call(session, key, function, item)  ->  pickle of ([log messages], answer)

The driver is the process that runs the command. Before its first item a worker makes sure that its
node has the driver's code, as other code may write other bytes, and the driver's storage: it reads
a marker, a file that the driver has written to the folder of the run.
"""

import contextlib
import dataclasses
import functools
import hashlib
import logging
import os
import pickle
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import bert_data
from bert_data import progress
from bert_data.storage import escape, glob, open_marker, read_bytes, remove_abandoned
from bert_data.work.answers import answer, open_answer, picklable, pickle_error

MAX_LOGGED = 1000
"""Log messages of one task that reach the driver."""

_LOGGER = "absl"
_TOKEN_BYTES = 16
_MAX_DEPTH = 4  # of the folders of this package


@dataclasses.dataclass(frozen=True, kw_only=True)
class Session:
    """What a worker must know of its driver.

    Attributes:
      folder: where the driver works; relative paths begin there.
      name_node: returns the name of a worker's node, for errors.
      code: digest of this package.
      log_level: of the driver's log.
      marker: path of the marker; None: there is none.
      token: what the marker holds.
    """

    folder: str
    name_node: Callable[[], str]
    code: str
    log_level: int
    marker: str | None = None
    token: bytes = b""


class NodeError(OSError):
    """A node of the cluster cannot do the work."""


def call(session: Session, key: str, function: bytes, item: bytes) -> bytes:
    """Call a function on an item, both pickled.

    Args:
      key: identifies the function.
      function, item: pickled.
    """
    with _log_messages(session.log_level) as messages:
        try:
            _prepare(session)
            message = answer(_function(key, _Unhashed(function)), pickle.loads(item))
        except Exception as error:
            message = pickle_error(error)
    return pickle.dumps((messages, message))


class _Unhashed:
    """Bytes that are no part of a cache's key."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unhashed)

    def __hash__(self) -> int:
        return 0


@functools.lru_cache(maxsize=2)
def _function(key: str, pickled: _Unhashed) -> Callable[[Any], Any]:
    """Return a function; tokenizers in it take long to unpickle, so it is kept for other items."""
    del key
    function: Callable[[Any], Any] = pickle.loads(pickled.data)
    return function


@functools.cache
def _prepare(session: Session) -> None:
    """Go to the driver's folder, and check that the driver's storage is here, too.

    Raises:
      NodeError: it is not, or the code is another.
    """
    progress.keep_silent()
    with contextlib.suppress(OSError):  # absolute paths and URIs need no folder
        os.chdir(session.folder)
    if digest_of_code() != session.code:
        raise NodeError(
            f"node {session.name_node()} has another bert_data than this command, in"
            f" {os.path.dirname(bert_data.__file__)}: all nodes must have the same files of it"
        )
    if session.marker is None:
        return
    where = os.path.dirname(session.marker) or session.folder
    try:
        token = read_bytes(session.marker)
    except OSError as error:
        raise NodeError(
            f"node {session.name_node()} does not see {where} ({error.strerror or error}): all"
            " nodes must have the storage of the output, and of the input, under the same path"
        ) from None
    if token != session.token:
        node = session.name_node()
        raise NodeError(f"node {node} has another {where} than this command: it must be shared")


@functools.cache
def digest_of_code() -> str:
    """Return a digest of the files of this package."""
    package = escape(os.path.dirname(bert_data.__file__))
    digest = hashlib.sha256()
    for depth in range(_MAX_DEPTH):
        for path in glob(f"{package}/{'*/' * depth}*.py"):
            digest.update(read_bytes(path))
    return digest.hexdigest()


def begin_session(
    folder: str | None, stack: contextlib.ExitStack, name_node: Callable[[], str]
) -> Session:
    """Describe this process for workers, and write the marker that they read.

    Args:
      folder: that all nodes must see; None: there is no marker.
      stack: removes the marker at its end.
      name_node: see `Session`.
    """
    marker, token = None, secrets.token_bytes(_TOKEN_BYTES)
    if folder is not None:
        remove_abandoned(folder)
        marker = stack.enter_context(open_marker(folder, token))
    return Session(
        folder=os.getcwd(),
        name_node=name_node,
        code=digest_of_code(),
        log_level=logging.getLogger(_LOGGER).getEffectiveLevel(),
        marker=marker,
        token=token,
    )


def open_message(data: bytes) -> tuple[Any, BaseException | None]:
    """Return the result and the error of what `call` returned; its messages go to the log."""
    messages, message = pickle.loads(data)
    for record in messages:
        logging.getLogger(record.name).handle(record)
    return open_answer(pickle.loads(message))


@contextlib.contextmanager
def _log_messages(level: int) -> Iterator[list[logging.LogRecord]]:
    """Collect what is logged while the block runs."""
    handler = _Collector()
    logging.getLogger(_LOGGER).setLevel(level)
    logging.getLogger().addHandler(handler)
    try:
        yield handler.records
    finally:
        logging.getLogger().removeHandler(handler)


class _Collector(logging.Handler):
    """Keeps log messages, until there are too many."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        if len(self.records) < MAX_LOGGED:
            self.records.append(picklable(record))
