"""Batches of a few widths: "buckets".

    widths 4 and 9       lengths 3 4 2 | 8 5 9 6        rows of 2
    batches              (3 4) width 4,  (2 8) (5 9) width 9,  (6) the last one

The bucket of a record is the smallest width that holds it. Records that do not fill a batch of
their bucket move to the next wider one, so every batch but the last is full.
"""

import numpy as np

from bert_data.reader.planning.config import PlanConfig
from bert_data.reader.planning.lengths import Lengths, group_records
from bert_data.reader.planning.slots import BatchesOfSlots, Slots
from bert_data.reader.planning.widths import allowed_widths


def batches_of_buckets(lengths: Lengths, config: PlanConfig) -> BatchesOfSlots:
    """Cut the records, by ascending bucket, into batches.

    A batch begins in the narrowest bucket with records left and has as many rows as a batch of that
    bucket; if too few records are left in it, the batch still begins there but takes the next
    bucket's width and rows. Records that do not fill a batch of the widest bucket form the last
    batch, or are left out with drop_remainder.
    """
    widths = allowed_widths(lengths.histogram, config)
    assert widths is not None
    bucket_of_length = np.searchsorted(widths, np.arange(lengths.histogram.size))
    bucket_of_length[0] = bucket_of_length[1]
    groups = group_records(lengths, bucket_of_length.astype(np.int32))
    starts, batch_widths, at = [np.empty(0, np.int64)], [np.empty(0, np.int32)], 0
    for end, width in zip(groups.splits[1:].tolist(), widths, strict=False):
        rows = config.rows_of_width(width)
        num_full = (end - at) // rows
        starts.append(at + rows * np.arange(num_full))
        batch_widths.append(np.full(num_full, width, np.int32))
        at += rows * num_full
    num_full = sum(map(len, starts))
    if at < lengths.num_records and not config.drop_remainder:
        starts.append(np.array([at]))
        batch_widths.append(np.array([widths[-1]], np.int32))
        at = lengths.num_records
    splits = np.concatenate((*starts, [at]))
    slots = Slots(groups, None, splits, np.concatenate(batch_widths), num_full)
    return BatchesOfSlots(slots, config, widths)
