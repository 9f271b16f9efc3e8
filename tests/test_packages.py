"""Packages that may be missing."""

import json

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
