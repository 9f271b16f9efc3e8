"""The place of a run in its data, which checkpoints keep.

global_step/data_description   what is read, and in which order
global_step/num_batches        the number of the batch that the next step reads
"""

import json
from typing import Any

import numpy as np
import tensorflow as tf
from absl import logging

from bert_data.training.checkpoints import Checkpoint

DESCRIPTION = "global_step/data_description"
NUM_BATCHES = "global_step/num_batches"
_MOST_DIFFERENCES = 3  # that a message names


class DataPlace:
    """The place in data that can be read from any batch on.

    Attributes:
      description: text that says which batches there are and in which order; if it is a JSON
        object, a warning that it differs tells the values that do.
      first_batch: the number of the batch from which this process reads.
    """

    def __init__(self, description: str = "") -> None:
        self.description, self.first_batch = description, 0

    def next_batch(self, num_read: int) -> int:
        """Return the number of the batch that comes after those that this process has read."""
        return self.first_batch + num_read

    def values(self, num_read: int) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {
            NUM_BATCHES: np.int64(self.next_batch(num_read)),
            DESCRIPTION: np.array(self.description, object),
        }

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go to the place of a checkpoint, or to the beginning if it was read from other data."""
        self.first_batch = 0
        if DESCRIPTION not in checkpoint:
            logging.warning(
                "checkpoint %s does not say which data were read: reading starts at the beginning",
                checkpoint.prefix,
            )
            return
        before = tf.compat.as_text(checkpoint.read(DESCRIPTION))
        if not _are_same(before, self.description):
            logging.warning(
                "the data or the way to read them differ from those of checkpoint %s: reading"
                " starts at the beginning (%s)",
                checkpoint.prefix, what_differs(before, self.description),
            )  # fmt: skip
            return
        self.first_batch = int(checkpoint.read(NUM_BATCHES))


def _are_same(before: str, now: str) -> bool:
    """Whether two descriptions are; earlier releases did not name the version of a plan, 1."""
    if before == now:
        return True
    try:
        old, new = json.loads(before), json.loads(now)
    except ValueError:
        return False
    first = {"plan_version": 1}
    return isinstance(old, dict) and isinstance(new, dict) and first | old == first | new


def what_differs(before: str, now: str, most: int = _MOST_DIFFERENCES) -> str:
    """Return the first values that differ in two JSON objects, or two other texts."""
    try:
        old, new = json.loads(before), json.loads(now)
    except ValueError:
        old = new = None
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return f"before: {before}; now: {now}"
    names = [name for name in {**new, **old} if old.get(name) != new.get(name)]
    differences = [
        f"{name} was {_shown(old.get(name))} and is {_shown(new.get(name))}"
        for name in names[:most]
    ]
    if len(names) > len(differences):
        differences.append(f"{len(names) - len(differences)} more")
    return "; ".join(differences)


def _shown(value: Any) -> Any:
    return "not set" if value is None else value
