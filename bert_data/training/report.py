"""What training says while it works: a line in the log, and curves for TensorBoard.

    step 200/1000  loss 6.214031 (mean of 100: 6.402518)  masked_lm 5.5272  next_sentence 0.6868
      lr 8.9e-05  gradient_norm 1.42  412 examples/s  21,904 tokens/s  0:01:02 left

The first loss is the last step's, so that it does not depend on restarts. The first step of a
process, which compiles the graph, is reported by itself.

metrics.jsonl has one object a logged step, however often training was restarted; NaN and infinite
values are written as null:

    {"step": 100, "loss": 7.918, "masked_lm_loss": 7.225, ..., "gradient_norm": 1.83}
"""

import dataclasses
import json
import math
import os

import numpy as np
import tensorflow as tf
from absl import logging

from bert_data.progress import duration
from bert_data.storage import StagedFolder, exists, naming, open_scratch, read_bytes, write_bytes
from bert_data.training.checkpoints import naming_write


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingReport:
    """What happened since the report before.

    Attributes:
      step: number of steps done in all.
      num_train_steps: the last one.
      masked_lm_losses: float32[n], of each of the last n steps.
      segment_losses: float32[n], of the next sentence or the order of sentences.
      learning_rate: of the last step.
      gradient_norm: of the last step, before clipping; infinite where float16 overflowed.
      loss_scale: of the next step, in float16; None: losses are not scaled.
      num_examples: read in the n steps.
      num_tokens: in them, without padding.
      seconds: that the n steps took.
      task: what segment_losses are of, or None, and they are 0.
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
        """What curves and the log of metrics show, by name."""
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
    """Curves in a folder, such as those of `TrainingReport.metrics`."""

    def __init__(self, folder: str) -> None:
        """Open a new file of curves."""
        self._folder, self._staged = folder, StagedFolder(folder)
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


METRICS_LOG = "metrics.jsonl"
_BEGINNING = b'{"step": '


class MetricsLog:
    """The log in a folder; in a remote one it appears when it is published."""

    def __init__(self, folder: str, step: int) -> None:
        """Go back to a step: remove lines of later ones, and what a killed run left of one.

        Raises:
          ValueError: the file of that name is another program's.
        """
        self._staged, self._final = StagedFolder(folder), os.path.join(folder, METRICS_LOG)
        self._path = os.path.join(self._staged.path, METRICS_LOG)
        before = read_bytes(self._final) if exists(self._final) else b""
        if not (before.startswith(_BEGINNING) or _BEGINNING.startswith(before)):
            raise ValueError(f"{self._final} was not written by a training run; move it elsewhere")
        lines = before.splitlines(keepends=True)
        kept = [line for line in lines if _step_of(line) <= step]
        if len(kept) < len(lines):
            logging.info(
                "%s: lines of steps after %d are removed (%d), as those steps are done again",
                *(self._final, step, len(lines) - len(kept)),
            )
        write_bytes(self._path, b"".join(kept))

    def write(self, step: int, values: dict[str, float]) -> None:
        """Append a line."""
        line = json.dumps({"step": step, **{n: _plain(v) for n, v in values.items()}}) + "\n"
        with naming(self._final), open_scratch(self._path, "ab") as file:
            file.write(line.encode())

    def publish(self) -> None:
        """Upload the log to a remote folder; in a local one it is there already."""
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
