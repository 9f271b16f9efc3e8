"""Read GPT samples as a tf.data.Dataset of batches.

    read_samples(dataset, SampleReaderConfig(batch_size=8))
      -> {"tokens": int32[8, 1024], "labels": int32[8, 1024], "loss_mask": float32[8, 1024],
          "position_ids": int32[8, 1024], "segment_starts": int32[8, 1024]}, ...

Samples come in the order of the data set, which is shuffled already. A batch is found by its
number, so a run may start at any of them.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from bert_data.gpt.dataset import SampleSet, fill_batch
from bert_data.gpt.sample_kernels import SampleBatch
from bert_data.reader.config import batches_of_run, for_replica
from bert_data.reader.layout import (
    BatchGroup,
    BatchLayout,
    StaticShape,
    arrays_of,
    make_table,
    new_buffer,
)
from bert_data.reader.planning.plan_config import check_host
from bert_data.records.fields import GPT_SAMPLES
from bert_data.settings import OneOf, Within, check_settings

if TYPE_CHECKING:
    import tensorflow as tf

_FORMS = ("features", "fit")
MAX_START_BATCH = 2**62

GROUP_TOKENS = 1 << 18
_INPUTS = ("tokens", "position_ids", "segment_starts")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleReaderConfig:
    """Configuration of `read_samples`.

    Attributes:
      batch_size: rows of a batch of this host, >= 1. Under an `input_context` it is the global
        batch size, of which each replica takes its part.
      num_epochs: passes over the data set, >= 1, each in the same order; None repeats forever.
      start_batch: batches to skip at the start, >= 0, in constant time; the rest is as in a run
        from 0.
      drop_remainder: whether samples at the end of a pass that do not fill a batch of every host
        are left out; they must be with several hosts, whose batches have the same shape.
      num_hosts, host_index: this host reads its rows of every global batch of
        num_hosts * batch_size samples, disjoint from the others'.
      form: "features": one dict. "fit": (tokens, position_ids and segment_starts; labels; loss_mask
        as sample weights), for `model.fit`.
    """

    batch_size: Annotated[int, Within(1)]
    num_epochs: Annotated[int, Within(1)] | None = 1
    start_batch: Annotated[int, Within(0, MAX_START_BATCH)] = 0
    drop_remainder: bool = True
    num_hosts: Annotated[int, Within(1)] = 1
    host_index: Annotated[int, Within(0)] = 0
    form: Annotated[str, OneOf(_FORMS)] = "features"

    def __post_init__(self) -> None:
        check_settings(self)
        check_host(self.host_index, self.num_hosts)
        if self.num_hosts > 1 and not self.drop_remainder:
            raise ValueError("drop_remainder is False; it must be True with more than one host")


def read_samples(
    dataset: SampleSet,
    config: SampleReaderConfig,
    *,
    input_context: "tf.distribute.InputContext | None" = None,
) -> "tf.data.Dataset":
    """Return the tf.data.Dataset of batches of a data set.

    Every iteration over it gives the same batches, in every process.

    Args:
      input_context: inside `tf.distribute.Strategy.distribute_datasets_from_function`: hosts and
        the rows of a replica are taken from it; config.batch_size and config.start_batch are
        global, and each replica takes one batch of this dataset a step.

    Raises:
      ValueError: the data set has fewer samples than a batch of all hosts has.
    """
    from bert_data.reader.tensors import dataset_of_groups

    if input_context is not None:
        config = for_replica(config, input_context)
    return dataset_of_groups(
        SampleBatches(dataset, config), lambda batch: _form(batch, config.form)
    )


class SampleBatches:
    """The batches of a data set."""

    layout: BatchLayout = (GPT_SAMPLES.fields,)
    shapes_differ = False

    def __init__(self, dataset: SampleSet, config: SampleReaderConfig) -> None:
        """Count the batches."""
        self._dataset, self._config = dataset, config
        global_size = config.num_hosts * config.batch_size
        self._per_epoch, num_left = divmod(len(dataset), global_size)
        if num_left and not config.drop_remainder:
            self._per_epoch += 1
        if not self._per_epoch:
            raise ValueError(
                f"the data set has {len(dataset):,} samples, fewer than the {global_size:,} of a"
                " batch of all hosts"
            )
        self.num_batches = batches_of_run(config.num_epochs, self._per_epoch, config.start_batch)

    @property
    def static_shape(self) -> StaticShape:
        """Rows, unless the last batch has fewer, and width."""
        rows = self._config.batch_size if self._config.drop_remainder else None
        return rows, self._dataset.config.seq_length

    def groups(self) -> Iterator[BatchGroup]:
        """Batches, several at a time: first one, then twice as many, and so on."""
        most = max(1, GROUP_TOKENS // (self._config.batch_size * self._dataset.config.seq_length))
        batches = self._batches()
        num_batches = 1
        while held := list(itertools.islice(batches, min(num_batches, most))):
            num_batches *= 2
            yield self._gather(held)

    def _batches(self) -> Iterator[NDArray[np.int64]]:
        """Yield the samples of this host's batches, from `start_batch` on."""
        config, first = self._config, self._config.start_batch
        epochs = config.num_epochs
        numbers = range(first, epochs * self._per_epoch) if epochs else itertools.count(first)
        for batch in numbers:
            row = (
                batch % self._per_epoch * config.num_hosts + config.host_index
            ) * config.batch_size
            yield np.arange(row, min(row + config.batch_size, len(self._dataset)))

    def _gather(self, batches: Sequence[NDArray[np.int64]]) -> BatchGroup:
        seq_length = self._dataset.config.seq_length
        texts, num_tokens = self._dataset.texts(np.concatenate(batches))
        table, num_words = make_table([(b.size, seq_length) for b in batches], self.layout)
        group, first = BatchGroup(new_buffer(num_words), table), 0
        for samples, arrays in zip(batches, arrays_of(group, self.layout), strict=True):
            rows = slice(first, first + samples.size)
            batch = SampleBatch(**arrays)  # type: ignore[arg-type]
            fill_batch(texts[rows], num_tokens[rows], self._dataset.config, batch)
            first += samples.size
        return group


def _form(batch: dict[str, Any], form: str) -> Any:
    if form == "features":
        return batch
    return {name: batch[name] for name in _INPUTS}, batch["labels"], batch["loss_mask"]
