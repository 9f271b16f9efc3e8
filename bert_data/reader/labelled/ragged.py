"""RaggedTensors to features of records and back, for any number of ragged dimensions.

    <tf.RaggedTensor [[7, 8], [], [9]]>  ->  ragged_tensor_features("a", ...)
                                         ->  {"a_values": [7 8 9], "a_splits_0": [0 2 2 3]}
    batch of such records  ->  parse_ragged(records, {"a": RaggedSpec(dtype=tf.int64)})
                           ->  {"a": <tf.RaggedTensor [[[7, 8], [], [9]], ...]>}

Reading is `tf.io.parse_example` with a `tf.io.RaggedFeature` whose partitions are the stored row
splits, so it is one operation for a whole batch; the batch is one more, outermost ragged dimension.
"""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from bert_data.schema.ragged_arrays import (
    RaggedArray,
    Values,
    ragged_features,
    splits_name,
    values_name,
)

_DTYPES = (tf.int64, tf.float32, tf.string)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RaggedSpec:
    """What must be known of a ragged tensor to read it from records.

    Attributes:
      dtype: tf.int64, tf.float32 or tf.string.
      ragged_rank: ragged dimensions of one record's tensor, >= 1.
      inner_shape: sizes of the uniform dimensions inside the innermost rows, >= 1.
    """

    dtype: tf.DType = tf.int64
    ragged_rank: int = 1
    inner_shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.dtype not in _DTYPES:
            raise ValueError(f"dtype is {self.dtype!r}; tf.int64, float32 or string is allowed")
        if not isinstance(self.ragged_rank, int) or self.ragged_rank < 1:
            raise ValueError(f"ragged_rank is {self.ragged_rank!r}; an integer >= 1 is allowed")
        if any(not isinstance(size, int) or size < 1 for size in self.inner_shape):
            raise ValueError(f"inner_shape is {self.inner_shape!r}; sizes >= 1 are allowed")


def ragged_array_of(tensor: tf.RaggedTensor) -> RaggedArray:
    """An eager RaggedTensor as NumPy arrays, the same values and row splits.

    Raises:
      ValueError: its dtype is another than int64, float32 or string.
    """
    return RaggedArray(
        values=np.asarray(tensor.flat_values.numpy()),
        splits=[splits.numpy().astype(np.int64) for splits in tensor.nested_row_splits],
    )


def ragged_tensor_of(array: RaggedArray) -> tf.RaggedTensor:
    """The RaggedTensor of NumPy arrays, with int64 row splits."""
    dtype = tf.string if array.values.dtype == np.object_ else tf.as_dtype(array.values.dtype)
    values = tf.constant(array.values, dtype)
    return tf.RaggedTensor.from_nested_row_splits(values, list(array.splits), validate=False)


def ragged_tensor_features(name: str, tensor: tf.RaggedTensor) -> dict[str, Values]:
    """The features of a record that hold an eager RaggedTensor.

    Args:
      name: of the tensor; the features are `{name}_values` and `{name}_splits_{i}`.
      tensor: of int64, float32 or string values, of any ragged rank >= 1. Uniform dimensions inside
        the innermost rows are not stored but said again by who reads, see `RaggedSpec`.

    Returns:
      Values by feature; `bert_data.formats.examples.encode_example` makes a record of them and
      of others.

    Raises:
      ValueError: its dtype is another.
    """
    return ragged_features(name, ragged_array_of(tensor))


def ragged_feature(name: str, spec: RaggedSpec) -> tf.io.RaggedFeature:
    """What `tf.io.parse_example` is told to read a ragged tensor, its inner dimensions flat."""
    partitions = [tf.io.RaggedFeature.RowSplits(key) for key in _splits_names(name, spec)]
    if spec.inner_shape:  # the innermost splits count inner rows, a record stores their values
        partitions.append(tf.io.RaggedFeature.UniformRowLength(math.prod(spec.inner_shape)))
    return tf.io.RaggedFeature(
        spec.dtype,
        value_key=values_name(name),
        partitions=partitions,
        row_splits_dtype=tf.int64,
        validate=True,
    )


def restore_inner_shape(tensor: tf.RaggedTensor, spec: RaggedSpec) -> tf.RaggedTensor:
    """A tensor read by `ragged_feature` with its inner dimensions as they were."""
    if not spec.inner_shape:
        return tensor
    splits = tensor.nested_row_splits[: spec.ragged_rank + 1]
    flat = tf.reshape(tensor.flat_values, [splits[-1][-1], *spec.inner_shape])
    return tf.RaggedTensor.from_nested_row_splits(flat, splits, validate=False)


def parse_ragged(records: tf.Tensor, specs: Mapping[str, RaggedSpec]) -> dict[str, tf.RaggedTensor]:
    """Reads ragged tensors from a batch of records.

    Args:
      records: string[batch], serialized tf.train.Examples.
      specs: of the tensors, by name.

    Returns:
      By name, the tensors of all records with one more, outermost dimension [batch]; their ragged
      rank is that of the spec plus one, their row splits are int64. A record that has none of a
      tensor's features has an empty tensor.

    Raises:
      tf.errors.InvalidArgumentError: a record's splits do not fit its values or each other.
    """
    features = {name: ragged_feature(name, spec) for name, spec in specs.items()}
    for name, spec in specs.items():
        for feature in (values_name(name), *_splits_names(name, spec)):
            dtype = spec.dtype if feature == values_name(name) else tf.int64
            features[_stored(feature)] = tf.io.RaggedFeature(
                dtype, value_key=feature, row_splits_dtype=tf.int64
            )
    parsed = tf.io.parse_example(records, features)
    for name, spec in specs.items():
        _check_splits(parsed, name, spec)
    return {name: restore_inner_shape(parsed[name], spec) for name, spec in specs.items()}


def _splits_names(name: str, spec: RaggedSpec) -> list[str]:
    return [splits_name(name, dimension) for dimension in range(spec.ragged_rank)]


def _stored(feature: str) -> str:
    """What a feature is called as it is stored, beside the tensor that is made of it."""
    return f"stored {feature}"


def _check_splits(parsed: Mapping[str, tf.RaggedTensor], name: str, spec: RaggedSpec) -> None:
    """Checks each record by itself; TensorFlow looks at the splits of the whole batch only."""
    num_inside = parsed[_stored(values_name(name))].row_lengths() // math.prod(spec.inner_shape)
    for feature in reversed(_splits_names(name, spec)):
        reason = f"{feature} of a record must ascend from 0 to the number of what it splits"
        splits = parsed[_stored(feature)]
        there = splits.row_lengths() > 0
        last = tf.scatter_nd(tf.where(there), splits[:, -1:].values, tf.shape(there, tf.int64))
        tf.debugging.assert_equal(last, num_inside, reason)
        tf.debugging.assert_equal(splits[:, :1].values, tf.constant(0, tf.int64), reason)
        steps = splits[:, 1:].values - splits[:, :-1].values
        tf.debugging.assert_non_negative(steps, reason)
        num_inside = tf.maximum(splits.row_lengths() - 1, 0)
