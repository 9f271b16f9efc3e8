r"""Make records from labelled text: the text, its label, and its tokens as a ragged tensor.

    python -m examples.classify.write_records --input_file=reviews.csv --vocab_file=vocab.txt \
        --text_column=review --label_column=stars --output_file=data/train@4

    # pairs of texts; the order of the classes is fixed, so that it is the same for the test set
    python -m examples.classify.write_records --input_file='nli/*.jsonl.gz' --vocab_file=vocab.txt \
        --text_column=premise,hypothesis --label_column=gold --classes=no,maybe,yes \
        --output_file=nli/train@8

Files are CSV (with quotes around commas and line endings), TSV (no quotes) or JSON Lines,
recognized by their extensions .csv, .tsv or .jsonl, optionally followed by .gz or .zst. The first
line of CSV and TSV files names the columns.

A record has `text`, `label`, `text_tokens_len` and the tokens, `text_tokens_values` with the row
splits `text_tokens_splits_0`, ...: [words, pieces], or with --sentences=lines or split [sentences,
words, pieces]. Each shard has an index with the number of tokens of each record, and the set has a
manifest. `python -m examples.classify.train` reads them.
"""

import os
from collections.abc import Sequence

from absl import flags, logging

from bert_data.cli import entry

_INPUT_FILE = flags.DEFINE_string(
    "input_file", None, "Labelled text: files or patterns, separated by commas.", required=True
)
_OUTPUT_FILE = flags.DEFINE_string(
    "output_file", None,
    "TFRecord file, or a comma-separated list of files; path@N means N files, "
    "path-00000-of-0000N, and so on. Records go to the files in turn.", required=True,
)  # fmt: skip
_VOCAB_FILE = flags.DEFINE_string(
    "vocab_file", None, "WordPiece vocabulary, one token per line. Set this or --tokenizer_file."
)
_TOKENIZER_FILE = flags.DEFINE_string(
    "tokenizer_file",
    None,
    "A tokenizer.json with a WordPiece model and BERT's rules, in place of --vocab_file.",
)
_DO_LOWER_CASE = flags.DEFINE_bool(
    "do_lower_case",
    None,
    "Lower-case the text and drop accents. By default true, which is refused if the vocabulary "
    "says otherwise.",
)
_TEXT_COLUMN = flags.DEFINE_list(
    "text_column",
    ["text"],
    "Column of the text; two columns, separated by a comma, for pairs of texts.",
)
_LABEL_COLUMN = flags.DEFINE_string("label_column", "label", "Column of the label.")
_INPUT_FORMAT = flags.DEFINE_enum(
    "input_format",
    None,
    ["csv", "tsv", "jsonl"],
    "Format of all files, regardless of their extensions.",
)
_COLUMN_NAMES = flags.DEFINE_list(
    "column_names", [], "Names of all columns, in order, for files without a header line."
)
_LABELS = flags.DEFINE_enum(
    "labels", "auto", ["auto", "integer", "class"],
    "integer: integers, stored unchanged. class: names, stored as class numbers. "
    "auto: integer if every label is an integer, otherwise class.",
)  # fmt: skip
_CLASSES = flags.DEFINE_list(
    "classes", [],
    "Names of classes 0, 1, ...; by default all names that occur, sorted. Set this if"
    " some classes may not occur in the input and, for a test set, to the classes of "
    "the training set.",
)  # fmt: skip
_MAX_CLASSES = flags.DEFINE_integer(
    "max_classes",
    100,
    "The most classes that may occur without --classes; more are refused, as when the columns of"
    " texts and labels are swapped.",
)
_SENTENCES = flags.DEFINE_enum(
    "sentences", "one", ["one", "lines", "split"],
    "one: each text is one sentence. lines: each line of a text is a sentence. split:"
    " texts are split into sentences by the rules of --language. A JSON list of "
    "strings is always a list of sentences.",
)  # fmt: skip
_LANGUAGE = flags.DEFINE_string("language", "en", "Language of the texts, for --sentences=split.")
_NUM_WORKERS = flags.DEFINE_integer(
    "num_workers", 0, "Number of threads; 0 uses all cores. The output does not depend on it."
)
_WORK_DIR = flags.DEFINE_string(
    "work_dir",
    None,
    "Folder for a temporary copy of all records (default: the folder of the first output).",
)
_OVERWRITE = flags.DEFINE_bool("overwrite", False, "Replace existing outputs.")


def main(_: Sequence[str]) -> None:
    """Make the records as the flags say."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrix products are not needed here
    from bert_data.labelled.columns import LabelConfig
    from bert_data.labelled.records import LabelledDatasetConfig, create_labelled_dataset
    from bert_data.labelled.summary import summarize_labelled
    from bert_data.labelled.texts import LabelledTextConfig

    dataset = create_labelled_dataset(
        LabelledDatasetConfig(
            input_file=_INPUT_FILE.value,
            output_file=_OUTPUT_FILE.value,
            vocab_file=_VOCAB_FILE.value,
            tokenizer_file=_TOKENIZER_FILE.value,
            do_lower_case=_DO_LOWER_CASE.value,
            texts=LabelledTextConfig(
                text_columns=tuple(_TEXT_COLUMN.value),
                label_column=_LABEL_COLUMN.value,
                input_format=_INPUT_FORMAT.value,
                column_names=tuple(_COLUMN_NAMES.value),
            ),
            labels=LabelConfig(
                kind=_LABELS.value,
                classes=tuple(_CLASSES.value),
                max_classes=_MAX_CLASSES.value,
            ),
            sentences=_SENTENCES.value,
            language=_LANGUAGE.value,
            num_workers=_NUM_WORKERS.value,
            work_dir=_WORK_DIR.value,
            overwrite=_OVERWRITE.value,
        )
    )
    logging.info("%s", summarize_labelled(dataset))


if __name__ == "__main__":
    entry.run(main)
