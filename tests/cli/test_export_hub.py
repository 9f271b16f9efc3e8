"""The command that exports SavedModels, as a user types it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bert_data.storage.refusals import note_product
from tests.hub.exports import write_model

pytestmark = pytest.mark.process


def run(checkout: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bert_data.cli.export_hub", *flags]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_exports_and_says_what(checkout: Path, tmp_path: Path) -> None:
    """It replaces nothing unasked."""
    model = write_model(tmp_path)
    folder = tmp_path / "new" / "hub"
    flags = [
        f"--vocab_file={model.vocab_file}",
        f"--init_checkpoint={tmp_path}",
        f"--output_dir={folder}",
    ]
    (folder / "encoder").mkdir(parents=True)
    (folder / "encoder" / "saved_model.pb").write_bytes(b"precious")
    refused = run(checkout, *flags)
    assert refused.returncode == 1
    exists = "exists already (--overwrite replaces it)"
    assert refused.stderr.endswith(f"export_hub: error: {folder}/encoder: {exists}\n")
    assert (folder / "encoder" / "saved_model.pb").read_bytes() == b"precious"
    assert os.listdir(folder) == ["encoder"]

    foreign = run(checkout, *flags, "--overwrite").stderr
    assert "was not made by bert-data export-hub" in foreign
    note_product(str(folder / "encoder"), "bert-data export-hub")
    result = run(checkout, *flags, "--overwrite")
    assert result.returncode == 0, result.stderr
    assert "  vocabulary     11 tokens\n" in result.stderr
    assert f"  checkpoint     {model.checkpoint}, with the masked-LM head\n" in result.stderr
    assert f"  wrote          {folder}/encoder  " in result.stderr
    assert (folder / "encoder" / "saved_model.pb").stat().st_size > 1000
    assert sorted(os.listdir(folder)) == ["encoder", "preprocess"]


@pytest.mark.parametrize(
    ("flags", "status", "sentence"),
    [
        ((), 2, "missing: --output_dir"),
        (("--output_dir=OUT",), 1, "nothing to export: give --vocab_file"),
        (("--output_dir=OUT", "--vocab_file=none"), 1, "none: No such file or directory"),
        (("--output_dir=OUT", "--tokenizer=quick"), 2, "flag --tokenizer=quick"),
    ],
)
def test_mistakes_are_told_in_one_line(
    checkout: Path, tmp_path: Path, flags: tuple[str, ...], status: int, sentence: str
) -> None:
    folder = tmp_path / "output"
    result = run(checkout, *(flag.replace("OUT", str(folder)) for flag in flags))
    assert result.returncode == status
    errors = [line for line in result.stderr.splitlines() if line.startswith("export_hub: error: ")]
    assert len(errors) == 1
    assert errors[0].startswith(f"export_hub: error: {sentence}")
    assert "Traceback" not in result.stderr
    assert not folder.exists()
