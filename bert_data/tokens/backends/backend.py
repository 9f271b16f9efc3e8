"""The contract of backends: texts go in, arrays of ids come out.

    backend.encode(["the cat", "", "sat"])  ->  ids int32 [5 9 7]    splits int64 [0 2 2 3]

A backend adds no special tokens, truncates and pads nothing; an added token that stands in a text
becomes its id. It is made from the content of a file, in each process anew.
"""

import abc
import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Encoded = tuple[NDArray[np.int32], NDArray[np.int64]]
"""Ids of all texts, end to end, and their row splits into texts."""


class Backend(abc.ABC):
    """A tokenizer of one file; any number of threads may use it at a time."""

    @abc.abstractmethod
    def encode(self, texts: Sequence[str], /) -> Encoded:
        """Return the ids of texts, which UTF-8 can encode.

        Raises:
          ValueError: the file's rules do not apply to a text; the message is only the reason.
        """


class UnsupportedError(ValueError):
    """A backend cannot run the tokenizer of a file; the message is only the reason."""


@contextlib.contextmanager
def library_errors(kind: type[ValueError] = ValueError) -> Iterator[None]:
    """Turn what a library raises into an error whose message is only the reason.

    A panic of a library in Rust is no `Exception`, and only its message says what it is.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        raise kind(one_line(error)) from None


def one_line(error: BaseException, limit: int = 200) -> str:
    """Return the message of a library's error, whose lines may quote the whole file."""
    words = " ".join(str(error).split())
    return words if len(words) <= limit else words[: limit - 3] + "..."
