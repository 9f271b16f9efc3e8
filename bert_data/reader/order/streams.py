"""Turn blocks of several shards into one stream: hosts, epochs, shuffling, batches.

    shards 0 1 2 3 4, 2 hosts, host 0      epoch 0: 4 0 2    epoch 1: 2 4 0
    interleave: a turn of 4, of 0, of 2, of 4, ...   shuffle: most of a buffer at a time   batch

All randomness comes from (seed, epoch), so every process sees the same order.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from bert_data.reader.config import ReaderConfig
from bert_data.reader.examples.block import RecordBlock, join_blocks

T = TypeVar("T")

SHARDS_AT_ONCE = 16  # shards that are open when shuffling
TURN_RECORDS = 128  # taken from one of them per turn
_SEEDS = 2**63  # NumPy refuses negative ones
_EVEN_ENOUGH = 8  # shards per host from which on one more or less does not matter

OpenShard = Callable[[int], Iterator[RecordBlock]]


def shares_shards(num_shards: int, num_hosts: int) -> bool:
    """Return whether hosts share whole shards: when they divide evenly, or within an eighth."""
    return num_shards % num_hosts == 0 or num_shards >= _EVEN_ENOUGH * num_hosts


def host_blocks(
    open_shard: OpenShard, num_records: Sequence[int], num_hosts: int, host: int
) -> tuple[list[int], OpenShard]:
    """Return the part of one host: the numbers of its shards, and a function that opens one.

    Each record belongs to exactly one host. If hosts share a shard, its records are dealt to them
    in turn, and dealing continues from shard to shard; each host reads all records, and decodes
    only its own.

    Args:
      open_shard: opens a whole shard.
      num_records: of each shard; 1 if unknown, at the cost of evenness only.
      num_hosts, host: the number of hosts, and the number of this one.
    """
    shards = list(range(len(num_records)))
    if num_hosts == 1 or shares_shards(len(shards), num_hosts):
        return shards[host::num_hosts], open_shard
    dealt = list(itertools.accumulate(num_records, initial=0))

    def open_part(shard: int) -> Iterator[RecordBlock]:
        skip = (host - dealt[shard]) % num_hosts
        for block in open_shard(shard):
            yield block.take(slice(skip, None, num_hosts))
            skip = (skip - block.num_records) % num_hosts

    return shards, open_part


def host_num_records(num_records: Sequence[int], num_hosts: int, host: int) -> int:
    """Count the records of one host's part, see `host_blocks`; those of each shard are known."""
    if num_hosts == 1 or shares_shards(len(num_records), num_hosts):
        return sum(num_records[host::num_hosts])
    return len(range(host, sum(num_records), num_hosts))


def interleave(streams: Iterator[Iterator[RecordBlock]]) -> Iterator[RecordBlock]:
    """Take turns between `SHARDS_AT_ONCE` streams; when one ends, the next one takes its place."""
    waiting = (_turns(stream) for stream in streams)
    opened = list(itertools.islice(waiting, SHARDS_AT_ONCE))
    while opened:
        still_open = []
        for stream in opened:
            turn = next(stream, None)
            while turn is None:
                following = next(waiting, None)
                if following is None:
                    break
                stream, turn = following, next(following, None)
            if turn is not None:
                still_open.append(stream)
                yield turn
        opened = still_open


def _turns(blocks: Iterator[RecordBlock]) -> Iterator[RecordBlock]:
    for block in blocks:
        for first in range(0, block.num_records, TURN_RECORDS):
            yield block.take(slice(first, first + TURN_RECORDS))


def shuffle(
    blocks: Iterator[RecordBlock], buffer_records: int, random: np.random.Generator
) -> Iterator[RecordBlock]:
    """Fill a buffer, yield most of it in random order, refill it, ...; each record once.

    Each refill copies what was left over. That is a quarter: enough to mix early records of a
    buffer with late ones of the previous buffer.
    """
    held: list[RecordBlock] = []
    count = 0
    for block in blocks:
        held.append(block)
        count += block.num_records
        if count >= buffer_records:
            pool = join_blocks(held)
            order = random.permutation(count)
            left = count // 4
            yield pool.take(order[left:])
            held, count = [pool.take(order[:left])], left
    if count:
        yield join_blocks(held).take(random.permutation(count))


def epoch_blocks(
    config: ReaderConfig, epoch: int, shards: Sequence[int], open_shard: OpenShard
) -> Iterator[RecordBlock]:
    """Yield the records of one epoch, in its order."""
    if not config.shuffle:
        return itertools.chain.from_iterable(map(open_shard, shards))
    random = np.random.default_rng((config.seed % _SEEDS, epoch))
    order = random.permutation(len(shards)).tolist()
    turns = interleave(open_shard(shards[i]) for i in order)
    return shuffle(turns, config.shuffle_buffer, random)


def batch_blocks(
    blocks: Iterator[RecordBlock], batch_size: int, *, skip_records: int, drop_remainder: bool
) -> Iterator[RecordBlock]:
    """Yield blocks of `batch_size` records each, after skipping the first `skip_records`."""
    held: list[RecordBlock] = []
    count = 0
    for block in blocks:
        first = min(skip_records, block.num_records)
        skip_records -= first
        while first < block.num_records:
            part = block.take(slice(first, first + batch_size - count))
            first += part.num_records
            count += part.num_records
            held.append(part)
            if count == batch_size:
                yield join_blocks(held)
                held, count = [], 0
    if held and not drop_remainder:
        yield join_blocks(held)
