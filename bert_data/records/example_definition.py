"""Records as BERT defines them, in plain Python: from instances to files of tf.train.Examples.

    TrainingInstance       ->  input_ids [2 14 4 3 21 3 0 0]    input_mask [1 1 1 1 1 1 0 0]
    tokens, segment_ids,       segment_ids [0 0 0 0 1 1 0 0]    next_sentence_labels [0]
    masked words, label        masked_lm_positions [2 0]   masked_lm_ids [15 0]   ..._weights [1 0]

The functions are those of google-research/bert's create_pretraining_data; `create_dataset` with
record_layout=reference writes the same records.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from absl import logging

from bert_data.records import fields
from bert_data.records.definition import TrainingInstance
from bert_data.storage import OutputSet
from bert_data.tokens.definition import FullTokenizer

if TYPE_CHECKING:
    import tensorflow as tf

IntFeature = Callable[[Sequence[int]], "tf.train.Feature"]
FloatFeature = Callable[[Sequence[float]], "tf.train.Feature"]


def write_instance_to_example_files(
    instances: Iterable[TrainingInstance],
    tokenizer: FullTokenizer,
    max_seq_length: int,
    max_predictions_per_seq: int,
    output_files: Sequence[str],
    *,
    int_feature: IntFeature | None = None,
    float_feature: FloatFeature | None = None,
) -> None:
    """Write instances to TFRecord files, in turn; the files appear together, once complete.

    Args:
      instances: in the order of the records.
      tokenizer: has an id for each of their tokens.
      max_seq_length: what the features of tokens are padded to.
      max_predictions_per_seq: what the features of predictions are padded to.
      output_files: paths; existing files are replaced.
      int_feature, float_feature: take the place of `create_int_feature`, `create_float_feature`.

    Raises:
      KeyError: the tokenizer does not know a token.
      ValueError: an instance has too many tokens or predictions, or there are no files.
    """
    import tensorflow as tf

    if not output_files:
        raise ValueError("output_files is empty; name at least one file")
    total = 0
    with OutputSet(output_files[0], output_files, reads=(), overwrite=True) as outputs:
        parts = [os.path.join(outputs.work_dir, str(i)) for i in range(len(output_files))]
        with contextlib.ExitStack() as stack:
            writers = [stack.enter_context(tf.io.TFRecordWriter(part)) for part in parts]
            for total, instance in enumerate(instances, 1):
                example = _create_example(
                    instance,
                    tokenizer,
                    max_seq_length,
                    max_predictions_per_seq,
                    int_feature or create_int_feature,
                    float_feature or create_float_feature,
                )
                writer = writers[(total - 1) % len(writers)]
                writer.write(example.SerializeToString(deterministic=True))
        for path, part in zip(output_files, parts, strict=True):
            outputs.take_in(path, part)
        outputs.commit(output_files)
    logging.info("wrote %d instances to %s", total, ", ".join(output_files))


def _create_example(
    instance: TrainingInstance,
    tokenizer: FullTokenizer,
    max_seq_length: int,
    max_predictions_per_seq: int,
    int_feature: IntFeature,
    float_feature: FloatFeature,
) -> "tf.train.Example":
    import tensorflow as tf

    ids = tokenizer.convert_tokens_to_ids(instance.tokens)
    labels = tokenizer.convert_tokens_to_ids(instance.masked_lm_labels)
    positions = instance.masked_lm_positions
    tokens = {
        fields.INPUT_IDS.name: ids,
        fields.INPUT_MASK.name: [1] * len(ids),
        fields.SEGMENT_IDS.name: instance.segment_ids,
    }
    predictions = {fields.MASKED_LM_POSITIONS.name: positions, fields.MASKED_LM_IDS.name: labels}
    message = tf.train.Example()
    feature = message.features.feature
    for name, values in tokens.items():
        feature[name].CopyFrom(int_feature(_pad(values, max_seq_length, "tokens")))
    for name, values in predictions.items():
        padded = _pad(values, max_predictions_per_seq, "predictions")
        feature[name].CopyFrom(int_feature(padded))
    weights = _pad([1] * len(labels), max_predictions_per_seq, "predictions")
    feature[fields.MASKED_LM_WEIGHTS.name].CopyFrom(float_feature(weights))
    if instance.is_random_next is not None:
        label = int_feature([int(instance.is_random_next)])
        feature[fields.NEXT_SENTENCE_LABELS.name].CopyFrom(label)
    return message


def _pad(values: Sequence[int], length: int, unit: str) -> list[int]:
    if len(values) > length:
        raise ValueError(f"an instance has {len(values)} {unit}; it may have at most {length}")
    return [*values, *[0] * (length - len(values))]


def create_int_feature(values: Iterable[int]) -> "tf.train.Feature":
    """Return a feature of int64 values."""
    import tensorflow as tf

    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def create_float_feature(values: Iterable[float]) -> "tf.train.Feature":
    """Return a feature of float32 values."""
    import tensorflow as tf

    return tf.train.Feature(float_list=tf.train.FloatList(value=values))
