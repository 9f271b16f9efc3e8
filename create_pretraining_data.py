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
calls, with Google's arguments. `bert_data.records.definition` implements them.
"""

import os
import random
from collections.abc import Iterable, Sequence

from bert_data import interrupts

if __name__ == "__main__":  # before NumPy is loaded; nothing here needs its matrix products
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    interrupts.end_imports_on_signals()

from absl import flags

from bert_data.cli import create
from bert_data.cli.create import main
from bert_data.records import definition
from bert_data.records.definition import (
    MaskedLmInstance,
    PlainTokenizer,
    TokenizedDocument,
    TrainingInstance,
    create_float_feature,
    create_int_feature,
    truncate_seq_pair,
    write_instance_to_example_files,
)

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


def create_training_instances(
    input_files: Iterable[str],
    tokenizer: PlainTokenizer,
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
        max_predictions_per_seq, rng, mask=create_masked_lm_predictions,
    )  # fmt: skip


def create_instances_from_document(
    all_documents: Sequence[TokenizedDocument],
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
        max_predictions_per_seq, vocab_words, rng, mask=create_masked_lm_predictions,
    )  # fmt: skip


def create_masked_lm_predictions(
    tokens: Sequence[str],
    masked_lm_prob: float,
    max_predictions_per_seq: int,
    vocab_words: Sequence[str],
    rng: random.Random,
) -> tuple[list[str], list[int], list[str]]:
    """See `definition.create_masked_lm_predictions`; --do_whole_word_mask is read."""
    return definition.create_masked_lm_predictions(
        tokens, masked_lm_prob, max_predictions_per_seq, vocab_words, rng,
        do_whole_word_mask=_do_whole_word_mask(),
    )  # fmt: skip


def _do_whole_word_mask() -> bool:
    """The flag; in a program that parses no flags its default, or what the program has set."""
    return bool(FLAGS["do_whole_word_mask"].value)


if __name__ == "__main__":
    create.run_create()
