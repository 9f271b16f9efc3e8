r"""Make BERT pretraining data from text: masked tokens and sentence pairs, in TFRecord or Parquet.

The text has one sentence per line and a blank line between documents, or another format: wikitext,
JSON Lines, Parquet, or tokens (--input_format). The flags of Google's create_pretraining_data.py
keep their names and defaults, and give the same records in the same order.

    python create_pretraining_data.py --input_file=corpus.txt --vocab_file=vocab.txt \
        --output_file=train.tfrecord

    # many files in, eight shards out, Google's padded records
    python create_pretraining_data.py --input_file='text/*.txt.gz' --vocab_file=vocab.txt \
        --output_file=data/train@8 --record_layout=reference

    # the same instances as rows of Parquet, for pandas, datasets and training
    python create_pretraining_data.py --input_file=corpus.txt --vocab_file=vocab.txt \
        --output_file=train.parquet --output_format=parquet

As a module it has the same names as Google's: `create_training_instances` and the functions that it
calls, with Google's arguments. `bert_data.records.definition` implements them. A program may put
its own in their place, here or in `tokenization`, and call `main`, which then makes the instances
by them instead of by machine code.
"""

import os
import random
from collections.abc import Iterable, Sequence

from bert_data import interrupts

if __name__ == "__main__":  # before NumPy is loaded; nothing here needs its matrix products
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    interrupts.end_imports_on_signals()

from absl import flags

import tokenization
from bert_data.cli import create
from bert_data.cli.create import SECTIONS as SECTIONS
from bert_data.cli.originals import Originals
from bert_data.records import definition, example_definition
from bert_data.records.definition import (
    MaskedLmInstance,
    PlainTokenizer,
    TokenizedDocument,
    TrainingInstance,
    truncate_seq_pair,
)
from bert_data.records.example_definition import create_float_feature, create_int_feature
from bert_data.tokens.definition import FullTokenizer

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

_WRITING = ("create_float_feature", "create_int_feature", "write_instance_to_example_files")
_ORIGINALS = Originals(
    {
        "MaskedLmInstance": definition.MaskedLmInstance,
        "TrainingInstance": definition.TrainingInstance,
        "create_float_feature": example_definition.create_float_feature,
        "create_int_feature": example_definition.create_int_feature,
        "truncate_seq_pair": definition.truncate_seq_pair,
    }
)


@_ORIGINALS.keep
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
        max_predictions_per_seq, rng, of_document=create_instances_from_document,
    )  # fmt: skip


@_ORIGINALS.keep
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
        truncate=truncate_seq_pair, make=TrainingInstance,
    )  # fmt: skip


@_ORIGINALS.keep
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
        do_whole_word_mask=_do_whole_word_mask(), prediction=MaskedLmInstance,
    )  # fmt: skip


@_ORIGINALS.keep
def write_instance_to_example_files(
    instances: Iterable[TrainingInstance],
    tokenizer: FullTokenizer,
    max_seq_length: int,
    max_predictions_per_seq: int,
    output_files: Sequence[str],
) -> None:
    """See `example_definition.write_instance_to_example_files`."""
    example_definition.write_instance_to_example_files(
        instances, tokenizer, max_seq_length, max_predictions_per_seq, output_files,
        int_feature=create_int_feature, float_feature=create_float_feature,
    )  # fmt: skip


def _do_whole_word_mask() -> bool:
    """The flag; in a program that parses no flags its default, or what the program has set."""
    return bool(FLAGS["do_whole_word_mask"].value)


def _replaced_tokenizers() -> list[str]:
    """Return names in `tokenization`, which may be the program's own module."""
    if hasattr(tokenization, "replaced_names"):
        return tokenization.replaced_names()
    return ["tokenization.FullTokenizer"] if hasattr(tokenization, "FullTokenizer") else []


def main(argv: Sequence[str]) -> None:
    """Run the command; where a program has put functions of its own here, by the plain definition.

    Raises:
      ValueError: it has put one where nothing calls it.
    """
    if FLAGS is not flags.FLAGS:
        raise ValueError("FLAGS is not absl's; set the flags themselves, as FLAGS.dupe_factor = 5")
    names = [*_ORIGINALS.replaced_in(globals()), *_replaced_tokenizers()]
    if not names:
        create.main(argv)
        return
    from bert_data.records.sets.plain import ProgramFunctions

    writes = not {*names}.isdisjoint(_WRITING)
    create.create_by(
        ProgramFunctions(
            names=names,
            full_tokenizer=getattr(tokenization, "FullTokenizer", FullTokenizer),
            create_training_instances=create_training_instances,
            write_instance_to_example_files=write_instance_to_example_files if writes else None,
        )
    )


if __name__ == "__main__":
    create.run_create(main)
