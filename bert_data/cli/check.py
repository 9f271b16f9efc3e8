r"""Check that a set of records is complete, undamaged and fit for training.

    bert-data check --input_file='data/train-*' --vocab_file=vocab.txt

reads the whole set. It checks frames, checksums, indexes and the manifest, and then compares what
matters to BERT with the expected values: tokens to predict, 80/10/10, special tokens among those to
predict, row splits, next sentences, copies, [UNK] and padding. The worst findings come first.
Records are TFRecord, also of Google's program, or Parquet; settings that a manifest has need no
flag.

    bert-data check --input_file='data/train-*' --vocab_file=vocab.txt \
        --text_file='text/*.txt'

also finds random next sentences from the same document, and the words that became [UNK].

    bert-data check --input_file='data/train-*' --json > report.json
    bert-data check --input_file='data/train-*' --html=report.html

The exit status is 0 for a good set, even with doubtful findings, 1 for a harmful or damaged one,
and 2 if the set cannot be checked.
"""

from collections.abc import Sequence

from absl import flags

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.cli.shared_flags import (
    RECORDS,
    TOKENIZER_FILE,
    one_vocabulary,
    output_section,
    show_result,
)
from bert_data.inspection.configs import CheckConfig

FLAGS = flags.FLAGS

_COMMON = "input_file vocab_file text_file"  # for --help
SECTIONS = (
    Section("", (RECORDS, *settings(CheckConfig), TOKENIZER_FILE)),
    output_section("Write the report as JSON."),
)


def main(_: Sequence[str]) -> int:
    """Check the set; return the exit status."""
    from bert_data.inspection.reports import show_check
    from bert_data.inspection.set_check import Report, check_set
    from bert_data.inspection.sources.opening import expand_records

    config = from_flags(
        CheckConfig,
        input_patterns=expand_records(FLAGS.input_file),
        vocab_file=one_vocabulary(FLAGS.vocab_file, FLAGS.tokenizer_file),
    )
    report = show_result(
        f"Check of {FLAGS.input_file}",
        config.inputs(),
        lambda: check_set(config),
        show_check,
        Report.as_json,
    )
    return int(report.is_harmful)


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON}, is_filter=True, error_status=2)
