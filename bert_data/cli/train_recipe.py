"""Training by a recipe: what the flags of `train` mean then, and which contradict it."""

import functools
from collections.abc import Callable

from absl import flags, logging

from bert_data.checks import MAX_INT32
from bert_data.cli.settings_flags import from_flags
from bert_data.reader.config import ReaderConfig
from bert_data.recipes.recipe import BUCKETS, POOLS, Recipe
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.recipe_source import objective_of_stages
from bert_data.training.bert_config import BertConfig
from bert_data.training.reader_configs import check_stages, held_out_of_recipe, train_on_recipe
from bert_data.training.training_config import OptimizerConfig, TrainingConfig

FLAGS = flags.FLAGS
_SAID_BY_RECIPE = (
    "input_file train_batch_size max_seq_length max_predictions_per_seq batching pool_batches"
    " num_buckets max_tokens_per_batch width vocab_file tokenizer_file next_sentence"
)


def open_recipe(
    eval_batch_size: int | None, *, is_static: bool
) -> tuple[BertConfig, Callable[..., object], list[ReaderConfig]]:
    """Return the model, the function that trains it, and the records that evaluation reads.

    Args:
      eval_batch_size: None: nothing is evaluated.
      is_static: whether a step is compiled for each shape of batch.
    """
    run = _open_run(is_static=is_static)
    model = BertConfig.load(FLAGS.bert_config_file, run.vocabulary.size)
    check_stages(run, model)
    settings = from_flags(
        TrainingConfig,
        num_train_steps=FLAGS.num_train_steps if _is_given("num_train_steps") else MAX_INT32,
        batch_size=1,
        optimizer=from_flags(OptimizerConfig),
        next_sentence=objective_of_stages(run.recipe).name,
    )
    records = []
    if eval_batch_size is not None:
        make = functools.partial(from_flags, ReaderConfig)
        records.append(
            held_out_of_recipe(
                FLAGS.eval_input_file, run, model, make,
                batch_size=eval_batch_size, is_static=is_static,
            )
        )  # fmt: skip
    return model, functools.partial(train_on_recipe, settings, model, run), records


def _open_run(*, is_static: bool) -> Run:
    """Open the stores of --recipe; refuse flags that contradict it."""
    given = [name for name in _SAID_BY_RECIPE.split() if _is_given(name)]
    if given:
        names = " and ".join(f"--{name}" for name in given)
        raise ValueError(f"--recipe says what is read, and how: leave out {names}")
    if FLAGS.do_eval and not FLAGS.eval_input_file:
        raise ValueError("--do_eval needs --eval_input_file, records to evaluate on, with --recipe")
    recipe = Recipe.from_file(FLAGS.recipe)
    if is_static and any(stage.batching == POOLS for stage in recipe.stages):
        logging.warning(
            "a step is compiled for each width of batch, which in pools are many: the recipe's"
            " batching: %s has few", BUCKETS,
        )  # fmt: skip
    return Run(recipe)


def _is_given(name: str) -> bool:
    return bool(FLAGS[name].present) or FLAGS[name].value != FLAGS[name].default
