"""Properties of the plans of all batchings: exactly once, the same again, other epochs differ."""

import dataclasses
import hashlib
import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.planning import EMPTY, EpochPlan, Plan, PlanConfig, make_plan
from bert_data.reader.planning.plan_config import PLAN_VERSION
from tests.hypotheses import examples

COVERS = ("reader/planning/epoch",)
LENGTHS = st.lists(st.integers(0, 40), min_size=1, max_size=80)


@st.composite
def configs(draw):
    batching = draw(st.sampled_from(["plain", "pools", "buckets", "packed"]))
    widths = ["batch", "max", (5, 20), (40,)]
    num_hosts = draw(st.sampled_from([1, 2, 3, 8]))
    bound = {"batch_size": draw(st.integers(1, 12))}
    if draw(st.booleans()):
        bound = {"max_tokens_per_batch": 100 * num_hosts + draw(st.integers(0, 400))}
        bound["rows_multiple"] = draw(st.sampled_from([1, 2]))
    return PlanConfig(
        batching=batching,
        width=draw(st.sampled_from(["batch", (40,), (50,)] if batching == "packed" else widths)),
        num_buckets=draw(st.sampled_from([1, 3, 8])),
        pool_batches=draw(st.integers(1, 4)),
        shuffle=draw(st.booleans()),
        seed=draw(st.integers()),
        num_hosts=num_hosts,
        **bound,
    )


def records_of_batches(plan: Plan, number: int) -> list[list[list[int]]]:
    """The records of each row of each batch, put together from all hosts' parts."""
    epoch = plan.epoch(number)
    batches = []
    for batch in range(epoch.num_batches):
        rows: list[list[int]] = []
        parts = [epoch.batch(batch, host) for host in range(plan.config.num_hosts)]
        assert len({(part.num_rows, part.width) for part in parts}) == 1
        for part in parts:
            splits = part.row_splits.tolist()
            assert splits[0] == 0 and splits[-1] == part.records.size
            held = [part.records[a:b].tolist() for a, b in itertools.pairwise(splits)]
            filled = [row for row in held if row != [-1]]
            assert held[: len(filled)] == filled and len(filled) >= len(held) - 1
            rows += filled
        batches.append(rows)
    return batches


@examples(200)
@given(lengths=LENGTHS, config=configs(), number=st.integers(0, 3))
def test_every_record_once_in_rows_that_hold_it(lengths, config, number):
    plan = make_plan(np.array(lengths, np.uint32), config)
    epoch = plan.epoch(number)
    batches = records_of_batches(plan, number)
    assert len(batches) == plan.num_batches == epoch.num_batches
    assert sum(map(len, batches)) == plan.num_rows
    flat = [record for batch in batches for row in batch for record in row]
    assert sorted(flat) == list(range(len(lengths)))
    assert epoch.records.tolist() == flat
    assert epoch.num_padded_tokens == np.diff(epoch.batch_splits) @ epoch.widths
    most = max(len(row) for batch in batches for row in batch)
    assert most == plan.max_records_per_row
    for rows, width in zip(batches, epoch.widths.tolist(), strict=True):
        assert all(sum(lengths[record] for record in row) <= width for row in rows)
        assert width <= plan.max_width and width in (plan.widths or [width])
        if config.max_tokens_per_batch is not None:
            rows_of_hosts = config.num_hosts * -(-len(rows) // config.num_hosts)
            assert rows_of_hosts * width <= config.max_tokens_per_batch
        else:
            assert len(rows) <= config.batch_size


@given(lengths=LENGTHS, config=configs(), number=st.integers(0, 3))
def test_a_left_out_batch_was_the_last_and_not_full(lengths, config, number):
    whole = make_plan(np.array(lengths, np.uint32), config)
    kept = dataclasses.replace(config, drop_remainder=True)
    is_cut_by_tokens = config.batching in ("plain", "pools") and config.batch_size is None
    batches = records_of_batches(whole, number)
    last, width = batches[-1], int(whole.epoch(number).widths[-1])
    if is_cut_by_tokens or len(last) == config.rows_of_width(width):
        expected = batches
    else:
        expected = batches[:-1]
    if not expected:
        with pytest.raises(ValueError, match="do not fill a batch"):
            make_plan(np.array(lengths, np.uint32), kept)
        return
    plan = make_plan(np.array(lengths, np.uint32), kept)
    assert records_of_batches(plan, number) == expected
    assert plan.num_batches == len(expected)
    assert plan.num_rows == sum(map(len, expected))


@given(lengths=LENGTHS, config=configs(), num_hosts=st.integers(1, 9))
def test_hosts_change_nothing_but_who_has_which_row(lengths, config, num_hosts):
    if config.max_tokens_per_batch is not None:
        num_hosts, config = 2, dataclasses.replace(config, num_hosts=1, rows_multiple=2)
    other = dataclasses.replace(config, num_hosts=num_hosts)
    plans = [make_plan(np.array(lengths, np.uint32), made_by) for made_by in (config, other)]
    assert records_of_batches(plans[0], 1) == records_of_batches(plans[1], 1)


BATCHINGS = [
    {"batching": batching, **bound}
    for batching in ("plain", "pools", "buckets", "packed")
    for bound in ({"batch_size": 8}, {"max_tokens_per_batch": 800})
]


@pytest.mark.parametrize("batching", BATCHINGS, ids=str)
def test_the_same_again_and_other_epochs_and_seeds_differ(batching):
    lengths = np.random.default_rng(0).integers(1, 100, 500).astype(np.uint32)

    def planned(seed, number):
        config = PlanConfig(shuffle=True, seed=seed, pool_batches=4, **batching)
        plan = make_plan(lengths, config)
        return plan.num_batches, records_of_batches(plan, number)

    assert planned(1, 0) == planned(1, 0)
    orders = [planned(1, number)[1] for number in range(4)] + [planned(2, 0)[1]]
    assert len({str(order) for order in orders}) == len(orders)
    assert len({planned(1, number)[0] for number in range(4)}) == 1
    # Which records share a batch changes too, and not the order of batches alone.
    together = [
        {frozenset(itertools.chain.from_iterable(batch)) for batch in order} for order in orders[:4]
    ]
    assert len(together[0] & together[1]) < len(together[0]) / 4


@pytest.mark.parametrize("batching", BATCHINGS, ids=str)
def test_an_epoch_of_its_own_gives_what_it_gives_after_others(batching):
    lengths = np.random.default_rng(0).integers(1, 100, 300).astype(np.uint32)
    config = PlanConfig(shuffle=True, **batching)
    plan = make_plan(lengths, config)
    epochs = [records_of_batches(plan, number) for number in (0, 1, 2)]
    assert records_of_batches(make_plan(lengths, config), 2) == epochs[2]
    assert records_of_batches(plan, 0) == epochs[0]


@pytest.mark.parametrize("batching", BATCHINGS, ids=str)
def test_any_record_comes_anywhere(batching):
    """Over many epochs, record 0 is seen in every tenth of the epoch about as often."""
    lengths = np.random.default_rng(3).integers(1, 30, 200).astype(np.uint32)
    plan = make_plan(lengths, PlanConfig(shuffle=True, pool_batches=2, **batching))
    tenths = np.zeros(10)
    for number in range(400):
        place = int(np.flatnonzero(plan.epoch(number).records == 0)[0])
        tenths[place * 10 // 200] += 1
    assert tenths.min() > 12  # of 40 expected


@pytest.mark.parametrize("batch", [0, 1, 62, 63, 64, 10**15])
def test_locate_counts_on_through_epochs(batch):
    plan = make_plan(np.ones(500, np.uint32), PlanConfig(batch_size=8))
    assert plan.num_batches == 63
    assert plan.locate(batch) == (batch // 63, batch % 63)


def test_without_a_shuffle_plain_batches_are_in_order():
    lengths = [5, 4, 2, 3, 6, 6, 1, 9]
    by_tokens = {"max_tokens_per_batch": 12}
    for bound, sizes in (({"batch_size": 3}, [3, 3, 2]), (by_tokens, [2, 2, 2, 1, 1])):
        epoch = make_plan(lengths, PlanConfig(**bound)).epoch(4)
        assert epoch.records.tolist() == list(range(8))
        assert np.diff(epoch.batch_splits).tolist() == sizes


@pytest.mark.parametrize(
    ("lengths", "choices", "message"),
    [
        ([], {}, "lengths has 0 records; it must have 1 to 2,147,483,647"),
        ([[1]], {}, r"lengths is int64\[1, 1\]; it must be integers \[records\]"),
        ([1.5], {}, "lengths is float64"),
        ([3, 9, 4], {"max_seq_length": 8}, "record 1 has 9 tokens; it must have 0 to 8"),
        ([3, 9, -1], {}, "record 2 has -1 tokens; it must have 0 to 16,777,216"),
        ([3, 1 << 25], {}, "record 1 has 33,554,432 tokens"),
        ([3, 3], {"batch_size": 3, "drop_remainder": True}, "2 records do not fill a batch"),
        (
            [3, 9],
            {"batch_size": None, "max_tokens_per_batch": 17, "num_hosts": 2},
            "max_tokens_per_batch is 17; it must be at least 18, which is 2 rows ",
        ),
    ],
)
def test_refusals(lengths, choices, message):
    with pytest.raises(ValueError, match=message):
        make_plan(np.array(lengths), PlanConfig(**{"batch_size": 2, **choices}))


def test_numbers_below_zero_are_refused():
    plan = make_plan([3, 4], PlanConfig(batch_size=2))
    with pytest.raises(ValueError, match="epoch is -1; it must be >= 0"):
        plan.epoch(-1)
    with pytest.raises(ValueError, match="batch is -1; it must be >= 0"):
        plan.locate(-1)


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


ORDERS = {1: "8cdbb8d3997a31d8"}
"""A digest of the plans of each version; a change of a released one is a new version."""


def test_a_version_has_one_order():
    lengths = [(7 * n) % 31 + n % 3 for n in range(200)]
    plans, names = [], ("plain", "pools", "buckets", "packed")
    for batching, shuffle in itertools.product(names, (False, True)):
        for bound in ({"batch_size": 6}, {"max_tokens_per_batch": 200}):
            settings_of_plan = {"shuffle": shuffle, "seed": 5, "pool_batches": 3, **bound}
            plan = make_plan(lengths, PlanConfig(batching=batching, **settings_of_plan))
            plans += [records_of_batches(plan, epoch) for epoch in range(2)]
    digest = hashlib.sha256(json.dumps(plans).encode()).hexdigest()[:16]
    assert digest == ORDERS[PLAN_VERSION]
