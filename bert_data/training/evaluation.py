"""Google's metrics of a model on data.

model, batches  ->  {"masked_lm_accuracy": 0.54, "masked_lm_loss": 2.6, ...}  ->  eval_results.txt
"""

import os
from collections.abc import Iterable

import numpy as np
import tensorflow as tf
from absl import logging

from bert_data.reader import explain
from bert_data.schema import fields
from bert_data.storage import make_folder, write_bytes
from bert_data.training.losses import cross_entropy, example_weights
from bert_data.training.model import MASKED_LM, Features, PretrainingModel
from bert_data.training.report import TensorBoard
from bert_data.training.steps import segment_answers

EVAL_FOLDER = "eval"
"""The folder of the curves, in that of a run."""
_RESULTS = "eval_results.txt"


class Evaluator:
    """Computes the metrics of a model, again and again without compiling anew."""

    def __init__(self, model: PretrainingModel) -> None:
        """Take a model, on one device or several; the evaluation runs on one."""
        self._task = model.objective.task
        self._sums_of = tf.function(
            lambda batch: batch_sums(model, batch), reduce_retracing=True, autograph=False
        )

    def evaluate(self, batches: Iterable[Features]) -> dict[str, float]:
        """Return the metrics; see `evaluate`."""
        rows = []
        try:
            for batch in batches:
                rows.append(self._sums_of(batch).numpy())
        except tf.errors.OpError as error:
            raise explain(error) from None
        if not rows:
            raise ValueError("there is not one batch of data to evaluate on")
        return metrics(np.array(rows, np.float64), self._task)


def evaluate(model: PretrainingModel, batches: Iterable[Features]) -> dict[str, float]:
    """Return means over all predictions and examples, without dropout.

    Args:
      model: on one device or several; the evaluation runs on one.
      batches: dicts of Google's feature names; they end.

    Returns:
      masked_lm_accuracy, masked_lm_loss; the same two of next_sentence or sentence_order, if the
      model judges segments; and loss, the mean over batches of what training would minimize.

    Raises:
      ValueError: there is no batch, or the reader refuses one.
    """
    return Evaluator(model).evaluate(batches)


def batch_sums(model: PretrainingModel, batch: Features) -> tf.Tensor:
    """Return float32[6]: predictions, their losses and hits; pairs, their losses and hits.

    What has weight 0, as the empty places of rows, is not counted.
    """
    logits = model(batch)
    weights = batch[fields.MASKED_LM_WEIGHTS.name]
    words = batch[fields.MASKED_LM_IDS.name]
    sums = _answer_sums(logits[MASKED_LM], words, weights)
    if answers := segment_answers(model, logits, batch):
        scores, labels, examples = answers
        labels = tf.reshape(labels, [-1])
        sums += _answer_sums(tf.reshape(scores, [-1, 2]), labels, example_weights(labels, examples))
    else:
        sums += [tf.constant(0.0)] * len(sums)
    return tf.stack(sums)


def _answer_sums(scores: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor) -> list[tf.Tensor]:
    is_right = tf.argmax(scores, -1, tf.int32) == labels
    losses, hits = cross_entropy(scores, labels), tf.cast(is_right, tf.float32)
    return [tf.reduce_sum(weights * values) for values in (1.0, losses, hits)]


def metrics(rows: np.ndarray, task: str | None) -> dict[str, float]:
    """Return the metrics from float64[batches, 6] as `batch_sums` gives them."""
    by_batch = rows[:, 1] / (rows[:, 0] + 1e-5) + rows[:, 4] / np.maximum(rows[:, 3], 1.0)
    results = {"loss": float(by_batch.mean())}
    for name, sums in zip((MASKED_LM, task), np.split(rows.sum(0), 2), strict=True):
        if name is not None:
            count, losses, hits = sums
            results[f"{name}_accuracy"] = float(hits / max(count, 1.0))
            results[f"{name}_loss"] = float(losses / max(count, 1.0))
    return results


def write_results_file(folder: str, step: int, results: dict[str, float]) -> None:
    """Write the results as sorted lines "key = value" of eval_results.txt, which is replaced."""
    make_folder(folder)
    lines = "".join(f"{line}\n" for line in _result_lines(step, results))
    write_bytes(os.path.join(folder, _RESULTS), lines.encode())


def _result_lines(step: int, results: dict[str, float]) -> list[str]:
    return sorted(f"{key} = {value}" for key, value in {**results, "global_step": step}.items())


def write_results(folder: str, step: int, results: dict[str, float]) -> None:
    """Log and write the results, and add them to TensorBoard's curves in eval/.

    Args:
      results: from `evaluate`.
    """
    logging.info("***** Eval results *****")
    for line in _result_lines(step, results):
        logging.info("  %s", line)
    write_results_file(folder, step, results)
    curves = TensorBoard(os.path.join(folder, EVAL_FOLDER))
    curves.write(step, results)
    curves.publish()
