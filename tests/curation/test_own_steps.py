"""Steps of users' own modules, in the command, its workers and entry points."""

import contextlib
import importlib.metadata
import json
import os
import pty
import subprocess
import sys

import pytest

from bert_data.cli.step_pages import explain_step, list_steps
from bert_data.curation.own_steps import read_sources
from bert_data.curation.step import Step, find_step, make_step
from bert_data.curation.steps.gopher import Length
from tests.curation.corpora import write_rows

MODULE = '''
import dataclasses, sys
from bert_data import DocumentStep, Verdict, measure

@dataclasses.dataclass(frozen=True, kw_only=True)
class Calm(DocumentStep):
    """Keeps documents without many exclamation marks."""
    max_exclamations: int = 3

    def judge(self, document):
        value = document.text.count("!")
        document = document.with_fields(log=type(sys.stderr).__name__)
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


COMMAND = """
import atexit, sys
from bert_data.cli.main import main
forms = {"multiprocessing.popen_fork", "multiprocessing.popen_forkserver"}
atexit.register(lambda: print(*sorted(forms & set(sys.modules))))
main()
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux's libraries bear to be forked")
@pytest.mark.parametrize("shard_mb", ["0.004", "1"])
def test_the_command_on_a_terminal_forks_workers_that_run_it(module, tmp_path, checkout, shard_mb):
    """No library has started a thread by then, also if the command judges a single shard itself."""
    rows = [{"text": f"Document {n}" + "!" * (n % 5)} for n in range(300)]
    write_rows(tmp_path / "in.jsonl", rows)
    terminal, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, "curate", "--input_file=in.jsonl", f"--shard_mb={shard_mb}",
         "--output_file=out.jsonl@2", "--num_workers=2", "--steps=exact_duplicates",
         f"--steps={module}.Calm:max_exclamations=2"],
        env=os.environ | {"PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"},
        stdout=subprocess.PIPE, stderr=theirs,
    ) as command:  # fmt: skip
        os.close(theirs)
        with os.fdopen(terminal, "rb", buffering=0) as shown, contextlib.suppress(OSError):
            while shown.read(4096):  # until all have closed it
                pass
        assert command.stdout.read() == b"multiprocessing.popen_fork\n"
    assert command.returncode == 0
    files = [tmp_path / f"out-0000{n}-of-00002.jsonl" for n in range(2)]
    kept = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    expected = [row["text"] for row in rows if row["text"].count("!") <= 2]
    assert [row["text"] for row in kept] == expected
    summary = json.loads((tmp_path / "curation.out.jsonl.json").read_text())
    assert summary["counts"][2]["rejected"] == {"max_exclamations": 120}
    # Of a worker, it is not what puts lines above bars.
    assert {row["log"] for row in kept} == {"TextIOWrapper" if shard_mb != "1" else "_AboveBars"}
