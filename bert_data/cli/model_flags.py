"""Flags that name a trained model: weights, sizes and vocabulary."""

from absl import flags

from bert_data.training.config import BertConfig


def define_model_flags() -> None:
    """Define the flags."""
    flags.DEFINE_string(
        "init_checkpoint",
        None,
        "The weights: the folder of a training run, which stands for its last checkpoint,"
        " the prefix of a checkpoint (.../bert_model.ckpt), or a folder of Hugging Face"
        " (model.safetensors).",
    )
    flags.DEFINE_string(
        "bert_config_file",
        None,
        f"{BertConfig.describe_file()} By default, the bert_config.json or config.json beside the"
        " weights.",
    )
    flags.DEFINE_string(
        "vocab_file",
        None,
        "Vocabulary, one token per line: the one that the model was trained with.",
    )
    flags.DEFINE_string(
        "tokenizer_file",
        None,
        "Instead of --vocab_file: a tokenizer.json of WordPiece with BERT's rules, which "
        "itself says whether text is lower-cased.",
    )
    flags.DEFINE_bool(
        "do_lower_case",
        True,
        "Lower-case the text and drop accents, as for the model's training data.",
    )
    flags.DEFINE_bool(
        "allow_other_vocabulary",
        False,
        "Use another vocabulary than the one that the model was trained with.",
    )
