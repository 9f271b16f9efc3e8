"""The command that gives a model new tokens."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.hub.exports import write_model

pytestmark = pytest.mark.process


def run(*flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bert_data.cli.extend_vocab", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_text_and_a_file_name_new_tokens(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    model = write_model(tmp_path / "model")
    (tmp_path / "text.txt").write_text("Goodly film.\nbadly goodly\n\ngoodly\n")
    flags = [
        f"--init_checkpoint={tmp_path}/model", f"--vocab_file={model.vocab_file}",
        f"--input_file={tmp_path}/text.txt",
    ]  # fmt: skip
    result = run(*flags, "--min_count=2", f"--output_dir={tmp_path}/out")
    assert result.returncode == 0, result.stderr
    assert "occur at least 2 times (--min_count): no more than 1\n" in result.stderr
    assert "new tokens     1 (goodly), 0 of them in [unused] places" in result.stderr
    assert (tmp_path / "out" / "vocab.txt").read_text().split()[-1] == "goodly"
    (tmp_path / "new.txt").write_text("BADLY\n")
    result = run(*flags, f"--new_tokens_file={tmp_path}/new.txt", f"--output_dir={tmp_path}/two")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "two" / "vocab.txt").read_text().split()[-1] == "badly"
    assert "1.6667 -> 1.5000 tokens per word" in result.stderr


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ([], "set --input_file, --new_tokens_file or both: they name the new tokens"),
        (["--input_file=none*"], "no file matches 'none*'"),
        (["--input_file=t", "--output_dir={folder}/old"], "{folder}/old: exists already (--overw"),
        (["--input_file=t", "--output_dir={folder}"], "output '{folder}' holds the input"),
    ],
)
def test_one_sentence(tmp_path: Path, flags: list[str], sentence: str) -> None:
    model = write_model(tmp_path)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "vocab.txt").touch()
    result = run(
        f"--init_checkpoint={tmp_path}", f"--vocab_file={model.vocab_file}",
        f"--output_dir={tmp_path}/out", *(flag.format(folder=tmp_path) for flag in flags),
    )  # fmt: skip
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"extend_vocab: error: {sentence.format(folder=tmp_path)}"), last
