"""Steps of users' own modules, in the command, its workers and entry points."""

import importlib.metadata
import json
import os
import subprocess
import sys

import pytest

from bert_data.cli.step_pages import explain_step, list_steps
from bert_data.curation.own_steps import read_sources
from bert_data.curation.step import Step, find_step, make_step
from bert_data.curation.steps.gopher import Length
from tests.curation.corpora import write_rows

MODULE = '''
import dataclasses
from bert_data import DocumentStep, Verdict, measure

@dataclasses.dataclass(frozen=True, kw_only=True)
class Calm(DocumentStep):
    """Keeps documents without many exclamation marks."""
    max_exclamations: int = 3

    def judge(self, document):
        value = document.text.count("!")
        return Verdict(document, (measure("max_exclamations", value, self.max_exclamations),))

class Loud:
    pass
'''


@pytest.fixture
def module(tmp_path, monkeypatch, request) -> str:
    """A module in the current folder, with a name of its own in each test."""
    name = f"steps_of_{request.node.name.partition('[')[0]}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


def test_a_class_of_a_module_is_a_step(module):
    step = make_step(f"{module}.Calm", {"max_exclamations": 1})
    assert isinstance(step, Step)
    assert (step.name, step.max_exclamations) == ("Calm", 1)
    assert "Keeps documents without many" in explain_step(f"{module}.Calm")
    with pytest.raises(ValueError, match=r"Calm has no parameter 'max'"):
        make_step(f"{module}.Calm", {"max": 1})


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no_module_of_this.Calm", "there is no module 'no_module_of_this' in"),
        ("{}.Clam", "has no 'Clam'; its steps are Calm"),
        ("{}.Loud", "has no step 'Loud'; its steps are Calm"),
        ("calm", r"step 'calm' is unknown.*; the steps are c4, .*, or module\.Class"),
        (".", "there is no module ''|Empty module name"),
    ],
)
def test_what_is_no_step(module, name, sentence):
    with pytest.raises(ValueError, match=sentence):
        find_step(name.format(module))


def test_a_module_that_cannot_be_imported_says_why(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_steps.py").write_text("import no_such_package\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        find_step("broken_steps.Calm")


def test_an_entry_point_names_a_step(module, monkeypatch):
    point = importlib.metadata.EntryPoint("calm", f"{module}:Calm", "bert_data.steps")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [point])
    assert find_step("calm").name == "Calm"
    assert f"  calm  {module}.Calm, installed" in list_steps()


def test_other_code_is_another_step(module, tmp_path):
    kind = find_step(f"{module}.Calm")
    assert read_sources([kind, Length]) == [MODULE.encode()]
    without_code = type("Odd", (Step,), {"__module__": "nowhere"})
    assert read_sources([without_code]) != read_sources([without_code])


@pytest.mark.process
@pytest.mark.slow
def test_the_command_runs_it_in_its_workers(module, tmp_path, checkout):
    rows = [{"text": f"Document {n}" + "!" * (n % 5)} for n in range(300)]
    write_rows(tmp_path / "in.jsonl", rows)
    done = subprocess.run(
        [sys.executable, "-c", "from bert_data.cli.main import main; main()", "curate",
         "--input_file=in.jsonl", "--output_file=out.jsonl", "--num_workers=2", "--shard_mb=0.004",
         f"--steps={module}.Calm:max_exclamations=2"],
        env=os.environ | {"PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kept = [json.loads(line)["text"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert kept == [row["text"] for row in rows if row["text"].count("!") <= 2]
    summary = json.loads((tmp_path / "curation.out.jsonl.json").read_text())
    assert summary["counts"][1]["rejected"] == {"max_exclamations": 120}
