"""Calls in other processes: their answers, and, on other machines, checks of the node before them.

    answer(len, "abc")  ->  pickle of (3, None, "")             --open_answer-->  3, None
    answer(len, 3)      ->  pickle of (None, TypeError, note)   --open_answer-->  None, TypeError
    call(session, key, function, item)  ->  pickle of ([log messages], answer)

An error has a note with the worker's traceback, which pickling would lose. Whatever cannot be
pickled becomes a RuntimeError with its text. The driver is the process that runs the command.
Before its first item a worker on another machine makes sure that its node has the driver's code, as
other code may write other bytes, and the driver's storage: it reads a marker, a file that the
driver has written to the folder of the run.
"""

import contextlib
import dataclasses
import functools
import hashlib
import logging
import os
import pickle
import secrets
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import bert_data
from bert_data import progress
from bert_data.storage import escape, glob, open_marker, read_bytes, remove_abandoned
from bert_data.work.executor import Function

MAX_LOGGED = 1000
"""Log messages of one task that reach the driver."""

_LOGGER = "absl"
_TOKEN_BYTES = 16
_MAX_DEPTH = 4  # of the folders of this package


@dataclasses.dataclass(frozen=True, kw_only=True)
class Session:
    """The part of the driver's state that a worker needs.

    Attributes:
      folder: where the driver works; relative paths begin there.
      name_node: returns the name of a worker's node, for errors.
      code: digest of this package.
      marker: path of the marker; None: there is none.
      token: the marker's content.
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
    """Call a function on an item, both pickled; the key identifies the function."""
    with _log_messages(session.log_level) as messages:
        try:
            _prepare(session)
            message = answer(_function(key, function), pickle.loads(item))
        except Exception as error:
            message = pickle_error(error)
    return pickle.dumps((messages, message))


_functions: dict[str, Function] = {}  # the last two: tokenizers in them take long to unpickle


def _function(key: str, pickled: bytes) -> Function:
    if key not in _functions:
        for old in list(_functions)[:-1]:
            del _functions[old]
        _functions[key] = pickle.loads(pickled)
    return _functions[key]


@functools.cache
def _prepare(session: Session) -> None:
    """Go to the driver's folder, and check that the driver's code and storage are here, too."""
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
    """Describe this process for workers.

    Args:
      folder: where to write the marker, which all nodes must see; None: there is none.
      stack: removes the marker at its end.
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


def answer(function: Function, item: Any) -> bytes:
    """Call a function on an item, and pickle what comes of it."""
    try:
        return pickle.dumps((function(item), None, ""))
    except Exception as error:
        return pickle_error(error)


def pickle_error(error: Exception) -> bytes:
    """Pickle an answer that is an error."""
    note = f"In a worker process:\n{''.join(traceback.format_exception(error))}"
    try:
        pickled = pickle.dumps((None, error, note))
        pickle.loads(pickled)  # some cannot be rebuilt from their pickles
    except Exception:
        shown = "".join(traceback.format_exception_only(error)).strip()
        return pickle.dumps((None, RuntimeError(shown), note))
    return pickled


def open_answer(message: tuple[Any, BaseException | None, str]) -> tuple[Any, BaseException | None]:
    """Return the result and the error of an unpickled answer; the error gets its note."""
    result, error, note = message
    if error is not None and note:
        error.add_note(note)
    return result, error


def picklable(record: logging.LogRecord) -> logging.LogRecord:
    """Return a log message as its text alone: its arguments and error need not be picklable."""
    record.msg = logging.Formatter().format(record)
    record.args, record.exc_info, record.exc_text = None, None, None
    return record
