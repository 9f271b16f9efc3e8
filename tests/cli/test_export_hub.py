"""The command that exports SavedModels, as a user types it."""

import os

import pytest

from bert_data.storage.refusals import note_product
from tests.hub.exports import write_model

pytestmark = pytest.mark.process


@pytest.mark.slow
def test_exports_and_says_what(tmp_path, tensorflow_commands):
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
    exists = f"{folder}/encoder: exists already (--overwrite replaces it)"
    assert tensorflow_commands.error("export_hub", *flags) == exists
    foreign = tensorflow_commands.error("export_hub", *flags, "--overwrite")
    assert "was not made by bert-data export-hub" in foreign
    note_product(str(folder / "encoder"), "bert-data export-hub")
    said = tensorflow_commands.well("export_hub", *flags, "--overwrite").stderr
    assert "  vocabulary     11 tokens\n" in said
    assert f"  checkpoint     {model.checkpoint}, with the masked-LM head\n" in said
    assert f"  wrote          {folder}/encoder  " in said
    assert (folder / "encoder" / "saved_model.pb").stat().st_size > 1000
    assert sorted(os.listdir(folder)) == ["encoder", "preprocess"]


@pytest.mark.parametrize(
    ("flags", "status", "sentence"),
    [
        ((), 2, "missing: --output_dir"),
        (("--output_dir=output",), 1, "nothing to export: give --vocab_file"),
        (("--output_dir=output", "--vocab_file=none"), 1, "none: no such file or folder;"),
        (
            ("--output_dir=output", "--tokenizer=quick"),
            2,
            "--tokenizer is 'quick'; it must be one of exact, fast",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(tensorflow_commands, flags, status, sentence):
    assert tensorflow_commands.error("export_hub", *flags, status=status).startswith(sentence)
