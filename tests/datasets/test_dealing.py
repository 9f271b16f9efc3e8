"""Every record goes to one place, shards are of one size, and numbers may be of any size."""

import collections
import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.datasets.dealing import (
    Dealer,
    LaneShuffler,
    count_lanes,
    deck_size,
    derived_seed,
    hand_of,
    shard_sizes,
)

HUGE = 10**12


def test_the_documented_seeds():
    digest = hashlib.sha256(b"12345/3").digest()
    assert derived_seed(12345, 3) == int.from_bytes(digest[:8], "big")
    names = [(), *((k,) for k in range(50)), *((k, "deal") for k in range(50)), ("shard", 3)]
    seeds = [derived_seed(seed, *name) for seed in (-1, 0, 1) for name in names]
    assert len(set(seeds)) == len(seeds)  # random.Random takes -1 for 1


def deal(sizes: list[int], num_shards: int, num_lanes: int, deck: int) -> dict:
    """The records that go to each (shard, lane): (partition, instance), in their order."""
    lanes = collections.defaultdict(list)
    for partition, size in enumerate(sizes):
        dealer = Dealer(7, partition, num_shards, num_lanes)
        hands = {hand_of(s, sum(sizes[:partition]), num_shards): s for s in range(num_shards)}
        assert len(hands) == num_shards
        for start in range(0, size, deck):
            order, places = dealer.deal(min(deck, size - start))
            for instance, place in zip(order.tolist(), places.tolist(), strict=True):
                hand, lane = divmod(place, num_lanes)
                lanes[hands[hand], lane].append((partition, start + instance))
    return lanes


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=5),
    st.integers(1, 9),
    st.integers(1, 5),
    st.integers(1, 20),
)
def test_every_record_goes_to_one_place(sizes, num_shards, num_lanes, deck):
    lanes = deal(sizes, num_shards, num_lanes, deck)
    records = [record for each in lanes.values() for record in each]
    assert sorted(records) == [(p, i) for p, size in enumerate(sizes) for i in range(size)]
    of_shards = collections.Counter()
    for (shard, _), each in lanes.items():
        of_shards[shard] += len(each)
    assert [of_shards[s] for s in range(num_shards)] == shard_sizes(sum(sizes), num_shards)


@given(
    st.lists(st.integers(0, HUGE), min_size=1, max_size=6),
    st.one_of(st.integers(1, 99), st.integers(2**31, 2**40)),
)
def test_shards_of_trillions_of_records_are_of_one_size(sizes, num_shards):
    """Hand h of a partition has as many instances as numbers below its size are h modulo hands."""
    for shard in (0, num_shards // 3, num_shards - 1):
        in_shard = num_before = 0
        for size in sizes:
            hand = hand_of(shard, num_before, num_shards)
            in_shard += len(range(hand, size, num_shards))
            num_before += size
        assert in_shard == len(range(shard, sum(sizes), num_shards))


@pytest.mark.parametrize("num_dealt", [0, 2**32 - 500, 2**53, HUGE])
def test_instances_beyond_32_bits_are_dealt_as_others(num_dealt):
    num_shards, num_lanes = 7, 16
    dealer = Dealer(1, 0, num_shards, num_lanes, num_dealt=num_dealt)
    order, places = dealer.deal(1000)
    assert sorted(order.tolist()) == list(range(1000))
    hands = np.divmod(places, num_lanes)[0].tolist()
    assert hands == [(num_dealt + i) % num_shards for i in range(1000)]
    sizes = np.bincount(places, minlength=num_shards * num_lanes)
    assert sizes.max() - sizes.min() <= 1


def test_partitions_decks_and_lanes_are_shuffled_differently():
    orders = []
    for partition in (0, 1):
        dealer = Dealer(1, partition, 2, 8)
        orders += [dealer.deal(100)[0].tolist() for _ in range(2)]
    for shard in (0, 1):
        shuffler = LaneShuffler(1, shard)
        orders += [shuffler.shuffled(100).tolist() for _ in range(2)]
    orders.append(list(range(100)))
    for one, other in itertools.combinations(orders, 2):
        assert sum(a == b for a, b in zip(one, other, strict=True)) < 10


def test_where_records_go_has_nothing_to_do_with_where_they_were():
    """The first and the last instances of partitions are everywhere in every shard."""
    sizes, num_shards = [4000] * 4, 2
    lanes = deal(sizes, num_shards, 8, 500)
    for shard in range(num_shards):
        shuffler, places = LaneShuffler(7, shard), []
        for lane in range(8):
            own = lanes[shard, lane]
            places += [own[i] for i in shuffler.shuffled(len(own))]
        for part in range(4):
            quarter = places[part * len(places) // 4 : (part + 1) * len(places) // 4]
            num_early = sum(instance < 1000 for _, instance in quarter)
            assert 0.2 < num_early / len(quarter) < 0.3


@given(st.integers(1, 99_999), st.integers(1, 99_999))
def test_lanes_are_bounded(num_shards, num_partitions):
    num_lanes = count_lanes(num_shards, num_partitions)
    assert num_lanes >= 1
    assert num_lanes * num_shards <= 1 << 20
    assert num_lanes == 1 or num_lanes * num_partitions <= 1 << 21


def test_decks_take_some_megabytes():
    for num_words in (6, 26, 10_000):
        assert 4e6 < deck_size(num_words) * num_words * 4 < 9e6
