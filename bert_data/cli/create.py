r"""Make BERT pretraining data from text: masked tokens and sentence pairs, in TFRecord or Parquet.

The text has one sentence per line and a blank line between documents, or another format: wikitext,
JSON Lines, Parquet, or tokens (--input_format). The flags of Google's create_pretraining_data.py
keep their names and defaults, and give the same records in the same order.

    bert-data create --input_file=corpus.txt --vocab_file=vocab.txt \
        --output_file=train.tfrecord

    # many files in, eight shards out, Google's padded records
    bert-data create --input_file='text/*.txt.gz' --vocab_file=vocab.txt \
        --output_file=data/train@8 --record_layout=reference

    # the same instances as rows of Parquet, for pyarrow, pandas, datasets, and for training here
    bert-data create --input_file=corpus.txt --vocab_file=vocab.txt \
        --output_file=train.parquet --output_format=parquet
"""

import os
from collections.abc import Sequence

if __name__ == "__main__":  # before NumPy is loaded; nothing here needs its matrix products
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from absl import flags, logging

from bert_data.cli import dataset_flags, entry, masking_flags
from bert_data.cli.flag_values import from_flags

_COMMON = (  # for --help
    "input_file vocab_file tokenizer_file output_file do_lower_case do_whole_word_mask"
    " max_seq_length max_predictions_per_seq masked_lm_prob dupe_factor random_seed record_layout"
    " output_format num_workers overwrite"
)

flags.DEFINE_string(
    "input_file", None,
    "Text: files or patterns, separated by commas; .gz, .zst, .bz2 and .xz are decompressed. Or "
    "token stores of sentences (see bert-data tokenize), by prefix; PREFIX@N or a "
    "pattern stands for those of all partitions.",
)  # fmt: skip
flags.DEFINE_string(
    "output_file", None,
    "File, or a comma-separated list of files; path@N means N files, path-00000-of-0000N "
    "and so on. Records go to the files in turn.",
)  # fmt: skip
flags.DEFINE_string(
    "vocab_file",
    None,
    "WordPiece vocabulary, one token per line. Either this or --tokenizer_file is required.",
)
flags.DEFINE_bool(
    "do_lower_case", True, "Lower-case the text and drop accents; true for uncased models."
)
flags.DEFINE_bool("do_whole_word_mask", False, "Mask all pieces of a word together.")
flags.DEFINE_integer("max_seq_length", 128, "Maximum number of tokens in an instance; 5 or more.")
flags.DEFINE_integer(
    "max_predictions_per_seq", 20, "Maximum number of masked tokens in an instance."
)
flags.DEFINE_integer("random_seed", 12345, "Seed for all random numbers.")
flags.DEFINE_integer(
    "dupe_factor", 10, "Number of passes over the text, each with different pairs and masks."
)
flags.DEFINE_float("masked_lm_prob", 0.15, "Proportion of tokens to predict.")
flags.DEFINE_float(
    "short_seq_prob", 0.1, "Probability, per document, of a target length below max_seq_length."
)
masking_flags.define_masking_flags()


def main(_: Sequence[str]) -> None:
    """Turns the flags into a configuration and runs the stages."""
    from bert_data.datasets.masked_lm import DatasetConfig, create_dataset
    from bert_data.datasets.summary import describe_example, summarize
    from bert_data.objectives.making import InstanceConfig

    options = dataset_flags.define_dataset_flags()()
    config = from_flags(DatasetConfig, instances=from_flags(InstanceConfig), **options)
    dataset = create_dataset(config)
    for example in dataset.examples:
        logging.info("example\n  %s", describe_example(example, dataset))
    logging.info("%s", summarize(dataset))


def run() -> None:
    """Run the command; never returns."""
    flags.mark_flags_as_required(["input_file", "output_file"])
    dataset_flags.define_dataset_flags()
    entry.run(main, groups={"common": _COMMON})


if __name__ == "__main__":
    run()
