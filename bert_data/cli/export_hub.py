r"""Write TF Hub SavedModels of a model: its text preprocessing and its BERT encoder.

    bert-data export-hub --vocab_file=vocab.txt --init_checkpoint=model \
        --output_dir=hub

writes hub/preprocess, which has the interface of bert_en_uncased_preprocess (strings to
input_word_ids, input_mask and input_type_ids; tokenize and bert_pack_inputs), and hub/encoder,
which is trainable and returns pooled_output, sequence_output and encoder_outputs. The README.md of
each shows how to load it; that of the encoder is also a model card, made from the checkpoint and
its folder.

Both load with hub.load, with hub.KerasLayer, and in Keras 3 models with PreprocessingLayer and
EncoderLayer of bert_data.hub. Import tensorflow_text before you load hub/preprocess. With
--vocab_file alone the command writes only the preprocessing, with --init_checkpoint alone only the
encoder.
"""

from collections.abc import Sequence

from absl import logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.cli.shared_flags import model_settings
from bert_data.hub.export_config import ExportConfig
from bert_data.quiet_tensorflow import import_tensorflow

_COMMON = "init_checkpoint vocab_file tokenizer_file do_lower_case output_dir overwrite"
SECTIONS = (
    Section(
        "",
        (*model_settings(), *settings(ExportConfig, "output_dir seq_length tokenizer overwrite")),
    ),
)


def main(_: Sequence[str]) -> None:
    """Write the SavedModels as the flags say."""
    from bert_data import hub

    config = from_flags(ExportConfig)
    import_tensorflow()
    logging.info("%s", hub.export(config))


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
