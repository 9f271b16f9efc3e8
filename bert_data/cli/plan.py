r"""Plan the batches of a set in every way, to choose one before training.

    python -m bert_data.cli.plan --input_file='data/train-*' --batch_size=256
    python -m bert_data.cli.plan --input_file='data/train-*' --max_tokens_per_batch=16384

shows batches, widths, shapes and padding of an epoch, the speed to expect, and the flags of
run_pretraining.py (of `ReaderConfig`: --json) that choose each way. The lengths come from the
indexes, so this takes seconds for millions of records.
"""

import json
import sys
from collections.abc import Sequence

from absl import flags

from bert_data.cli import entry
from bert_data.objectives.next_sentence import NEXT_SENTENCE

FLAGS = flags.FLAGS

flags.DEFINE_string("input_file", None, "Shards: files, patterns or set@N, separated by commas.")
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
flags.DEFINE_enum(
    "next_sentence", None, NEXT_SENTENCE, "What the records ask, if no manifest says it."
)
flags.DEFINE_bool("json", False, "Write the plan as JSON.")
flags.DEFINE_string("html", None, "Write the plan, with plots, as a page to this file instead.")
flags.DEFINE_bool("overwrite", False, "Replace the file of --html.")


def main(argv: Sequence[str]) -> None:
    """Plan the batches and show the ways."""
    del argv  # entry.run refuses what is not a flag
    # Imported here so that --help and a mistyped flag are answered at once.
    from bert_data.inspection.batchings import BatchingConfig
    from bert_data.inspection.page import open_page
    from bert_data.inspection.plan import PlanSetConfig, plan_set
    from bert_data.inspection.reports import show_plan
    from bert_data.inspection.sources.recognizing import expand_records
    from bert_data.inspection.terminal import Terminal

    if FLAGS.json and FLAGS.html:
        raise ValueError("--json and --html are both set; choose one")
    if not FLAGS.input_file:
        raise ValueError("--input_file is missing: name the shards to plan for")
    if (FLAGS.batch_size is None) == (FLAGS.max_tokens_per_batch is None):
        raise ValueError("set one of --batch_size and --max_tokens_per_batch")
    config = PlanSetConfig(
        input_patterns=expand_records(FLAGS.input_file),
        next_sentence=FLAGS.next_sentence,
        batches=BatchingConfig(
            batch_size=FLAGS.batch_size,
            max_tokens_per_batch=FLAGS.max_tokens_per_batch,
            max_seq_length=FLAGS.max_seq_length,
            pool_batches=FLAGS.pool_batches,
            num_buckets=FLAGS.num_buckets,
            hidden_size=FLAGS.hidden_size,
        ),
    )
    if FLAGS.html:  # opened first: a name that cannot be written is refused before planning
        title, reads = f"Batches of {FLAGS.input_file}", config.input_patterns
        with open_page(FLAGS.html, title, reads=reads, overwrite=FLAGS.overwrite) as page:
            show_plan(page, plan_set(config))
        return
    plan = plan_set(config)
    if FLAGS.json:
        sys.stdout.write(json.dumps(plan.as_json(), indent=1) + "\n")
    else:
        show_plan(Terminal(sys.stdout), plan)


if __name__ == "__main__":
    entry.run(main, is_filter=True)
