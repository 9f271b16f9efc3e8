"""The command that writes a folder of Hugging Face, from export to import."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.hub.exports import write_model

COVERS = ("cli/model_flags",)


def run(module: str, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"bert_data.cli.{module}", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.process
def test_a_model_goes_to_hugging_face_and_from_there_to_tf_hub(tmp_path: Path) -> None:
    model = write_model(tmp_path)
    folder = tmp_path / "new" / "hf"
    flags = [f"--vocab_file={model.vocab_file}", f"--output_dir={folder}"]
    result = run("export_hf", f"--init_checkpoint={tmp_path}", *flags)
    assert result.returncode == 0, result.stderr
    assert "BertForPreTraining, 1,453 parameters" in result.stderr
    refused = run("export_hf", f"--init_checkpoint={tmp_path}", *flags)
    assert refused.returncode == 1
    assert f"export_hf: error: {folder}/" in refused.stderr.splitlines()[-1]
    flags = [f"--vocab_file={folder}/vocab.txt", f"--output_dir={tmp_path}/hub", "--seq_length=8"]
    result = run("export_hub", f"--init_checkpoint={folder}", *flags)
    assert result.returncode == 0, result.stderr
    assert "with the masked-LM head" in result.stderr
