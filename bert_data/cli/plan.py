r"""Plan the batches of a set in every way, to choose one before training.

    bert-data plan --input_file='data/train-*' --batch_size=256
    bert-data plan --input_file='data/train-*' --max_tokens_per_batch=16384

shows batches, widths, shapes and padding of an epoch, the speed to expect, and the flags of
run_pretraining.py (of `ReaderConfig`: --json) that choose each way. The lengths come from the
indexes, so this takes seconds for millions of records.
"""

from collections.abc import Sequence

from absl import flags

from bert_data.cli import entry
from bert_data.cli.looking_flags import output_section, show_result
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.cli.shared_flags import RECORDS
from bert_data.inspection.configs import BATCHING_FLAGS, BatchingConfig, PlanSetConfig

FLAGS = flags.FLAGS

_COMMON = "input_file batch_size max_tokens_per_batch max_seq_length"  # for --help
SECTIONS = (
    Section(
        "",
        (RECORDS, *settings(PlanSetConfig), *settings(BatchingConfig, BATCHING_FLAGS)),
    ),
    output_section("Write the plan as JSON."),
)


def main(_: Sequence[str]) -> None:
    """Plan the batches and show the ways."""
    from bert_data.inspection.plan import SetPlan, plan_set
    from bert_data.inspection.reports import show_plan
    from bert_data.inspection.sources.opening import expand_records

    if (FLAGS.batch_size is None) == (FLAGS.max_tokens_per_batch is None):
        raise ValueError("set one of `batch_size` and `max_tokens_per_batch`")
    config = from_flags(
        PlanSetConfig,
        input_patterns=expand_records(FLAGS.input_file),
        batches=from_flags(BatchingConfig),
    )
    show_result(
        f"Batches of {FLAGS.input_file}",
        config.input_patterns,
        lambda: plan_set(config),
        show_plan,
        SetPlan.as_json,
    )


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON}, is_filter=True)
