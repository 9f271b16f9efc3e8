r"""Write SavedModels with the interfaces of TF Hub: text preprocessing, and a BERT encoder.

    bert-data export-hub --vocab_file=vocab.txt --init_checkpoint=model \
        --output_dir=hub

writes hub/preprocess (like bert_en_uncased_preprocess: strings to input_word_ids, input_mask,
input_type_ids; tokenize, bert_pack_inputs) and hub/encoder (pooled_output, sequence_output,
encoder_outputs; trainable; README.md is a card of what the checkpoint and its folder say).
--init_checkpoint is the --output_dir of run_pretraining.py, or the prefix of a checkpoint,
including released ones. Both load with hub.load and hub.KerasLayer, hub/preprocess only after
`import tensorflow_text`, and in Keras 3 models with bert_data.hub.PreprocessingLayer and
EncoderLayer; the README.md of each has the lines. With --vocab_file alone only preprocessing is
written, with --init_checkpoint alone only the encoder.
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
