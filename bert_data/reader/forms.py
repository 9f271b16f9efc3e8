"""Batches under the names and in the structure that a configuration asks for.

    form="features"     {"input_ids": ..., "next_sentence_labels": ...}
    form="supervised"   (features, labels)
    form="fit"          (features, labels, sample weights) of the heads, for `model.fit`

The same for NumPy's arrays and TensorFlow's tensors.
"""

from collections.abc import Callable
from typing import Any

from bert_data.objectives.next_sentence import TASKS
from bert_data.reader.config import ReaderConfig
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
    """Forms a batch.

    Args:
      batch: by the names of the features.
      config: says how.
      next_sentence: what the records ask about two segments.
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
