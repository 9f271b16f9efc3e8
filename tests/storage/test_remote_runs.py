"""Commands whose inputs and outputs are URIs give what they give of local files."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.storage.output_sets import contents

pytestmark = pytest.mark.process


@pytest.fixture
def folder(tmp_path, small_text, small_vocabulary):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b.txt").write_bytes(small_text.read_bytes())
    (tmp_path / "in" / "a.txt.gz").write_bytes(gzip.compress(small_text.read_bytes(), mtime=0))
    (tmp_path / "in" / "vocab.txt").write_bytes(small_vocabulary.read_bytes())
    return tmp_path


def run(checkout: Path, folder: Path, program: str, flags: str, *, place: str) -> str:
    """Runs a program with flags in which "@" is where its files are; returns its last line."""
    is_script = program.startswith("create")
    command = [str(checkout / f"{program}.py")] if is_script else ["-m", f"bert_data.cli.{program}"]
    done = subprocess.run(
        [sys.executable, *command, *(flags.replace("@", f"{place}/") if place else flags).split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(checkout), "TMPDIR": str(folder / "tmp")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1)
    return "" if done.returncode == 0 else done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("program", "flags"),
    [
        (
            "create_pretraining_data",
            "--input_file=@in/a.txt.gz,@in/[^av]*.txt --vocab_file=@in/vocab.txt"
            " --max_seq_length=32 --max_predictions_per_seq=5 --output_file=@out/t",
        ),
        ("train_vocab", "--input_file=@in/*.gz --vocab_size=60 --output_file=@out/vocab.txt"),
        ("tokenize", "--input_file=@in/b.txt --vocab_file=@in/vocab.txt --output_prefix=@out/s"),
    ],
    ids=["create_pretraining_data", "train_vocab", "tokenize"],
)
def test_files_by_uri(checkout, folder, program, flags):
    (folder / "tmp").mkdir()
    assert not run(checkout, folder, program, flags, place=str(folder))
    local = contents(folder / "out")
    assert not run(checkout, folder, program, f"{flags} --overwrite", place=f"file://{folder}")
    assert contents(folder / "out") == local
    (folder / "out").rename(folder / "local")
    assert not run(checkout, folder, program, flags, place=f"file://{folder}")
    assert contents(folder / "out") == local
    if program != "tokenize":  # which finds that its store is there
        error = run(checkout, folder, program, flags, place=f"file://{folder}")
        assert f"file://{folder}/out/" in error and "exists already" in error
    assert contents(folder / "out") == local
    assert contents(folder / "tmp") == {}


def test_what_a_failed_run_leaves(checkout, folder):
    """An input that is damaged at its end: nothing is published, and nothing stays behind."""
    (folder / "tmp").mkdir()
    whole = (folder / "in" / "a.txt.gz").read_bytes()
    (folder / "in" / "a.txt.gz").write_bytes(whole[:-100])
    before = contents(folder)
    flags = "--input_file=@in/a.txt.gz --vocab_file=@in/vocab.txt --output_file=@out/t"
    error = run(checkout, folder, "create_pretraining_data", flags, place=f"file://{folder}")
    assert f"file://{folder}/in/a.txt.gz: byte offset" in error
    assert contents(folder) == before


def test_what_an_earlier_remote_set_has_more_goes(checkout, folder):
    (folder / "tmp").mkdir()
    flags = "--input_file=@in/b.txt --vocab_file=@in/vocab.txt --overwrite --output_file=@out/t@"
    for count in ("3", "2"):
        given = flags[:-1].replace("@", f"file://{folder}/") + f"@{count}"
        assert not run(checkout, folder, "create_pretraining_data", given, place="")
    names = [name for name in contents(folder / "out") if not name.endswith("json")]
    assert names and all("of-00002" in name for name in names)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--input_file=@in/b.txt --output_file=out", "/in/b.txt' is a URI; curate reads and"),
        ("--input_file=in/b.txt --output_file=@out", "/out' is a URI; curate reads and"),
    ],
)
def test_curate_refuses_uris(checkout, folder, flags, message):
    flags += " --steps=length"
    assert message in run(checkout, folder, "curate", flags, place=f"file://{folder}")
    assert not (folder / "out").exists()
