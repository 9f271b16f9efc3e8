"""The tests mirror the tree: a module's test file has its name, or another one says it covers it.

bert_data/tokens/store.py       tests/tokens/test_store.py
bert_data/tokens/verifying.py   COVERS = ("tokens/verifying",) in tests/tokens/test_store_making.py
"""

import ast
import functools
import re
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
LIBRARY, TESTS = CHECKOUT / "bert_data", CHECKOUT / "tests"


@functools.cache
def modules() -> set[str]:
    """All modules but packages' own: "tokens/store"."""
    paths = (path.relative_to(LIBRARY) for path in LIBRARY.rglob("*.py"))
    return {path.with_suffix("").as_posix() for path in paths if path.name != "__init__.py"}


def has_own_file(module: str) -> bool:
    folder, _, name = module.rpartition("/")
    return (TESTS / folder / f"test_{name}.py").is_file()


@functools.cache
def covered() -> list[tuple[str, str]]:
    """(test file, module that it says it covers)."""
    found = []
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body if "COVERS" in text else ():
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COVERS":
                name = path.relative_to(CHECKOUT).as_posix()
                found += [(name, module) for module in ast.literal_eval(node.value)]
    return found


def test_every_module_has_its_tests() -> None:
    named = {module for _, module in covered()}
    without = sorted(m for m in modules() - named if not has_own_file(m))
    assert not without, f"write test files, or name in the COVERS of what tests them: {without}"


def test_what_is_covered_is_there_and_has_no_file_of_its_own() -> None:
    stale = [(t, m) for t, m in covered() if m not in modules() or has_own_file(m)]
    assert not stale, f"take out of COVERS: {stale}"


def test_docstrings_name_modules_that_exist() -> None:
    """`store.py`, `tokens.store`, `bert_data.tokens.store`; of packages what they export, too."""
    elsewhere = {"f", "my_steps", "run_classifier"}  # examples, and a program of Google's
    scripts = [*CHECKOUT.glob("*.py"), *CHECKOUT.glob("benchmarks/*.py")]
    names = {module.rpartition("/")[2] for module in modules()} | {path.stem for path in scripts}
    packages = {path.parent.relative_to(LIBRARY).as_posix() for path in LIBRARY.rglob("*.py")}
    offenders = []
    for path in sorted(LIBRARY.rglob("*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        for name in re.findall(r"\b([a-z_]+)\.py\b", docstring):
            if name not in names | elsewhere:
                offenders.append(f"{path.name}: {name}.py")
        for dotted in re.findall(r"`(?:bert_data\.)?([a-z_]+(?:\.[a-z_]+)+)`", docstring):
            place, _, name = dotted.replace(".", "/").rpartition("/")
            exports = LIBRARY / place / "__init__.py"
            found = {place, f"{place}/{name}"} & modules() or f"{place}/{name}" in packages
            if exports.is_file():
                found = found or re.search(rf"\b{name}\b", exports.read_text(encoding="utf-8"))
            if dotted.split(".")[0] in packages and not found:
                offenders.append(f"{path.name}: {dotted}")
    assert not offenders
