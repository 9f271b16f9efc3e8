"""The curate command as a user types it, and on to records for training."""

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bert_data.cli.step_pages import explain_step, list_steps
from bert_data.curation.running.presets import PRESETS, SOURCES
from bert_data.curation.step import steps_by_name
from bert_data.yaml_files import load_yaml
from tests.curation.corpora import write_rows
from tests.curation.running.test_run import contents, texts
from tests.forking import Programs

COVERS = ("cli/step_pages",)


pytestmark = pytest.mark.process

PROGRAM = """
from bert_data.cli import curate, entry
if __name__ == "__main__":
    entry.run(curate.main)
"""


class Folder:
    """A folder with texts, where the command is run."""

    def __init__(self, path: Path, checkout: Path, programs: Programs) -> None:
        self.path, self.checkout, self._programs = path, checkout, programs
        write_rows(path / "web.jsonl", [{"text": text, "n": n} for n, text in enumerate(texts(99))])

    def python(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command],
            cwd=self.path,
            env={**os.environ, "PYTHONPATH": str(self.checkout)},
            capture_output=True,
            text=True,
            check=False,
        )

    def well(self, *flags: str) -> subprocess.CompletedProcess[str]:
        done = self._programs.run(["-m", "bert_data.cli.curate", *flags], cwd=self.path)
        assert done.returncode == 0, done.stderr
        return done


@pytest.fixture
def folder(tmp_path, checkout, programs) -> Folder:
    return Folder(tmp_path, checkout, programs)


def test_a_pipeline_in_a_file_and_the_same_in_flags(folder):
    (folder.path / "p.yaml").write_text(
        "inputs: [{name: web, files: web.jsonl}]\n"
        "steps: [length: {min_words: 3}, exact_duplicates]\n"
        "output: {files: a/o.jsonl@2, rejected_file: a/r.jsonl}\n"
    )
    folder.well("--pipeline=p.yaml", "--num_workers=2", "--shard_mb=0.001", "--report=a/r.html")
    steps = "--steps=length:min_words=3 exact_duplicates"
    flags = ["--input_file=web=web.jsonl", steps, "--shard_mb=0.001", "--num_workers=1"]
    done = folder.well(*flags, "--output_file=b/o.jsonl@2", "--rejected_file=b/r.jsonl")
    first, second = contents(folder.path / "a"), contents(folder.path / "b")
    page = first.pop("r.html").decode()
    assert first == second
    assert "<svg" in page and "exact_duplicates" in page and "http" not in page
    assert "<td>max_copies</td><td>rejected</td><td>2.0</td><td>1</td>" in page
    assert {json.loads(line)["rule"] for line in first["r.jsonl"].splitlines()} == {"max_copies"}
    summary = json.loads(first["curation.o.jsonl.json"])
    assert [counts["label"] for counts in summary["counts"]] == [
        "read",
        "length",
        "exact_duplicates",
    ]
    assert sum(file["num_documents"] for file in summary["files"]) == len(
        (first["o-00000-of-00002.jsonl"] + first["o-00001-of-00002.jsonl"]).splitlines()
    )
    assert "ledger         b/ledger.o.jsonl.parquet" in done.stderr


def test_steps_are_explained(folder):
    listed = folder.well("--list_steps").stdout
    assert "  gopher_quality " in listed and "  fineweb " in listed
    output = folder.well("--explain=gopher_quality").stdout
    assert "min_words = 50" in output and "-> rejected" in output
    assert "  data_sets = []\n      names of the data sets that" in output
    assert output.count("least number of words that contain a letter") == 1


def test_defaults_are_as_a_pipeline_has_them():
    for name, step in steps_by_name().items():
        shown = dict(re.findall(r"^  (\w+) = (.*)\n", explain_step(name), re.MULTILINE))
        for field in dataclasses.fields(step):
            if (default := field.default) is not dataclasses.MISSING:
                written = list(default) if isinstance(default, tuple) else default
                assert load_yaml(shown[field.name]) == written
    assert 'examples with {"languages": ["en", "zh"]}:' in explain_step("language")


def test_presets_are_explained():
    preset = explain_step("refinedweb")
    steps = yaml.safe_load(preset)["preset refinedweb"]
    assert steps[:2] == [{"url_filter": {"quality_sources": True}}, "extract"]
    pages = yaml.safe_load(explain_step("llama"))["preset llama"]
    assert list(pages) == [f"data sets of {source}" for source in SOURCES["llama"]]
    assert pages["data sets of arxiv"] == "no steps"
    assert pages["data sets of c4"] == [{step: values} for step, values in PRESETS["c4"]]
    (sites,) = pages["data sets of stackexchange"]
    allowed = PRESETS["llama"][-1][1]["allowed"]
    assert len(allowed) == 28 and "mathoverflow.net" in allowed
    assert sites == {"field_values": {"field": "site", "allowed": allowed}}
    both = explain_step("c4")
    assert both.startswith("c4: judges each document") and "\npreset c4:\n  - c4: {" in both
    lines = [line.strip() for line in list_steps().splitlines()]
    assert "c4: c4, line_duplicates, language" in lines and "arxiv: no steps" in lines


def test_tokens_are_counted_by_a_vocabulary(folder, small_vocabulary):
    (folder.path / "a.txt").write_text("baba bado\nbaki.\n\nzzz\n")
    flags = ["--input_file=a.txt", "--output_file=o.txt", f"--vocab_file={small_vocabulary}"]
    folder.well(*flags)
    counts = json.loads((folder.path / "curation.o.txt.json").read_text())["counts"]
    # baba; ba ##do; ba ##ki .; [UNK]
    assert counts[0]["num_tokens"] == 7


def test_stores_by_a_file_and_by_flags(folder, small_vocabulary):
    (folder.path / "p.yaml").write_text(
        "inputs: [{name: input, files: web.jsonl}]\nsteps: [mix: {weights: {input: 1},"
        " unit: tokens, budget: 200}]\n"
        f"output: {{files: a/s, format: store, vocab_file: {small_vocabulary}, level: sentence}}\n"
    )
    folder.well("--pipeline=p.yaml")
    stores = ["--output_file=b/s", "--output_format=store", "--level=sentence"]
    steps = "--steps=mix:weights={input: 1},unit=tokens,budget=200"
    done = folder.well("--input_file=web.jsonl", steps, *stores, f"--vocab_file={small_vocabulary}")
    first, second = contents(folder.path / "a"), contents(folder.path / "b")
    assert first == second and {"s.bin", "s.idx", "s.provenance.parquet"} < first.keys()
    assert " documents, 219 tokens, " in done.stderr


WEB = ("--input_file=web.jsonl", "--output_file=o")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ([], "--input_file is missing"),
        (["--input_file=web.jsonl"], "--output_file is missing"),
        (["--input_file=x.jsonl", "--output_file=o"], "data set input: no file matches 'x.jsonl'"),
        (["--explain=lenght"], "step 'lenght' is unknown (did you mean length?)"),
        (["--explain=lama"], "or module.Class; the presets are c4, gopher,"),
        (["--explain=lama"], "llama (did you mean llama?)"),
        ([*WEB, "--report=r.json"], "output 'r.json' would not be jsonl, as its ending says"),
        ([*WEB, "--steps=field_values:field=x,allowed=1"], "; no document has the field 'x')"),
        (["--pipeline=p.yaml", "--steps=length"], "--pipeline already defines the steps"),
        (["--pipeline=p.yaml"], "p.yaml: No such file"),
        ([*WEB, "--allow_steps_from=m"], "--allow_steps_from needs --pipeline"),
        ([*WEB, "--append_eod"], "append_eod needs --output_format=store"),
        ([*WEB, "--output_format=store"], "set one of --vocab_file and --tokenizer_file; neither"),
        (
            [*WEB, "--text_field=body", "--input_format=lines"],
            "text_field is 'body', but the format is lines; --text_field is for",
        ),
        ([*WEB, "--id_field=k", "--on_error=strict"], "web.jsonl:1: no field 'k' (--id_field)"),
    ],
)
def test_mistakes_are_one_sentence(commands, flags, sentence):
    assert sentence in commands.error("curate", *flags)


def test_ctrl_c_keeps_what_is_done(folder):
    (folder.path / "program.py").write_text(PROGRAM)
    flags = ["--input_file=web.jsonl", "--output_file=out/o.jsonl", "--steps=exact_duplicates"]
    command = ["program.py", *flags, "--shard_mb=0.001", "--num_workers=2"]
    dying = str(folder.checkout / "tests/dying_program.py")
    stopped = folder.python(dying, "SIGINT", "42", str(folder.path), *command)
    assert stopped.returncode == 128 + signal.SIGINT, stopped.stderr
    assert stopped.stderr.endswith("program: error: stopped by SIGINT\n")
    assert "the same command resumes from there" in stopped.stderr
    assert [path.name for path in (folder.path / "out").iterdir()] == [".o.jsonl.curation"]
    done = folder.python(*command)
    assert done.returncode == 0, done.stderr
    assert "were done by an earlier run" in done.stderr
    assert sorted(path.name for path in (folder.path / "out").iterdir()) == [
        "curation.o.jsonl.json",
        "ledger.o.jsonl.parquet",
        "o.jsonl",
    ]
