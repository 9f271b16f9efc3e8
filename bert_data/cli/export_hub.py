r"""Write SavedModels with the interfaces of TF Hub: text preprocessing, and a BERT encoder.

    python -m bert_data.cli.export_hub --vocab_file=vocab.txt --init_checkpoint=model \
        --output_dir=hub

writes hub/preprocess (like bert_en_uncased_preprocess: strings to input_word_ids, input_mask,
input_type_ids; tokenize, bert_pack_inputs) and hub/encoder (pooled_output, sequence_output,
encoder_outputs; trainable). --init_checkpoint is the --output_dir of run_pretraining.py, or the
prefix of a checkpoint, including released ones. Both load with hub.load and hub.KerasLayer, and in
Keras 3 models with bert_data.hub.PreprocessingLayer and EncoderLayer. With --vocab_file alone only
preprocessing is written, with --init_checkpoint alone only the encoder.
"""

import os
from collections.abc import Sequence

from absl import flags, logging

from bert_data.cli import entry

FLAGS = flags.FLAGS

flags.DEFINE_string(
    "vocab_file", None, "Vocabulary, one token per line: the one that the model was trained with."
)
flags.DEFINE_string(
    "tokenizer_file",
    None,
    "Instead of --vocab_file: a tokenizer.json of WordPiece with BERT's rules, which "
    "itself says whether text is lower-cased.",
)
flags.DEFINE_string(
    "bert_config_file",
    None,
    "JSON file with the sizes of the model; by default, the bert_config.json or config.json beside"
    " the weights.",
)
flags.DEFINE_string(
    "init_checkpoint",
    None,
    "The weights: the folder of a training run, which stands for its last checkpoint,"
    " the prefix of a checkpoint (.../bert_model.ckpt), or a folder of Hugging Face"
    " (model.safetensors).",
)
flags.DEFINE_string("output_dir", None, "Folder for preprocess/ and encoder/.", required=True)
flags.DEFINE_bool(
    "do_lower_case", True, "Lower-case the text and drop accents, as for the model's training data."
)
flags.DEFINE_integer(
    "seq_length", 128, "Default width of rows; bert_pack_inputs can choose another."
)
flags.DEFINE_enum(
    "tokenizer",
    "exact",
    ["exact", "fast"],
    "How the graph makes ids. exact: those of tokenization.py for every text. fast: "
    "twice as fast, but with other ids for some 7,500 code points and for words that "
    "end in a capital sigma.",
)
flags.DEFINE_bool("overwrite", False, "Replace existing folders.")


def main(argv: Sequence[str]) -> None:
    """Write the SavedModels as the flags say."""
    del argv  # entry.run refuses what is not a flag
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # hide TensorFlow's own messages
    from bert_data import hub

    report = hub.export(
        hub.ExportConfig(
            output_dir=FLAGS.output_dir,
            vocab_file=FLAGS.vocab_file,
            tokenizer_file=FLAGS.tokenizer_file,
            init_checkpoint=FLAGS.init_checkpoint,
            bert_config_file=FLAGS.bert_config_file,
            do_lower_case=FLAGS.do_lower_case,
            seq_length=FLAGS.seq_length,
            tokenizer=FLAGS.tokenizer,
            overwrite=FLAGS.overwrite,
        )
    )
    logging.info("%s", report)


if __name__ == "__main__":
    entry.run(main)
