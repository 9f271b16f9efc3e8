"""The command that writes a folder of Hugging Face, which export_hub then opens."""

import subprocess
import sys
from pathlib import Path

import pytest

from bert_data.hub import saving
from bert_data.hub.config import ExportConfig
from bert_data.tokens.vocabulary import load_vocabulary
from tests.hub.exports import write_model


def run(module: str, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"bert_data.cli.{module}", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.process
def test_a_model_goes_to_hugging_face_and_can_go_from_there_to_tf_hub(tmp_path: Path) -> None:
    model = write_model(tmp_path)
    folder = tmp_path / "new" / "hf"
    flags = [f"--vocab_file={model.vocab_file}", f"--output_dir={folder}"]
    result = run("export_hf", f"--init_checkpoint={tmp_path}", *flags)
    assert result.returncode == 0, result.stderr
    assert "BertForPreTraining, 1,453 parameters" in result.stderr
    refused = run("export_hf", f"--init_checkpoint={tmp_path}", *flags)
    assert refused.returncode == 1
    assert f"export_hf: error: {folder}/" in refused.stderr.splitlines()[-1]
    config = ExportConfig(
        vocab_file=f"{folder}/vocab.txt",
        init_checkpoint=str(folder),
        output_dir="hub",
        seq_length=8,
    )
    vocabulary = load_vocabulary(config.vocab_file)
    encoder, _ = saving.load_fitting_encoder(config, saving.open_weights(str(folder)), vocabulary)
    assert hasattr(encoder, "mlm")
