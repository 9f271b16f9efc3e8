"""Errors and warnings of the stages, whose sentences name flags, as programs have them: options.

"a.jsonl:3: no field 'text' (--text_field)"      ->  "a.jsonl:3: no field 'text' (text_field)"
"needs an end (--noappend_eod)"                  ->  "needs an end (append_eod=False)"
"""

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from logging import LogRecord
from typing import Any, TypeVar

from absl import logging

from bert_data.errors import CorruptDataError

_FLAG = re.compile(r"(?<![^\s(\"'])--(?P<no>no(?=append_|prepend_))?(?P<name>[a-z]\w*)")

Function = TypeVar("Function", bound=Callable[..., Any])


def with_python_errors(function: Function) -> Function:
    """Let a function's errors and log lines name options; kinds and traces stay the same.

    All lines of absl's logger are changed while a call runs, also the program's own.
    """

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            with _options_in_log():
                return function(*arguments, **options)
        except (ValueError, OSError, CorruptDataError) as error:
            error.args = tuple(_as_options(each) for each in error.args)
            if isinstance(error, OSError) and error.strerror is not None:
                error.strerror = _as_options(error.strerror)
            raise

    return call  # type: ignore[return-value]


@contextlib.contextmanager
def _options_in_log() -> Iterator[None]:
    logger = logging.get_absl_logger()
    rename_flags = functools.partial(_rename_flags)  # each call's own: calls may overlap
    logger.addFilter(rename_flags)
    try:
        yield
    finally:
        logger.removeFilter(rename_flags)


def _rename_flags(record: LogRecord) -> bool:
    record.msg = _as_options(record.msg)
    if isinstance(record.args, tuple):
        record.args = tuple(map(_as_options, record.args))
    return True


def _as_options(value: Any) -> Any:
    """Return a sentence with options for flags; other values as they are."""
    return _FLAG.sub(_option, value) if isinstance(value, str) else value


def _option(match: re.Match[str]) -> str:
    return f"{match['name']}=False" if match["no"] else match["name"]
