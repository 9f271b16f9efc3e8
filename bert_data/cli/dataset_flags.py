"""The flags of create_pretraining_data.py that Google's program does not have."""

import functools
from collections.abc import Callable
from typing import Any

from absl import flags

from bert_data.cli import text_flags
from bert_data.formats import registry
from bert_data.objectives.next_sentence import NEXT_SENTENCE, NSP
from bert_data.schema import fields


@functools.cache
def define_dataset_flags() -> Callable[[], dict[str, Any]]:
    """Defines the flags, the first time it is called.

    Returns:
      A function that gives arguments of `DatasetConfig`, once the flags are parsed; and
      next_sentence, which is one of `InstanceConfig`.
    """
    options: dict[str, flags.FlagHolder[Any]] = {
        "tokenizer_file": flags.DEFINE_string(
            "tokenizer_file", None,
            "A tokenizer.json in place of a vocabulary: WordPiece with BERT's rules as fast as"
            " that, others (BPE, Unigram) by the tokenizers library. It says itself whether text is"
            " lower-cased.",
        ),
        "next_sentence": flags.DEFINE_enum(
            "next_sentence", NSP, NEXT_SENTENCE,
            "What is asked of two segments, A and B. nsp: whether B follows A or is from another"
            " document, as in BERT. sop: whether A and B are in order or swapped, as in ALBERT."
            " none: nothing; an instance is one segment, filled with the sentences that follow each"
            " other in a document (RoBERTa's DOC-SENTENCES; there, --short_seq_prob is 0).",
        ),
        "output_format": flags.DEFINE_enum(
            "output_format", registry.TFRECORD, registry.format_names(),
            "tfrecord: tf.train.Examples, with an index of each file. parquet: a row an instance,"
            " of lists tokens, segment_ids, masked_positions, masked_labels and the truth value"
            " is_random_next (sop: sentence_order_label; none has neither); nothing is padded,"
            " zstd compresses it, and the manifest is in the files' metadata, too.",
        ),
        "record_layout": flags.DEFINE_enum(
            "record_layout", fields.RAGGED, fields.LAYOUTS,
            "Of TFRecord files; ragged: unpadded, with the row splits of whole words. reference:"
            " padded, as Google's.",
        ),
        "compression": flags.DEFINE_enum(
            "compression", "none", registry.COMPRESSIONS, "Of the TFRecord files."
        ),
        "num_workers": flags.DEFINE_integer(
            "num_workers", 0, "Threads; 0 is all cores. The files do not depend on it."
        ),
        "max_memory_mb": flags.DEFINE_integer(
            "max_memory_mb", 1000,
            "Memory to use, in MB, 300 or more (for Parquet 480); beyond it instances are sorted on"
            " disk.",
        ),
        "work_dir": flags.DEFINE_string(
            "work_dir", None,
            "Folder for what spills to disk (default: the folder of the first output).",
        ),
        "overwrite": flags.DEFINE_bool("overwrite", False, "Replace outputs that exist."),
        "num_examples": flags.DEFINE_integer("num_examples", 3, "Records to show in the log."),
    }  # fmt: skip
    text = text_flags.define_text_flags(more_formats=("store",))

    def dataset_options() -> dict[str, Any]:
        return {"text": text(), **{name: flag.value for name, flag in options.items()}}

    return dataset_options
