"""What a run writes while it trains: curves, metrics, evaluations, checkpoints.

    report ─▶ events.*, metrics.jsonl ─▶ evaluation, where due ─▶ eval/, best/
                                      ─▶ checkpoint, where due ─▶ model.ckpt-*

Only the chief of a run has one. An evaluation comes before the checkpoint of the same step: a run
that is killed between them does both again.

The best checkpoint is as those of the run, with the results of its evaluation under global_step, so
that a run that continues compares with it.
"""

import dataclasses
import json
import math
import os
from collections.abc import Callable, Iterable

import numpy as np
import tensorflow as tf
from absl import logging

from bert_data.errors import CorruptDataError
from bert_data.storage import make_folder
from bert_data.training.checkpoints import (
    Checkpoint,
    latest_checkpoint,
    remove_left_overs,
    remove_other_checkpoints,
    save_checkpoint,
)
from bert_data.training.config import BertConfig
from bert_data.training.evaluation import EVAL_FOLDER, Evaluator, write_results_file
from bert_data.training.model import Features
from bert_data.training.model_vocabulary import find_vocabularies, keep_vocabulary
from bert_data.training.output_folder import write_config
from bert_data.training.report import MetricsLog, TensorBoard, TrainingReport
from bert_data.training.state import TrainingState
from bert_data.training.steps import is_due
from bert_data.training.training_config import TrainingConfig

BEST_FOLDER = "best"
"""The folder of the best checkpoint, in that of a run."""
_EVALUATION = "global_step/evaluation"


class BestCheckpoint:
    """Keeps the best checkpoint.

    Attributes:
      folder: of the checkpoint.
      value: the metric's, of the best checkpoint; None before there is one.
    """

    def __init__(self, folder: str, bert_config: BertConfig, metric: str, data: str) -> None:
        """Find the best checkpoint so far.

        Args:
          metric: name of the metric that decides; the lowest loss or the highest accuracy is best.
          data: what the evaluations read. A checkpoint that was evaluated on other data is replaced
            by the first one.
        """
        self.folder = os.path.join(folder, BEST_FOLDER)
        self._config, self._metric, self._data = bert_config, metric, data
        self._vocabulary = next(iter(find_vocabularies(folder)), None)
        make_folder(self.folder)
        remove_left_overs(self.folder)
        self.value = self._find()

    def offer(self, state: TrainingState, results: dict[str, float]) -> bool:
        """Keep the state if its results are better than the best so far.

        Returns:
          Whether they are.
        """
        value = results[self._metric]
        if math.isnan(value) or not self._is_better(value):
            return False
        evaluation = json.dumps({"data": self._data, "results": results})
        values = {**state.values(), _EVALUATION: np.array(evaluation, object)}
        write_config(self.folder, self._config)
        keep_vocabulary(self.folder, self._vocabulary)
        prefix = save_checkpoint(self.folder, state.step, values, num_kept=1, is_own=_is_own)
        remove_other_checkpoints(prefix, _is_own)
        write_results_file(self.folder, state.step, results)
        self.value = value
        return True

    def _is_better(self, value: float) -> bool:
        if self.value is None:
            return True
        return value < self.value if self._metric.endswith("loss") else value > self.value

    def _find(self) -> float | None:
        prefix = latest_checkpoint(self.folder)
        if prefix is None:
            return None
        try:
            evaluation = json.loads(tf.compat.as_text(Checkpoint(prefix).read(_EVALUATION)))
        except (CorruptDataError, ValueError) as error:
            logging.warning("%s; the next evaluation's checkpoint takes its place", error)
            return None
        if evaluation["data"] != self._data or self._metric not in evaluation["results"]:
            logging.warning(
                "%s was evaluated on other data; the next evaluation's checkpoint takes its place",
                prefix,
            )
            return None
        return evaluation["results"][self._metric]


def _is_own(prefix: str) -> bool:
    """Whether a checkpoint was written here, and not put here by somebody who keeps it."""
    try:
        return _EVALUATION in Checkpoint(prefix)
    except CorruptDataError:  # then it is if it was the best
        return prefix == latest_checkpoint(os.path.dirname(prefix))


@dataclasses.dataclass(frozen=True, kw_only=True)
class HeldOutData:
    """Data to evaluate on while a run trains.

    Attributes:
      make_batches: makes the batches of one evaluation, the same ones each time; they end.
      description: text that says what they are, see `BestCheckpoint`.
    """

    make_batches: Callable[[], Iterable[Features]]
    description: str = ""


class RunOutput:
    """Writes into the folder of a run."""

    def __init__(
        self,
        config: TrainingConfig,
        bert_config: BertConfig,
        state: TrainingState,
        held_out: HeldOutData | None,
    ) -> None:
        """Open the files.

        Args:
          config: of the training; the folder is its.
          held_out: to evaluate on every `eval_every_steps`.
        """
        self._config, self._state = config, state
        self._curves = TensorBoard(config.output_dir)
        self._metrics = MetricsLog(config.output_dir, state.step)
        self._saved_step = state.step
        self._held_out = held_out
        if held_out is not None:
            self._evaluator = Evaluator(state.model)
            self._eval_curves = TensorBoard(os.path.join(config.output_dir, EVAL_FOLDER))
            self._best = BestCheckpoint(
                config.output_dir, bert_config, config.best_metric, held_out.description
            )

    def write(self, report: TrainingReport) -> None:
        """Write a report, and evaluate and save where that is due.

        Raises:
          ValueError, CorruptDataError: the data of an evaluation cannot be read.
        """
        values = report.metrics
        self._curves.write(report.step, values)
        every = self._config.eval_every_steps
        if self._held_out is not None and every and is_due(report.step, every, self._config):
            results = self._evaluate(self._held_out, report.step)
            values |= {f"eval_{name}": value for name, value in results.items()}
        self._metrics.write(report.step, values)
        if is_due(report.step, self._config.save_checkpoints_steps, self._config):
            self._save()

    def close(self) -> None:
        """Save the last step, if it is not saved yet."""
        if self._saved_step != self._state.step:
            self._save()

    def _evaluate(self, held_out: HeldOutData, step: int) -> dict[str, float]:
        results = self._evaluator.evaluate(held_out.make_batches())
        self._eval_curves.write(step, results)
        best = self._best
        if best.offer(self._state, results):
            verdict = f"the best so far, kept in {best.folder}"
        elif best.value is None:
            verdict = f"not kept as the best: {self._config.best_metric} is not a number"
        else:
            verdict = f"the best {self._config.best_metric} is {best.value}"
        shown = "  ".join(f"{name} {value:.4f}" for name, value in sorted(results.items()))
        logging.info("evaluation of step %d: %s  (%s)", step, shown, verdict)
        return results

    def _save(self) -> None:
        """Save a checkpoint, and before it curves and metrics up to there."""
        self._curves.publish()
        self._metrics.publish()
        if self._held_out is not None:
            self._eval_curves.publish()
        step = self._state.step
        prefix = save_checkpoint(
            self._config.output_dir,
            step,
            self._state.values(),
            num_kept=self._config.keep_checkpoints,
        )
        self._saved_step = step
        logging.info("saved %s", prefix)
