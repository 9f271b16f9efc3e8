"""From labelled texts to a trained classifier, as a user runs the commands."""

import csv
import json
import re
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.forking import Programs
from tests.goldens.inputs import SYLLABLES, WORDS
from tests.program_folder import contents
from tests.training.tiny import tiny_config

COVERS = ("cli/fine_tune",)

pytestmark = pytest.mark.process


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(folder: Path, tensorflow_programs: Programs) -> Run:
    """Runs a command: (its name, flags)."""

    def run_program(name: str, **flags: object) -> subprocess.CompletedProcess[str]:
        command = ["-m", f"bert_data.cli.{name}"]
        arguments = [f"--{flag}={value}" for flag, value in flags.items()]
        return tensorflow_programs.run([*command, *arguments], cwd=folder)

    return run_program


@pytest.fixture
def folder(tmp_path: Path, small_vocabulary: Path) -> Path:
    """Has a.csv, whose labels are the first syllables of its texts, some of two lines."""
    (tmp_path / "vocab.txt").write_bytes(small_vocabulary.read_bytes())
    with (tmp_path / "a.csv").open("w", newline="") as file:
        rows = [("review", "number", "kind")]
        for number in range(90):
            kind = SYLLABLES[number % 3]
            words = [kind] * 4 + [*(WORDS[(number * 7 + i * 13) % 100] for i in range(number % 11))]
            rows.append((" ".join(words).replace(" ba", "\nba"), str(number), kind))
        csv.writer(file).writerows(rows)
    return tmp_path


def write(run: Run, **flags: object) -> subprocess.CompletedProcess[str]:
    usual = {"input_file": "a.csv", "vocab_file": "vocab.txt", "output_file": "t@2"}
    columns = {"text_columns": "review", "label_column": "kind"}
    return run("label", **{**usual, **columns, **flags})


@pytest.mark.slow
def test_from_text_to_a_trained_classifier(folder: Path, run: Run) -> None:
    done = write(run, sentences="lines")
    assert done.returncode == 0, done.stderr
    assert "labels         3 classes: ba 30, do 30, ki 30" in done.stderr
    assert "[sentences, words, pieces]" in done.stderr
    names = {"t-00000-of-00002", "t-00001-of-00002", "manifest.t.json"}
    assert names <= set(contents(folder))
    config = tiny_config(vocab_size=100, hidden_size=32, num_hidden_layers=1, initializer_range=0.1)
    (folder / "bert.json").write_text(config.to_json())
    flags = {"input_file": "t-0*", "eval_input_file": "t-0*", "max_seq_length": 10, "batch_size": 8}
    of_small = {"bert_config_file": "bert.json", "num_epochs": 12, "learning_rate": 5e-3}
    done = run("fine_tune", **flags, **of_small, output_file="model.weights.h5")
    assert done.returncode == 0, done.stderr
    assert re.search(r"90 records in 12 batches per epoch, \d\.\d% padding", done.stderr)
    assert "epoch 12 of 12: accuracy" in done.stderr
    measured = re.search(r't-0\*: {"accuracy": ([0-9.]+)', done.stderr)
    assert measured is not None
    assert float(measured[1]) > 0.9
    assert (folder / "model.weights.h5").stat().st_size > 10_000
    done = run("fine_tune", **flags, num_epochs=1, output_file="m.keras")
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(folder / "m.keras") as saved:
        config = json.loads(saved.read("config.json"))["config"]
    assert (config["num_labels"], config["labels"]) == (3, ["ba", "do", "ki"])
    assert not [name for name in contents(folder) if name.startswith(".")]


@pytest.mark.parametrize(
    ("flags", "status", "sentence"),
    [
        ({"label_kind": "integer"}, 1, "a.csv:2: the label is 'ba'; it must be a 64-bit integer"),
        ({"output": "x"}, 2, "unknown flag --output"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_mistakes(folder: Path, run: Run, flags: dict, status: int, sentence: str) -> None:
    before = contents(folder)
    done = write(run, **flags)
    assert (done.returncode, done.stdout) == (status if status == 1 else done.returncode, "")
    assert done.returncode
    *log, last = done.stderr.splitlines()
    assert not any(" error: " in line for line in log)
    assert last.startswith("label: error: ")
    assert sentence in last
    assert contents(folder) == before
