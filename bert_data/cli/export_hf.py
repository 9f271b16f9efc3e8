r"""Write a trained model as a folder that Hugging Face's transformers loads.

    python -m bert_data.cli.export_hf --init_checkpoint=model --vocab_file=vocab.txt \
        --output_dir=hf

writes model.safetensors, config.json, vocab.txt, tokenizer.json, tokenizer_config.json and
special_tokens_map.json. Then, in transformers:

    model = BertForPreTraining.from_pretrained("hf")      # or AutoModel, AutoModelForMaskedLM, ...
    tokenizer = AutoTokenizer.from_pretrained("hf")

--init_checkpoint is the --output_dir of run_pretraining.py, or the prefix of a checkpoint,
including released ones. The way back: run_pretraining.py and export_hub take such a folder as their
--init_checkpoint.
"""

import os
from collections.abc import Sequence

from absl import flags, logging

from bert_data.cli import entry

FLAGS = flags.FLAGS

flags.DEFINE_string(
    "init_checkpoint",
    None,
    "The weights: the folder of a training run, which stands for its last checkpoint,"
    " or the prefix of a checkpoint (.../bert_model.ckpt).",
    required=True,
)
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
    "JSON file with the sizes of the model; by default, bert_config.json beside the checkpoint.",
)
flags.DEFINE_string("output_dir", None, "Folder for the files.", required=True)
flags.DEFINE_bool(
    "do_lower_case", True, "Lower-case the text and drop accents, as for the model's training data."
)
flags.DEFINE_bool("overwrite", False, "Replace existing files.")


def main(argv: Sequence[str]) -> None:
    """Write the folder as the flags say."""
    del argv  # entry.run refuses what is not a flag
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # hide TensorFlow's own messages
    from bert_data import hub

    report = hub.export_hugging_face(
        hub.HuggingFaceExportConfig(
            init_checkpoint=FLAGS.init_checkpoint,
            output_dir=FLAGS.output_dir,
            vocab_file=FLAGS.vocab_file,
            tokenizer_file=FLAGS.tokenizer_file,
            bert_config_file=FLAGS.bert_config_file,
            do_lower_case=FLAGS.do_lower_case,
            overwrite=FLAGS.overwrite,
        )
    )
    logging.info("%s", report)


if __name__ == "__main__":
    entry.run(main)
