"""Write what a run shows and keeps: a line in the log, curves, metrics, evaluations, checkpoints.

    report ─▶ events.*, metrics.jsonl ─▶ evaluation, where due ─▶ eval/, best/
                                      ─▶ checkpoint, where due ─▶ model.ckpt-*

    step 200/1000  loss 6.214031 (mean of 100: 6.402518)  masked_lm 5.5272  next_sentence 0.6868
      lr 8.9e-05  gradient_norm 1.42  412 examples/s  21,904 tokens/s  0:01:02 left

    {"step": 100, "loss": 7.918, "masked_lm_loss": 7.225, ..., "gradient_norm": 1.83}

The first loss of a line is the last step's, so that it does not depend on restarts. metrics.jsonl
has one object a logged step, however often training was restarted; NaN and infinite values are
written as null.

An evaluation comes before the checkpoint of the same step: a run that is killed between them does
both again. The best checkpoint is as those of the run, with the results of its evaluation under
global_step, so that a run that continues compares with it.
"""

import dataclasses
import json
import math
import os
from collections.abc import Callable, Iterable

import numpy as np
import tensorflow as tf
from absl import logging

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.progress import duration
from bert_data.training.bert_config import BertConfig
from bert_data.training.checkpoints import (
    Checkpoint,
    latest_checkpoint,
    naming_write,
    remove_other_checkpoints,
    remove_unfinished,
    save_checkpoint,
    write_config,
)
from bert_data.training.evaluation import Evaluator
from bert_data.training.keras_model import FeatureTensors
from bert_data.training.model_vocabulary import find_vocabularies, keep_vocabulary
from bert_data.training.state import TrainingState
from bert_data.training.steps import TrainingReport, is_due
from bert_data.training.training_config import TrainingConfig

BEST_FOLDER, EVAL_FOLDER = "best", "eval"
"""Folders in that of a run: of the best checkpoint, and of the curves of evaluations."""
METRICS_LOG, RESULTS = "metrics.jsonl", "eval_results.txt"
_BEGINNING = b'{"step": '  # of each line of metrics
_EVALUATION = "global_step/evaluation"


def log_report(report: TrainingReport) -> None:
    """Write a report as one line of the log."""
    scale = "" if report.loss_scale is None else f"  loss_scale {report.loss_scale:.0f}"
    logging.info(
        "step %d/%d  loss %.6f (mean of %d: %.6f)  %s  lr %.3g  gradient_norm %.3g%s  %s",
        report.step, report.num_train_steps, report.losses[-1],
        len(report.losses), report.losses.mean(dtype=np.float64),
        "  ".join(f"{task} {loss:.4f}" for task, loss in report.last_losses.items()),
        report.learning_rate, report.gradient_norm, scale, _pace(report),
    )  # fmt: skip


def _pace(report: TrainingReport) -> str:
    if report.is_first:
        return f"compiled and done in {report.seconds:.1f} s"
    return (
        f"{report.num_examples / report.seconds:,.0f} examples/s"
        f"  {report.num_tokens / report.seconds:,.0f} tokens/s"
        f"  {duration(report.seconds_left)} left"
    )


class TensorBoard:
    """Curves in a new file of a folder."""

    def __init__(self, folder: str) -> None:
        self._folder, self._staged = folder, storage.StagedFolder(folder)
        with naming_write(folder):
            self._writer = tf.summary.create_file_writer(self._staged.path)

    def write(self, step: int, values: dict[str, float]) -> None:
        """Add one point to each of the named curves."""
        with naming_write(self._folder):
            with self._writer.as_default(step):
                for name, value in values.items():
                    tf.summary.scalar(name, value)
            self._writer.flush()

    def publish(self) -> None:
        """Upload the curves to a remote folder; in a local one they are there already."""
        self._staged.upload()


class MetricsLog:
    """The file of metrics in a folder; in a remote one it appears when it is published."""

    def __init__(self, folder: str, step: int) -> None:
        """Go back to a step: remove lines of later ones, and what a killed run left of one."""
        self._staged, self._final = storage.StagedFolder(folder), os.path.join(folder, METRICS_LOG)
        self._path = os.path.join(self._staged.path, METRICS_LOG)
        before = storage.read_bytes(self._final) if storage.exists(self._final) else b""
        if not (before.startswith(_BEGINNING) or _BEGINNING.startswith(before)):
            raise ValueError(f"{self._final} was not written by a training run; move it elsewhere")
        lines = before.splitlines(keepends=True)
        kept = [line for line in lines if _step_of(line) <= step]
        if len(kept) < len(lines):
            logging.info(
                "%s: lines of steps after %d are removed (%d), as those steps are done again",
                *(self._final, step, len(lines) - len(kept)),
            )
        storage.write_bytes(self._path, b"".join(kept))

    def write(self, step: int, values: dict[str, float]) -> None:
        """Append a line."""
        line = json.dumps({"step": step, **{n: _plain(v) for n, v in values.items()}}) + "\n"
        with storage.naming(self._final), storage.open_scratch(self._path, "ab") as file:
            file.write(line.encode())

    def publish(self) -> None:
        """Upload the file to a remote folder; in a local one it is there already."""
        self._staged.upload()


def _plain(value: float) -> float | None:
    """Return a value with the digits that a float32 has, or None if it is not finite."""
    return float(f"{value:.9g}") if math.isfinite(value) else None


def _step_of(line: bytes) -> float:
    """Return the step of a line; infinity if it is not whole."""
    try:
        step = json.loads(line)["step"] if line.endswith(b"\n") else None
    except (ValueError, LookupError, TypeError):
        step = None
    return step if isinstance(step, int) else math.inf


def write_results_file(folder: str, step: int, results: dict[str, float]) -> None:
    """Write the results as sorted lines "key = value" of eval_results.txt, which is replaced."""
    storage.make_folder(folder)
    lines = "".join(f"{line}\n" for line in _result_lines(step, results))
    storage.write_bytes(os.path.join(folder, RESULTS), lines.encode())


def _result_lines(step: int, results: dict[str, float]) -> list[str]:
    return sorted(f"{key} = {value}" for key, value in {**results, "global_step": step}.items())


def write_results(folder: str, step: int, results: dict[str, float]) -> None:
    """Log and write the results of `evaluate`, and add them to TensorBoard's curves in eval/."""
    logging.info("***** Eval results *****")
    for line in _result_lines(step, results):
        logging.info("  %s", line)
    write_results_file(folder, step, results)
    curves = TensorBoard(os.path.join(folder, EVAL_FOLDER))
    curves.write(step, results)
    curves.publish()


class BestCheckpoint:
    """Keeps the best checkpoint in `folder`; `value` is its metric, None before there is one."""

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
        storage.make_folder(self.folder)
        remove_unfinished(self.folder)
        self.value = self._find()

    def offer(self, state: TrainingState, results: dict[str, float]) -> bool:
        """Keep the state, and return true, if its results are better than the best so far."""
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
    """Data to evaluate on while training.

    Attributes:
      make_batches: makes batches that end, the same ones each time.
      description: says which data they are; results on other data are not compared.
    """

    make_batches: Callable[[], Iterable[FeatureTensors]]
    description: str = ""


class RunOutput:
    """Writes the reports of a run, and saves checkpoints; only the chief of a run has one."""

    def __init__(
        self,
        config: TrainingConfig,
        bert_config: BertConfig,
        state: TrainingState,
        held_out: HeldOutData | None,
    ) -> None:
        """Open the files.

        Args:
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
        """Write a report, and evaluate and save where that is due."""
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
