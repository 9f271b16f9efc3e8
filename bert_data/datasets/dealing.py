"""Which record goes where, when a set is made of partitions: arithmetic on numbers of any size.

    instances of a partition, in decks     0 1 2 3 4 5 6 7 | 8 9 ...
    each deck is shuffled                  3 0 6 1 7 2 5 4 | 9 8 ...
    and dealt to 2 hands in turn           hand 0: 3 6 7 5 9 ...   hand 1: 0 1 2 4 8 ...
    hands are those of the shards          shard s has hand (s - instances before) mod 2
    a hand is divided into lanes           one lane of a shard from all partitions fits in memory
    and each lane of a shard is shuffled

So every record goes to one place, and shard s gets as many as if record i went to shard i mod their
number: sizes differ by one at most. All shuffles are CPython's, each with a seed of its own; what a
place depends on is `random_seed`, the partition, the instance's number in it, and the number of
instances in the partitions before. No array is longer than a deck, or than the lanes.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.objectives.mersenne import RandomStream, seeded_stream, shuffled_indices

_DECK_BYTES = 8 << 20  # of rows
_LEAST_LANES, _LEAST_OF_SHARD = 1 << 12, 16
_MOST_LANES = 1 << 20
_MOST_PIECES = 1 << 21  # of one shard: its lanes in all partitions


def derived_seed(random_seed: int, *names: object) -> int:
    """Return a seed of 64 bits for one purpose: the start of a SHA-256.

    derived_seed(12345, 3), the seed of partition 3, is the first eight bytes, as a big-endian
    number, of the SHA-256 of "12345/3".
    """
    text = "/".join(map(str, (random_seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def count_lanes(num_shards: int, num_partitions: int) -> int:
    """Return the number of lanes of each shard, >= 1."""
    enough = max(_LEAST_OF_SHARD, _LEAST_LANES // num_shards)
    return max(1, min(enough, _MOST_LANES // num_shards, _MOST_PIECES // num_partitions))


def deck_size(num_words: int) -> int:
    """Return the number of rows of so many words that are shuffled together, >= 1."""
    return max(1, _DECK_BYTES // (4 * num_words))


def hand_of(shard: int, num_before: int, num_shards: int) -> int:
    """Return which hand of a partition goes to a shard, given the instances before it."""
    return (shard - num_before) % num_shards


def shard_sizes(num_records: int, num_shards: int) -> Sequence[int]:
    """Return the number of records of each shard."""
    share, rest = divmod(num_records, num_shards)
    return [share + (shard < rest) for shard in range(num_shards)]


class Dealer:
    """Deals the instances of a partition."""

    def __init__(
        self,
        random_seed: int,
        partition: int,
        num_shards: int,
        num_lanes: int,
        *,
        num_dealt: int = 0,
    ) -> None:
        """Begin with the first deck.

        Args:
          random_seed: of the set.
          partition: its number.
          num_shards: >= 1.
          num_lanes: of each shard, >= 1.
          num_dealt: instances that were dealt before; the order of the next ones depends on it only
            by their hands and lanes.
        """
        self._stream = seeded_stream(derived_seed(random_seed, partition, "deal"))
        self._num_shards, self._num_lanes = num_shards, num_lanes
        self._lanes = shuffled_indices(self._stream, num_lanes).astype(np.int64)
        self._num_dealt = num_dealt

    def deal(self, num_instances: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Deal the next deck.

        Returns:
          (uint32[instances], the instances of the deck in the order in which they are dealt;
          int64[instances], the lane of each: hand * lanes of a shard + lane).
        """
        order = shuffled_indices(self._stream, num_instances)
        places = np.arange(self._num_dealt, self._num_dealt + num_instances)
        self._num_dealt += num_instances
        turns, hands = np.divmod(places, self._num_shards)
        return order, hands * self._num_lanes + self._lanes[turns % self._num_lanes]


class LaneShuffler:
    """Shuffles the lanes of a shard, one after the other."""

    def __init__(self, random_seed: int, shard: int) -> None:
        """Begin with the shard's first lane."""
        self._stream: RandomStream = seeded_stream(derived_seed(random_seed, "shard", shard))

    def shuffled(self, num_records: int) -> NDArray[np.uint32]:
        """Return the order of the records of the next lane: uint32[records]."""
        return shuffled_indices(self._stream, num_records)
