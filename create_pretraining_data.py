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
calls, with Google's arguments. `bert_data.records.definition` implements them.
"""

import os
import random
import sys
from collections.abc import Iterable, Sequence

from bert_data import interrupts

if __name__ == "__main__":  # before NumPy is loaded; nothing here needs its matrix products
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    interrupts.end_imports_on_signals()

from absl import flags

from bert_data.cli import create
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
from bert_data.tokens import definition as tokens_definition

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
        max_predictions_per_seq, rng, of_document=create_instances_from_document,
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
        truncate=truncate_seq_pair,
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


_OWN = {name: globals()[name] for name in __all__ if name not in ("FLAGS", "main")}
_TOKENIZATION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenization.py")
_TOKENIZERS = ("FullTokenizer", "BasicTokenizer", "WordpieceTokenizer")


def main(argv: Sequence[str]) -> None:
    """Run the command, unless a program has put functions of its own in this module.

    Raises:
      ValueError: it has, and the command would not call them; or its tokenizers are in
        `tokenization`.
    """
    replaced = [name for name, own in _OWN.items() if globals()[name] is not own]
    tokenization = sys.modules.get("tokenization")
    is_ours = getattr(tokenization, "__file__", "") == _TOKENIZATION  # others may have its name
    for name in _TOKENIZERS if is_ours else ():
        if getattr(tokenization, name, None) is not getattr(tokens_definition, name):
            replaced.append(f"tokenization.{name}")
    if replaced:
        raise ValueError(
            f"{replaced[0]} is not bert_data's own, which main runs in machine code; call"
            " create_training_instances with a tokenizer, and write_instance_to_example_files:"
            " they call the functions that are in this module"
        )
    create.main(argv)


if __name__ == "__main__":
    create.run_create()
