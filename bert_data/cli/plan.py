r"""Plan the batches of a set in every way, to choose one before training; or a recipe.

    bert-data plan --input_file='data/train-*' --batch_size=256
    bert-data plan --input_file='data/train-*' --max_tokens_per_batch=16384

shows batches, widths, shapes and padding of an epoch, the speed to expect, and the flags of
run_pretraining.py (of `ReaderConfig`: --json) that choose each way. The lengths come from the
indexes, so this takes seconds for millions of records.

    bert-data plan --recipe=recipe.yaml

shows the sequences, tokens, batches and padding of each stage of a training run, and how often it
reads each store.
"""

import dataclasses
from collections.abc import Sequence

from absl import flags

from bert_data.cli import entry
from bert_data.cli.looking_flags import output_section, show_result
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.cli.shared_flags import RECORDS, refuse_with_recipe
from bert_data.inspection.configs import (
    BATCHING_FLAGS,
    BatchingConfig,
    PlanRecipeConfig,
    PlanSetConfig,
)

FLAGS = flags.FLAGS

_COMMON = "input_file recipe batch_size max_tokens_per_batch max_seq_length"  # for --help
SECTIONS = (
    Section(
        "",
        (
            dataclasses.replace(RECORDS, default=None),
            *settings(
                PlanRecipeConfig,
                changes={"recipe": {"default": None}, "max_sequences": {"only_with": "recipe"}},
            ),
            *settings(PlanSetConfig),
            *settings(BatchingConfig, BATCHING_FLAGS),
        ),
    ),
    output_section("Write the plan as JSON."),
)


def main(_: Sequence[str]) -> None:
    """Plan the batches and show the ways."""
    if (FLAGS.input_file is None) == (FLAGS.recipe is None):
        raise ValueError("set one of `input_file` and `recipe`")
    if FLAGS.recipe is not None:
        _plan_recipe()
    else:
        _plan_set()


def _plan_recipe() -> None:
    from bert_data.inspection.recipe_plan import RecipePlan, plan_recipe, show_recipe_plan
    from bert_data.recipes.recipe import Recipe

    refuse_with_recipe("batch_size max_tokens_per_batch max_seq_length next_sentence")
    config = from_flags(PlanRecipeConfig)
    show_result(
        f"Plan of {FLAGS.recipe}",
        [FLAGS.recipe, *Recipe.from_file(FLAGS.recipe).input_files()],
        lambda: plan_recipe(config),
        show_recipe_plan,
        RecipePlan.as_json,
    )


def _plan_set() -> None:
    from bert_data.inspection.reports import show_plan
    from bert_data.inspection.set_plan import SetPlan, plan_set
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
