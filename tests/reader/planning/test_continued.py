"""Plans that go on behind batches of another size: each record of an epoch once."""

import dataclasses
import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.planning import PlanConfig, make_plan
from bert_data.reader.planning.epoch import EpochPlan
from bert_data.reader.planning.plan import PlannedBefore, continue_plan
from tests.hypotheses import examples
from tests.reader.planning.test_plan import LENGTHS, configs


def records_of(epoch: EpochPlan, start: int, stop: int) -> list[int]:
    """The records of batches `start` to `stop`."""
    ends = epoch.batch_splits[[start, stop]]
    if epoch.row_splits is not None:
        ends = epoch.row_splits[ends]
    return epoch.records[ends[0] : ends[1]].tolist()


def read(epochs, num_batches: int) -> list[tuple[int, int]]:
    """The epoch and the number of each record of so many batches."""
    seen = []
    for number, epoch, start in epochs:
        stop = min(epoch.num_batches, start + num_batches)
        seen += [(number, record) for record in records_of(epoch, start, stop)]
        num_batches -= stop - start
        if not num_batches:
            return seen


@examples(200)
@given(
    lengths=LENGTHS,
    config=configs(),
    sizes=st.lists(st.tuples(st.integers(1, 12), st.integers(0, 30)), min_size=1, max_size=4),
)
def test_each_record_of_an_epoch_is_read_once(lengths, config, sizes):
    lengths = np.array(lengths, np.uint32)
    before, seen = [], []
    for factor, num_batches in [*sizes, (1, 50)]:
        bound = {"batch_size": factor, "max_tokens_per_batch": None}
        if config.batch_size is None:
            unit = config.max_tokens_per_batch
            bound = {"batch_size": None, "max_tokens_per_batch": unit * factor}
        own = dataclasses.replace(config, **bound)
        plan = continue_plan(lengths, own, before)
        seen += read(plan.epochs(0), num_batches) if num_batches else []
        before.append(PlannedBefore(own, num_batches))
        whole = make_plan(lengths, own)
        for _, epoch, _ in itertools.islice(plan.epochs(0), 3):
            assert set(epoch.widths.tolist()) <= {*(whole.widths or epoch.widths.tolist())}
            assert all(own.rows_of_width(int(width)) for width in epoch.widths)
    counts = Counter(seen)
    assert set(counts.values()) == {1}
    last = max(epoch for epoch, _ in seen)
    assert {epoch for epoch, _ in seen} == set(range(last + 1))
    for epoch in range(last):
        assert sum(number == epoch for number, _ in seen) == lengths.size
    assert [epoch for epoch, _ in seen] == sorted(epoch for epoch, _ in seen)


def test_the_same_batches_follow_wherever_reading_starts():
    lengths = np.arange(1, 41, dtype=np.uint32)
    config = PlanConfig(batching="pools", batch_size=3, shuffle=True, seed=1)
    before = [PlannedBefore(dataclasses.replace(config, batch_size=8), 7)]
    plan = continue_plan(lengths, config, before)
    whole = read(plan.epochs(0), 30)
    for start in (1, 7, 8, 15):
        skipped = read(plan.epochs(0), start)
        assert skipped + read(plan.epochs(start), 30 - start) == whole
    assert whole[:16] != whole[16:32]
    assert {number for number, _ in whole[:24]} == {1}  # 7 batches are an epoch and 16 records
    behind = [(number, record) for number, record in whole if number == 2]
    assert (
        behind
        == [(2, record) for record in make_plan(lengths, config).epoch(2).records][: len(behind)]
    )


@pytest.mark.parametrize("batching", ["plain", "pools", "buckets", "packed"])
def test_a_rest_that_does_not_fill_a_batch_is_left_out(batching):
    lengths = np.full(10, 5, np.uint32)
    config = PlanConfig(
        batching=batching, batch_size=4, shuffle=True, drop_remainder=True, max_seq_length=5
    )
    before = [PlannedBefore(dataclasses.replace(config, batch_size=2), 4)]
    seen = read(continue_plan(lengths, config, before).epochs(0), 2)
    assert [number for number, _ in seen] == [1] * 8


def test_a_plan_that_was_not_read_is_forgotten():
    lengths = np.arange(1, 21, dtype=np.uint32)
    config = PlanConfig(batching="plain", batch_size=3, shuffle=True)
    before = [PlannedBefore(dataclasses.replace(config, batch_size=5), 0)]
    seen = read(continue_plan(lengths, config, before).epochs(0), 4)
    assert [record for _, record in seen] == make_plan(lengths, config).epoch(0).records[
        :12
    ].tolist()
