"""Sorted files of records: what is written is read, range by range, in order."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.work.ranges import Range, RangeReader, split_keys
from bert_data.work.sorted_records import (
    Layout,
    Ragged,
    RecordWriter,
    SortedRecords,
    cut_rows,
    join_pieces,
    placed,
    relative,
)

LAYOUT = Layout(("key", "other"), num_keys=2, width=1)
numbers = st.one_of(st.integers(0, 6), st.integers(2**64 - 4, 2**64 - 1), st.integers(0, 2**64 - 1))


def write(folder, rows, max_bytes):
    writer = RecordWriter(LAYOUT, str(folder / "r"), max_bytes)
    for start in range(0, len(rows), 7):
        part = np.array(rows[start : start + 7], np.uint64).reshape(-1, 2)
        writer.add(key=part[:, 0], other=part[:, 1], values=(part[:, :1] ^ part[:, 1:]))
    writer.flush()
    return SortedRecords(LAYOUT, tuple(writer.files))


@given(
    st.lists(st.tuples(numbers, numbers), max_size=120),
    st.integers(1, 2000),
    st.integers(1, 2000),
    st.integers(24, 600),
)
def test_all_ranges_hold_all_records_in_order(tmp_path_factory, rows, written, read, split):
    folder = tmp_path_factory.mktemp("records")
    records = write(folder, rows, written)
    assert len(records) == len(rows)
    assert all(each.num_records * 24 <= max(written, 24) for each in records.files)
    records_read, num_before = [], 0
    for keys in split_keys(records, split):
        reader = RangeReader(records, keys, read)
        assert reader.num_before == num_before == len(records_read)
        num_before += len(reader)
        for portion in reader.portions():
            assert 1 <= len(portion) <= 2 * (read // 24) + len(records.files)
            records_read += [tuple(row) for row in portion.tolist()]
    assert records_read == [(key, other, key ^ other) for key, other in sorted(rows)]


@given(st.lists(st.tuples(numbers, numbers), max_size=60), numbers, numbers)
def test_any_range_is_read(tmp_path_factory, rows, one, other):
    records = write(tmp_path_factory.mktemp("records"), rows, 10 * 24)
    low, high = sorted([one, other])
    in_range = RangeReader(records, Range(low, high), 100).records()
    assert in_range["key"].tolist() == sorted(key for key, _ in rows if low <= key < high)
    assert (in_range["key"] ^ in_range["other"]).tolist() == in_range["values"][:, 0].tolist()


def test_ranges_are_about_equal_whatever_the_keys(tmp_path):
    draw = np.random.default_rng(1)
    keys = np.concatenate([draw.integers(0, 50, 5000), draw.integers(0, 2**63, 5000)])
    draw.shuffle(keys)
    records = write(tmp_path, [(key, 0) for key in keys.tolist()], 600 * 24)
    sizes = [len(RangeReader(records, keys, 1)) for keys in split_keys(records, 1000 * 24)]
    assert sum(sizes) == 10_000
    assert len(sizes) == 10
    assert max(sizes) < 1400


def test_floats_keep_their_bits(tmp_path):
    layout = Layout(("document", "value"), num_keys=1)
    writer = RecordWriter(layout, str(tmp_path / "r"), 1000)
    writer.add(document=np.array([2, 1]), value=np.array([0.1, -2.5]))
    writer.flush()
    records_read = RangeReader(SortedRecords(layout, tuple(writer.files)), Range(), 1000).records()
    assert records_read["value"].view(np.float64).tolist() == [-2.5, 0.1]


def test_a_folder_may_move(tmp_path):
    (tmp_path / "a").mkdir()
    records = relative(write(tmp_path / "a", [(3, 4), (1, 2)], 24), str(tmp_path / "a"))
    (tmp_path / "a").rename(tmp_path / "b")
    records_read = RangeReader(placed(records, str(tmp_path / "b")), Range(), 100).records()
    assert records_read["key"].tolist() == [1, 3]


ragged_rows = st.lists(st.lists(st.integers(0, 255), max_size=70), min_size=1, max_size=6)


@given(ragged_rows, st.data(), st.integers(1, 4), st.sampled_from([np.uint8, np.uint64]))
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
