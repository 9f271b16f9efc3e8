"""What a worker process sends back for an item: its result, or its error, as bytes.

    answer(len, "abc")  ->  pickle of (3, None, "")             --open_answer-->  3, None
    answer(len, 3)      ->  pickle of (None, TypeError, note)   --open_answer-->  None, TypeError

An error has a note with the worker's traceback, which pickling would lose. Whatever cannot be
pickled becomes a RuntimeError with its text.
"""

import logging
import pickle
import traceback
from collections.abc import Callable
from typing import Any


def answer(function: Callable[[Any], Any], item: Any) -> bytes:
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
