"""Training on records or by a recipe: what is read, for the command and for `bert_data.train`.

training_order("train-*")              ->  {"batching": "pools", "shuffle": True, ...}: without end
evaluation_reader(that, "held-out-*")  ->  ReaderConfig(batching="stream", num_epochs=1, ...)
model_of_records("tiny", "train-*")    ->  BertConfig(vocab_size=30522, hidden_size=128, ...)
train_on_records(settings, model, reader)
train_on_recipe(settings, model, Run(recipe))
"""

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from absl import logging

from bert_data.reader import (
    ReaderConfig,
    can_be_planned,
    describe_order,
    limits_of_manifests,
    objective_of,
    vocab_size_of_manifests,
)
from bert_data.reader.config import REMOTE_CACHE_BYTES, STREAM
from bert_data.reader.files.shards import find_shards
from bert_data.reader.planning.plan_config import BUCKETS, PACKED, POOLS, WIDTH_MAX, WIDTH_OF_BATCH
from bert_data.recipes.recipe import FLAT
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.recipe_source import objective_of_stages
from bert_data.settings import AUTO
from bert_data.tokens.tokenizer_file import read_tokenizer
from bert_data.training.bert_config import PUBLISHED_SIZES, PUBLISHED_VOCAB_SIZE, BertConfig
from bert_data.training.model_vocabulary import ModelVocabulary
from bert_data.training.training_config import EvaluationConfig, TrainingConfig

if TYPE_CHECKING:
    import tensorflow as tf

    from bert_data.training.model import PretrainingModel
    from bert_data.training.run_output import HeldOutData


Width = str | tuple[int, ...]


def training_order(
    patterns: str,
    *,
    batching: str = AUTO,
    width: Width | None = None,
    is_static: bool = False,
    remote_cache_bytes: int = REMOTE_CACHE_BYTES,
) -> dict[str, Any]:
    """Return the fields of a `ReaderConfig` that say in which order and form training reads.

    Args:
      batching: as of `ReaderConfig`, or "auto": what suits files and device.
      width: as of `ReaderConfig`; None: what suits the device.
      is_static: whether a step is compiled for each shape of batch.
    """
    if batching == AUTO:
        is_planned = can_be_planned(patterns, remote_cache_bytes=remote_cache_bytes)
        batching = (BUCKETS if is_static else POOLS) if is_planned else STREAM
    return {
        "input_patterns": patterns,
        "batching": batching,
        "width": _width(width, is_static=is_static and batching != BUCKETS),
        "shuffle": True,
        "num_epochs": None,
        # Batches of a stream run across epochs; planned ones end with them, and none is left out
        # but where it would be one shape more to compile.
        "drop_remainder": batching == STREAM or is_static,
    }


def evaluation_reader(
    training: ReaderConfig,
    patterns: str,
    *,
    batch_size: int,
    width: Width | None = None,
    is_static: bool = False,
) -> ReaderConfig:
    """Return the configuration for reading once, in order."""
    return dataclasses.replace(
        training,
        input_patterns=patterns,
        batch_size=batch_size,
        batching=STREAM,
        max_tokens_per_batch=None,
        width=WIDTH_OF_BATCH if training.batching == PACKED else _width(width, is_static=is_static),
        shuffle=False,
        num_epochs=1,
        drop_remainder=False,
    )


def model_of_records(file_or_name: str, patterns: str, vocab_file: str | None = None) -> BertConfig:
    """Load the sizes of a model; published ones get the vocabulary of the records.

    Args:
      file_or_name: a JSON file, or the name of a published size.
      vocab_file: vocabulary, or tokenizer.json, for records whose manifests name none.
    """
    if file_or_name not in PUBLISHED_SIZES:
        return BertConfig.load(file_or_name)
    records = ReaderConfig(input_patterns=patterns, batch_size=1)
    size, source = vocab_size_of_manifests(records), "of the records"
    if size is None and vocab_file:
        size = read_tokenizer(vocab_file, do_lower_case=True).id_limit
        source = f"of {vocab_file}"
    if size is None:
        size, source = PUBLISHED_VOCAB_SIZE, "of Google's uncased vocabulary"
    config = BertConfig.load(file_or_name, size)
    logging.info("the model is %s, with the %d tokens %s", file_or_name, size, source)
    return config


def check_records(configs: Sequence[ReaderConfig]) -> None:
    """Compare the records for training, and those held out, with their configurations."""
    first, last = configs[0], configs[-1]
    objective, other = objective_of(first).name, objective_of(last).name
    if objective != other:
        raise ValueError(
            f"records of {_names(first)} were made with next_sentence {objective}, but those of"
            f" {_names(last)} with {other}"
        )
    vocabulary_of_records(*configs)
    _tell_lengths(first)
    for config in {config.patterns: config for config in configs}.values():
        limits = dataclasses.asdict(limits_of_manifests(config))
        if limits["max_predictions_per_seq"] == 0:
            raise ValueError(
                f"records of {_names(config)} have no tokens to predict (max_predictions_per_seq is"
                " 0 in their manifest); to choose new ones in each epoch, make a token store of the"
                " same text (bert-data tokenize) and train by a `recipe` that names it"
            )
        larger = [
            f"{name} is {asked}, though their manifest says {limit}"
            for name, limit in limits.items()
            if (asked := getattr(config, name)) is not None and limit not in (None, asked)
        ]
        if larger:
            logging.warning("records of %s: %s", _names(config), " and ".join(larger))


def _tell_lengths(config: ReaderConfig) -> None:
    """Say where sets of different lengths share batches."""
    first: dict[int, str] = {}
    for shard in find_shards(config):
        if shard.manifest is not None:
            first.setdefault(shard.manifest.max_seq_length, shard.path)
    if len(first) > 1:
        lengths = ", ".join(f"{n} in {path}" for n, path in sorted(first.items()))
        logging.info("records of several max_seq_length train together: %s", lengths)


def _names(config: ReaderConfig) -> str:
    return ",".join(config.patterns)


def train_on_records(
    config: TrainingConfig,
    model: BertConfig,
    data: ReaderConfig,
    *,
    held_out: "HeldOutData | None" = None,
    strategy: "tf.distribute.Strategy | None" = None,
) -> "PretrainingModel":
    """Train as `training.train` does, with batches of records."""
    from bert_data.training.distribution import num_hosts  # they load TensorFlow
    from bert_data.training.loop import train
    from bert_data.training.record_reading import RecordReading

    replicas = 1 if strategy is None else strategy.num_replicas_in_sync
    hosts = 1 if strategy is None else num_hosts(strategy)
    # Rows are divided among devices, which counts where tokens bound them; streams among hosts.
    is_by_tokens = data.max_tokens_per_batch is not None
    of_all = dataclasses.replace(data, num_hosts=replicas if is_by_tokens else hosts)
    if is_by_tokens:  # the rows of a batch are a multiple of the devices anyway
        config = dataclasses.replace(config, batch_size=replicas)
    reading = RecordReading(data, describe_order(of_all))
    return train(
        config,
        model,
        reading.make_batches,
        strategy=strategy,
        place=reading,
        vocabulary=vocabulary_of_records(data),
        held_out=held_out,
    )


def train_on_recipe(
    config: TrainingConfig,
    model: BertConfig,
    run: Run,
    *,
    held_out: "HeldOutData | None" = None,
    strategy: "tf.distribute.Strategy | None" = None,
) -> "PretrainingModel":
    """Train as `training.train` does, through all stages of a recipe.

    Training ends with the recipe, or with `num_train_steps` if that is lower.
    """
    from bert_data.training.checkpoints import last_whole_checkpoint  # they load TensorFlow
    from bert_data.training.loop import train
    from bert_data.training.recipe_reading import RecipeReading
    from bert_data.training.state import check_own_checkpoint

    reading = RecipeReading(run)
    use_older = config.use_older_checkpoint
    continues = last_whole_checkpoint(config.output_dir, use_older=use_older)
    if continues is not None:  # before batches are counted
        check_own_checkpoint(continues, reading.description)
    elif config.continue_from and config.continue_with == "steps":
        source = config.continue_from
        continues = last_whole_checkpoint(source, use_older=use_older) or source
    last_step = reading.last_step(
        continues, num_accumulation_steps=config.num_accumulation_steps, most=config.num_train_steps
    )
    logging.info("the last step is %d", last_step)
    # Hosts and devices need not divide the rows of a batch.
    replicas = 1 if strategy is None else strategy.num_replicas_in_sync
    return train(
        dataclasses.replace(config, num_train_steps=last_step, batch_size=replicas),
        model,
        reading.make_batches,
        strategy=strategy,
        place=reading,
        vocabulary=ModelVocabulary.read(run.vocabulary.path),
        held_out=held_out,
    )


def vocabulary_of_records(*configs: ReaderConfig) -> ModelVocabulary | None:
    """Return the vocabulary of the records that one or more configurations read.

    It is their vocab_file, which the reader compares with the manifests, or else the one that these
    name; None: they name none. Raises ValueError if they name several.
    """
    if configs[0].vocab_file:
        return ModelVocabulary.read(configs[0].vocab_file)
    found: dict[str, ModelVocabulary] = {}
    for shard in (shard for config in configs for shard in find_shards(config)):
        if (made := shard.manifest) is not None:
            source = f"of the records {shard.path}"
            found.setdefault(
                made.vocabulary.sha256,
                ModelVocabulary(
                    source=source, size=made.vocabulary.size, sha256=made.vocabulary.sha256
                ),
            )
    if len(found) > 1:
        first, other = list(found.values())[:2]
        raise ValueError(f"records have several vocabularies: {first}; {other}")
    return next(iter(found.values()), None)


def held_out_of_recipe(
    patterns: str,
    run: Run,
    model: BertConfig,
    make: Callable[..., ReaderConfig] = ReaderConfig,
    *,
    batch_size: int = EvaluationConfig.eval_batch_size,
    is_static: bool = False,
) -> ReaderConfig:
    """Return how records are read that are held out from a recipe: once, in order.

    Args:
      make: makes the configuration of some of its fields.
      is_static: whether a step is compiled for each shape of batch.
    """
    data = make(
        input_patterns=patterns,
        batch_size=batch_size,
        batching=STREAM,
        width=_width(None, is_static=is_static),
        max_seq_length=model.max_position_embeddings,
        max_predictions_per_seq=None,
        vocab_size=model.vocab_size,
        vocab_file=run.vocabulary.path,
    )
    asked, trained = objective_of(data).name, objective_of_stages(run.recipe).name
    if asked != trained:
        raise ValueError(
            f"the recipe has objective {trained}, but the held-out records {patterns} were made"
            f" with next_sentence {asked}"
        )
    return data


def check_stages(run: Run, config: BertConfig) -> None:
    """Check that a model can read all stages of a recipe."""
    size = run.vocabulary.size
    if size > config.vocab_size:
        raise ValueError(
            f"vocab_size of the model is {config.vocab_size:,}, but {run.vocabulary.path} has"
            f" {size:,} tokens"
        )
    for number, stage in enumerate(run.recipe.stages, 1):
        assert stage.max_seq_length is not None
        if stage.max_seq_length > config.max_position_embeddings:
            raise ValueError(
                f"stage {number} of the recipe has max_seq_length {stage.max_seq_length:,}, but the"
                " model reads up to max_position_embeddings ="
                f" {config.max_position_embeddings:,} tokens"
            )
        if stage.batching == FLAT:
            raise ValueError(
                f"stage {number} of the recipe has batching {FLAT}, batches of one row, which is"
                f" too long for this model; {PACKED} rows have no padding either"
            )


def _width(width: Width | None, *, is_static: bool) -> Width:
    if width is not None:
        return width
    return WIDTH_MAX if is_static else WIDTH_OF_BATCH


def held_out_data(config: ReaderConfig, max_steps: int | None = None) -> "HeldOutData":
    """Return the data of evaluations during training, up to a number of batches."""
    from bert_data.training.run_output import HeldOutData  # it loads TensorFlow

    order = describe_order(config) | ({} if max_steps is None else {"max_eval_steps": max_steps})

    def make_batches() -> "tf.data.Dataset":
        from bert_data.reader import read_batches

        batches = read_batches(config)
        return batches if max_steps is None else batches.take(max_steps)

    return HeldOutData(make_batches=make_batches, description=json.dumps(order))
