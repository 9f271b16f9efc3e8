"""Store RaggedTensors in records, read them back, and pack their tokens into rows for BERT.

    <tf.RaggedTensor [[7, 8], [], [9]]>  ->  ragged_tensor_features("a", ...)
                                         ->  {"a_values": [7 8 9], "a_splits_0": [0 2 2 3]}
    batch of such records  ->  parse_ragged(records, {"a": RaggedSpec(dtype=tf.int64)})
                           ->  {"a": <tf.RaggedTensor [[[7, 8], [], [9]], ...]>}

One `tf.io.parse_example` reads a whole batch, with a `tf.io.RaggedFeature` whose partitions are the
stored row splits; the batch becomes one more, outermost ragged dimension.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from bert_data.records import fields
from bert_data.records.ragged_arrays import (
    RaggedArray,
    Values,
    ragged_features,
    splits_name,
    values_name,
)

_DTYPES = (tf.int64, tf.float32, tf.string)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RaggedSpec:
    """The type and shape of a ragged tensor, which records do not hold.

    Attributes:
      dtype: tf.int64, tf.float32 or tf.string.
      ragged_rank: number of ragged dimensions of one record's tensor, >= 1.
      inner_shape: sizes of the uniform dimensions inside the innermost rows, each >= 1.
    """

    dtype: tf.DType = tf.int64
    ragged_rank: int = 1
    inner_shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.dtype not in _DTYPES:
            raise ValueError(f"dtype is {self.dtype!r}; it must be tf.int64, float32 or string")
        if not isinstance(self.ragged_rank, int) or self.ragged_rank < 1:
            raise ValueError(f"ragged_rank is {self.ragged_rank!r}; it must be an integer >= 1")
        if any(not isinstance(size, int) or size < 1 for size in self.inner_shape):
            raise ValueError(f"inner_shape is {self.inner_shape!r}; it must be sizes >= 1")


def ragged_tensor_features(name: str, tensor: tf.RaggedTensor) -> dict[str, Values]:
    """Return the features of a record that hold an eager RaggedTensor.

    Args:
      name: of the tensor; the features are `{name}_values` and `{name}_splits_{i}`.
      tensor: of int64, float32 or string values, of any ragged rank >= 1. The sizes of uniform
        dimensions inside the innermost rows are not stored; `RaggedSpec` gives them when reading.

    Returns:
      Values by feature, which `bert_data.records.formats.examples.encode_example` takes.

    Raises:
      ValueError: it has another dtype.
    """
    splits = [splits.numpy().astype(np.int64) for splits in tensor.nested_row_splits]
    return ragged_features(name, RaggedArray(values=tensor.flat_values.numpy(), splits=splits))


def ragged_feature(name: str, spec: RaggedSpec) -> tf.io.RaggedFeature:
    """Return what `tf.io.parse_example` needs to read a tensor, its inner dimensions flat."""
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


def _restore_inner_shape(tensor: tf.RaggedTensor, spec: RaggedSpec) -> tf.RaggedTensor:
    if not spec.inner_shape:
        return tensor
    splits = tensor.nested_row_splits[: spec.ragged_rank + 1]
    flat = tf.reshape(tensor.flat_values, [splits[-1][-1], *spec.inner_shape])
    return tf.RaggedTensor.from_nested_row_splits(flat, splits, validate=False)


def parse_ragged(records: tf.Tensor, specs: Mapping[str, RaggedSpec]) -> dict[str, tf.RaggedTensor]:
    """Read ragged tensors from a batch of records.

    Args:
      records: string[batch], serialized tf.train.Examples.

    Returns:
      By name, the tensors of all records with one more, outermost dimension [batch]: the ragged
        rank is that of the spec plus one, and row splits are int64. A record without the features
        of a tensor has an empty one.

    Raises:
      tf.errors.InvalidArgumentError: a record's splits fit neither its values nor each other.
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
    return {name: _restore_inner_shape(parsed[name], spec) for name, spec in specs.items()}


def _splits_names(name: str, spec: RaggedSpec) -> list[str]:
    return [splits_name(name, dimension) for dimension in range(spec.ragged_rank)]


def _stored(feature: str) -> str:
    """Return the key of a feature's own values, beside that of the tensor that it is part of."""
    return f"stored {feature}"


def _check_splits(parsed: Mapping[str, tf.RaggedTensor], name: str, spec: RaggedSpec) -> None:
    """Check the splits of each record; TensorFlow checks only those of the whole batch."""
    num_inside = parsed[_stored(values_name(name))].row_lengths() // math.prod(spec.inner_shape)
    for feature in reversed(_splits_names(name, spec)):
        reason = f"{feature} of a record must ascend from 0 to the number of items that it splits"
        splits = parsed[_stored(feature)]
        is_stored = splits.row_lengths() > 0
        shape = tf.shape(is_stored, tf.int64)
        last = tf.scatter_nd(tf.where(is_stored), splits[:, -1:].values, shape)
        tf.debugging.assert_equal(last, num_inside, reason)
        tf.debugging.assert_equal(splits[:, :1].values, tf.constant(0, tf.int64), reason)
        steps = splits[:, 1:].values - splits[:, :-1].values
        tf.debugging.assert_non_negative(steps, reason)
        num_inside = tf.maximum(splits.row_lengths() - 1, 0)


MAX_SEGMENTS = 2


def num_special_tokens(num_segments: int) -> int:
    """Return the number of special tokens in a row: [CLS], and [SEP] after each text."""
    return num_segments + 1


def kept_lengths(lengths: Sequence[tf.Tensor], room: tf.Tensor) -> list[tf.Tensor]:
    """Return how many tokens of each text are kept.

    Args:
      lengths: of one or two texts, int32[batch] each.
      room: int32[], tokens of a row without special ones.
    """
    room = tf.maximum(room, 0)
    if len(lengths) == 1:
        return [tf.minimum(lengths[0], room)]
    first, second = lengths
    kept = tf.minimum(second, tf.maximum(room // 2, room - first))
    return [tf.minimum(first, room - kept), kept]


def widest_row(segments: Sequence[tf.RaggedTensor]) -> tf.Tensor:
    """Return int32[], the least width that truncates no row of a batch."""
    num_tokens = tf.add_n([flat_tokens(segment).row_lengths() for segment in segments])
    longest = tf.reduce_max(tf.concat([num_tokens, [0]], 0))
    return tf.cast(longest, tf.int32) + num_special_tokens(len(segments))


def pack_segments(
    segments: Sequence[tf.RaggedTensor],
    width: int | tf.Tensor,
    *,
    cls_id: int,
    sep_id: int,
    pad_id: int = 0,
) -> dict[str, tf.Tensor]:
    """Pack the tokens of texts into rows.

        [[7 8 9] [5]], width 5         ->  [CLS] 7 8 9 [SEP]    [CLS] 5 [SEP] 0 0
        [[7 8 9]], [[1 2]], width 7    ->  [CLS] 7 8 [SEP] 1 2 [SEP]    segments 0 0 0 0 1 1 1

    Texts that do not fit are truncated as TF Hub's `bert_pack_inputs` does it (tensorflow_text's
    RoundRobinTrimmer): they take turns, a token each, until the row is full or a text ends. So a
    text that is no longer than its half of the row stays whole, and of two long texts the first
    keeps the odd token. Each keeps its beginning.

    Args:
      segments: the ids of one or two texts, [batch, (tokens)]; or with more ragged dimensions, such
        as [batch, (sentences), (words), (pieces)], which are joined.
      width: of all rows, see `widest_row`.
      cls_id, sep_id, pad_id: of [CLS], [SEP] and [PAD].

    Returns:
      input_ids, input_mask and segment_ids, int32[batch, width] each; the padding is `pad_id` in
        the first and 0 in the others.

    Raises:
      ValueError: there are no segments or more than two, or the width is too small for the special
        tokens.
    """
    if not 1 <= len(segments) <= MAX_SEGMENTS:
        raise ValueError(f"segments has {len(segments)} texts; it must have 1 or {MAX_SEGMENTS}")
    num_special = num_special_tokens(len(segments))
    if isinstance(width, int) and width < num_special:
        raise ValueError(f"width is {width}; it must be {num_special} or more")
    flat = [flat_tokens(segment) for segment in segments]
    lengths = [tf.cast(segment.row_lengths(), tf.int32) for segment in flat]
    kept = kept_lengths(lengths, width - num_special)
    values = [tf.cast(segment.flat_values, tf.int32) for segment in flat]
    # A row is a list of ranges of this array, so one gather makes all rows: [CLS] a [SEP] b [SEP].
    table = tf.concat([*values, [cls_id, sep_id]], 0)
    end = tf.size(table) - 1 + tf.zeros_like(kept[0])
    starts, limits, offset = [end - 1], [end], tf.constant(0)
    for segment, count in zip(flat, kept, strict=True):
        start = tf.cast(segment.row_starts(), tf.int32) + offset
        starts += [start, end]
        limits += [start + count, end + 1]
        offset += tf.size(segment.flat_values)
    places = tf.ragged.range(_by_rows(starts), _by_rows(limits))
    rows = tf.RaggedTensor.from_row_splits(
        tf.gather(table, places.values), places.row_splits[:: len(starts)], validate=False
    )
    columns = tf.range(tf.cast(width, tf.int64))
    mask = tf.cast(columns < rows.row_lengths()[:, tf.newaxis], tf.int32)
    if len(flat) == 1:
        types = tf.zeros_like(mask)
    else:
        begin_of_second = tf.cast(kept[0], tf.int64)[:, tf.newaxis] + num_special_tokens(1)
        types = mask * tf.cast(columns >= begin_of_second, tf.int32)
    return {
        fields.INPUT_IDS.name: rows.to_tensor(pad_id, shape=tf.stack([-1, width])),
        fields.INPUT_MASK.name: mask,
        fields.SEGMENT_IDS.name: types,
    }


def _by_rows(columns: Sequence[tf.Tensor]) -> tf.Tensor:
    """Return [batch * columns] of columns [batch], the first row first."""
    return tf.reshape(tf.stack(columns, axis=1), [-1])


def flat_tokens(segment: tf.RaggedTensor) -> tf.RaggedTensor:
    """Return [batch, (tokens)] of a text with any ragged dimensions.

    In place of `merge_dims`, whose checks of its own results are most of what a graph that packs
    rows consists of, and of the time that its tracing takes.
    """
    splits, values = segment.row_splits, segment.values
    while isinstance(values, tf.RaggedTensor):
        splits, values = tf.gather(values.row_splits, splits), values.values
    return tf.RaggedTensor.from_row_splits(values, splits, validate=False)
