"""A kernel's arguments as its machine code takes them: words of 64 bits, one after another.

    (array, 7, Pair(array, 1.5))  ->  their types, by which machine code is kept
                                  ->  words: address, size, itemsize, shape, strides, 7, ...

`words.py` compiles the code that puts arrays and tuples together again.
"""

import ctypes
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

_LETTERS = {"b": "?7x", "i": "q", "u": "Q", "f": "d"}  # `struct`'s, by the kind of a NumPy dtype
_NUMBERS: dict[type, str] = {bool: "?7x", int: "q", float: "d"}
_ARRAY_WORDS = 3  # address, size and itemsize; shape and strides follow


class Constants:
    """A tuple that many calls take as an argument: its words and types are computed once.

    Attributes:
      values: the tuple; its arrays stay where they are.
      words: see `flatten`.
      kind: see `type_of`.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = tuple(values)
        self.words: list[Any] = []
        flatten(self.values, self.words)
        self.kind = type_of(self.values)

    def __reduce__(self) -> tuple[Any, ...]:
        return Constants, (self.values,)


def _layout(flags: Any) -> str:
    if flags.c_contiguous:
        return "C"
    return "F" if flags.f_contiguous else "A"


def type_of(value: Any) -> Hashable:
    """Return what distinguishes an argument from those that need other machine code.

    Raises:
      TypeError: kernels do not take this value.
    """
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, _layout(flags), flags.writeable, flags.aligned
    if isinstance(value, Constants):
        return value.kind
    if isinstance(value, tuple):
        return type(value), getattr(value, "_fields", None), *map(type_of, value)
    if isinstance(value, np.generic) and value.dtype.kind in _LETTERS:
        return value.dtype
    if type(value) in _NUMBERS:
        return type(value).__name__
    raise TypeError(f"a kernel takes arrays, numbers and tuples of them, not {value!r}")


def flatten(values: Iterable[Any], out: list[Any]) -> None:
    """Append the numbers that represent arguments, one per word, to `out`."""
    for value in values:
        if isinstance(value, np.ndarray):
            out += (_address(value), value.size, value.itemsize, *value.shape, *value.strides)
        elif isinstance(value, Constants):
            out += value.words
        elif isinstance(value, tuple):
            flatten(value, out)
        else:
            out.append(value)


def _address(array: Any) -> int:
    """Return where an array begins, in a fifth of the time if ctypes takes it."""
    if array.size and array.flags.writeable and array.flags.c_contiguous:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    return int(array.__array_interface__["data"][0])


def letters(values: Iterable[Any]) -> str:
    """Return how `struct` packs the numbers that `flatten` appends."""
    parts: list[str] = []
    for value in values:
        if isinstance(value, np.ndarray):
            parts.append("q" * (_ARRAY_WORDS + 2 * value.ndim))
        elif isinstance(value, tuple):
            parts.append(letters(value))
        elif isinstance(value, np.generic):
            parts.append(_LETTERS[value.dtype.kind])
        else:
            parts.append(_NUMBERS[type(value)])
    return "".join(parts)
