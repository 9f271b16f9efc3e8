"""Compiles the kernels that tests use before they begin, in as many processes as there are cores.

    python -m tests.kernels.signatures            compiles those of signatures.json, if not kept
    BERT_DATA_CACHE_DIR=EMPTY_FOLDER \
        pytest -p tests.kernels.signatures ...    adds those that tests compile to signatures.json,
                                                  and removes what has gone

Otherwise the processes of the tests compile what kernels have in common several times, and wait for
each other.
"""

import concurrent.futures
import importlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bert_data.kernels.calling import Kernel, type_of
from bert_data.kernels.keeping import Shelf

FILE = Path(__file__).with_name("signatures.json")
_NUMBERS = {"int": 1, "float": 1.0, "bool": True}


def describe(kind: Any) -> Any:
    """A result of `type_of` in JSON: "int", "int32[2] C constant", {"module:Class": [...]}."""
    if isinstance(kind, str):
        return kind
    if isinstance(kind, np.dtype):
        return kind.name
    first, *more = kind
    if isinstance(first, np.dtype):
        ndim, layout, is_writeable, is_aligned = more
        ends = f"{'' if is_writeable else ' constant'}{'' if is_aligned else ' unaligned'}"
        return f"{first.name}[{ndim}] {layout}{ends}"
    return {f"{first.__module__}:{first.__qualname__}": [describe(each) for each in more[1:]]}


def example(kind: Any) -> Any:
    """An argument of a type that `describe` described."""
    if isinstance(kind, dict):
        ((name, kinds),) = kind.items()
        module, _, qualname = name.partition(":")
        made = map(example, kinds)
        made_of = getattr(importlib.import_module(module), qualname)
        return tuple(made) if made_of is tuple else made_of(*made)
    if kind in _NUMBERS:
        return _NUMBERS[kind]
    if "[" not in kind:
        return np.dtype(kind).type(1)
    what, layout, *ends = kind.split()
    dtype, ndim = np.dtype(what.partition("[")[0]), int(what.partition("[")[2][:-1])
    data = bytearray(dtype.itemsize * 4**ndim + 1)
    array = np.frombuffer(data, dtype, 4**ndim, offset="unaligned" in ends)
    array = array.reshape((4,) * ndim, order="F" if layout == "F" else "C")
    if layout == "A":
        array = array[(slice(None, None, 2),) * ndim]
    array.flags.writeable = "constant" not in ends
    return array


def read() -> dict[str, list[list[Any]]]:
    """The types of arguments by "module:kernel"."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


class Recorder:
    """Adds what is compiled to the file."""

    def __init__(self, compile_kernel: Callable[[Kernel, tuple[Any, ...]], Any]) -> None:
        self._compile_kernel = compile_kernel
        self._compiled = read()

    def __call__(self, kernel: Kernel, arguments: tuple[Any, ...]) -> Any:
        name = f"{kernel.py_func.__module__}:{kernel.__name__}"
        kinds = [describe(type_of(each)) for each in arguments]
        known = self._compiled.setdefault(name, [])
        if name.startswith("bert_data.") and kinds not in known:
            known.append(kinds)
        return self._compile_kernel(kernel, arguments)

    def write(self) -> None:
        kernels = find_kernels()
        lines = (
            f" {json.dumps(name)}: [\n  {rows}\n ]"
            for name, known in sorted(self._compiled.items())
            if name in kernels
            and (own := [kinds for kinds in known if fits(kernels[name], kinds)])
            and (rows := ",\n  ".join(sorted(map(json.dumps, own))))
        )
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def pytest_configure() -> None:
    from bert_data.kernels import compiling

    compiling.compile_kernel = Recorder(compiling.compile_kernel)


def pytest_unconfigure() -> None:
    from bert_data.kernels import compiling

    compiling.compile_kernel.write()


def find_kernels() -> dict[str, Kernel]:
    """All kernels of the library, by the names that the file has."""
    library = FILE.parents[2] / "bert_data"
    found = {}
    for path in library.rglob("*.py"):
        if "\n@kernel\n" in path.read_text(encoding="utf-8"):
            parts = path.relative_to(library.parent).with_suffix("").parts
            module = importlib.import_module(".".join(parts))
            kernels = (each for each in vars(module).values() if isinstance(each, Kernel))
            found |= {f"{each.py_func.__module__}:{each.__name__}": each for each in kernels}
    return found


def fits(kernel: Kernel, kinds: list[Any]) -> bool:
    """Whether a kernel may still have arguments of these types, whose tuples may have changed."""
    try:
        again = [describe(type_of(example(kind))) for kind in kinds]
    except (AttributeError, TypeError):
        return False
    return again == kinds and len(kinds) == kernel.py_func.__code__.co_argcount


def prepare(kernel: Kernel, arguments: list[Any]) -> None:
    """Compiles a kernel for arguments like these, unless its machine code is kept."""
    types = repr(tuple(map(type_of, arguments)))
    shelf = Shelf(kernel.py_func.__code__.co_filename, kernel.__name__, kernel.stamp)
    with shelf.compiling():
        if shelf.find(types) is None:
            from bert_data.kernels.compiling import compile_kernel

            shelf.keep(types, compile_kernel(kernel, tuple(arguments)))


def compile_all(module: str, signatures: list[tuple[str, list[Any]]]) -> list[str]:
    """Compiles kernels of one module; returns what went wrong."""
    wrong = []
    for name, kinds in signatures:
        try:
            prepare(getattr(importlib.import_module(module), name), list(map(example, kinds)))
        except Exception as error:  # the test that uses it compiles it
            wrong.append(f"{module}:{name}: {type(error).__name__}")
    return wrong


def main() -> None:
    modules: dict[str, list[tuple[str, list[Any]]]] = {}
    for name, known in read().items():
        module, _, kernel = name.partition(":")
        modules.setdefault(module, []).extend((kernel, kinds) for kinds in known)
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as processes:
        for wrong in processes.map(compile_all, modules, modules.values()):
            for line in wrong:
                print(f"tests/kernels/signatures.json is older than {line}")


if __name__ == "__main__":
    main()
