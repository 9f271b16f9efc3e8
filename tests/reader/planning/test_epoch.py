"""A host's part of a batch."""

import numpy as np

from bert_data.reader.planning import EMPTY, EpochPlan


def test_rows_of_one_record_need_no_splits():
    epoch = EpochPlan(
        records=np.array([4, 2, 9, 7, 5], np.int32),
        row_splits=None,
        batch_splits=np.array([0, 3, 5]),
        widths=np.array([6, 8], np.int32),
        num_hosts=2,
    )
    parts = [epoch.batch(0, 0), epoch.batch(0, 1), epoch.batch(1, 0), epoch.batch(1, 1)]
    assert [part.records.tolist() for part in parts] == [[4, EMPTY], [2, 9], [7], [5]]
    assert [part.row_splits.tolist() for part in parts] == [[0, 1, 2], [0, 1, 2], [0, 1], [0, 1]]
    assert [part.width for part in parts] == [6, 6, 8, 8]
    assert parts[0].records.dtype == np.int64
