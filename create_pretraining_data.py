"""Makes pretraining data for BERT from text: masked tokens, next sentences; TFRecord or Parquet.

The text has one sentence a line and a blank line between documents, or is of another format:
wikitext, JSON Lines, Parquet, or tokens already (--input_format). The flags of Google's
create_pretraining_data.py have their names and defaults and give its records, in its order.

    python create_pretraining_data.py --input_file=corpus.txt --vocab_file=vocab.txt \\
        --output_file=train.tfrecord

    # many files in, eight shards out, Google's padded records
    python create_pretraining_data.py --input_file='text/*.txt.gz' --vocab_file=vocab.txt \\
        --output_file=data/train@8 --record_layout=reference

    # the same instances as rows of Parquet, for pyarrow, pandas, datasets, and for training here
    python create_pretraining_data.py --input_file=corpus.txt --vocab_file=vocab.txt \\
        --output_file=train.parquet --output_format=parquet
"""

import os
from collections.abc import Sequence

from absl import flags, logging

from bert_data import features
from bert_data.cli import entry, text_flags

_INPUT_FILE = flags.DEFINE_string(
    "input_file", None,
    "Text: files or patterns, separated by commas; .gz and .zst are read. Or one token store, "
    "by its prefix (see python -m bert_data.cli.tokenize).", required=True,
)  # fmt: skip
_OUTPUT_FILE = flags.DEFINE_string(
    "output_file", None,
    "File, or a comma-separated list; path@N is N files path-00000-of-0000N. Records are dealt to "
    "the files in turn.", required=True,
)  # fmt: skip
_VOCAB_FILE = flags.DEFINE_string(
    "vocab_file",
    None,
    "WordPiece vocabulary, one token a line; this or --tokenizer_file is needed.",
)
_TOKENIZER_FILE = flags.DEFINE_string(
    "tokenizer_file", None,
    "A tokenizer.json in place of a vocabulary: WordPiece with BERT's rules as fast as that, "
    "others (BPE, Unigram) by the tokenizers library. It says itself whether text is lower-cased.",
)  # fmt: skip
_DO_LOWER_CASE = flags.DEFINE_bool(
    "do_lower_case", True, "Lower-case the text and drop accents: True for uncased models."
)
_DO_WHOLE_WORD_MASK = flags.DEFINE_bool(
    "do_whole_word_mask", False, "Mask all pieces of a word together."
)
_MAX_SEQ_LENGTH = flags.DEFINE_integer(
    "max_seq_length", 128, "Most tokens of an instance, 5 or more."
)
_MAX_PREDICTIONS_PER_SEQ = flags.DEFINE_integer(
    "max_predictions_per_seq", 20, "Most masked tokens of an instance."
)
_RANDOM_SEED = flags.DEFINE_integer("random_seed", 12345, "Seed of all random numbers.")
_DUPE_FACTOR = flags.DEFINE_integer(
    "dupe_factor", 10, "Passes over the text, each with other pairs and masks."
)
_MASKED_LM_PROB = flags.DEFINE_float("masked_lm_prob", 0.15, "Share of tokens to predict.")
_SHORT_SEQ_PROB = flags.DEFINE_float(
    "short_seq_prob",
    0.1,
    "Probability of a document whose instances are shorter than max_seq_length.",
)
_OUTPUT_FORMAT = flags.DEFINE_enum(
    "output_format", features.TFRECORD, features.OUTPUT_FORMATS,
    "tfrecord: tf.train.Examples, with an index of each file. parquet: a row an instance, of lists "
    "tokens, segment_ids, masked_positions, masked_labels and the truth value is_random_next; "
    "nothing is padded, zstd compresses it, and the manifest is in the files' metadata, too.",
)  # fmt: skip
_RECORD_LAYOUT = flags.DEFINE_enum(
    "record_layout", features.RAGGED, features.LAYOUTS,
    "Of TFRecord files; ragged: unpadded, with the row splits of whole words. reference: padded, "
    "as Google's.",
)  # fmt: skip
_COMPRESSION = flags.DEFINE_enum(
    "compression", "none", features.COMPRESSIONS, "Of the TFRecord files."
)
_NUM_WORKERS = flags.DEFINE_integer(
    "num_workers", 0, "Threads; 0 is all cores. The files do not depend on it."
)
_MAX_MEMORY_MB = flags.DEFINE_integer(
    "max_memory_mb",
    1000,
    "Memory to use, in MB, 300 or more (for Parquet 480); beyond it instances are sorted on disk.",
)
_WORK_DIR = flags.DEFINE_string(
    "work_dir", None, "Folder for what spills to disk (default: the folder of the first output)."
)
_OVERWRITE = flags.DEFINE_bool("overwrite", False, "Replace outputs that exist.")
_TEXT = text_flags.define_text_flags(more_formats=("store",))
flags.adopt_module_key_flags(text_flags)  # --help tells of them
_NUM_EXAMPLES = flags.DEFINE_integer("num_examples", 3, "Records to show in the log.")


def main(_: Sequence[str]) -> None:
    """Turns the flags into a configuration and runs the stages."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's products, which nothing here needs
    from bert_data.objectives.making import InstanceConfig
    from bert_data.records.dataset import DatasetConfig, create_dataset
    from bert_data.records.summary import describe_example, summarize

    dataset = create_dataset(
        DatasetConfig(
            input_file=_INPUT_FILE.value,
            output_file=_OUTPUT_FILE.value,
            vocab_file=_VOCAB_FILE.value,
            tokenizer_file=_TOKENIZER_FILE.value,
            do_lower_case=_DO_LOWER_CASE.value,
            text=_TEXT(),
            instances=InstanceConfig(
                max_seq_length=_MAX_SEQ_LENGTH.value,
                max_predictions_per_seq=_MAX_PREDICTIONS_PER_SEQ.value,
                random_seed=_RANDOM_SEED.value,
                dupe_factor=_DUPE_FACTOR.value,
                masked_lm_prob=_MASKED_LM_PROB.value,
                short_seq_prob=_SHORT_SEQ_PROB.value,
                do_whole_word_mask=_DO_WHOLE_WORD_MASK.value,
            ),
            output_format=_OUTPUT_FORMAT.value,
            record_layout=_RECORD_LAYOUT.value,
            compression=_COMPRESSION.value,
            num_workers=_NUM_WORKERS.value,
            max_memory_mb=_MAX_MEMORY_MB.value,
            work_dir=_WORK_DIR.value,
            overwrite=_OVERWRITE.value,
            num_examples=_NUM_EXAMPLES.value,
        )
    )
    for example in dataset.examples:
        logging.info("example\n  %s", describe_example(example, dataset.vocabulary))
    logging.info("%s", summarize(dataset))


if __name__ == "__main__":
    entry.run(main)
