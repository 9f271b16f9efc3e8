r"""Check a set of records: whether it is whole, and whether a model can learn from it.

    bert-data check --input_file='data/train-*' --vocab_file=vocab.txt

reads all of the set: frames, checksums, indexes and manifest first, then what only BERT's data can
have wrong, each figure with what is expected of it: tokens to predict, 80/10/10, special tokens
that are predicted, row splits against the vocabulary, next sentences, copies, [UNK], padding. The
findings come in order of harm. TFRecord (ours and Google's) and Parquet are read; what a manifest
says need not be given.

    bert-data check --input_file='data/train-*' --vocab_file=vocab.txt \
        --text_file='text/*.txt'

shows, too, whether random next sentences are of the same document, and which words are [UNK].

    bert-data check --input_file='data/train-*' --json > report.json
    bert-data check --input_file='data/train-*' --html=report.html

The exit status is 0 for a good set, 1 for one with findings that are more than doubtful, and 2 if
the set cannot be checked.
"""

from collections.abc import Sequence

from absl import flags

from bert_data.cli import entry, output_flags, source_flags
from bert_data.cli.flag_values import from_flags
from bert_data.cli.tokenizer_flags import one_vocabulary

FLAGS = flags.FLAGS

_COMMON = "input_file vocab_file text_file"  # for --help

source_flags.define_record_flags()
flags.DEFINE_string(
    "vocab_file",
    None,
    "The vocabulary of the records: compared with the manifest, and needed to count [UNK] in the"
    " records and to compare words.",
)
flags.DEFINE_string(
    "tokenizer_file", None, "A tokenizer.json, .model or .tiktoken file in place of --vocab_file."
)
flags.DEFINE_string(
    "text_file",
    None,
    "The text that the records were made from, or its token store by prefix: shows whether random"
    " next sentences are of the same document, and which words are [UNK]. Needs --vocab_file or"
    " --tokenizer_file.",
)
flags.DEFINE_bool(
    "do_lower_case", None, "Case of the vocabulary, if no manifest says it (then true)."
)
flags.DEFINE_integer("batch_size", 32, "Rows of the batches whose padding is shown.")
flags.DEFINE_integer("num_workers", 0, "Shards that are read at a time; 0 is all cores.")
output_flags.define_output_flags("Write the report as JSON.")


def main(_: Sequence[str]) -> int:
    """Check the set; return the exit status."""
    from bert_data.inspection.check import CheckConfig, Report, check_set
    from bert_data.inspection.reports import show_check
    from bert_data.inspection.sources.opening import expand_records

    config = from_flags(
        CheckConfig,
        input_patterns=expand_records(FLAGS.input_file),
        vocab_file=one_vocabulary(FLAGS.vocab_file, FLAGS.tokenizer_file),
    )
    report = output_flags.show_result(
        f"Check of {FLAGS.input_file}",
        config.inputs(),
        lambda: check_set(config),
        show_check,
        Report.as_json,
    )
    return int(report.is_harmful)


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON}, is_filter=True, error_status=2)
