"""From a kernel's Python to machine code, by numba's C callbacks and LLVM.

    kernel(values, total)  --numba-->  void entry(int64 *words, int64 *results)  --LLVM-->  code

Only documented parts of numba are used: a C callback, the name of its symbol and its LLVM code,
which llvmlite optimizes once more. The callback loads the kernel's arguments from words
(`calling.py`) and stores its results as words. This module imports numba, so it is imported only to
compile.
"""

import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
import numba
from absl import logging
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from bert_data.kernels.declaring import Declared, global_names
from bert_data.kernels.machine_code import MachineCode, make_target

_SETTINGS = {"error_model": "numpy", "boundscheck": False}
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Prefixes of functions that raise exceptions or free arrays, which kernels never do.
_UNREACHABLE = ("numba_", "NRT_")
_COUNTING = ("NRT_incref", "NRT_decref")

_lock = threading.RLock()
_has_said = False


def compile_kernel(declared: Declared, arguments: tuple[Any, ...]) -> MachineCode:
    """Compile a kernel for arguments of these types."""
    global _has_said
    with _lock:
        if not _has_said:
            logging.info("compiling kernels that are used for the first time (once)")
            _has_said = True
        results: list[tuple[str, bool]] = []
        entry = _make_entry(declared, tuple(map(numba.typeof, arguments)), results)
        pointer = numba.types.voidptr
        callback = numba.cfunc(numba.void(pointer, pointer), **_SETTINGS)(entry)
        module = _optimize(callback.inspect_llvm(), callback.native_name)
        declarations = (function.name for function in module.functions if function.is_declaration)
        letters, is_tuple = results[-1]
        return MachineCode(
            object_code=make_target().emit_object(module),
            symbol=callback.native_name,
            unreachable=tuple(name for name in declarations if name.startswith(_UNREACHABLE)),
            result=letters,
            is_tuple=is_tuple,
        )


def _optimize(assembly: str, entry: str) -> Any:
    """Return LLVM's module, stripped of reference counts and optimized around one entry.

    numba counts the references to an array wherever it is passed on. A kernel holds no array that
    its caller does not hold, and `_read_array` gives it none that can be counted, so the counting
    does nothing, except that it keeps LLVM from inlining functions and vectorizing loops: here the
    functions that count become empty, and LLVM removes their calls.
    """
    module = llvm.parse_assembly(assembly)
    for function in list(module.functions):
        if function.is_declaration and function.name in _COUNTING:
            (kind,) = (str(argument.type) for argument in function.arguments)
            empty = f"define void @{function.name}({kind} %0) alwaysinline {{ ret void }}"
            module.link_in(llvm.parse_assembly(empty))
    for function in module.functions:
        if not function.is_declaration and function.name != entry:
            function.linkage = llvm.Linkage.internal
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    builder = llvm.create_pass_builder(make_target(), options)
    builder.getModulePassManager().run(module, builder)
    return module


def _make_entry(
    declared: Declared, types: tuple[Any, ...], results: list[tuple[str, bool]]
) -> Callable[[Any, Any], None]:
    """Return the callback: (address of the arguments' words, address of the results' words)."""
    load, store = make_load(types), make_store(results)
    kernel = numba.njit(**_SETTINGS)(make_twin(declared))

    def entry(words: Any, result: Any) -> None:
        store(result, kernel(*load(words)))

    return entry


def make_twin(declared: Declared) -> FunctionType:
    """Return the function as written, with its callees replaced by their counterparts in numba."""
    function = declared.py_func
    scope = dict(function.__globals__)
    for name in global_names(function.__code__):
        if isinstance(scope.get(name), Declared):
            scope[name] = _compilable(scope[name])
    twin = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    twin.__module__, twin.__qualname__ = function.__module__, function.__qualname__
    return twin


def _compilable(declared: Declared) -> Any:
    if declared.numba_object is None:
        if declared.is_intrinsic:
            declared.numba_object = intrinsic(declared.py_func)
        else:
            declared.numba_object = numba.njit(**_SETTINGS, **_NO_WRAPPERS)(make_twin(declared))
    return declared.numba_object


_WORD = ir.IntType(64)


class _MemoryWords:
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
            return _read(loaded, context, builder, _MemoryWords(builder, values[0]))

        return loaded(address), generate

    return load


def _read(kind: Any, context: Any, builder: Any, words: _MemoryWords) -> Any:
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


def _read_array(kind: Any, context: Any, builder: Any, words: _MemoryWords) -> Any:
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

    `struct`'s letters of the words, and whether they are a tuple, are appended to `results` once
    numba knows the kernel's type.
    """

    @intrinsic
    def store(_: Any, address: Any, result: Any) -> Any:
        is_tuple = isinstance(result, types.BaseTuple)
        members = list(result) if is_tuple else [result] if result != types.none else []
        results.append(("".join(map(_letter, members)), is_tuple))

        def generate(context: Any, builder: Any, __: Any, values: Any) -> Any:
            words = _MemoryWords(builder, values[0])
            for at, member in enumerate(members):
                value = builder.extract_value(values[1], at) if is_tuple else values[1]
                words.write(_to_word(member, builder, value))
            return context.get_dummy_value()

        return types.none(address, result), generate

    return store


def _letter(kind: Any) -> str:
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
