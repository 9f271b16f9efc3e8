"""The command that writes a folder of Hugging Face, which export_hub then opens."""

import pytest

from bert_data.hub import saving
from bert_data.hub.export_config import ExportConfig
from bert_data.tokens.vocabulary import load_vocabulary
from tests.hub.exports import write_model


@pytest.mark.slow
@pytest.mark.process
def test_a_model_goes_to_hugging_face_and_can_go_from_there_to_tf_hub(
    tmp_path, tensorflow_commands
):
    model = write_model(tmp_path)
    folder = tmp_path / "new" / "hf"
    flags = [
        f"--init_checkpoint={tmp_path}",
        f"--vocab_file={model.vocab_file}",
        f"--output_dir={folder}",
    ]
    done = tensorflow_commands.well("export_hf", *flags)
    assert "BertForPreTraining, 1,453 parameters" in done.stderr
    assert tensorflow_commands.error("export_hf", *flags).startswith(f"{folder}/")
    config = ExportConfig(
        vocab_file=f"{folder}/vocab.txt",
        init_checkpoint=str(folder),
        output_dir="hub",
        seq_length=8,
    )
    vocabulary = load_vocabulary(config.vocab_file)
    weights = saving.open_weights(str(folder))
    encoder, *_ = saving.load_fitting_encoder(config, weights, vocabulary)
    assert hasattr(encoder, "mlm")
