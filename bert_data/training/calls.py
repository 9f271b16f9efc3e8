"""Successive calls of the training graph, and their results.

    state at step 0 ─▶ 100 steps ─▶ report ─▶ 100 steps ─▶ report ─▶ ... ─▶ the last one, or a stop

A call ends where something is due: a report, an evaluation or a checkpoint. The first call does one
step, so that whoever watches soon sees that training works.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from bert_data.reader import explain
from bert_data.training.optimizer import WarmupLinearDecay
from bert_data.training.report import TrainingReport
from bert_data.training.state import TrainingState
from bert_data.training.steps import COLUMNS, training_steps
from bert_data.training.stopping import StopRequest
from bert_data.training.training_config import TrainingConfig


def run_steps(
    config: TrainingConfig,
    strategy: tf.distribute.Strategy,
    state: TrainingState,
    iterator: Iterator,
    stop: StopRequest,
) -> Iterator[TrainingReport]:
    """Run the remaining steps, or stop when `stop` is asked for.

    Args:
      stop: of this host; updated if another host is asked to stop.

    Yields:
      A report after the first step, at multiples of log_every_steps, when an evaluation or a
      checkpoint is due, and at the end.

    Raises:
      ValueError: the data ended, or the loss is not a number.
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
        stops = bool(rows[-1][-1, COLUMNS.index("num_stops")])
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
        config.learning_rate, config.last_schedule_step, config.num_warmup_steps
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
