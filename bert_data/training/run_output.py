"""What a run writes while it trains: curves, metrics, evaluations, checkpoints.

    report ─▶ events.*, metrics.jsonl ─▶ evaluation, where due ─▶ eval/, best/
                                      ─▶ checkpoint, where due ─▶ model.ckpt-*

Only the chief of a run has one. An evaluation comes before the checkpoint of the same step: a run
that is killed between them does both again.
"""

import dataclasses
import os
from collections.abc import Callable, Iterable

from absl import logging

from bert_data.training.best_checkpoint import BestCheckpoint
from bert_data.training.calls import is_due
from bert_data.training.checkpoints import save_checkpoint
from bert_data.training.config import BertConfig
from bert_data.training.evaluation import EVAL_FOLDER, Evaluator
from bert_data.training.metrics_log import MetricsLog
from bert_data.training.model import Features
from bert_data.training.report import TensorBoard, TrainingReport
from bert_data.training.state import TrainingState
from bert_data.training.training_config import TrainingConfig


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
