r"""Plan the batches of a set in every way, to choose one before training.

    bert-data plan --input_file='data/train-*' --batch_size=256
    bert-data plan --input_file='data/train-*' --max_tokens_per_batch=16384

shows batches, widths, shapes and padding of an epoch, the speed to expect, and the flags of
run_pretraining.py (of `ReaderConfig`: --json) that choose each way. The lengths come from the
indexes, so this takes seconds for millions of records.
"""

from collections.abc import Sequence

from absl import flags

from bert_data.cli import entry, output_flags, source_flags
from bert_data.cli.flag_values import from_flags

FLAGS = flags.FLAGS

_COMMON = "input_file batch_size max_tokens_per_batch max_seq_length"  # for --help

source_flags.define_record_flags()
flags.DEFINE_integer("batch_size", None, "Rows of a batch, over all devices.")
flags.DEFINE_integer(
    "max_tokens_per_batch",
    None,
    "Most tokens of a batch, padding included, instead of --batch_size.",
)
flags.DEFINE_integer(
    "max_seq_length",
    None,
    "Longest row that the model takes; by default that of the manifest or of padded records, or"
    " else the longest record.",
)
flags.DEFINE_integer("pool_batches", 64, "Batches of a pool, as for run_pretraining.py.")
flags.DEFINE_integer("num_buckets", 8, "Widths of buckets, as for run_pretraining.py.")
flags.DEFINE_integer(
    "hidden_size",
    768,
    "Of the model: the smaller it is, the more the attention of long rows weighs in the speed.",
)
output_flags.define_output_flags("Write the plan as JSON.")


def main(_: Sequence[str]) -> None:
    """Plan the batches and show the ways."""
    from bert_data.inspection.plan import BatchingConfig, PlanSetConfig, SetPlan, plan_set
    from bert_data.inspection.reports import show_plan
    from bert_data.inspection.sources.opening import expand_records

    if (FLAGS.batch_size is None) == (FLAGS.max_tokens_per_batch is None):
        raise ValueError("set one of --batch_size and --max_tokens_per_batch")
    config = from_flags(
        PlanSetConfig,
        input_patterns=expand_records(FLAGS.input_file),
        batches=from_flags(BatchingConfig),
    )
    output_flags.show_result(
        f"Batches of {FLAGS.input_file}",
        config.input_patterns,
        lambda: plan_set(config),
        show_plan,
        SetPlan.as_json,
    )


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON}, is_filter=True)
