"""The flags that create_pretraining_data.py adds to those of Google's program."""

import functools
from collections.abc import Callable
from typing import Any

from absl import flags

from bert_data.cli import engine_flags, text_flags, tokenizer_flags
from bert_data.formats import registry
from bert_data.objectives.next_sentence import DEFAULT, OBJECTIVES
from bert_data.schema import fields
from bert_data.tokens.special_tokens import parse_special_tokens


@functools.cache
def define_dataset_flags() -> Callable[[], dict[str, Any]]:
    """Define the flags on the first call.

    Returns:
      A function that returns, once the flags are parsed, the arguments of `DatasetConfig` that
      combine flags; `from_flags` reads the others.
    """
    flags.DEFINE_enum(
        "next_sentence",
        DEFAULT,
        list(OBJECTIVES),
        "The task for two segments, A and B. nsp: does B follow A, or is it from another"
        " document, as in BERT. sop: are A and B in order or swapped, as in ALBERT. none: no"
        " task; an instance is one segment, filled with consecutive sentences of a document"
        " (RoBERTa's DOC-SENTENCES, which uses --short_seq_prob=0).",
    )
    flags.DEFINE_enum(
        "output_format",
        registry.TFRECORD,
        registry.format_names(),
        "tfrecord: tf.train.Examples, with an index for each file. parquet: one row per"
        " instance, with the lists tokens, segment_ids, masked_positions and masked_labels, and"
        " the boolean is_random_next (sop: sentence_order_label; none: no label),"
        " compressed with zstd, and with the manifest also in the files' metadata.",
    )
    flags.DEFINE_enum(
        "record_layout",
        fields.RAGGED,
        fields.LAYOUTS,
        "ragged: unpadded, in TFRecord with the row splits of whole words. reference: padded,"
        " like Google's; in Parquet, tokens are padded with 0 and segments with -1.",
    )
    flags.DEFINE_enum(
        "compression", "none", registry.COMPRESSIONS, "Compression of TFRecord files."
    )
    flags.DEFINE_integer("num_examples", 3, "Number of records to log.")
    _define_work_flags()
    special_tokens = flags.DEFINE_list(
        "special_tokens",
        [],
        "With --tokenizer_file, where the file does not say which tokens begin an instance, end a"
        " segment, mask, pad and stand for unknown ones: cls=TOKEN,sep=TOKEN,mask=TOKEN and so on.",
    )
    text = text_flags.define_text_flags(more_formats=("store",))
    engine = engine_flags.define_engine_flags()
    tokenizer_flags.define_tokenizer_flags()
    return lambda: {
        "text": text(),
        "engine": engine(),
        "special_tokens": parse_special_tokens(special_tokens.value),
    }


def _define_work_flags() -> None:
    """Define the flags that say how a set is made."""
    flags.DEFINE_integer(
        "num_partitions",
        0,
        "0: all random numbers come from one stream, as in Google's program. N: blocks of the"
        " text are dealt to N partitions by the seed, and the records of partition k are those of"
        " Google's program for its blocks with a seed of its own: the first eight bytes,"
        " big-endian, of the SHA-256 of 'RANDOM_SEED/k'. They fill the output's files k, k + N and"
        " so on, at least one. Partitions are made by --num_workers processes; a run that was"
        " stopped continues with those that are missing.",
    )
    flags.DEFINE_integer(
        "num_workers",
        0,
        "Threads, or processes with --num_partitions; 0 uses all cores. The output does not"
        " depend on it.",
    )
    flags.DEFINE_integer(
        "max_memory_mb",
        1000,
        "Memory to use, in MB, by each process: at least 300, or 480 for Parquet. Instances"
        " that do not fit are sorted on disk.",
    )
    flags.DEFINE_string(
        "work_dir",
        None,
        "Folder for temporary files (default: the folder of the first output). With"
        " --num_partitions or --engine=ray it holds unfinished work, and may be a URI.",
    )
    flags.DEFINE_bool("overwrite", False, "Replace existing outputs.")
