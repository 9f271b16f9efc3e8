"""Machine code: bytes that LLVM's own linker links into the process, and the function in them."""

import ctypes
import dataclasses
import functools
import itertools
import json
import os
import struct
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm
from absl import logging

_JIT_NAMES = itertools.count()


@dataclasses.dataclass(frozen=True, kw_only=True)
class MachineCode:
    """A compiled kernel: void symbol(const int64 *arguments, int64 *results).

    Attributes:
      unreachable: functions that it refers to and never calls, unless a kernel raises an exception.
      result: `struct`'s letters of what it returns, one word each; "" for None.
    """

    object_code: bytes
    symbol: str
    unreachable: tuple[str, ...]
    result: str
    is_tuple: bool

    def to_bytes(self) -> bytes:
        """Return one line of JSON, then the object code."""
        head = {name: value for name, value in vars(self).items() if name != "object_code"}
        return json.dumps(head).encode() + b"\n" + self.object_code

    @classmethod
    def from_bytes(cls, content: bytes) -> "MachineCode":
        """Read what `to_bytes` returned, which must be intact: damage is not noticed here."""
        line, _, object_code = content.partition(b"\n")
        head = json.loads(line)
        head["unreachable"] = tuple(head["unreachable"])
        return cls(object_code=object_code, **head)


def make_target() -> Any:
    """Return LLVM's code generator for this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        jit=True,
    )


@functools.cache
def _jit() -> Any:
    return llvm.create_lljit_compiler(make_target())


@functools.cache
def processor() -> str:
    """Return the names of the processor, its extensions and the version of LLVM."""
    features = llvm.get_host_cpu_features().flatten()
    version = ".".join(map(str, llvm.llvm_version_info))
    return f"{llvm.get_default_triple()} {llvm.get_host_cpu_name()} {features} LLVM {version}"


class NativeFunction:
    """A kernel linked into this process, for one set of argument types.

    It stays until the process ends: a thread may be inside it while Python shuts down.
    """

    def __init__(self, code: MachineCode, name: str, letters: str) -> None:
        """Link the code; the kernel's name is for the message if it raises an exception."""
        self._stop = ctypes.CFUNCTYPE(None)(functools.partial(_stop, name))
        address = ctypes.cast(self._stop, ctypes.c_void_p).value
        builder = llvm.JITLibraryBuilder().add_object_img(code.object_code).add_current_process()
        for symbol in code.unreachable:
            builder.import_symbol(symbol, address)
        builder.export_symbol(code.symbol)
        library = builder.link(_jit(), f"kernel-{next(_JIT_NAMES)}")
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)
        self._function = prototype(library[code.symbol])
        library.detach()
        self._pack = struct.Struct(letters).pack
        self._result = struct.Struct(code.result)
        self._is_tuple = code.is_tuple

    def __call__(self, numbers: Sequence[Any]) -> Any:
        """Run the kernel, without the GIL; the arrays must live until it returns."""
        result = ctypes.create_string_buffer(self._result.size)
        self._function(self._pack(*numbers), result)
        values = self._result.unpack(result)
        if self._is_tuple:
            return values
        return values[0] if values else None


def _stop(name: str) -> None:
    """End the process: what a kernel wrote before it raised an exception cannot be undone."""
    logging.error("kernel %s raised an exception, which kernels must not do", name)
    os.abort()
