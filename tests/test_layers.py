"""The rules of the code's structure, read from its source: who imports what, lengths, names.

One test a rule; it fails with every place that breaks it. The directions of imports stand in
CONTRIBUTING.md, in the tables under "Which way imports point", and are read from there.
"""

import ast
import configparser
import functools
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGE = "bert_data"
GUIDE = "CONTRIBUTING.md"
SECTION = "Which way imports point"
GROUND, STAGES, PACKAGES = "The ground", "The stages", "Packages of a stage"

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 50
MAY_WRITE_FLAGS = {
    "curation/classifying/training.py",  # shows a command of pip
    "inspection/sources/opening.py",  # shows a command
    "tokens/tokenizer_json.py",  # shows a command of Hugging Face
    "work/engine.py",  # shows the form of options of Slurm
    "work/ray_cluster.py",  # shows a command of Ray
    "work/ray_tasks.py",  # likewise
    "work/slurm.py",  # calls Slurm
}

# Of commands; of corpora; of packages and, with keywords, of api/; of two libraries' tensors.
SHARED_NAMES = {"main", "read", "train", "read_batches", "iterate_arrays", "block_diagonal_mask"}

# What touches files by itself: every attribute of some modules, some of others, methods of paths.
FILE_MODULES = {"shutil", "glob", "tempfile", "gfile"}
FILE_FUNCTIONS = {
    "os": "open stat lstat mkdir makedirs listdir scandir walk remove unlink rename replace rmdir"
    " link symlink truncate access",
    "path": "exists lexists isfile isdir islink getsize getmtime samefile realpath",
    "mmap": "mmap",
    "np": "load save memmap fromfile",
    "io": "open open_code FileIO",
}
PATH_METHODS = (
    "read_text read_bytes write_text write_bytes unlink rename rmdir mkdir iterdir glob rglob"
    " exists is_file is_dir is_symlink stat lstat touch tofile"
)
# The package that does it for all; and the cache of machine code, which has rules of its own about
# whose code may run. It holds no data.
MAY_TOUCH_FILES = ("storage/", "kernels/")

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
    def part(self) -> str:
        """The part of bert_data that it belongs to: "tokens", "errors", "__init__"."""
        return self.name.split("/")[1].removesuffix(".py")

    @property
    def subpackage(self) -> str:
        """The package of its stage that it stands in: "curation/steps", or "curation" for none."""
        return "/".join(self.name.split("/")[1:-1][:2])


@functools.cache
def modules(pattern: str) -> tuple[Module, ...]:
    """All modules of the checkout that match a pattern."""
    sources = [(path, path.read_text("utf-8")) for path in sorted(CHECKOUT.glob(pattern))]
    return tuple(
        Module(path.relative_to(CHECKOUT).as_posix(), source, ast.parse(source))
        for path, source in sources
    )


def library() -> tuple[Module, ...]:
    return modules(f"{PACKAGE}/**/*.py")


def programs() -> tuple[Module, ...]:
    places = ("*.py", f"{PACKAGE}/**/*.py", "examples/**/*.py", "benchmarks/**/*.py")
    return tuple(module for place in places for module in modules(place))


@functools.cache
def imports_of(module: Module, *, only_module_level: bool = False) -> tuple[tuple[int, str], ...]:
    """The line and the dotted name of all that a module imports.

    `from a.b import c` gives "a.b" and "a.b.c", as c may be a module or not. With
    `only_module_level`, what functions import when they are called is left out, and so is what
    only the type checker sees.
    """
    found: list[tuple[int, str]] = []
    pending: list[Any] = [module.tree]
    while pending:
        node = pending.pop()
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if only_module_level and (isinstance(node, Function) or is_for_types):
            continue
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.lineno, str(node.module)))
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
        for statements in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending.extend(getattr(node, statements, ()))
    return tuple(sorted(found))


def assert_none(offenders: Iterable[str], rule: str) -> None:
    """Fails with the rule and every place that breaks it."""
    places = sorted(set(offenders))
    if places:
        pytest.fail("\n  ".join([f"{rule}:", *places]), pytrace=False)


def function_lines(function: Function) -> int:
    """The number of lines of a function's body without its docstring."""
    body = function.body[ast.get_docstring(function) is not None :]
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


@functools.cache
def parts() -> set[str]:
    return {module.part for module in library()} - {"__init__"}


def imported_parts(module: Module) -> Iterator[tuple[int, str]]:
    """The lines and names of other parts that a module imports."""
    for line, name in imports_of(module):
        top, _, rest = name.partition(".")
        part = rest.split(".")[0]
        if top == PACKAGE and part in parts() - {module.part}:
            yield line, part


def imported_subpackages(module: Module) -> Iterator[tuple[int, str]]:
    """The lines and names of other packages of its own stage that a module imports."""
    packages = {other.subpackage for other in library() if other.part == module.part}
    for line, name in imports_of(module):
        package = "/".join(name.split(".")[1:3])
        if package in packages - {module.subpackage}:
            yield line, package


def table(title: str) -> dict[str, list[str]]:
    """Reads one of the guide's tables: each row's name, and the names in its last column."""
    text = (CHECKOUT / GUIDE).read_text(encoding="utf-8")
    section = text.partition(f"\n## {SECTION}\n")[2].partition("\n## ")[0]
    own = section.partition(f"\n### {title}\n")[2].partition("\n### ")[0]
    rows = [line.strip("|").split("|") for line in own.splitlines() if line.startswith("| `")]
    assert rows, f"{GUIDE} has no table under {title}"
    names = [re.findall(r"`([\w/]+?)(?:/|\.py)?`", cells[0])[0] for cells in rows]
    assert len(set(names)) == len(names), f"{GUIDE} names a part twice under {title}"
    last = [re.findall(r"`([\w/]+?)(?:/|\.py)?`", cells[-1]) for cells in rows]
    return dict(zip(names, last, strict=True))


@functools.cache
def allowed_imports() -> dict[str, set[str]]:
    """The parts that each may import: of the ground all above it, of the stages those named."""
    ground = list(table(GROUND))
    allowed = {name: set(ground[:row]) for row, name in enumerate(ground)}
    return allowed | {name: {*ground, *named} for name, named in table(STAGES).items()}


def strings_of(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The lines and texts of all strings but docstrings."""
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in documents:
            yield node.lineno, node.value


def last_name(node: ast.AST) -> str:
    """The "b" of "a.b" and of "b"; "" for an expression of another kind."""
    return getattr(node, "attr", None) or getattr(node, "id", "")


def parts_without_files(node: ast.AST) -> Iterable[ast.AST]:
    """Gives the parts of annotations, and of `mmap.mmap(-1, ...)`, which is memory of no file."""
    if isinstance(node, ast.AnnAssign):
        return ast.walk(node.annotation)
    if isinstance(node, ast.Call) and last_name(node.func) == "mmap":
        return [node.func] if ast.unparse(node).startswith("mmap.mmap(-1,") else ()
    return ()


def file_accesses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Gives the line and the name of all that opens, maps, lists, renames or removes a file."""
    not_files = {id(part) for node in ast.walk(tree) for part in parts_without_files(node)}
    for node in ast.walk(tree):
        if id(node) in not_files:
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "open":
                yield node.lineno, "open"
        elif isinstance(node, ast.Attribute):
            owner = last_name(node.value)
            known = FILE_FUNCTIONS.get(owner, "").split()
            if owner in FILE_MODULES or node.attr in known:
                yield node.lineno, f"{owner}.{node.attr}"
            elif node.attr in PATH_METHODS.split() and ast.unparse(node.value) != "storage":
                yield node.lineno, node.attr


@pytest.mark.slow
def test_every_file_goes_through_storage() -> None:
    assert_none(
        (
            f"{module.name}:{line}: {name}"
            for module in library()
            if not module.name.startswith(tuple(f"{PACKAGE}/{part}" for part in MAY_TOUCH_FILES))
            for line, name in file_accesses(module.tree)
        ),
        f"files touched outside {PACKAGE}/storage",
    )


def test_every_part_has_its_row_in_the_guide_and_every_row_its_part() -> None:
    rule = f'has no row in {GUIDE}, "{SECTION}"'
    assert_none((f"{PACKAGE}/{part}" for part in parts() - set(allowed_imports())), rule)
    packages = {m.subpackage for m in library() if "/" in m.subpackage}
    stages = {package.split("/")[0] for package in packages}
    assert_none((packages | stages) - set(table(PACKAGES)), rule)
    stale = set(allowed_imports()) - parts() | set(table(PACKAGES)) - (packages | stages)
    assert_none(stale, f"stands in {GUIDE} but not in {PACKAGE}")


def test_the_guides_tables_only_point_up() -> None:
    for title in (STAGES, PACKAGES):
        above: set[str] = set()
        for name, named in table(title).items():
            below = set(named) - above
            assert not below, f"{GUIDE}: {name} may not import {sorted(below)}: not above it"
            above.add(name)


def test_imports_point_up_the_guides_tables() -> None:
    assert_none(
        (
            f"{module.name}:{line}: {module.part} imports {part}"
            for module in library()
            for line, part in imported_parts(module)
            if module.part != "__init__"  # which loads nothing
            if part not in allowed_imports().get(module.part, set())
        ),
        f'imports that {GUIDE} does not allow, "{SECTION}"',
    )


def test_imports_between_packages_of_a_stage_point_up_the_guides_table() -> None:
    allowed = table(PACKAGES)
    assert_none(
        (
            f"{module.name}:{line}: {module.subpackage} imports {package}"
            for module in library()
            if module.part in allowed
            for line, package in imported_subpackages(module)
            # What stands directly in a stage is for all its packages.
            if package not in {module.part, *allowed.get(module.subpackage, [])}
        ),
        f'imports that {GUIDE} does not allow, "{PACKAGES}"',
    )


def test_only_required_packages_are_imported() -> None:
    """Those of extras are loaded by `load_package`, whose error says what to install."""
    config = configparser.ConfigParser()
    config.read(CHECKOUT / "setup.cfg")
    required = set(map(_package, config["options"]["install_requires"].split("\n")))
    # of numba, absl-py, pyyaml and protobuf
    required |= {"llvmlite", "absl", "yaml", "google"}
    scripts = {module.dotted for module in modules("*.py")}  # which the library does not import
    sources = (*library(), *modules("*.py"))
    known = {PACKAGE, *sys.stdlib_module_names}
    loaded = {name for each in sources for name in re.findall(r'load_package\("(\w+)', each.source)}
    assert_none(
        (
            f"{module.name}:{line}: {name}"
            for module in sources
            if module.dotted != "bert_data.torch"
            for only_module_level in (True, False)
            for line, name in imports_of(module, only_module_level=only_module_level)
            for top in [name.partition(".")[0]]
            if top not in known and not (module.dotted in scripts and top in scripts)
            if only_module_level or top not in loaded
            if top.replace("_", "-") not in required
        ),
        "imports of packages that setup.cfg does not require",
    )


def _package(requirement: str) -> str:
    return re.split(r"[<>=!\[]", requirement)[0].lower().replace("_", "-")


def test_library_modules_do_not_import_in_a_circle() -> None:
    """Wherever they stand: in functions and for the type checker, too."""
    graph = {module.dotted: set[str]() for module in library()}
    for module in library():
        names = {name for _, name in imports_of(module)}
        # A package's __init__ may gather names from its own modules, which import it in turn
        # only by their full names.
        inside = {name for name in names if module.dotted.startswith(f"{name}.")}
        graph[module.dotted] = (names - inside - {module.dotted}) & set(graph)
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " -> ".join([*way, name])
        if name not in done:
            for other in graph[name]:
                visit(other, (*way, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_only_the_command_line_writes_flags_in_sentences() -> None:
    """A sentence names a setting in backticks, which the command line turns into its flag."""
    assert_none(
        (
            f"{module.name}:{line}: {text}"
            for module in library()
            if module.part not in ("cli", "__main__")
            for line, text in strings_of(module.tree)
            if re.search(r"(?<![\w-])--[a-z]\w+", text)
            if module.name.removeprefix(f"{PACKAGE}/") not in MAY_WRITE_FLAGS
        ),
        "flags in a text of the library: write the setting's name, in backticks",
    )


def test_modules_and_functions_are_short() -> None:
    assert_none(
        (
            f"{module.name}: {len(module.source.splitlines())}"
            for module in programs()
            if len(module.source.splitlines()) > MAX_MODULE_LINES
        ),
        f"modules of more than {MAX_MODULE_LINES} lines",
    )
    assert_none(
        (
            f"{module.name}:{function.lineno}: {function.name}: {function_lines(function)}"
            for module in programs()
            for function in ast.walk(module.tree)
            if isinstance(function, Function) and function_lines(function) > MAX_FUNCTION_LINES
        ),
        f"functions of more than {MAX_FUNCTION_LINES} lines",
    )


def test_a_public_name_stands_in_one_module() -> None:
    places: dict[str, list[str]] = {}
    for module in library():
        for node in module.tree.body:
            if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module.name)
    assert_none(
        (
            f"{name}: {', '.join(names)}"
            for name, names in places.items()
            if len(names) > 1 and name not in SHARED_NAMES
        ),
        "functions and classes of one name in several modules",
    )


@pytest.mark.process
def test_importing_the_package_is_cheap() -> None:
    program = f"import sys, {PACKAGE}; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[0] for name in result.stdout.split()}
    assert PACKAGE in loaded
    assert not loaded & {"tensorflow", "keras", "numba", "numpy", "pyarrow"}
