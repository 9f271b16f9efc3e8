"""Commands in a folder whose modules have the names of ours, as a clone of Google's has."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

# What stands in google-research/bert, then parts of bert_data, then words that modules here have.
FOREIGN = (
    "create_pretraining_data", "modeling", "optimization", "run_pretraining", "tokenization",
    "cli", "features", "formats", "reader", "records", "schema", "storage", "text", "tokens",
    "work", "definition", "dataset", "documents", "masking", "vocabulary",
)  # fmt: skip
FOLDERS = ("bert", "datasets", "numba", "numpy", "tokenizers")


@pytest.fixture
def run(tmp_path: Path, checkout: Path, small_text: Path, small_vocabulary: Path):
    for name in FOREIGN:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py was imported')\n")
    for name in FOLDERS:
        (tmp_path / name).mkdir()
    (tmp_path / "text.txt").write_bytes(small_text.read_bytes())
    (tmp_path / "vocab.txt").write_bytes(small_vocabulary.read_bytes())
    rows = [{"text": text} for text in small_text.read_text().split("\n\n")]
    (tmp_path / "text.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run_command(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(checkout)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_command


def test_commands_run_beside_modules_of_these_names(run, checkout, tmp_path):
    reads = ("--input_file=text.txt", "--vocab_file=vocab.txt")
    run(str(checkout / "create_pretraining_data.py"), *reads, "--output_file=out")
    run("-m", "bert_data.cli.tokenize", *reads, "--output_prefix=store", "--level=document")
    samples = ("--input=store", "--seq_length=16", "--cache_dir=cache")
    run("-m", "bert_data.cli.build_samples", *samples)
    vocabulary = ("--output_file=new.txt", "--vocab_size=60", "--min_frequency=1")
    run("-m", "bert_data.cli.train_vocab", "--input_file=text.txt", *vocabulary)
    assert "record 0 " in run("-m", "bert_data.cli.inspect", "--input_file=out")
    for name in ("out", "store.idx", "new.txt"):
        assert (tmp_path / name).stat().st_size


def test_so_do_processes_that_a_command_starts(run, tmp_path):
    steps = ("--steps=length", "--num_workers=2")
    run("-m", "bert_data.cli.curate", "--input_file=text.jsonl", "--output_file=kept.jsonl", *steps)
    assert (tmp_path / "kept.jsonl").is_file()


def test_so_does_what_is_imported_later(run):
    program = (
        "import importlib, pkgutil, bert_data\n"
        "for module in pkgutil.walk_packages(bert_data.__path__, 'bert_data.'):\n"
        "    # Two commands define one flag; PyTorch need not be installed.\n"
        "    if not module.name.startswith(('bert_data.cli.', 'bert_data.torch')):\n"
        "        importlib.import_module(module.name)\n"
        "        print(module.name)\n"
    )
    names = run("-c", program).split()
    assert {"bert_data.training.loop", "bert_data.hub.exporting", "bert_data.reader"} <= {*names}
