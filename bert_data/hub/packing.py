"""Pack segments of ids into inputs of TF Hub's encoders: [CLS] A [SEP], or [CLS] A [SEP] B [SEP].

    A [[7, 8, 9], [7]], B [[5], [6, 4]], width 8, [CLS] 2, [SEP] 3, [PAD] 0

    input_word_ids 2 7 8 9 3 5 3 0  input_mask 1 1 1 1 1 1 1 0  input_type_ids 0 0 0 0 0 1 1 0
                   2 7 3 6 4 3 0 0             1 1 1 1 1 1 0 0                 0 0 0 1 1 1 0 0

The width is a number or that of the longest row of the batch (`width_of_longest`). `segments` of
the reader does the work and defines how long rows are cut; the names here are TF Hub's.
"""

import dataclasses
from collections.abc import Sequence

import tensorflow as tf

from bert_data.reader.labelled.ragged import pack_segments, widest_row
from bert_data.schema import fields

INPUTS = ("input_word_ids", "input_mask", "input_type_ids")

_OURS = (fields.INPUT_IDS.name, fields.INPUT_MASK.name, fields.SEGMENT_IDS.name)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpecialIds:
    """Ids of the special tokens.

    Attributes:
      start_id: of [CLS], >= 0.
      end_id: of [SEP], >= 0.
      pad_id: of [PAD], >= 0.
    """

    start_id: int
    end_id: int
    pad_id: int = 0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if type(value) is not int or value < 0:
                raise ValueError(f"{field.name} is {value!r}; a whole number >= 0 is allowed")


def width_of_longest(
    segments: Sequence[tf.RaggedTensor], max_seq_length: int | tf.Tensor
) -> tf.Tensor:
    """Return the least width that cuts nothing which `max_seq_length` would keep.

    Args:
      segments: one or two, as for `pack`.
      max_seq_length: width of the widest row, > the number of segments.

    Returns:
      int32 scalar, at least the width of an empty row with its special tokens.
    """
    return tf.minimum(widest_row(segments), max_seq_length)


def pack(
    segments: Sequence[tf.RaggedTensor], special: SpecialIds, width: int | tf.Tensor
) -> dict[str, tf.Tensor]:
    """Pack segments into rows.

    Args:
      segments: one or two ragged int32 [batch, (ids)] or [batch, (words), (pieces)].
      special: ids of the special tokens.
      width: of all rows, more than the number of segments; a number, or an int32 scalar.

    Returns:
      input_word_ids, input_mask and input_type_ids, int32 [batch, width].

    Raises:
      ValueError: the number of segments is another, or the width is a number and too small.
      tf.errors.InvalidArgumentError: the width is a tensor and too small.
    """
    packed = pack_segments(
        segments,
        _checked(width, len(segments)),
        cls_id=special.start_id,
        sep_id=special.end_id,
        pad_id=special.pad_id,
    )
    return {name: packed[ours] for name, ours in zip(INPUTS, _OURS, strict=True)}


def _checked(width: int | tf.Tensor, num_segments: int) -> int | tf.Tensor:
    """Return the width; if it is a tensor, it is checked once it has a value."""
    if isinstance(width, int):
        return width  # `pack_segments` checks it
    sentence = f"seq_length must be more than the {num_segments} [SEP] that a row has"
    with tf.control_dependencies([tf.debugging.assert_greater(width, num_segments, sentence)]):
        return tf.identity(width)
