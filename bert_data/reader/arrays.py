"""A configuration in, batches of NumPy's arrays out; TensorFlow is not loaded.

iterate_arrays(ReaderConfig(input_patterns="data/train-*", batch_size=32, shuffle=True))
-> {"input_ids": int32[32, widest row], ..., "next_sentence_labels": int32[32, 1]}, ...
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.config import ReaderConfig
from bert_data.reader.forms import form_batch
from bert_data.reader.layout import arrays_of
from bert_data.reader.planned import PlannedSource
from bert_data.reader.sources import make_source
from bert_data.reader.streamed import BatchSource


def iterate_arrays(config: ReaderConfig) -> Iterator[Any]:
    """Iterates over the batches of a configuration, as `read_batches` makes them.

    Args:
      config: what to read and how.

    Returns:
      Batches in the configuration's form, with arrays instead of tensors: int32, weights float32.
      Batches that follow each other share memory, so one that is kept keeps up to 4 MB; it goes
      back when no array of them is left.

    Raises:
      ValueError, OSError, CorruptDataError: see `bert_data.reader.read_batches`; what is found
        while reading is raised by the iterator.
    """
    return _iterate(make_source(config), config)


def _iterate(source: BatchSource | PlannedSource, config: ReaderConfig) -> Iterator[Any]:
    for group in source.groups():
        for batch in arrays_of(group, source.layout):
            yield form_batch(batch, config, source.next_sentence, _ones_like)


def _ones_like(values: NDArray[Any]) -> NDArray[np.float32]:
    return np.ones(values.shape, np.float32)
