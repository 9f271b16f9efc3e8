"""How batches stand in memory: three sections each, of the features that have the same shape.

    tokens       input_ids, input_mask, segment_ids     int32[3, rows, width]
    predictions  masked_lm_positions, _ids, _weights    int32[3, rows, predictions]
    instances    next_sentence_labels                   int32[1, rows, instances of a row]

A section is one tensor, cut into its features along the first axis; each begins where TensorFlow
takes memory over instead of copying it. Weights stand as the bits of float32.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data import features
from bert_data.reader.memory import new_bytes

FLOATS = (features.MASKED_LM_WEIGHTS, features.NEXT_SENTENCE_WEIGHTS)
ENTRY_COLUMNS = 5
TABLE_COLUMNS = 3 * ENTRY_COLUMNS
BEGIN, SIZE, NUM_FEATURES, ROWS, COLUMNS = range(ENTRY_COLUMNS)

StaticShape = tuple[int | None, int | None, int | None, int | None]
"""A `Shape` of all batches; None for what differs."""

_ALIGNMENT_BYTES = 64  # what TensorFlow asks of memory that it takes over instead of copying
_NUMBER_BYTES = 4
_UNIT = _ALIGNMENT_BYTES // _NUMBER_BYTES


class Schema(NamedTuple):
    """The names of the features of each section, in their order there."""

    tokens: tuple[str, ...]
    predictions: tuple[str, ...]
    instances: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return self.tokens + self.predictions + self.instances


_TOKENS = (features.INPUT_IDS, features.INPUT_MASK, features.SEGMENT_IDS)
_PREDICTIONS = (
    features.MASKED_LM_POSITIONS,
    features.MASKED_LM_IDS,
    features.MASKED_LM_WEIGHTS,
)
_LABELS = (features.NEXT_SENTENCE_LABELS,)
_WEIGHED = (*_LABELS, features.NEXT_SENTENCE_WEIGHTS)

STREAMED = Schema(_TOKENS, _PREDICTIONS, _LABELS)
"""Each row is one instance."""

PLANNED = Schema(_TOKENS, _PREDICTIONS, _WEIGHED)
"""Each row is one instance or empty."""

PACKED = Schema(
    (*_TOKENS, features.POSITION_IDS, features.INSTANCE_IDS),
    _PREDICTIONS,
    (*_WEIGHED, features.NEXT_SENTENCE_POSITIONS),
)
"""A row is any number of instances side by side."""


class Shape(NamedTuple):
    """How large a batch is.

    Attributes:
      rows: >= 1.
      width: tokens a row, >= 1.
      predictions: predictions a row, >= 0.
      instances: instances a row, >= 1.
    """

    rows: int
    width: int
    predictions: int
    instances: int = 1


def make_table(
    shapes: Sequence[Shape] | NDArray[np.integer], schema: Schema
) -> tuple[NDArray[np.int32], int]:
    """Lays batches out one behind the other.

    Args:
      shapes: of the batches, or int[batches, 4].
      schema: their features.

    Returns:
      int32[batches, 15], of each batch and section the place in the words, the size in words, and
      the shape: features, rows, columns; and the number of words of all batches.
    """
    numbers = np.asarray(shapes, np.int64).reshape(-1, 4)
    table = np.empty((len(numbers), 3, ENTRY_COLUMNS), np.int64)
    table[:, :, NUM_FEATURES] = [len(names) for names in schema]
    table[:, :, ROWS] = numbers[:, :1]
    table[:, :, COLUMNS] = numbers[:, 1:]
    sizes = table[:, :, NUM_FEATURES:].prod(2)
    ends = (-(-sizes // _UNIT) * _UNIT).cumsum().reshape(sizes.shape)
    table[:, :, SIZE] = sizes
    table[:, :, BEGIN] = np.concatenate(([0], ends.ravel()[:-1])).reshape(sizes.shape)
    return table.reshape(-1, TABLE_COLUMNS).astype(np.int32), int(ends[-1, -1])


def most_words(rows: int, width: int, predictions: int, instances: int, schema: Schema) -> int:
    """Words that a batch takes at most if it has this shape at most."""
    columns = zip(schema, (width, predictions, instances), strict=True)
    return rows * sum(len(names) * count for names, count in columns) + 3 * _UNIT


def new_buffer(num_words: int) -> NDArray[np.int32]:
    """int32[num_words], not initialised, aligned as TensorFlow wants it."""
    raw = new_bytes(num_words * _NUMBER_BYTES + _ALIGNMENT_BYTES)
    skip = -raw.ctypes.data % _ALIGNMENT_BYTES
    return raw[skip : skip + num_words * _NUMBER_BYTES].view(np.int32)
