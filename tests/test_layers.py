"""The rules of the code's structure, read from the source: layers, lengths, who may import what."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGE = "bert_data"

# Each part of bert_data and the parts that it may import besides itself. The first ones are words
# that everyone shares; then the table follows the way of the data, and never back.
SHARED = (
    "errors",
    "features",
    "files",
    "kernels",
    "outputs",
    "packages",
    "progress",
    "run_lock",
    "whole_folders",
)
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(SHARED, SHARED),
    "engines": SHARED,
    "text": SHARED,
    "tokens": (*SHARED, "engines", "text"),
    "curation": (*SHARED, "engines", "text", "tokens"),
    "objectives": (*SHARED, "engines", "tokens"),
    "causal": (*SHARED, "engines", "tokens"),
    "records": (*SHARED, "engines", "text", "tokens", "objectives", "causal"),
    "reader": (*SHARED, "engines", "tokens", "objectives", "causal", "records"),
    "training": (*SHARED, "engines", "records", "reader"),
    "hub": (*SHARED, "engines", "tokens", "reader", "training"),
}
MAY_IMPORT["cli"] = tuple(MAY_IMPORT)
# The same for the packages of bert_data/curation; modules that stand in it directly are for all.
CURATION_MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "duplicates": (),
    "quality": (),
    "web": ("quality",),
    "steps": ("duplicates", "quality", "web"),
    "running": (),
    "reporting": ("running",),
}
TENSORFLOW = ("tensorflow", "tensorflow_text", "tensorflow_hub", "keras", "tf_keras")
MAY_LOAD_TENSORFLOW = ("reader", "training", "hub")
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 50
NAMES_THAT_SAY_NOTHING = ("util", "utils", "helper", "helpers", "common", "misc")


def library_modules() -> list[Path]:
    return sorted((CHECKOUT / PACKAGE).rglob("*.py"))


def program_modules() -> list[Path]:
    folders = [PACKAGE, "examples", "benchmarks"]
    inside = [path for folder in folders for path in (CHECKOUT / folder).rglob("*.py")]
    return sorted([*CHECKOUT.glob("*.py"), *inside])


def relative(path: Path) -> str:
    return path.relative_to(CHECKOUT).as_posix()


def part_of(path: Path) -> str:
    """Returns the part of bert_data that a module belongs to: "tokens", "errors", "__init__"."""
    return path.relative_to(CHECKOUT / PACKAGE).parts[0].removesuffix(".py")


def imported_names(tree: ast.Module, package: str, *, only_module_level: bool = False) -> set[str]:
    """Returns dotted names of all that a module imports, absolute.

    `from a.b import c` gives "a.b" and "a.b.c", as c may be a module or not. With
    `only_module_level`, what functions import when they are called is left out, and so is what
    only the type checker sees (`if TYPE_CHECKING`).
    """
    names: set[str] = set()
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if only_module_level and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if (
            only_module_level
            and isinstance(node, ast.If)
            and "TYPE_CHECKING" in ast.dump(node.test)
        ):
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) + 1 - node.level]
            base = ".".join([*(parents if node.level else []), *filter(None, [node.module])])
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
        pending.extend(ast.iter_child_nodes(node))
    return names


def imports_of(path: Path, *, only_module_level: bool = False) -> set[str]:
    package = ".".join(path.relative_to(CHECKOUT).parts[:-1])
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return imported_names(tree, package, only_module_level=only_module_level)


def top_names(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


def uses_print(tree: ast.Module) -> list[int]:
    """Returns the line numbers of calls of print."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]


def function_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Returns the number of lines of a function's body without its docstring."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    if not body:
        return 0
    return (function.end_lineno or 0) - body[0].lineno + 1


@pytest.mark.parametrize("path", library_modules(), ids=relative)
def test_imports_point_down_the_layers(path: Path) -> None:
    part = part_of(path)
    if part == "__init__":
        allowed: tuple[str, ...] = ()
    else:
        assert part in MAY_IMPORT, f"{part} is new: give it a place in MAY_IMPORT and in DESIGN"
        allowed = (part, *MAY_IMPORT[part])
    parts = {name.split(".")[1] for name in imports_of(path) if name.startswith(f"{PACKAGE}.")}
    outside = {name for name in parts if (CHECKOUT / PACKAGE / name).is_dir()} | {
        name for name in parts if (CHECKOUT / PACKAGE / f"{name}.py").is_file()
    }
    assert not outside - set(allowed), f"{part} must not import {sorted(outside - set(allowed))}"


@pytest.mark.parametrize("package", CURATION_MAY_IMPORT)
def test_imports_point_down_the_packages_of_curation(package: str) -> None:
    curation = CHECKOUT / PACKAGE / "curation"
    allowed = {package, *CURATION_MAY_IMPORT[package]}
    names = set().union(*map(imports_of, (curation / package).glob("*.py")))
    packages = {name.split(".")[2] for name in names if name.startswith(f"{PACKAGE}.curation.")}
    assert not {name for name in packages if (curation / name).is_dir()} - allowed


def test_every_package_of_curation_has_its_place() -> None:
    curation = CHECKOUT / PACKAGE / "curation"
    packages = {path.parent.name for path in curation.glob("*/__init__.py")}
    assert packages == set(CURATION_MAY_IMPORT)
    direct = set().union(*map(imports_of, curation.glob("*.py")))
    named = {name.split(".")[2] for name in direct if name.startswith(f"{PACKAGE}.curation.")}
    assert not named & packages, "what is for all needs none of the packages"


@pytest.mark.parametrize("path", library_modules(), ids=relative)
def test_only_some_parts_load_tensorflow(path: Path) -> None:
    if part_of(path) not in MAY_LOAD_TENSORFLOW:
        loaded = top_names(imports_of(path, only_module_level=True)) & set(TENSORFLOW)
        assert not loaded, "import it in the function that needs it"


def test_no_library_module_imports_a_script() -> None:
    scripts = {path.stem for path in CHECKOUT.glob("*.py")} - {"tokenization"}
    for path in library_modules():
        assert not top_names(imports_of(path)) & scripts, relative(path)


def test_library_modules_do_not_import_in_a_circle() -> None:
    names = {
        ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in library_modules()
    }
    graph = {
        name: {other for other in imports_of(path, only_module_level=True) if other in names}
        for name, path in names.items()
    }
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " -> ".join([*way, name])
        if name not in done:
            # A package's __init__ may gather names from its own modules, which import it in turn
            # only by their full names.
            for other in graph[name]:
                if not name.startswith(f"{other}."):
                    visit(other, (*way, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("path", library_modules(), ids=relative)
def test_flags_and_print_stay_at_the_surface(path: Path) -> None:
    if part_of(path) != "cli":
        assert not {"absl.flags", "argparse"} & imports_of(path)
        assert not uses_print(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", program_modules(), ids=relative)
def test_modules_and_functions_are_short(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= MAX_MODULE_LINES
    functions = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    long = {f.name: function_lines(f) for f in functions if function_lines(f) > MAX_FUNCTION_LINES}
    assert not long, f"functions of more than {MAX_FUNCTION_LINES} lines"


@pytest.mark.parametrize("path", program_modules(), ids=relative)
def test_a_modules_name_says_what_it_holds(path: Path) -> None:
    assert not set(path.stem.split("_")) & set(NAMES_THAT_SAY_NOTHING)


def test_importing_the_package_is_cheap() -> None:
    program = f"import sys, {PACKAGE}; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    loaded = top_names(set(result.stdout.split()))
    assert PACKAGE in loaded
    assert not loaded & {*TENSORFLOW, "numba", "pyarrow"}


def test_the_checks_see_what_they_look_for() -> None:
    tree = ast.parse(
        "import tensorflow as tf\n"
        "from . import tokens\n"
        "from ..files import open_text\n"
        "def f():\n"
        "    '''One.\n\n    Two.\n    '''\n"
        "    from keras import layers\n"
        "    print(layers)\n"
    )
    here = {"tensorflow", "bert_data.cli", "bert_data.cli.tokens"}
    here |= {"bert_data.files", "bert_data.files.open_text"}
    assert imported_names(tree, "bert_data.cli", only_module_level=True) == here
    assert imported_names(tree, "bert_data.cli") == here | {"keras", "keras.layers"}
    assert uses_print(tree) == [10]
    assert function_lines(next(n for n in tree.body if isinstance(n, ast.FunctionDef))) == 2
