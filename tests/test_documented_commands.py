"""The commands and flags that the documentation shows are those that exist."""

import ast
import functools
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from bert_data.cli.main import COMMANDS
from tests.docs.blocks import read_blocks

CHECKOUT = Path(__file__).resolve().parent.parent
# Foreign flags, with ours beside them, are the subject of migrating.md.
PAGES = sorted(
    {CHECKOUT / "README.md", *CHECKOUT.glob("docs/**/*.md")} - {CHECKOUT / "docs/migrating.md"}
)
NAMES = [page.relative_to(CHECKOUT).as_posix() for page in PAGES]
# Flags in prose that are those of other programs: ray, sbatch, kubectl, pip, diff and docker.
FOREIGN = {
    "address", "dashboard-host", "memory", "num-cpus", "object-store-memory", "requeue", "rm",
    "array", "mem", "name", "partition", "time",
}  # fmt: skip
OF_ABSL = {"help", "helpfull", "version", "verbosity", "flagfile"}


def find_module(name: str) -> Path | None:
    """Return the file of one of our modules, by its name; None for a module of others."""
    parts = name.split(".")
    if parts[0] not in ("bert_data", "examples", "create_pretraining_data", "run_pretraining"):
        return None
    base = CHECKOUT.joinpath(*parts)
    files = [base.with_suffix(".py"), base / "__main__.py", base / "__init__.py"]
    return next((file for file in files if file.is_file()), None)


@functools.cache
def read_flags(path: Path) -> frozenset[str]:
    """Return the flags that a command defines: its settings, or those in the source of an example.

    The source is read, not run: absl has one table of flags for all commands of a process.
    """
    name = ".".join(path.relative_to(CHECKOUT).with_suffix("").parts)
    if name.startswith("bert_data.cli.") or path.parent == CHECKOUT:
        module = importlib.import_module(name)
        command = getattr(module, "create", module)  # of create_pretraining_data
        sections = getattr(getattr(command, "main", None), "__globals__", {}).get("SECTIONS", ())
        every = [setting for section in sections for setting in section.settings]
        return frozenset(setting.name for setting in every)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    flags: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else ""
            first = node.args[0] if node.args else None
            if name.startswith("DEFINE_") and isinstance(first, ast.Constant):
                flags.add(str(first.value))
    return frozenset(flags)


def find_command(words: list[str]) -> tuple[Path, list[str]] | None:
    """Return the file of the command that words of a shell run, and its arguments; None: another's.

    Raises:
      KeyError: bert-data has no command of this name.
      AssertionError: there is no such script or module.
    """
    if words[0] == "bert-data":
        modules = {name: f"bert_data.cli.{name.replace('-', '_')}" for name in COMMANDS}
        module = modules[words[1]] if not words[1].startswith("-") else "bert_data.cli.main"
        rest = words[2:]
    elif words[0].startswith("python") and words[1] == "-m":
        module, rest = words[2], words[3:]
        if module.partition(".")[0] not in ("bert_data", "examples"):
            return None
    elif words[0].startswith("python") and words[1].endswith(".py"):
        module, rest = words[1].removesuffix(".py").replace("/", "."), words[2:]
        if module.startswith("benchmarks."):
            assert (CHECKOUT / words[1]).is_file(), words[1]
            return None
    else:
        return None
    file = find_module(module)
    assert file is not None, module
    return file, rest


def split_commands(script: str) -> Iterator[list[str]]:
    """Yield the words of each line of a shell's script that runs a program of Python's or ours."""
    for line in script.replace("\\\n", " ").splitlines():
        start = re.search(r"(?<![\w/-])(?:python3?|bert-data) ", line)
        if start and not line.lstrip().startswith("#"):
            yield shlex.split(line[start.start() :].partition(" | ")[0], comments=True)


def has_flag(flags: frozenset[str], name: str) -> bool:
    return name in flags or name in OF_ABSL or name.removeprefix("no") in flags


@pytest.mark.parametrize("name", NAMES)
def test_commands_that_do_not_run_exist_with_their_flags(name: str) -> None:
    """Those that run are tested by tests/docs/test_pages.py."""
    blocks = [each for each in read_blocks(CHECKOUT / name, name) if each.role == "not run"]
    for block in blocks:
        for words in split_commands(block.code) if block.language == "sh" else ():
            command = find_command(words)
            if command is None:
                continue
            flags = read_flags(command[0])
            used = [word[2:].partition("=")[0] for word in command[1] if word.startswith("--")]
            assert [each for each in used if flags and not has_flag(flags, each)] == [], words


@pytest.mark.parametrize("name", NAMES)
def test_flags_in_prose_exist(name: str) -> None:
    known = frozenset().union(*map(read_flags, CHECKOUT.glob("bert_data/cli/*.py")))
    prose = re.sub(r"^```.*?^```$", "", (CHECKOUT / name).read_text("utf-8"), flags=re.M | re.S)
    others = re.compile("benchmarks|docker|hf download|ray |zstd ")
    prose = re.sub(r"`[^`\n]*`", lambda code: "" if others.search(code[0]) else code[0], prose)
    used = re.findall(r"(?<![\w-])--([a-zA-Z][\w-]*)", prose)
    assert [each for each in used if not has_flag(known, each) and each not in FOREIGN] == []


def test_what_does_not_exist_is_found() -> None:
    script = (
        "python create_pretraining_data.py --input_file=a \\\n    --no_such=1 # python b.py\nls\n"
    )
    ((path, arguments),) = filter(None, map(find_command, split_commands(script)))
    assert arguments == ["--input_file=a", "--no_such=1"]
    flags = read_flags(path)
    assert has_flag(flags, "input_file") and has_flag(flags, "nodo_lower_case")
    assert not has_flag(flags, "no_such")
    with pytest.raises(AssertionError, match=r"bert_data\.cli\.none"):
        find_command(["python", "-m", "bert_data.cli.none"])
    with pytest.raises(KeyError):
        find_command(["bert-data", "none"])
