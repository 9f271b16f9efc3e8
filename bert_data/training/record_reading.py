"""The records of a run, and its place in them, which checkpoints keep.

    reading = RecordReading(config, describe_order(config))
    train(settings, bert_config, reading.make_batches, place=reading)

    global_step/num_batches    500                                  read with this batch size
    global_step/read_before    [[{"batch_size": 32, ...}, 1000]]    before, with others

A run that continues with another batch size goes on behind what was read: each record of an epoch
comes once.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from absl import logging

from bert_data.reader import read_batches
from bert_data.reader.config import ReadBefore, ReaderConfig
from bert_data.reader.sources import bound_of_order
from bert_data.training.checkpoints import Checkpoint
from bert_data.training.state import DESCRIPTION, NUM_BATCHES, DataPlace, order_of, what_differs

READ_BEFORE = "global_step/read_before"


class RecordReading(DataPlace):
    """The batches of records for `train`, and the place in them."""

    def __init__(self, config: ReaderConfig, order: dict[str, Any]) -> None:
        """Begin with the first batch.

        Args:
          config: of an endless reader.
          order: `describe_order` of it, for all hosts.
        """
        super().__init__(json.dumps(order))
        self._config, self._order = config, order
        self._before: Sequence[ReadBefore] = ()

    def make_batches(
        self, start_batch: int, context: "tf.distribute.InputContext | None"
    ) -> tf.data.Dataset:
        """Return a host's batches from any one on, see `MakeBatches`."""
        config = dataclasses.replace(self._config, start_batch=start_batch)
        return read_batches(config, input_context=context, before=self._before)

    def values(self, num_read: int) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        values = super().values(num_read)
        if self._before:
            values[READ_BEFORE] = np.array(json.dumps(self._before), object)
        return values

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go to the place of a checkpoint, or to the beginning if it was read from other data."""
        self._before = ()
        description = ""
        if DESCRIPTION in checkpoint:
            description = tf.compat.as_text(checkpoint.read(DESCRIPTION))
        order = order_of(description)
        if order == self._order:
            self._before = _read_before(checkpoint)
        elif order is not None and (bound := bound_of_order(order, self._order)) is not None:
            self._go_on_behind(checkpoint, description, bound)
            return
        super().restore(checkpoint)

    def _go_on_behind(
        self, checkpoint: Checkpoint, description: str, bound: Mapping[str, Any]
    ) -> None:
        self.first_batch, self._before = 0, _read_before(checkpoint)
        if num_batches := int(checkpoint.read(NUM_BATCHES)):
            self._before = (*self._before, ReadBefore(bound, num_batches))
        logging.warning(
            "batches are of another size than those of checkpoint %s (%s): reading goes on behind"
            " the records that were read, of which none comes again in its epoch",
            checkpoint.prefix, what_differs(description, self.description),
        )  # fmt: skip


def _read_before(checkpoint: Checkpoint) -> Sequence[ReadBefore]:
    if READ_BEFORE not in checkpoint:
        return ()
    saved = json.loads(tf.compat.as_text(checkpoint.read(READ_BEFORE)))
    return tuple(ReadBefore(bound, num_batches) for bound, num_batches in saved)
