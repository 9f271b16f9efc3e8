"""Write the types of keyword arguments, bert_data/api/keywords.pyi: `python docs/keywords.py`.

    @takes(TextConfig)                  class TextOptions(TypedDict, total=False):
    def train_vocab(*, ...)       ->        language: str
                                        class TrainVocabOptions(TextOptions, total=False): ...

A setting's type and choices follow from its declaration. A test compares.
"""

import dataclasses
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bert_data
from bert_data.api.arguments import taken_by
from bert_data.settings import REQUIRED, OneOf, Setting, settings_of
from bert_data.work import ENGINE_SETTINGS, ENGINES

STUB = Path(bert_data.__file__).parent / "api/keywords.pyi"
FUNCTIONS = (
    "train_vocab", "create_records", "tokenize", "read_batches", "iterate_arrays", "build_samples",
    "curate", "train_classifier", "train", "export_hub", "export_hf",
)  # fmt: skip
_HEAD = '''"""Keyword arguments of functions, for type checkers; docs/keywords.py writes this."""

import os
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from bert_data.work import Engine

Path = str | os.PathLike[str]
'''
_SHARED = {
    "text_field": "Text", "ray_address": "Engine", "words": "Tokens", "append_eod": "Store",
    "pool_batches": "Reading",
}  # fmt: skip
"""A keyword, and the name of the settings that just the functions with it take."""
_PATHS = ("_file", "_dir", "_from", "_checkpoint", "without_documents")
_OTHERS = {"work_dir": "Path | None", "input_context": "Any"}
_BESIDE = {("train", "batching"): "auto"}  # choices that only a function has
_INNER = ("needed_fields", "files_end_documents")  # settings that only other settings decide
_TAB = "    "


def write() -> str:
    """Return the stub, as ruff formats it."""
    taken = {function: set(keywords(function).items()) for function in FUNCTIONS}
    bases: dict[str, list[str]] = {function: [] for function in FUNCTIONS}
    stub = _HEAD
    for keyword, base in _SHARED.items():
        users = [function for function, kinds in taken.items() if keyword in dict(kinds)]
        others = set[Any]().union(*(taken[each] for each in FUNCTIONS if each not in users))
        shared = set.intersection(*(taken[user] for user in users)) - others
        stub += _dictionary(base, [], shared)
        for user in users:
            taken[user] -= shared
            bases[user].append(f"{base}Options")
    for function, kinds in taken.items():
        stub += _dictionary(function.title().replace("_", ""), bases[function], kinds)
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"]
    return subprocess.run(ruff, input=stub, capture_output=True, text=True, check=True).stdout


def _dictionary(name: str, bases: list[str], kinds: set[tuple[str, str]]) -> str:
    head = f"\nclass {name}Options({', '.join(bases or ['TypedDict'])}, total=False):\n"
    return head + "".join(f"{_TAB}{name}: {kind}\n" for name, kind in sorted(kinds))


def keywords(function: str) -> dict[str, str]:
    """Return the keyword arguments of a function that its signature does not name, and types."""
    signature = inspect.signature(getattr(bert_data, function))
    taken = taken_by(function)
    kinds = {name: kind for config in taken.configs for name, kind in _settings(config)}
    for name in taken.others:
        engine = ENGINE_SETTINGS.get(name)
        kinds[name] = _OTHERS.get(name, "") if engine is None else _kind(settings_of(engine)[name])
    if "ray_address" in kinds:
        names = ", ".join(f'"{name}"' for name in ENGINES)
        kinds["engine"] = f"Engine | Literal[{names}]"
    for (name, setting), choice in _BESIDE.items():
        if name == function:
            kinds[setting] = kinds[setting].replace("[", f'["{choice}", ', 1)
    known = signature.parameters.keys() | {*taken.fixed, *_INNER}
    return {name: kind for name, kind in sorted(kinds.items()) if name not in known}


def _settings(config: type) -> Iterator[tuple[str, str]]:
    for name, setting in settings_of(config).items():
        if setting.default is not REQUIRED and not dataclasses.is_dataclass(setting.kind):
            yield name, _kind(setting)


def _kind(setting: Setting) -> str:
    kind: Any = setting.kind
    if isinstance(setting.constraint, OneOf):
        shown = f"Literal[{', '.join(map(repr, setting.constraint.words))}]".replace("'", '"')
    elif kind is str and setting.name.endswith(_PATHS):
        shown = "Path"
    else:
        shown = getattr(kind, "__name__", "") if isinstance(kind, type) else str(kind)
        shown = str(kind) if "[" in str(kind) else shown
    shown = shown.replace("collections.abc.", "").replace("typing.", "")
    return f"{shown} | None" if setting.is_optional else shown


if __name__ == "__main__":
    STUB.write_text(write(), encoding="utf-8")
