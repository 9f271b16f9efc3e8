"""Decode the records of a block at once into padded arrays, to look at some of them.

RecordBlock of 2 records  ->  {"input_ids": int32[2, longest], "masked_lm_ids": ..., ...}
"""

import numpy as np

from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.decode import Rows, decode_records
from bert_data.reader.layout import (
    STREAMED,
    Arrays,
    BatchGroup,
    Shape,
    arrays_of,
    make_table,
    new_buffer,
)

_MOST_VALUES = 4096  # of a field: a single long record would pad all others


def short_records(block: RecordBlock) -> RecordBlock:
    """Return the records of usual lengths, which are cheap to pad."""
    is_short = (block.lengths <= _MOST_VALUES).all(axis=1) & (block.lengths[:, 0] > 0)
    return block.take(np.flatnonzero(is_short))


def decode_block(block: RecordBlock) -> Arrays:
    """Return the fields of short records by name, padded with 0; at least one record."""
    rows = block.num_records
    width, predictions = np.maximum(block.lengths.max(axis=0), 1).tolist()
    table, num_words = make_table([Shape(rows, width, predictions)], STREAMED)
    words, splits = new_buffer(num_words), np.arange(rows + 1)
    to_fill = Rows(np.ones(rows, np.bool_), splits, np.array([0, rows]))
    decode_records(block, to_fill, STREAMED, table, words)
    return next(arrays_of(BatchGroup(words, table), STREAMED))
