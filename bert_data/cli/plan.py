r"""Show what a training run by a recipe will read.

    bert-data plan --recipe=recipe.yaml

shows the sequences, tokens, batches and padding of each stage, and how often it reads each store.
The command reads only lengths, so it takes seconds.
"""

from collections.abc import Sequence

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.cli.shared_flags import output_section, show_result
from bert_data.inspection.configs import PlanRecipeConfig

_COMMON = "recipe"  # for --help
SECTIONS = (Section("", settings(PlanRecipeConfig)), output_section("Write the plan as JSON."))


def main(_: Sequence[str]) -> None:
    """Plan the recipe and show its stages."""
    from bert_data.inspection.recipe_plan import RecipePlan, plan_recipe, show_recipe_plan
    from bert_data.recipes.recipe import Recipe

    config = from_flags(PlanRecipeConfig)
    recipe = Recipe.from_file(config.recipe)
    show_result(
        f"Plan of {config.recipe}",
        [config.recipe, *recipe.input_files()],
        lambda: plan_recipe(recipe, config.max_sequences),
        show_recipe_plan,
        RecipePlan.as_json,
    )


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON}, is_filter=True)
