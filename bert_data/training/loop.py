"""Pretraining from first to last step, or from the last checkpoint on.

    make_batches, BertConfig, TrainingConfig  ->  output_dir/model.ckpt-*, bert_config.json, events

A run that is killed and started again goes on as if nothing had happened.
"""

import dataclasses
import time
import traceback
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import tensorflow as tf
from absl import logging

from bert_data.reader import explain
from bert_data.training.batches import MakeBatches, distribute_batches
from bert_data.training.checkpoints import (
    latest_checkpoint,
    remove_left_overs,
    save_checkpoint,
)
from bert_data.training.config import BertConfig
from bert_data.training.distribution import agree_on, check_that_xla_compiles, is_chief
from bert_data.training.init_checkpoint import load_weights
from bert_data.training.model import PretrainingModel, pretraining_model
from bert_data.training.optimizer import AdamWeightDecay, WarmupLinearDecay
from bert_data.training.output_folder import claim_output_folder
from bert_data.training.report import TensorBoard, TrainingReport, log_report
from bert_data.training.state import TrainingState
from bert_data.training.steps import training_steps


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How to train.

    Attributes:
      output_dir: folder for checkpoints and curves.
      num_train_steps: in all, those before a restart included, >= 1.
      batch_size: examples a step, of all devices together, >= 1.
      learning_rate: the highest, > 0.
      num_warmup_steps: until it is reached, >= 0.
      init_checkpoint: weights to start from when `output_dir` has no checkpoint.
      save_checkpoints_steps: steps between checkpoints, >= 1; there is one at the end, too.
      num_kept_checkpoints: the last ones, >= 1.
      iterations_per_loop: steps in one call of the graph, at most, >= 1.
      log_every_steps: steps between reports, >= 1.
      random_seed: of first weights and dropout.
      mixed_precision: "none", "bfloat16" or "float16".
      jit_compile: whether XLA compiles a step.
    """

    output_dir: str
    num_train_steps: int = 100_000
    batch_size: int = 32
    learning_rate: float = 5e-5
    num_warmup_steps: int = 10_000
    init_checkpoint: str | None = None
    save_checkpoints_steps: int = 1000
    num_kept_checkpoints: int = 5
    iterations_per_loop: int = 1000
    log_every_steps: int = 100
    random_seed: int = 12345
    mixed_precision: str = "none"
    jit_compile: bool = False

    def __post_init__(self) -> None:
        at_least_one = (
            "num_train_steps", "batch_size", "save_checkpoints_steps", "num_kept_checkpoints",
            "iterations_per_loop", "log_every_steps",
        )  # fmt: skip
        for name in at_least_one:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; a number >= 1 is allowed")
        if self.num_warmup_steps < 0:
            raise ValueError(f"num_warmup_steps is {self.num_warmup_steps}; >= 0 is allowed")
        if not 0 < self.learning_rate < float("inf"):
            raise ValueError(f"learning_rate is {self.learning_rate}; a number > 0 is allowed")


def train(
    config: TrainingConfig,
    bert_config: BertConfig,
    make_batches: MakeBatches,
    *,
    strategy: tf.distribute.Strategy | None = None,
    data_description: str = "",
    observers: Sequence[Callable[[TrainingReport], None]] = (),
) -> PretrainingModel:
    """Trains, saving checkpoints, until `num_train_steps` are done.

    If `output_dir` holds a checkpoint, it goes on from there, and all losses are as if it had
    never stopped.

    Args:
      config: how to train.
      bert_config: the model.
      make_batches: makes a host's batches, see `batches`; they must not end.
      strategy: devices; by default, one.
      data_description: what `make_batches` reads and in which order. After a restart with another
        description, reading starts at the beginning.
      observers: called with each report, besides the log and TensorBoard, in each process.

    Returns:
      The trained model.

    Raises:
      ValueError: a setting does not fit the data, the devices or what is in `output_dir`; or the
        loss is not a number.
      CorruptDataError: a checkpoint or a record is damaged.
    """
    strategy = strategy or tf.distribute.get_strategy()
    if config.jit_compile:
        check_that_xla_compiles(strategy)
    chief = is_chief(strategy)
    claim_output_folder(config.output_dir, bert_config, write=chief)
    if chief:
        remove_left_overs(config.output_dir)
    with strategy.scope():
        state = _first_state(config, bert_config, data_description)
        agree_on(strategy, "number of steps done", state.step)
    if state.step >= config.num_train_steps:
        logging.info("%d steps are done already; num_train_steps is %d", state.step,
                     config.num_train_steps)  # fmt: skip
        return state.model
    if config.num_warmup_steps >= config.num_train_steps:
        logging.warning(
            "num_warmup_steps (%d) is not below num_train_steps (%d): the learning rate never"
            " reaches its height", config.num_warmup_steps, config.num_train_steps,
        )  # fmt: skip
    batches = distribute_batches(
        strategy,
        make_batches,
        batch_size=config.batch_size,
        start_batch=state.next_batch,
    )
    reporters = [log_report, *observers]
    if chief:
        reporters.append(TensorBoard(config.output_dir).write_report)
    try:
        for report in _run(config, strategy, state, iter(batches)):
            for reporter in reporters:
                reporter(report)
            if chief and _is_due(report.step, config.save_checkpoints_steps, config):
                _save(config, state)
    except BaseException as error:
        # An iterator that lives on in a traceback can keep a process from ending: its thread waits
        # for an interpreter that is gone.
        traceback.clear_frames(error.__traceback__)
        raise
    return state.model


def _first_state(
    config: TrainingConfig, bert_config: BertConfig, data_description: str
) -> TrainingState:
    model = pretraining_model(
        bert_config, random_seed=config.random_seed, mixed_precision=config.mixed_precision
    )
    schedule = WarmupLinearDecay(
        config.learning_rate, config.num_train_steps, config.num_warmup_steps
    )
    optimizer = AdamWeightDecay(schedule, loss_scaling=config.mixed_precision == "float16")
    optimizer.build(model.trainable_variables)
    state = TrainingState(model=model, optimizer=optimizer, data_description=data_description)
    last = latest_checkpoint(config.output_dir)
    if last is not None:
        state.restore(last)
        logging.info("going on from %s", last)
    elif config.init_checkpoint:
        load_weights(model, config.init_checkpoint)
    return state


def _save(config: TrainingConfig, state: TrainingState) -> None:
    prefix = save_checkpoint(
        config.output_dir, state.step, state.values(), num_kept=config.num_kept_checkpoints
    )
    logging.info("saved %s", prefix)


def _run(
    config: TrainingConfig,
    strategy: tf.distribute.Strategy,
    state: TrainingState,
    iterator: Iterator,
) -> Iterator[TrainingReport]:
    """Runs the steps that are left; reports at multiples of log_every_steps and at each save."""
    run = training_steps(strategy, state.model, state.optimizer, jit_compile=config.jit_compile)
    step, rows, seconds = state.step, [], 0.0
    while step < config.num_train_steps:
        num_steps = min(
            config.iterations_per_loop,
            config.num_train_steps - step,
            config.log_every_steps - step % config.log_every_steps,
            config.save_checkpoints_steps - step % config.save_checkpoints_steps,
        )
        start = time.monotonic()
        rows.append(_call(run, iterator, num_steps, state))
        seconds += time.monotonic() - start
        step += num_steps
        _refuse_nan(rows[-1], step)
        periods = (config.log_every_steps, config.save_checkpoints_steps)
        if any(_is_due(step, period, config) for period in periods):
            yield _report(config, state, np.concatenate(rows), step, seconds)
            rows, seconds = [], 0.0


def _is_due(step: int, period: int, config: TrainingConfig) -> bool:
    return step % period == 0 or step == config.num_train_steps


def _call(
    run: Callable[[Iterator, tf.Tensor], tf.Tensor],
    iterator: Iterator,
    num_steps: int,
    state: TrainingState,
) -> np.ndarray:
    try:
        return run(iterator, tf.constant(num_steps)).numpy()
    except tf.errors.OutOfRangeError:
        raise ValueError(
            "the data ended before num_train_steps: training needs batches without an end"
        ) from None
    except tf.errors.OpError as error:
        explained = explain(error)
        if explained is error:
            raise
        raise explained from None


def _refuse_nan(rows: np.ndarray, step: int) -> None:
    losses = rows[:, 0] + rows[:, 1]
    if np.isfinite(losses).all():
        return
    first = step - len(losses) + int(np.argmin(np.isfinite(losses))) + 1
    raise ValueError(
        f"the loss of step {first} is not a number: a lower learning_rate or a longer warm-up may"
        " help; checkpoints before it are kept"
    )


def _report(
    config: TrainingConfig, state: TrainingState, rows: np.ndarray, step: int, seconds: float
) -> TrainingReport:
    schedule = WarmupLinearDecay(
        config.learning_rate, config.num_train_steps, config.num_warmup_steps
    )
    return TrainingReport(
        step=step,
        num_train_steps=config.num_train_steps,
        masked_lm_losses=rows[:, 0],
        next_sentence_losses=rows[:, 1],
        learning_rate=float(schedule(step - 1)),
        num_examples=int(rows[:, 2].sum(dtype=np.float64)),
        num_tokens=int(rows[:, 3].sum(dtype=np.float64)),
        seconds=seconds,
    )
