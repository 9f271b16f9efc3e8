"""The project's source, parsed: its modules, what they import, their functions."""

import ast
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGE = "bert_data"


Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A file of source: "bert_data/tokens/store.py"."""

    name: str
    source: str
    tree: ast.Module

    @property
    def dotted(self) -> str:
        return self.name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def package(self) -> str:
        return self.name.rpartition("/")[0].replace("/", ".")

    @property
    def part(self) -> str:
        """The part of bert_data that it belongs to: "tokens", "errors", "__init__"."""
        return self.name.split("/")[1].removesuffix(".py")

    @property
    def subpackage(self) -> str:
        """The package of its stage that it stands in: "curation/steps", or "curation" for none."""
        return "/".join(self.name.split("/")[1:-1][:2])


@functools.cache
def modules(folder: str) -> tuple[Module, ...]:
    """All modules of a folder of the checkout, or those that stand directly in it for "."."""
    top = CHECKOUT / folder
    paths = top.glob("*.py") if folder == "." else top.rglob("*.py")
    sources = [(path, path.read_text(encoding="utf-8")) for path in sorted(paths)]
    return tuple(
        Module(path.relative_to(CHECKOUT).as_posix(), source, ast.parse(source))
        for path, source in sources
    )


def library() -> tuple[Module, ...]:
    return modules(PACKAGE)


def programs() -> tuple[Module, ...]:
    return (*modules("."), *library(), *modules("examples"), *modules("benchmarks"))


def imports(
    tree: ast.Module, package: str, *, only_module_level: bool = False
) -> Iterator[tuple[int, str]]:
    """Gives the line and the absolute dotted name of all that a module of `package` imports.

    `from a.b import c` gives "a.b" and "a.b.c", as c may be a module or not. With
    `only_module_level`, what functions import when they are called is left out, and so is what
    only the type checker sees (`if TYPE_CHECKING`).
    """
    pending: list[Any] = [tree]
    while pending:
        node = pending.pop()
        if only_module_level and (isinstance(node, Function) or is_for_type_checker(node)):
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) + 1 - node.level]
            base = ".".join([*(parents if node.level else []), *filter(None, [node.module])])
            yield node.lineno, base
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        for statements in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending.extend(getattr(node, statements, ()))


def is_for_type_checker(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


@functools.cache
def imports_of(module: Module, *, only_module_level: bool = False) -> tuple[tuple[int, str], ...]:
    imported = imports(module.tree, module.package, only_module_level=only_module_level)
    return tuple(sorted(imported))


@functools.cache
def parts() -> set[str]:
    return {module.part for module in library()} - {"__init__"}


def assert_none(offenders: Iterable[str], rule: str) -> None:
    """Fails with the rule and every place that breaks it."""
    places = sorted(set(offenders))
    if places:
        pytest.fail("\n  ".join([f"{rule}:", *places]), pytrace=False)


def function_lines(function: Function) -> int:
    """Returns the number of lines of a function's body without its docstring."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    if not body:
        return 0
    return (function.end_lineno or 0) - body[0].lineno + 1


def functions(tree: ast.Module) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def lines_of_print(tree: ast.Module) -> list[int]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]
