"""Rows that are cut into pieces come back."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.work.records import Layout
from bert_data.work.row_records import Ragged, cut_rows, join_pieces

rows = st.lists(st.lists(st.integers(0, 255), max_size=70), min_size=1, max_size=6)


@given(rows, st.data(), st.integers(1, 4), st.sampled_from([np.uint8, np.uint64]))
def test_rows_come_back(all_rows, data, width, dtype):
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in all_rows])]).astype(np.int64)
    ragged = Ragged(np.array(list(itertools.chain(*all_rows)), dtype), offsets)
    numbers = np.array(data.draw(st.lists(st.integers(0, len(all_rows) - 1))), np.int64)
    cut = cut_rows(ragged, numbers, width)
    layout = Layout(("row", "piece", "size"), num_keys=2, width=width)
    records = np.empty(len(cut.rows), layout.dtype)
    records["row"], records["piece"], records["size"] = cut.rows, cut.pieces, cut.sizes
    records["values"] = cut.values
    whole, firsts = join_pieces(records, dtype)
    assert records["row"][firsts].tolist() == list(range(len(numbers)))
    rows_read = [whole.row(i).tolist() for i in range(len(whole))]
    assert rows_read == [all_rows[number] for number in numbers]
    assert len(records) == sum(
        max(-(-len(all_rows[n]) * np.dtype(dtype).itemsize // (8 * width)), 1) for n in numbers
    )
