"""Pretraining from the first step to the last, or from the last checkpoint on.

    make_batches, BertConfig, TrainingConfig  ->  output_dir/model.ckpt-*, bert_config.json, events

A run that is killed and restarted continues as if nothing had happened.
"""

import traceback
from collections.abc import Callable, Sequence

import tensorflow as tf
from absl import logging

from bert_data.training.batches import MakeBatches, distribute_batches
from bert_data.training.calls import is_due, run_steps
from bert_data.training.checkpoints import last_whole_checkpoint, save_checkpoint
from bert_data.training.config import BertConfig
from bert_data.training.distribution import (
    agree_on,
    check_that_xla_compiles,
    is_chief,
    naming_lost_worker,
)
from bert_data.training.init_checkpoint import load_weights
from bert_data.training.lamb import Lamb
from bert_data.training.model import PretrainingModel, pretraining_model
from bert_data.training.optimizer import AdamWeightDecay, WarmupLinearDecay
from bert_data.training.output_folder import claim_output_folder, write_config
from bert_data.training.report import TensorBoard, TrainingReport, log_report
from bert_data.training.state import TrainingState
from bert_data.training.stopping import heed_signals
from bert_data.training.training_config import TrainingConfig


def train(
    config: TrainingConfig,
    bert_config: BertConfig,
    make_batches: MakeBatches,
    *,
    strategy: tf.distribute.Strategy | None = None,
    data_description: str = "",
    observers: Sequence[Callable[[TrainingReport], None]] = (),
) -> PretrainingModel:
    """Train until `num_train_steps` are done, saving checkpoints.

    If `output_dir` holds a checkpoint, training continues from it, and all losses are as if it had
    never stopped. On SIGTERM, SIGHUP or Ctrl-C on any host, all hosts finish the current step, save
    a checkpoint and raise KeyboardInterrupt. Only one run at a time trains in a folder.

    Args:
      config: of the training.
      bert_config: the model.
      make_batches: makes a host's batches, see `batches`; they must not end.
      strategy: devices; by default, one.
      data_description: what `make_batches` reads and in which order. If it has changed after a
        restart, reading starts from the beginning.
      observers: called with each report, besides the log and TensorBoard, in each process.

    Returns:
      The trained model.

    Raises:
      ValueError: a setting does not fit the data, the devices or the contents of `output_dir`; or
        the loss is not a number.
      OSError: `output_dir` cannot be written, another run trains there, or a worker was lost.
      CorruptDataError: a checkpoint or a record is damaged.
      KeyboardInterrupt: with the number of the signal that asked to stop.
    """
    strategy = strategy or tf.distribute.get_strategy()
    if config.jit_compile:
        check_that_xla_compiles(strategy)
    with (
        naming_lost_worker(strategy, config.output_dir),
        claim_output_folder(config.output_dir, bert_config, write=is_chief(strategy)),
    ):
        with strategy.scope():
            state = _first_state(config, bert_config, data_description)
            agree_on(strategy, "number of steps done", state.step)
        if is_chief(strategy):
            write_config(config.output_dir, bert_config)
        if state.step >= config.num_train_steps:
            logging.info("%d steps are done already; num_train_steps is %d", state.step,
                         config.num_train_steps)  # fmt: skip
            return state.model
        try:
            _train_on(config, state, make_batches, strategy, observers)
        except BaseException as error:
            # An iterator that a traceback keeps alive can prevent a process from ending: its thread
            # waits for an interpreter that is gone.
            traceback.clear_frames(error.__traceback__)
            raise
    return state.model


def _train_on(
    config: TrainingConfig,
    state: TrainingState,
    make_batches: MakeBatches,
    strategy: tf.distribute.Strategy,
    observers: Sequence[Callable[[TrainingReport], None]],
) -> None:
    """Do the remaining steps; see `train`."""
    if config.num_warmup_steps >= config.num_train_steps:
        logging.warning(
            "num_warmup_steps (%d) is not below num_train_steps (%d): the learning rate never"
            " reaches its peak", config.num_warmup_steps, config.num_train_steps,
        )  # fmt: skip
    batches = distribute_batches(
        strategy,
        make_batches,
        batch_size=config.batch_size,
        start_batch=state.next_batch,
        num_accumulation_steps=config.num_accumulation_steps,
    )
    chief = is_chief(strategy)
    reporters = [log_report, *observers]
    curves = TensorBoard(config.output_dir) if chief else None
    if curves is not None:
        reporters.append(curves.write_report)
    with heed_signals() as stop:
        saved_step = state.step
        for report in run_steps(config, strategy, state, iter(batches), stop):
            for reporter in reporters:
                reporter(report)
            is_saved = is_due(report.step, config.save_checkpoints_steps, config)
            if curves is not None and is_saved:
                saved_step = _save(config, state, curves)
        if curves is not None and saved_step != state.step:
            _save(config, state, curves)
        agree_on(strategy, "last step", state.step)  # no host leaves before everything is saved
        stop.raise_if_asked()


def _first_state(
    config: TrainingConfig, bert_config: BertConfig, data_description: str
) -> TrainingState:
    model = pretraining_model(
        bert_config,
        random_seed=config.random_seed,
        mixed_precision=config.mixed_precision,
        next_sentence=config.next_sentence,
    )
    optimizer = _make_optimizer(config)
    optimizer.build(model.trainable_variables)
    state = TrainingState(
        model=model,
        optimizer=optimizer,
        settings=config.lasting_settings,
        data_description=data_description,
    )
    last = last_whole_checkpoint(config.output_dir, use_older=config.use_older_checkpoint)
    if last is not None:
        state.restore(last)
        logging.info("continuing from %s", last)
    elif config.init_checkpoint:
        load_weights(model, config.init_checkpoint, fresh_heads=True)
    return state


def _make_optimizer(config: TrainingConfig) -> AdamWeightDecay:
    settings = config.optimizer
    schedule = WarmupLinearDecay(
        config.learning_rate, config.num_train_steps, config.num_warmup_steps
    )
    num_batches = config.num_accumulation_steps
    return {"adamw": AdamWeightDecay, "lamb": Lamb}[settings.optimizer](
        schedule,
        weight_decay=settings.weight_decay,
        beta_1=settings.adam_beta1,
        beta_2=settings.adam_beta2,
        epsilon=settings.adam_epsilon,
        clip_norm=settings.clip_norm,
        loss_scaling=config.mixed_precision == "float16",
        gradient_accumulation_steps=num_batches if num_batches > 1 else None,
    )


def _save(config: TrainingConfig, state: TrainingState, curves: TensorBoard) -> int:
    """Save a checkpoint, and the curves up to there; return its step."""
    prefix = save_checkpoint(
        config.output_dir, state.step, state.values(), num_kept=config.keep_checkpoints
    )
    curves.publish()
    logging.info("saved %s", prefix)
    return state.step
