"""The two ends of a compiled kernel: its arguments from words, its results to words.

    address, size, itemsize, shape, strides, 7  --load-->  (array, 7)
    (3, 2.5, True)                              --store-->  3, bits of 2.5, 1

A word is 64 bits; `arguments.py` defines which words represent an argument.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_WORD = ir.IntType(64)


class _Words:
    """Words in memory, read or written one after another."""

    def __init__(self, builder: Any, pointer: Any) -> None:
        self._builder = builder
        self._pointer = builder.bitcast(pointer, _WORD.as_pointer())
        self._at = 0

    def _next(self) -> Any:
        self._at += 1
        return self._builder.gep(self._pointer, [_WORD(self._at - 1)])

    def read(self) -> Any:
        return self._builder.load(self._next())

    def write(self, word: Any) -> None:
        self._builder.store(word, self._next())


def make_load(arguments: tuple[Any, ...]) -> Any:
    """Return the function that loads a kernel's arguments: (address of words) -> tuple."""
    loaded = types.Tuple(arguments)

    @intrinsic
    def load(_: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, __: Any, values: Any) -> Any:
            return _read(loaded, context, builder, _Words(builder, values[0]))

        return loaded(address), generate

    return load


def _read(kind: Any, context: Any, builder: Any, words: _Words) -> Any:
    """Return the next value, of a numba type, read from as many words as it takes."""
    if isinstance(kind, types.BaseTuple):
        members = [_read(member, context, builder, words) for member in kind]
        return context.make_tuple(builder, kind, members)
    if isinstance(kind, types.Array):
        return _read_array(kind, context, builder, words)
    word = words.read()
    if isinstance(kind, types.Boolean):
        return builder.icmp_unsigned("!=", word, _WORD(0))
    if isinstance(kind, types.Float):
        number = builder.bitcast(word, ir.DoubleType())
        return number if kind.bitwidth == _WORD.width else builder.fptrunc(number, ir.FloatType())
    return word if kind.bitwidth == _WORD.width else builder.trunc(word, ir.IntType(kind.bitwidth))


def _read_array(kind: Any, context: Any, builder: Any, words: _Words) -> Any:
    """Return an array whose memory its caller owns: references to it are not counted."""
    array = cgutils.create_struct_proxy(kind)(context, builder)
    array.meminfo = ir.Constant(array.meminfo.type, None)
    array.parent = ir.Constant(array.parent.type, None)
    array.data = builder.inttoptr(words.read(), array.data.type)
    array.nitems, array.itemsize = words.read(), words.read()
    array.shape = cgutils.pack_array(builder, [words.read() for _ in range(kind.ndim)], _WORD)
    array.strides = cgutils.pack_array(builder, [words.read() for _ in range(kind.ndim)], _WORD)
    return array._getvalue()


def make_store(results: list[tuple[str, bool]]) -> Any:
    """Return the function that stores a kernel's results: (address, results) -> nothing.

    Args:
      results: `struct`'s letters of the words, and whether they are a tuple, are appended to it
        once numba knows the kernel's type.
    """

    @intrinsic
    def store(_: Any, address: Any, result: Any) -> Any:
        is_tuple = isinstance(result, types.BaseTuple)
        members = list(result) if is_tuple else [result] if result != types.none else []
        results.append(("".join(map(_letter, members)), is_tuple))

        def generate(context: Any, builder: Any, __: Any, values: Any) -> Any:
            words = _Words(builder, values[0])
            for at, member in enumerate(members):
                value = builder.extract_value(values[1], at) if is_tuple else values[1]
                words.write(_to_word(member, builder, value))
            return context.get_dummy_value()

        return types.none(address, result), generate

    return store


def _letter(kind: Any) -> str:
    """Return the letter by which `struct` reads a number's word."""
    if isinstance(kind, types.Boolean):
        return "?7x"
    if isinstance(kind, types.Float):
        return "d"
    if isinstance(kind, types.Integer):
        return "q" if kind.signed else "Q"
    raise TypeError(f"a kernel returns numbers and truth values, not {kind}")


def _to_word(kind: Any, builder: Any, value: Any) -> Any:
    if isinstance(kind, types.Float):
        if kind.bitwidth != _WORD.width:
            value = builder.fpext(value, ir.DoubleType())
        return builder.bitcast(value, _WORD)
    if value.type == _WORD:
        return value
    is_signed = isinstance(kind, types.Integer) and kind.signed
    return builder.sext(value, _WORD) if is_signed else builder.zext(value, _WORD)
