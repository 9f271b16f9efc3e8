"""Pretraining from the first step to the last, or from the last checkpoint on.

make_batches, BertConfig, TrainingConfig  ->  output_dir/model.ckpt-*, events.*, metrics.jsonl
"""

import traceback
from collections.abc import Callable, Sequence

import tensorflow as tf
from absl import logging

from bert_data.training.bert_config import BertConfig
from bert_data.training.checkpoints import (
    Checkpoint,
    check_same_model,
    claim_output_folder,
    last_whole_checkpoint,
    latest_checkpoint,
    write_config,
)
from bert_data.training.distribution import (
    MakeBatches,
    agree_on,
    check_that_xla_compiles,
    device_names,
    distribute_batches,
    is_chief,
    naming_lost_worker,
)
from bert_data.training.model import PretrainingModel, pretraining_model
from bert_data.training.model_vocabulary import ModelVocabulary, check_vocabulary, keep_vocabulary
from bert_data.training.optimizer import AdamWeightDecay, Lamb, WarmupLinearDecay
from bert_data.training.run_output import HeldOutData, RunOutput, log_report
from bert_data.training.state import (
    DataPlace,
    TrainingState,
    check_own_checkpoint,
    load_weights,
    open_weights,
)
from bert_data.training.steps import TrainingReport, run_steps
from bert_data.training.stopping import heed_signals
from bert_data.training.training_config import TrainingConfig


def train(
    config: TrainingConfig,
    bert_config: BertConfig,
    make_batches: MakeBatches,
    *,
    strategy: tf.distribute.Strategy | None = None,
    data_description: str = "",
    place: DataPlace | None = None,
    vocabulary: ModelVocabulary | None = None,
    held_out: HeldOutData | None = None,
    observers: Sequence[Callable[[TrainingReport], None]] = (),
) -> PretrainingModel:
    """Train until `num_train_steps` are done, saving checkpoints.

    If `output_dir` holds a checkpoint, training continues from it, and all losses are as if it had
    never stopped. On SIGTERM, SIGHUP or Ctrl-C on any host, all hosts finish the current step, save
    a checkpoint and raise KeyboardInterrupt. Only one run at a time trains in a folder.

    Args:
      config: of the training.
      bert_config: the model.
      make_batches: makes a host's batches, see `MakeBatches`; they must not end.
      strategy: devices; by default, one.
      data_description: what `make_batches` reads and in which order. If it has changed after a
        restart, reading starts from the beginning.
      place: keeps the place in the data in checkpoints; None: as the number of a batch.
      vocabulary: of the records, with which the checkpoints are kept; None: not known.
      held_out: what to evaluate on every `eval_every_steps`; it has no influence on the training.
      observers: called with each report, besides the logs and TensorBoard, in each process.

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
    if (config.eval_every_steps is None) != (held_out is None):
        raise ValueError("eval_every_steps needs held-out data, and these need eval_every_steps")
    if latest_checkpoint(config.output_dir) is None:  # before the folder is made
        if config.continue_from:
            Checkpoint(config.continue_from)
            check_same_model(config.continue_from, bert_config, "use the model's own configuration")
        elif config.init_checkpoint:
            open_weights(config.init_checkpoint)
    vocabulary = _check_vocabulary(config, bert_config, vocabulary)
    if config.jit_compile:
        check_that_xla_compiles(strategy)
    logging.info(
        "training on %s; all devices: %d", device_names(strategy), strategy.num_replicas_in_sync
    )
    with (
        naming_lost_worker(strategy, config.output_dir),
        claim_output_folder(config.output_dir, bert_config, write=is_chief(strategy)),
    ):
        with strategy.scope():
            state = _first_state(config, bert_config, place or DataPlace(data_description))
            agree_on(strategy, "number of steps done", state.step)
        if is_chief(strategy):
            write_config(config.output_dir, bert_config)
            keep_vocabulary(config.output_dir, vocabulary)
        if state.step >= config.num_train_steps:
            logging.info("%d steps are done already; num_train_steps is %d", state.step,
                         config.num_train_steps)  # fmt: skip
            return state.model
        try:
            _train_on(config, bert_config, state, make_batches, strategy, held_out, observers)
        except BaseException as error:
            # An iterator that a traceback keeps alive can prevent a process from ending: its thread
            # waits for an interpreter that is gone.
            traceback.clear_frames(error.__traceback__)
            raise
    return state.model


def _check_vocabulary(
    config: TrainingConfig, bert_config: BertConfig, vocabulary: ModelVocabulary | None
) -> ModelVocabulary | None:
    """Compare the records' vocabulary with that of the weights that the run begins with."""
    source = config.continue_from or config.init_checkpoint
    if latest_checkpoint(config.output_dir) is not None:
        source = config.output_dir
    if source is None:
        return vocabulary
    return check_vocabulary(
        vocabulary,
        source,
        vocab_size=bert_config.vocab_size,
        allow_other=config.allow_other_vocabulary,
    )


def _train_on(
    config: TrainingConfig,
    bert_config: BertConfig,
    state: TrainingState,
    make_batches: MakeBatches,
    strategy: tf.distribute.Strategy,
    held_out: HeldOutData | None,
    observers: Sequence[Callable[[TrainingReport], None]],
) -> None:
    if config.last_warmup_step >= config.num_train_steps:
        logging.warning(
            "num_warmup_steps (%d) is not below num_train_steps (%d): the learning rate never"
            " reaches its peak", config.last_warmup_step, config.num_train_steps,
        )  # fmt: skip
    batches = distribute_batches(
        strategy,
        make_batches,
        batch_size=config.batch_size,
        start_batch=state.next_batch,
        num_accumulation_steps=config.num_accumulation_steps,
    )
    output = RunOutput(config, bert_config, state, held_out) if is_chief(strategy) else None
    with heed_signals() as stop:
        for report in run_steps(config, strategy, state, iter(batches), stop):
            for reporter in (log_report, *observers):
                reporter(report)
            if output is not None:
                output.write(report)
        if output is not None:
            output.close()
        agree_on(strategy, "last step", state.step)  # no host leaves before everything is saved
        stop.raise_if_asked()


def _first_state(config: TrainingConfig, bert_config: BertConfig, data: DataPlace) -> TrainingState:
    model = pretraining_model(
        bert_config,
        random_seed=config.random_seed,
        mixed_precision=config.mixed_precision,
        next_sentence=config.next_sentence,
    )
    optimizer = _make_optimizer(config)
    optimizer.build(model.trainable_variables)
    state = TrainingState(
        model=model, optimizer=optimizer, settings=config.lasting_settings, data=data
    )
    last = last_whole_checkpoint(config.output_dir, use_older=config.use_older_checkpoint)
    if last is not None:
        check_own_checkpoint(last, data.description)
        state.restore(last)
        logging.info("continuing from %s", last)
    elif config.continue_from:
        _take_over(config, state)
    elif config.init_checkpoint:
        load_weights(model, config.init_checkpoint, fresh_heads=True)
    return state


def _take_over(config: TrainingConfig, state: TrainingState) -> None:
    """Begin where another run is; see `TrainingConfig.continue_from`."""
    source = config.continue_from
    assert source
    prefix = last_whole_checkpoint(source, use_older=config.use_older_checkpoint) or source
    if config.continue_with == "weights":
        load_weights(state.model, prefix)
    elif config.continue_with == "moments":
        state.take_moments(prefix)
    else:
        state.restore(prefix)
    if state.step >= config.num_train_steps:
        raise ValueError(
            f"{prefix} has done {state.step} steps, and num_train_steps is"
            f" {config.num_train_steps}: raise it, as it counts these steps, or set continue_with"
            " to moments, which counts from 0"
        )
    logging.info("continuing from %s with its %s", prefix, config.continue_with)


def _make_optimizer(config: TrainingConfig) -> AdamWeightDecay:
    settings = config.optimizer
    schedule = WarmupLinearDecay(
        config.learning_rate, config.last_schedule_step, config.last_warmup_step
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
