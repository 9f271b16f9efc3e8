"""Merging sorted runs gives what sorting all records gives, whatever is dense where."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.work.ranges import Merge
from bert_data.work.sorted_records import FilePart, Layout, RecordWriter
from tests.hypotheses import examples

LAYOUT = Layout(("key", "other"), num_keys=2)

# A run is dense somewhere, and may begin with a key that is hot in all of them.
runs = st.lists(
    st.tuples(st.integers(0, 3000), st.integers(0, 12), st.integers(0, 60), st.integers(0, 40)),
    min_size=1,
    max_size=30,
)


def write(folder, described):
    writer, rows = RecordWriter(LAYOUT, str(folder / "r"), 1 << 20), []
    for number, (low, bits, num_hot, num_rows) in enumerate(described):
        draw = np.random.default_rng(number)
        keys = np.append(np.full(num_hot, 5), low + draw.integers(0, 1 << bits, num_rows + 1))
        words = np.stack([keys, draw.integers(0, 1 << 62, len(keys))], axis=1).astype(np.uint64)
        writer.add(key=words[:, 0], other=words[:, 1])
        writer.flush()
        rows += [tuple(row) for row in words.tolist()]
    parts = [file.part(2, 0, file.num_records) for file in writer.files]
    return parts, sorted(rows)


@examples(40)
@given(runs, st.integers(1, 300))
def test_portions_are_in_order_and_bounded(tmp_path_factory, described, max_records):
    parts, rows = write(tmp_path_factory.mktemp("runs"), described)
    merge, found = Merge(parts, LAYOUT, max_records), []
    while not merge.is_done:
        portion = merge.next_portion().tolist()
        assert 1 <= len(portion) <= 2 * max_records + 10 * len(parts)
        found += map(tuple, portion)
    assert found == rows


@pytest.mark.slow
@examples(40)
@given(runs, st.integers(1, 300))
def test_groups_are_whole_or_alone(tmp_path_factory, described, max_records):
    parts, rows = write(tmp_path_factory.mktemp("runs"), described)
    merge, found = Merge(parts, LAYOUT, max_records), []
    while not merge.is_done:
        portion = merge.next_groups(1).tolist()
        found += map(tuple, portion)
        if merge.ends_group:
            assert len(found) == len(rows) or rows[len(found)][0] != found[-1][0]
        else:
            assert len({key for key, _ in portion}) == 1
    assert found == rows


@pytest.mark.slow
@pytest.mark.parametrize("num_runs", [1, 50])
def test_uneven_runs_take_few_portions(tmp_path, num_runs):
    """The first run has nearly all small keys; the others must not make each portion short."""
    described = [(10, 13, 0, 20_000), *itertools.repeat((10, 17, 0, 2000), num_runs - 1)]
    parts, rows = write(tmp_path, described)
    merge, sizes = Merge(parts, LAYOUT, 4000), []
    while not merge.is_done:
        sizes.append(len(merge.next_portion()))
    assert sum(sizes) == len(rows)
    assert len(sizes) <= 6 * len(rows) / 4000


def test_a_dense_run_among_many_takes_few_portions_and_no_more_memory(tmp_path, monkeypatch):
    parts, rows = write(tmp_path, [(0, 14, 0, 9000), *itertools.repeat((0, 14, 0, 90), 99)])
    read_into, num_read = FilePart.read_into, [0]

    def counting(self, words):
        num_read[0] += len(words)
        read_into(self, words)

    monkeypatch.setattr(FilePart, "read_into", counting)
    merge, sizes = Merge(parts, LAYOUT, 4000), []
    while not merge.is_done:
        sizes.append(len(merge.next_portion()))
        assert num_read[0] - sum(sizes) <= 8000
    assert sum(sizes) == len(rows)
    assert len(sizes) <= 4 * len(rows) / 4000
