"""Packages that may be missing."""

import collections.abc
import json
import sys

import pytest

from bert_data.packages import import_on_use, load_package


def test_a_module_is_loaded() -> None:
    assert load_package("json", "the step `x`") is json


def test_what_is_missing_is_told_with_its_user_and_the_remedy() -> None:
    with pytest.raises(ValueError) as caught:
        load_package("no_such_package.part", "the step `x`")
    sentence = str(caught.value)
    assert sentence.startswith("the step `x` needs the package no_such_package, which cannot be")
    assert sentence.endswith("install it with pip install '.[curation]'")
    assert caught.value.__suppress_context__


def test_a_module_is_imported_with_its_first_name() -> None:
    import_name = import_on_use("json", {"tool": "main", "decoder": "JSONDecoder scanstring"})
    sys.modules.pop("json.tool", None)
    assert import_name("scanstring").__name__ == "scanstring"
    assert "json.tool" not in sys.modules
    assert import_name("main").__module__ == "json.tool"


def test_other_names_are_not_there() -> None:
    import_name = import_on_use("collections", {"abc": "Mapping"})
    assert import_name("Mapping") is collections.abc.Mapping
    with pytest.raises(AttributeError, match=r"^module 'collections' has no attribute 'Sequence'$"):
        import_name("Sequence")
