r"""Labelled text to records: the text, its label, and its tokens as a ragged tensor.

    python -m examples.classify.write_records --input_file=reviews.csv --vocab_file=vocab.txt \
        --text_column=review --label_column=stars --output_file=data/train@4

    # pairs of texts, with a fixed order of classes, for train and test alike
    python -m examples.classify.write_records --input_file='nli/*.jsonl.gz' --vocab_file=vocab.txt \
        --text_column=premise,hypothesis --label_column=gold --classes=no,maybe,yes \
        --output_file=nli/train@8

Files are CSV (quotes around commas and ends of lines), TSV (no quotes) or JSON Lines, told by their
endings .csv, .tsv, .jsonl, each also .gz or .zst. The first line of CSV and TSV names the columns.

A record has `text`, `label`, `text_tokens_len` and the tokens, `text_tokens_values` with the row
splits `text_tokens_splits_0`, ...: [words, pieces], or with --sentences=lines or split [sentences,
words, pieces]. Beside each shard is its index, with the tokens of each record, and beside all of
them a manifest. `python -m examples.classify.train` reads them.
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
    "TFRecord file, or a comma-separated list; path@N is N files path-00000-of-0000N. Records are "
    "dealt to the files in turn.", required=True,
)  # fmt: skip
_VOCAB_FILE = flags.DEFINE_string(
    "vocab_file", None, "WordPiece vocabulary, a token a line; this or --tokenizer_file is needed."
)
_TOKENIZER_FILE = flags.DEFINE_string(
    "tokenizer_file", None, "The same as a tokenizer.json, WordPiece with BERT's rules."
)
_DO_LOWER_CASE = flags.DEFINE_bool(
    "do_lower_case", True, "Lower-case the text and drop accents: True for uncased models."
)
_TEXT_COLUMN = flags.DEFINE_list(
    "text_column", ["text"], "Column of the text; two with a comma for pairs of texts."
)
_LABEL_COLUMN = flags.DEFINE_string("label_column", "label", "Column of the label.")
_INPUT_FORMAT = flags.DEFINE_enum(
    "input_format", None, ["csv", "tsv", "jsonl"], "Format of all files, whatever their endings."
)
_COLUMN_NAMES = flags.DEFINE_list(
    "column_names", [], "Names of all columns in order, for files whose first line is a row."
)
_LABELS = flags.DEFINE_enum(
    "labels", "auto", ["auto", "integer", "class"],
    "integer: whole numbers, stored as they are. class: words, stored as their number among the "
    "classes. auto: integer if all of them are.",
)  # fmt: skip
_CLASSES = flags.DEFINE_list(
    "classes", [],
    "Names of the classes 0, 1, ...; by default all that occur, sorted. Give them where some may "
    "not occur in the input, and for a test set those of the training set.",
)  # fmt: skip
_SENTENCES = flags.DEFINE_enum(
    "sentences", "one", ["one", "lines", "split"],
    "one: a text is one sentence. lines: its lines are its sentences. split: they are found by "
    "the rules of --language. A list of texts in JSON is one of sentences.",
)  # fmt: skip
_LANGUAGE = flags.DEFINE_string("language", "en", "Of the texts, for --sentences=split.")
_NUM_WORKERS = flags.DEFINE_integer(
    "num_workers", 0, "Threads; 0 is all cores. The files do not depend on it."
)
_WORK_DIR = flags.DEFINE_string(
    "work_dir", None, "Folder for a copy of all records (default: that of the first output)."
)
_OVERWRITE = flags.DEFINE_bool("overwrite", False, "Replace outputs that exist.")


def main(_: Sequence[str]) -> None:
    """Turns the flags into a configuration and makes the records."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's products, which nothing here needs
    from bert_data.datasets.labelled import LabelledDatasetConfig, create_labelled_dataset
    from bert_data.datasets.summary import summarize_labelled
    from bert_data.objectives.labels import LabelConfig
    from bert_data.text.labelled import LabelledTextConfig

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
            labels=LabelConfig(kind=_LABELS.value, classes=tuple(_CLASSES.value)),
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
