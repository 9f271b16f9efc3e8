r"""Make BERT pretraining data from text: masked tokens and sentence pairs, in TFRecord or Parquet.

The text has one sentence per line and a blank line between documents, or another format: wikitext,
JSON Lines, Parquet, or tokens (--input_format). The flags of Google's create_pretraining_data.py
keep their names and defaults, and give the same records in the same order.

    python create_pretraining_data.py --input_file=corpus.txt --vocab_file=vocab.txt \
        --output_file=train.tfrecord

    # many files in, eight shards out, Google's padded records
    python create_pretraining_data.py --input_file='text/*.txt.gz' --vocab_file=vocab.txt \
        --output_file=data/train@8 --record_layout=reference

    # the same instances as rows of Parquet, for pyarrow, pandas, datasets, and for training here
    python create_pretraining_data.py --input_file=corpus.txt --vocab_file=vocab.txt \
        --output_file=train.parquet --output_format=parquet

As a module it has the same names as Google's: `create_training_instances` and the functions that it
calls, with Google's arguments. `bert_data.objectives.definition` implements them.
"""

import os
import random
from collections.abc import Iterable, Sequence

if __name__ == "__main__":  # before NumPy is loaded; nothing here needs its matrix products
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from absl import flags, logging

from bert_data.cli import dataset_flags, engine_flags, entry, text_flags
from bert_data.datasets.defined_examples import (
    create_float_feature,
    create_int_feature,
    write_instance_to_example_files,
)
from bert_data.objectives import definition, masking_definition
from bert_data.objectives.definition import Document, Tokenizer, TrainingInstance, truncate_seq_pair
from bert_data.objectives.masking_definition import MaskedLmInstance

__all__ = [
    "FLAGS",
    "MaskedLmInstance",
    "TrainingInstance",
    "create_float_feature",
    "create_instances_from_document",
    "create_int_feature",
    "create_masked_lm_predictions",
    "create_training_instances",
    "main",
    "truncate_seq_pair",
    "write_instance_to_example_files",
]

FLAGS = flags.FLAGS

flags.DEFINE_string(
    "input_file", None,
    "Text: files or patterns, separated by commas; .gz and .zst are decompressed. Or "
    "token stores of sentences (see python -m bert_data.cli.tokenize), by prefix; PREFIX@N or a "
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
    "short_seq_prob",
    0.1,
    "Probability, per document, of a target length below max_seq_length.",
)


def create_training_instances(
    input_files: Iterable[str],
    tokenizer: Tokenizer,
    max_seq_length: int,
    dupe_factor: int,
    short_seq_prob: float,
    masked_lm_prob: float,
    max_predictions_per_seq: int,
    rng: random.Random,
) -> list[TrainingInstance]:
    """See `definition.create_training_instances`; --do_whole_word_mask is read."""
    return definition.create_training_instances(
        input_files, tokenizer, max_seq_length, dupe_factor, short_seq_prob, masked_lm_prob,
        max_predictions_per_seq, rng, do_whole_word_mask=_do_whole_word_mask(),
    )  # fmt: skip


def create_instances_from_document(
    all_documents: Sequence[Document],
    document_index: int,
    max_seq_length: int,
    short_seq_prob: float,
    masked_lm_prob: float,
    max_predictions_per_seq: int,
    vocab_words: Sequence[str],
    rng: random.Random,
) -> list[TrainingInstance]:
    """See `definition.create_instances_from_document`; --do_whole_word_mask is read."""
    return definition.create_instances_from_document(
        all_documents, document_index, max_seq_length, short_seq_prob, masked_lm_prob,
        max_predictions_per_seq, vocab_words, rng, do_whole_word_mask=_do_whole_word_mask(),
    )  # fmt: skip


def create_masked_lm_predictions(
    tokens: Sequence[str],
    masked_lm_prob: float,
    max_predictions_per_seq: int,
    vocab_words: Sequence[str],
    rng: random.Random,
) -> tuple[list[str], list[int], list[str]]:
    """See `masking_definition.create_masked_lm_predictions`; --do_whole_word_mask is read."""
    return masking_definition.create_masked_lm_predictions(
        tokens, masked_lm_prob, max_predictions_per_seq, vocab_words, rng,
        do_whole_word_mask=_do_whole_word_mask(),
    )  # fmt: skip


def _do_whole_word_mask() -> bool:
    """The flag; in a program that parses no flags its default, or what the program has set."""
    return bool(FLAGS["do_whole_word_mask"].value)


def main(_: Sequence[str]) -> None:
    """Turns the flags into a configuration and runs the stages."""
    from bert_data.datasets.masked_lm import DatasetConfig, create_dataset
    from bert_data.datasets.summary import describe_example, summarize
    from bert_data.objectives.making import InstanceConfig

    options = dataset_flags.define_dataset_flags()()
    dataset = create_dataset(
        DatasetConfig(
            input_file=FLAGS.input_file,
            output_file=FLAGS.output_file,
            vocab_file=FLAGS.vocab_file,
            do_lower_case=FLAGS.do_lower_case,
            instances=InstanceConfig(
                max_seq_length=FLAGS.max_seq_length,
                max_predictions_per_seq=FLAGS.max_predictions_per_seq,
                random_seed=FLAGS.random_seed,
                dupe_factor=FLAGS.dupe_factor,
                masked_lm_prob=FLAGS.masked_lm_prob,
                short_seq_prob=FLAGS.short_seq_prob,
                do_whole_word_mask=FLAGS.do_whole_word_mask,
                next_sentence=options.pop("next_sentence"),
            ),
            **options,
        )
    )
    for example in dataset.examples:
        logging.info("example\n  %s", describe_example(example, dataset))
    logging.info("%s", summarize(dataset))


if __name__ == "__main__":
    flags.mark_flags_as_required(["input_file", "output_file"])
    dataset_flags.define_dataset_flags()
    for module in (dataset_flags, engine_flags, text_flags):
        flags.adopt_module_key_flags(module)  # --help shows them
    entry.run(main)
