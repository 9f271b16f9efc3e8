"""Training by a recipe: what the flags of `train` mean then, and which contradict it."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from absl import flags, logging

from bert_data.cli.settings_flags import from_flags
from bert_data.reader.config import STREAM, ReaderConfig
from bert_data.reader.planning.config import WIDTH_MAX, WIDTH_OF_BATCH
from bert_data.recipes.recipe import BUCKETS, POOLS, Recipe
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.recipe_source import objective_of as objective_of_stages
from bert_data.settings import MAX_INT32
from bert_data.training.bert_config import PUBLISHED_SIZES, BertConfig
from bert_data.training.training_config import OptimizerConfig, TrainingConfig

if TYPE_CHECKING:
    import tensorflow as tf

    from bert_data.training.run_output import HeldOutData

FLAGS = flags.FLAGS
_SAID_BY_RECIPE = (
    "input_file train_batch_size max_seq_length max_predictions_per_seq batching pool_batches"
    " num_buckets max_tokens_per_batch width vocab_file tokenizer_file dynamic_masking"
    " masked_lm_prob do_whole_word_mask masking max_ngram favor_shorter_ngrams next_sentence"
)


def open_recipe(
    eval_batch_size: int | None, *, is_static: bool
) -> tuple[BertConfig, Callable[..., object], list[ReaderConfig]]:
    """Return the model, the function that trains it, and the records that evaluation reads.

    Args:
      eval_batch_size: None: nothing is evaluated.
      is_static: whether a step is compiled for each shape of batch.
    """
    from bert_data.training.reader_configs import check_stages

    run = open_run(is_static=is_static)
    config = _load_model(run.vocabulary.size)
    check_stages(run, config)
    settings_of_training(run)  # for errors before TensorFlow is loaded
    records = []
    if eval_batch_size is not None:
        records = [evaluation_records(config, run, eval_batch_size, is_static=is_static)]
    return config, functools.partial(train_by_recipe, config, run), records


def _load_model(vocab_size: int) -> BertConfig:
    """Load --bert_config_file; a published size gets the vocabulary of the recipe."""
    name = FLAGS.bert_config_file
    return BertConfig.load(name, vocab_size) if name in PUBLISHED_SIZES else BertConfig.load(name)


def open_run(*, is_static: bool) -> Run:
    """Open the stores of --recipe; refuse flags that contradict it.

    Args:
      is_static: whether a step is compiled for each shape of batch.
    """
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


def evaluation_records(
    config: BertConfig, run: Run, batch_size: int, *, is_static: bool
) -> ReaderConfig:
    """Return how the records of --eval_input_file are read: once, in order."""
    from bert_data.reader import objective_of

    data = from_flags(
        ReaderConfig,
        input_patterns=FLAGS.eval_input_file,
        batch_size=batch_size,
        batching=STREAM,
        width=WIDTH_MAX if is_static else WIDTH_OF_BATCH,
        max_seq_length=config.max_position_embeddings,
        max_predictions_per_seq=None,
        vocab_size=config.vocab_size,
        vocab_file=run.vocabulary.path,
    )
    asked, trained = objective_of(data).name, objective_of_stages(run.recipe).name
    if asked != trained:
        raise ValueError(
            f"the recipe has objective {trained}, but --eval_input_file was made with next_sentence"
            f" {asked}"
        )
    return data


def settings_of_training(
    run: Run, num_train_steps: int = 1, *, batch_size: int = 1
) -> TrainingConfig:
    """Return the settings of training up to a step."""
    return from_flags(
        TrainingConfig,
        num_train_steps=num_train_steps,
        batch_size=batch_size,
        optimizer=from_flags(OptimizerConfig),
        next_sentence=objective_of_stages(run.recipe).name,
    )


def train_by_recipe(
    config: BertConfig,
    run: Run,
    *,
    held_out: "HeldOutData | None",
    strategy: "tf.distribute.Strategy",
) -> None:
    """Train through all stages, or up to --num_train_steps if that is given and lower."""
    from bert_data import training
    from bert_data.training.model_vocabulary import ModelVocabulary
    from bert_data.training.recipe_reading import RecipeReading, continued_checkpoint

    reading = RecipeReading(run)
    continues = continued_checkpoint(
        FLAGS.output_dir,
        FLAGS.continue_from,
        FLAGS.continue_with,
        use_older=FLAGS.use_older_checkpoint,
    )
    last_step = reading.last_step(
        continues,
        num_accumulation_steps=FLAGS.num_accumulation_steps,
        most=FLAGS.num_train_steps if _is_given("num_train_steps") else MAX_INT32,
    )
    logging.info("the last step is %d", last_step)
    training.train(
        # Hosts and devices need not divide the rows of a batch.
        settings_of_training(run, last_step, batch_size=strategy.num_replicas_in_sync),
        config,
        reading.make_batches,
        strategy=strategy,
        place=reading,
        vocabulary=ModelVocabulary.read(run.vocabulary.path),
        held_out=held_out,
    )
