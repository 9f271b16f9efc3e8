"""Instances as columns: the values of all rows one behind the other, and where each row ends.

    rows + store  ->  tokens       [101 7592 102 2023 102 | 101 ...]    token_splits      [0 5 ...]
                      segment_ids  [  0    0   0    1   1 |   0 ...]
                      positions    [3 | ...]   labels [2003 | ...]      prediction_splits [0 1 ...]
                      is_random    [0 | ...]

This is how Arrow keeps lists, so its arrays are views of these.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, kernel
from bert_data.records.row_values import read_predictions, read_tokens


class InstanceColumns(NamedTuple):
    """Room for the columns of some instances.

    Attributes:
      token_splits: int32[instances + 1].
      tokens: int32[any], with [CLS], [SEP], masks and random words.
      segments: int8[any], 0 for A with its [CLS] and [SEP], 1 for B with its [SEP].
      is_random: bool[instances], whether B comes from elsewhere.
      prediction_splits: int32[instances + 1].
      positions: int32[any], ascending in each instance.
      labels: int32[any], the original tokens there.
    """

    token_splits: NDArray[np.int32]
    tokens: NDArray[np.int32]
    segments: NDArray[np.int8]
    is_random: NDArray[np.bool_]
    prediction_splits: NDArray[np.int32]
    positions: NDArray[np.int32]
    labels: NDArray[np.int32]


def new_columns(num_instances: int, max_seq_length: int, max_predictions: int) -> InstanceColumns:
    """Room for that many instances of at most these lengths."""
    tokens, predictions = num_instances * max_seq_length, num_instances * max_predictions
    return InstanceColumns(
        token_splits=np.empty(num_instances + 1, np.int32),
        tokens=np.empty(tokens, np.int32),
        segments=np.empty(tokens, np.int8),
        is_random=np.empty(num_instances, np.bool_),
        prediction_splits=np.empty(num_instances + 1, np.int32),
        positions=np.empty(predictions, np.int32),
        labels=np.empty(predictions, np.int32),
    )


@kernel
def read_columns(
    rows: NDArray[np.uint32],
    order: NDArray[np.uint32],
    ids: NDArray[np.integer],
    cls_id: Scalar,
    sep_id: Scalar,
    code_bits: Scalar,
    columns: InstanceColumns,
) -> None:
    """Reads instances into columns.

    Args:
      rows: uint32[any, words], see `bert_data.objectives.rows`.
      order: uint32[instances], the rows to read.
      ids: uint16 or int32[tokens] of the token store.
      cls_id, sep_id: ids of [CLS] and [SEP].
      code_bits: bits of a code in a row.
      columns: room for them, filled.
    """
    token, prediction = np.int64(0), np.int64(0)
    columns.token_splits[0] = columns.prediction_splits[0] = 0
    for i in range(order.size):
        row = rows[order[i]]
        tokens, segments = columns.tokens[token:], columns.segments[token:]
        length, b_start = read_tokens(row, ids, cls_id, sep_id, tokens)
        prediction += read_predictions(
            row, code_bits, tokens, columns.positions[prediction:], columns.labels[prediction:]
        )
        for k in range(b_start):
            segments[k] = 0
        for k in range(b_start, length):
            segments[k] = 1
        token += length
        columns.token_splits[i + 1] = token
        columns.prediction_splits[i + 1] = prediction
        columns.is_random[i] = row[5] & 1 != 0
