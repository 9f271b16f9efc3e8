"""Errors of the stages, whose sentences name flags, as programs have them: options.

"a.jsonl:3: no field 'text' (--text_field)"      ->  "a.jsonl:3: no field 'text' (text_field)"
"needs an end (--noappend_eod)"                  ->  "needs an end (append_eod=False)"
"""

import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

from bert_data.errors import CorruptDataError

_FLAG = re.compile(r"(?<![^\s(\"'])--(?P<no>no(?=append_|prepend_))?(?P<name>[a-z]\w*)")

Function = TypeVar("Function", bound=Callable[..., Any])


def with_python_errors(function: Function) -> Function:
    """Let a function's errors name options in place of flags; kinds and traces stay the same."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except (ValueError, OSError, CorruptDataError) as error:
            error.args = tuple(_as_options(each) for each in error.args)
            if isinstance(error, OSError) and error.strerror is not None:
                error.strerror = _as_options(error.strerror)
            raise

    return call  # type: ignore[return-value]


def _as_options(value: Any) -> Any:
    """Return a sentence with options for flags; other values as they are."""
    return _FLAG.sub(_option, value) if isinstance(value, str) else value


def _option(match: re.Match[str]) -> str:
    return f"{match['name']}=False" if match["no"] else match["name"]
