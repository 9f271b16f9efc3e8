r"""Make records of labelled texts: the text, its label, and its tokens as a ragged tensor.

    bert-data label --input_file=reviews.csv --vocab_file=vocab.txt \
        --text_columns=review --label_column=stars --output_file=train@4

    # pairs of texts; --classes fixes the order of the classes for all sets
    bert-data label --input_file='nli/*.jsonl.gz' --vocab_file=vocab.txt \
        --text_columns=premise,hypothesis --label_column=gold \
        --classes=no,maybe,yes --output_file=nli/train@8

The ending of a file, before that of a compression, says its format: .csv (quotes around commas and
line ends), .tsv (no quotes), .jsonl or .json (JSON Lines). The first line of CSV and TSV files
names the columns.

A record has `text`, `label`, `text_tokens_len` and the tokens, [sentences, words, pieces]:
`text_tokens_values` with the row splits `text_tokens_splits_0` (words of sentences) and
`text_tokens_splits_1` (pieces of words). Each shard has an index with the number of tokens of each
record, and the set has a manifest. `bert-data fine-tune` trains a classifier on such a set.
"""

from collections.abc import Sequence

from absl import logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.labelled.label_config import LabelConfig, LabelledDatasetConfig, LabelledTextConfig

_GROUPS = {
    "common": "input_file text_columns label_column vocab_file output_file classes sentences"
    " overwrite",
}
_LIST = {"kind": list[str], "default": []}
_RECORDS = (
    "input_file output_file vocab_file tokenizer_file do_lower_case text_features label_feature"
    " sentences language num_workers work_dir overwrite"
)
SECTIONS = (
    Section(
        "",
        (
            *settings(LabelledDatasetConfig, _RECORDS, changes={"text_features": _LIST}),
            *settings(
                LabelledTextConfig,
                "text_columns label_column input_format column_names",
                changes={"text_columns": {**_LIST, "default": ["text"]}, "column_names": _LIST},
            ),
            *settings(LabelConfig, "label_kind classes max_classes", changes={"classes": _LIST}),
        ),
    ),
)


def main(_: Sequence[str]) -> None:
    """Make the records as the flags say."""
    from bert_data.labelled.records import create_labelled_dataset, summarize_labelled

    config = from_flags(
        LabelledDatasetConfig, texts=from_flags(LabelledTextConfig), labels=from_flags(LabelConfig)
    )
    logging.info("%s", summarize_labelled(create_labelled_dataset(config)))


if __name__ == "__main__":
    entry.run(main, groups=_GROUPS)
