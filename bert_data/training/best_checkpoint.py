"""The best checkpoint of a run by an evaluation, in a folder of its own.

    step 1000: masked_lm_loss 5.64   ->  output_dir/best/model.ckpt-1000
    step 2000: masked_lm_loss 4.97   ->  output_dir/best/model.ckpt-2000
    step 3000: masked_lm_loss 5.02       is not better

The checkpoint is as those of the run, with the results of its evaluation under global_step, so that
a run that continues compares with it; beside it are bert_config.json and eval_results.txt.
"""

import json
import math
import os

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
from bert_data.training.evaluation import write_results_file
from bert_data.training.model_vocabulary import find_vocabularies, keep_vocabulary
from bert_data.training.output_folder import write_config
from bert_data.training.state import TrainingState

FOLDER = "best"
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
        self.folder = os.path.join(folder, FOLDER)
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
