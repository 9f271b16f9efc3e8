"""Training steps as one graph: forward, backward, update, and the next step.

    run(iterator, 100)  ->  float32[100, 5]: of each step both losses, examples, tokens, and whether
                            to stop after it

Python and TensorFlow synchronize once per call, not once per step. A call ends where something is
due: a report, an evaluation or a checkpoint. The first call does one step, so that whoever watches
soon sees that training works.
"""

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from bert_data.reader import explain
from bert_data.records import fields
from bert_data.training.distribution import LOSS_DIVISORS
from bert_data.training.keras_model import FeatureTensors, step_seed
from bert_data.training.losses import pretraining_losses
from bert_data.training.model import MASKED_LM, PretrainingModel
from bert_data.training.optimizer import AdamWeightDecay, WarmupLinearDecay
from bert_data.training.state import TrainingState
from bert_data.training.stopping import StopRequest
from bert_data.training.training_config import TrainingConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingReport:
    """The steps since the report before.

    Attributes:
      step: number of steps done in all.
      masked_lm_losses: float32[n], of each of the last n steps.
      segment_losses: float32[n], of the next sentence or the order of sentences; 0 without a task.
      learning_rate: of the last step.
      gradient_norm: of the last step, before clipping; infinite where float16 overflowed.
      loss_scale: of the next step, in float16; None: losses are not scaled.
      num_examples: read in the n steps.
      num_tokens: in them, without padding.
      seconds: that the n steps took.
      task: of segment_losses.
      is_first: whether it is about a process's first step, whose pace says nothing.
    """

    step: int
    num_train_steps: int
    masked_lm_losses: np.ndarray
    segment_losses: np.ndarray
    learning_rate: float
    gradient_norm: float
    loss_scale: float | None
    num_examples: int
    num_tokens: int
    seconds: float
    task: str | None
    is_first: bool

    @property
    def losses(self) -> np.ndarray:
        """float32[n], the sum of both losses, which training minimizes."""
        return self.masked_lm_losses + self.segment_losses

    @property
    def last_losses(self) -> dict[str, float]:
        """Of the last step, by task."""
        losses = {"masked_lm": self.masked_lm_losses[-1]}
        if self.task is not None:
            losses[self.task] = self.segment_losses[-1]
        return losses

    @property
    def seconds_left(self) -> float:
        """At the pace of the last n steps."""
        return (self.num_train_steps - self.step) * self.seconds / len(self.losses)

    @property
    def metrics(self) -> dict[str, float]:
        """Values for curves and the log of metrics, by name."""
        values = {
            "loss": self.losses[-1],
            **{f"{task}_loss": loss for task, loss in self.last_losses.items()},
            "learning_rate": self.learning_rate,
            "gradient_norm": self.gradient_norm,
        }
        if self.loss_scale is not None:
            values["loss_scale"] = self.loss_scale
        if not self.is_first:
            values["examples_per_second"] = self.num_examples / self.seconds
            values["tokens_per_second"] = self.num_tokens / self.seconds
        return {name: float(value) for name, value in values.items()}


STEP_COLUMNS = ("masked_lm_loss", "segment_loss", "num_examples", "num_tokens", "num_stops")


def training_steps(
    strategy: tf.distribute.Strategy,
    model: PretrainingModel,
    optimizer: AdamWeightDecay,
    *,
    stop_flag: tf.Variable,
    jit_compile: bool,
) -> Callable[[tf.data.Iterator, tf.Tensor], tf.Tensor]:
    """Make the function that runs many steps in one call.

    Args:
      optimizer: built on the model's variables; if it accumulates gradients, a step takes several
        batches, which have `LOSS_DIVISORS`.
      stop_flag: float32 scalar of this host, not 0 to stop after a step.
      jit_compile: whether XLA compiles a step, once for each shape of batch.

    Returns:
      A function of (iterator, int32 number of steps >= 1) -> float32[steps, 5], see STEP_COLUMNS.
      It does fewer steps if one of the hosts is to stop: all stop after the same step.
    """
    batches_per_step = optimizer.gradient_accumulation_steps or 1
    take = functools.partial(_take_batch, model, optimizer)
    compiled = tf.function(take, jit_compile=True, autograph=False) if jit_compile else take

    def take_next(iterator: tf.data.Iterator) -> tf.Tensor:
        shares = strategy.run(compiled, args=(iterator.get_next(), stop_flag.read_value()))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, shares, axis=None)

    def step(iterator: tf.data.Iterator) -> tf.Tensor:
        if batches_per_step == 1:
            return take_next(iterator)
        return tf.while_loop(
            lambda number, _: number < batches_per_step,
            lambda number, row: (number + 1, row + take_next(iterator)),
            (tf.constant(0), tf.zeros([len(STEP_COLUMNS)])),
        )[1]

    # Autograph would write a file for each function that it converts.
    @tf.function(reduce_retracing=True, autograph=False)
    def run(iterator: tf.data.Iterator, num_steps: tf.Tensor) -> tf.Tensor:
        def next_step(
            num_done: tf.Tensor, _: tf.Tensor, rows: tf.TensorArray
        ) -> tuple[tf.Tensor, tf.Tensor, tf.TensorArray]:
            row = step(iterator)
            return num_done + 1, row[-1], rows.write(num_done, row)

        num_done, _, rows = tf.while_loop(
            lambda num_done, num_stops, _: (num_done < num_steps) & (num_stops == 0),
            next_step,
            (
                tf.constant(0),
                tf.constant(0.0),
                tf.TensorArray(tf.float32, num_steps, element_shape=[len(STEP_COLUMNS)]),
            ),
        )
        return rows.stack()[:num_done]

    return run


def _take_batch(
    model: PretrainingModel, optimizer: AdamWeightDecay, batch: FeatureTensors, stop: tf.Tensor
) -> tf.Tensor:
    """Update by a batch, or accumulate its gradients; return its row of STEP_COLUMNS."""
    seed = step_seed(model.random_seed, optimizer.num_batches)
    with tf.GradientTape() as tape:
        logits = model(batch, training=True, seed=seed)
        losses = pretraining_losses(
            logits[MASKED_LM],
            batch[fields.MASKED_LM_IDS.name],
            batch[fields.MASKED_LM_WEIGHTS.name],
            *segment_answers(model, logits, batch),
            divisors=batch.get(LOSS_DIVISORS),
        )
        # The optimizer takes the mean of the gradients, and these losses are shares of a sum.
        scaled = optimizer.scale_loss(losses.total * (optimizer.gradient_accumulation_steps or 1))
    weights = model.trainable_variables
    optimizer.apply(tape.gradient(scaled, [weight.value for weight in weights]), weights)
    num_tokens = tf.cast(tf.reduce_sum(batch[fields.INPUT_MASK.name]), tf.float32)
    return tf.stack([losses.masked_lm, losses.segments, num_examples(batch), num_tokens, stop])


def segment_answers(
    model: PretrainingModel, logits: FeatureTensors, batch: FeatureTensors
) -> tuple[tf.Tensor | None, ...]:
    """Return logits, labels and weights of the two segments; () without a task."""
    task = model.objective.task
    if task is None:
        return ()
    if fields.NEXT_SENTENCE_LABELS.name not in batch:
        raise ValueError(
            f"the batches have no {fields.NEXT_SENTENCE_LABELS.name}, which the model needs for"
            f' {task}; one made with next_sentence="none" does without'
        )
    labels = batch[fields.NEXT_SENTENCE_LABELS.name]
    return logits[task], labels, batch.get(fields.NEXT_SENTENCE_WEIGHTS.name)


def num_examples(batch: FeatureTensors) -> tf.Tensor:
    """Return the instances of a batch, float32: [CLS] of rows of one, or the rows' numbers."""
    if fields.INSTANCE_IDS.name in batch:
        counts = tf.reduce_max(batch[fields.INSTANCE_IDS.name], axis=1)
    else:
        counts = batch[fields.INPUT_MASK.name][:, 0]
    return tf.cast(tf.reduce_sum(counts), tf.float32)


def run_steps(
    config: TrainingConfig,
    strategy: tf.distribute.Strategy,
    state: TrainingState,
    iterator: Iterator,
    stop: StopRequest,
) -> Iterator[TrainingReport]:
    """Run the remaining steps, or stop when `stop`, of this host, is asked for.

    Yields:
      A report after the first step, at multiples of log_every_steps, when an evaluation or a
      checkpoint is due, and at the end.
    """
    run = training_steps(
        strategy, state.model, state.optimizer, stop_flag=stop.flag, jit_compile=config.jit_compile
    )
    periods = [config.log_every_steps, config.save_checkpoints_steps]
    if config.eval_every_steps:
        periods.append(config.eval_every_steps)
    step, rows, seconds = state.step, [], 0.0
    is_first, stops = True, False
    while step < config.num_train_steps and not stops:
        num_steps = min(
            1 if is_first else config.iterations_per_loop,
            config.num_train_steps - step,
            *(period - step % period for period in periods),
        )
        start = time.monotonic()
        rows.append(_call(run, iterator, num_steps, state))
        seconds += time.monotonic() - start
        step += len(rows[-1])
        _refuse_nan(rows[-1], step)
        stops = bool(rows[-1][-1, STEP_COLUMNS.index("num_stops")])
        if stops:
            stop.note_other_host()
        if is_first or stops or any(is_due(step, period, config) for period in periods):
            yield _report(config, state, np.concatenate(rows), seconds, is_first=is_first)
            rows, seconds, is_first = [], 0.0, False


def is_due(step: int, period: int, config: TrainingConfig) -> bool:
    """Whether an action that happens every `period` steps, and at the end, is due after a step."""
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
            "the data ended before num_train_steps; training needs an endless stream of batches"
        ) from None
    except tf.errors.OpError as error:
        raise explain(error) from None


def _refuse_nan(rows: np.ndarray, step: int) -> None:
    losses = rows[:, 0] + rows[:, 1]
    if np.isfinite(losses).all():
        return
    first = step - len(losses) + int(np.argmin(np.isfinite(losses))) + 1
    raise ValueError(
        f"the loss of step {first} is not a number; try a lower learning_rate or a longer"
        " warm-up (earlier checkpoints are kept)"
    )


def _report(
    config: TrainingConfig,
    state: TrainingState,
    rows: np.ndarray,
    seconds: float,
    *,
    is_first: bool,
) -> TrainingReport:
    """Report on the steps of some rows, of which the last was just done."""
    step, optimizer = state.step, state.optimizer
    schedule = WarmupLinearDecay(
        config.learning_rate, config.last_schedule_step, config.last_warmup_step
    )
    return TrainingReport(
        step=step,
        num_train_steps=config.num_train_steps,
        masked_lm_losses=rows[:, 0],
        segment_losses=rows[:, 1],
        task=state.model.objective.task,
        learning_rate=float(schedule(step - 1)),
        gradient_norm=float(optimizer.gradient_norm.numpy()),
        loss_scale=float(optimizer.loss_scale.numpy()) if optimizer.loss_scaling else None,
        num_examples=int(rows[:, 2].sum(dtype=np.float64)),
        num_tokens=int(rows[:, 3].sum(dtype=np.float64)),
        seconds=seconds,
        is_first=is_first,
    )
