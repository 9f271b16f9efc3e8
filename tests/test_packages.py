"""Packages that may be missing."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from bert_data.packages import load_package


def test_a_module_is_loaded() -> None:
    assert load_package("json", "the step `x`") is json


def test_what_is_missing_is_told_with_its_user_and_the_remedy() -> None:
    with pytest.raises(ValueError) as caught:
        load_package("no_such_package.part", "the step `x`")
    sentence = str(caught.value)
    assert sentence.startswith("the step `x` needs the package no_such_package, which cannot be")
    assert sentence.endswith("install it with pip install '.[curation]'")
    assert caught.value.__suppress_context__


SOURCE = """
from typing import TYPE_CHECKING, Any
from bert_data.packages import import_on_use
from kitchen.knives import cut as cut

if TYPE_CHECKING:
    from collections.abc import Mapping
    from kitchen.oven import bake as bake
    from kitchen.sink import wash as wash

calls: list[int] = []
__getattr__, __all__ = import_on_use(__name__, before=lambda: calls.append(1), light="sink")
"""


@pytest.fixture
def kitchen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package whose names are imported when they are used."""
    (tmp_path / "kitchen").mkdir()
    (tmp_path / "kitchen" / "__init__.py").write_text(SOURCE)
    for module, name in (("knives", "cut"), ("oven", "bake"), ("sink", "wash")):
        (tmp_path / "kitchen" / f"{module}.py").write_text(f"def {name}(): return {name!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("kitchen")
    for name in [name for name in sys.modules if name.partition(".")[0] == "kitchen"]:
        del sys.modules[name]


def test_a_module_is_imported_with_its_first_name(kitchen: ModuleType) -> None:
    assert kitchen.__all__ == ["bake", "cut", "wash"]
    assert "kitchen.oven" not in sys.modules
    assert kitchen.bake() == "bake"
    assert "kitchen.oven" in sys.modules and "kitchen.sink" not in sys.modules
    assert kitchen.calls == [1]
    assert kitchen.wash() == "wash"  # which needs nothing before it
    assert kitchen.calls == [1]


def test_other_names_are_not_there(kitchen: ModuleType) -> None:
    for name in ("Mapping", "roast"):
        with pytest.raises(AttributeError, match=f"^module 'kitchen' has no attribute '{name}'$"):
            getattr(kitchen, name)
