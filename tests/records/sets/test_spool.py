"""Rows in the order of their slots, in memory and through buckets on disk."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.records.sets import spool
from bert_data.records.sets.record_set import take_turns
from bert_data.records.sets.spool import read_rows, read_slots, slots_of_turns


@given(st.integers(1, 40), st.integers(1, 50), st.integers(1, 5), st.integers(1, 50))
def test_records_are_dealt_to_shards_in_turn(num_records, num_shards, num_open, turn_size):
    order = np.random.default_rng(1).permutation(num_records).astype(np.uint32)
    turns = [*take_turns(num_records, num_shards, num_open=num_open, turn_size=turn_size)]
    slots = slots_of_turns(order, num_shards, turns).tolist()
    shards = [[] for _ in range(num_shards)]
    for turn in turns:
        assert turn.start == len(shards[turn.shard])
        shards[turn.shard] += slots[: turn.end - turn.start]
        del slots[: turn.end - turn.start]
        whole = [len(s) == len(order[n::num_shards]) for n, s in enumerate(shards)]
        assert sum(len(s) > 0 for s, w in zip(shards, whole, strict=True) if not w) <= num_open
    assert shards == [order[n::num_shards].tolist() for n in range(num_shards)]
    assert slots == []


def write(path, num_rows: int, num_words: int) -> np.ndarray:
    rows = np.arange(num_rows * num_words, dtype=np.uint32).reshape(num_rows, num_words)
    rows.tofile(path)
    return rows


@given(
    num_rows=st.integers(1, 60),
    num_words=st.integers(1, 5),
    max_bytes=st.integers(1, 400),
    chunk_bytes=st.integers(1, 400),
    seed=st.integers(0, 99),
)
@example(num_rows=3, num_words=1, max_bytes=4, chunk_bytes=1, seed=0)
@example(num_rows=1000, num_words=2, max_bytes=1, chunk_bytes=100, seed=0)
def test_the_slots_come_in_order_whatever_fits_in_memory(
    tmp_path_factory, num_rows, num_words, max_bytes, chunk_bytes, seed
):
    folder = tmp_path_factory.mktemp("spool")
    rows = write(folder / "rows", num_rows, num_words)
    slots = np.random.default_rng(seed).permutation(num_rows).astype(np.uint32)
    rows_read = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "CHUNK_BYTES", chunk_bytes)
        for run in read_slots(str(folder / "rows"), num_words, slots, max_bytes=max_bytes):
            assert run.start == len(rows_read)
            if num_rows <= 256:  # what number of buckets there may be; each has whole rows
                assert run.rows[:, :num_words].nbytes < max_bytes + 4 * num_words
            rows_read += run.rows[run.order][:, :num_words].tolist()
    assert rows_read == rows[slots].tolist()
    assert list(folder.iterdir()) == []


def test_single_rows(tmp_path):
    rows = write(tmp_path / "rows", 9, 3)
    numbers = np.array([8, 0, 8], np.uint32)
    assert read_rows(str(tmp_path / "rows"), 3, numbers).tolist() == rows[[8, 0, 8]].tolist()
    assert read_rows(str(tmp_path / "rows"), 3, numbers[:0]).shape == (0, 3)
