"""Iterate over batches of NumPy arrays, without loading TensorFlow.

    iterate_arrays(ReaderConfig(input_patterns="data/train-*", batch_size=32, shuffle=True))
      -> {"input_ids": int32[32, widest row], ..., "next_sentence_labels": int32[32, 1]}, ...

`form_batch` puts a batch, of arrays or of tensors, into the structure that is asked for:

    form="features"     {"input_ids": ..., "next_sentence_labels": ...}
    form="supervised"   (features, labels)
    form="fit"          (features, labels, sample weights) of the heads, for `model.fit`
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.objectives.next_sentence import TASKS
from bert_data.reader.config import ReaderConfig
from bert_data.reader.layout import arrays_of
from bert_data.reader.planned import PlannedSource
from bert_data.reader.sources import make_source
from bert_data.reader.streamed import BatchSource
from bert_data.schema import fields

_TFHUB_NAMES = {
    fields.INPUT_IDS.name: "input_word_ids",
    fields.SEGMENT_IDS.name: "input_type_ids",
}
_LABELS = tuple(
    field.name
    for field in (
        fields.MASKED_LM_IDS,
        fields.MASKED_LM_WEIGHTS,
        fields.NEXT_SENTENCE_LABELS,
        fields.NEXT_SENTENCE_WEIGHTS,
    )
)


def form_batch(
    batch: dict[str, Any],
    config: ReaderConfig,
    next_sentence: str,
    ones_like: Callable[[Any], Any],
) -> Any:
    """Put a batch into the configured structure.

    Args:
      batch: by the names of the features.
      config: gives the form and the names.
      next_sentence: the records' objective for two segments.
      ones_like: makes float32 ones of the shape of an array.
    """
    names = _TFHUB_NAMES if config.feature_names == "tfhub" else {}
    if config.form == "features":
        return {names.get(name, name): values for name, values in batch.items()}
    labels = {name: values for name, values in batch.items() if name in _LABELS}
    inputs = {names.get(name, name): batch[name] for name in batch if name not in _LABELS}
    if config.form == "supervised":
        return inputs, labels
    of_heads = {"masked_lm": batch[fields.MASKED_LM_IDS.name]}
    weights_of_heads = {"masked_lm": batch[fields.MASKED_LM_WEIGHTS.name]}
    task = TASKS.get(next_sentence)
    if task is not None:
        of_heads[task] = batch[fields.NEXT_SENTENCE_LABELS.name]
        weights = batch.get(fields.NEXT_SENTENCE_WEIGHTS.name)
        if weights is None:
            weights = ones_like(of_heads[task])
        weights_of_heads[task] = weights if fields.INSTANCE_IDS.name in batch else weights[:, 0]
    return inputs, of_heads, weights_of_heads


def iterate_arrays(config: ReaderConfig) -> Iterator[Any]:
    """Iterate over the batches of a configuration, the same ones as `read_batches`.

    Args:
      config: what to read and how.

    Returns:
      Batches in the configuration's form, with arrays instead of tensors: int32, weights float32.
      Consecutive batches share memory, so keeping one keeps up to 4 MB; it is reused when none of
      its arrays is left.

    Raises:
      ValueError, OSError, CorruptDataError: see `bert_data.reader.read_batches`; errors met while
        reading are raised by the iterator.
    """
    return _iterate(make_source(config), config)


def _iterate(source: BatchSource | PlannedSource, config: ReaderConfig) -> Iterator[Any]:
    for group in source.groups():
        for batch in arrays_of(group, source.layout):
            yield form_batch(batch, config, source.next_sentence, _ones_like)


def _ones_like(values: NDArray[Any]) -> NDArray[np.float32]:
    return np.ones(values.shape, np.float32)
