"""Rows of different lengths: what was written is read."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.duplicates.ragged_files import RaggedWriter, open_ragged


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=5), max_size=6))
def test_rows_come_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("ragged") / "rows"
    with RaggedWriter(path, np.uint64) as writer:
        for row in rows:
            writer.append(np.array(row, np.uint64))
    opened = open_ragged(path, np.uint64)
    assert [opened.row(i).tolist() for i in range(len(opened))] == rows
    assert opened.lengths().tolist() == list(map(len, rows))
