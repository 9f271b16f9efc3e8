"""Pack the tokens of one or two texts into rows for BERT.

    [[7 8 9] [5]], width 5          ->  [CLS] 7 8 9 [SEP]    [CLS] 5 [SEP] 0 0
    [[7 8 9]], [[1 2]], width 7     ->  [CLS] 7 8 [SEP] 1 2 [SEP]    segments 0 0 0 0 1 1 1

Texts that do not fit are truncated as TF Hub's `bert_pack_inputs` does it (tensorflow_text's
RoundRobinTrimmer): they take turns, a token each, until the row is full or a text ends. So a text
that is no longer than its half of the row stays whole, and of two long texts the first keeps the
odd token. Each keeps its beginning.
"""

from collections.abc import Sequence

import tensorflow as tf

from bert_data.schema import fields

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
    """Return int32[], the least width that truncates no row of a batch.

    Args:
      segments: as of `pack_segments`.
    """
    num_tokens = tf.add_n([_flat(segment).row_lengths() for segment in segments])
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
    flat = [_flat(segment) for segment in segments]
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


def _flat(segment: tf.RaggedTensor) -> tf.RaggedTensor:
    return segment if segment.ragged_rank == 1 else segment.merge_dims(1, -1)
