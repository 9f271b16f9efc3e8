"""Read batches of NumPy arrays from a stream of records, without TensorFlow.

    find shards -> check -> host's part -> epochs, each in its order -> batches of records -> decode

    shards 0 1 2 3 4, 2 hosts, host 0      epoch 0: 4 0 2    epoch 1: 2 4 0
    interleave: a turn of 4, of 0, of 2, of 4, ...   shuffle: most of a buffer at a time   batch

The order is drawn from (seed, epoch), so it is the same in every process.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from bert_data.reader.config import ENDLESS, UNKNOWN, ReadBefore, ReaderConfig, check_start
from bert_data.reader.examples.block import RecordBlock, join_blocks, one_block
from bert_data.reader.examples.decode import Rows
from bert_data.reader.files.blocks import read_blocks
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.shards import find_shards
from bert_data.reader.layout import BatchGroup, Shape, StaticShape, words_of_batch
from bert_data.reader.planning.plan_config import WIDTH_MAX, WIDTH_OF_BATCH
from bert_data.reader.shard_batches import GROUP_WORDS, ShardBatches
from bert_data.work.executor import work_ahead

_BLOCKS_AHEAD = 2
SHARDS_AT_ONCE = 16  # shards that are open when shuffling
TURN_RECORDS = 128  # taken from one of them per turn
_SEEDS = 2**63  # NumPy refuses negative ones
_EVEN_ENOUGH = 8  # shards per host from which on one more or less does not matter

OpenBlocks = Callable[[int], Iterator[RecordBlock]]


def shares_shards(num_shards: int, num_hosts: int) -> bool:
    """Return whether hosts share whole shards: when they divide evenly, or within an eighth."""
    return num_shards % num_hosts == 0 or num_shards >= _EVEN_ENOUGH * num_hosts


def host_blocks(
    open_shard: OpenBlocks, num_records: Sequence[int], num_hosts: int, host: int
) -> tuple[list[int], OpenBlocks]:
    """Return the part of one host: the numbers of its shards, and a function that opens one.

    Each record belongs to exactly one host. If hosts share a shard, its records are dealt to them
    in turn, and dealing continues from shard to shard; each host reads all records, and decodes
    only its own.

    Args:
      num_records: of each shard; 1 if unknown, at the cost of evenness only.
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
    config: ReaderConfig, epoch: int, shards: Sequence[int], open_shard: OpenBlocks
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


class BatchSource(ShardBatches):
    """The batches of a configuration, read as a stream."""

    def __init__(self, config: ReaderConfig, before: Sequence[ReadBefore] = ()) -> None:
        """Find the shards and check them.

        Args:
          before: see `make_source`; their `batch_size` is that of all hosts.
        """
        super().__init__(config, find_shards(config))
        self.num_batches = self._count_batches()
        sizes = [(each.bound["batch_size"] or 0) * each.num_batches for each in before]
        self._records_before = sum(sizes) // config.num_hosts

    def num_records(self) -> int | None:
        """Return this host's records in an epoch if indexes or manifests tell, else None."""
        config = self.config
        counts = [shard.num_records for shard in self.shards if shard.num_records is not None]
        if config.skip_corrupt or len(counts) < len(self.shards):
            return None
        return host_num_records(counts, config.num_hosts, config.host_index)

    def _count_batches(self) -> int:
        """Count this host's batches from the start on; UNKNOWN if only reading would tell."""
        config, num_records = self.config, self.num_records()
        if config.num_epochs is None:
            return ENDLESS
        if not num_records:
            return UNKNOWN
        return self._batches_of(config.num_epochs * num_records) - config.start_batch

    def _batches_of(self, num_records: int) -> int:
        """Count the batches of this host's records in all epochs, and check that one is first."""
        config = self.config
        assert config.batch_size is not None
        num_full, left = divmod(num_records, config.batch_size)
        num_batches = num_full + int(left > 0 and not config.drop_remainder)
        check_start(config.start_batch, num_batches)
        return num_batches

    def _count_records(self, most: int) -> int | None:
        """Count this host's records by reading an epoch; None if they are more than `most`."""
        shards, open_shard = self._host_part(Damage(skip=self.config.skip_corrupt))
        num_records = 0
        for block in itertools.chain.from_iterable(map(open_shard, shards)):
            num_records += block.num_records
            if num_records > most:
                return None
        return num_records

    def records(self, first_epoch: int = 0) -> Iterator[RecordBlock]:
        """Yield this host's records of all epochs from `first_epoch` on, in order."""
        config = self.config
        last = itertools.count() if config.num_epochs is None else range(config.num_epochs)
        for epoch in itertools.islice(last, first_epoch, None):
            damage = Damage(skip=config.skip_corrupt)
            num_records = 0
            for block in epoch_blocks(config, epoch, *self._host_part(damage)):
                num_records += block.num_records
                yield block
            damage.tell()
            if not num_records:
                host = f"host {config.host_index} of {config.num_hosts}"
                raise ValueError(f"no records in {self.names} for {host}")

    def _host_part(self, damage: Damage) -> tuple[list[int], OpenBlocks]:
        def open_shard(number: int) -> Iterator[RecordBlock]:
            return read_blocks(self.shards[number], damage)

        counts = [1 if shard.num_records is None else shard.num_records for shard in self.shards]
        return host_blocks(open_shard, counts, self.config.num_hosts, self.config.host_index)

    def batches(self) -> Iterator[RecordBlock]:
        """Yield blocks of the records of one batch each."""
        config = self.config
        assert config.batch_size is not None
        to_skip = self._records_before + config.start_batch * config.batch_size
        first_epoch = 0
        num_records = self.num_records()
        if num_records is None and to_skip:
            num_records = self._count_records(to_skip)
        if num_records:  # skipped epochs are not read
            first_epoch, to_skip = divmod(to_skip, num_records)
        with contextlib.closing(work_ahead(self.records(first_epoch), _BLOCKS_AHEAD)) as blocks:
            batches = batch_blocks(
                blocks,
                config.batch_size,
                skip_records=to_skip,
                drop_remainder=config.drop_remainder,
            )
            first = next(batches, None)
            if first is None and not config.start_batch:
                few = f"the records of {self.names} do not fill a batch"
                raise ValueError(f"{few}, and drop_remainder is True")
            if first is None:  # the start is the end, or behind it, which only a count tells
                if num_records and config.num_epochs:
                    self._batches_of(config.num_epochs * num_records)
                return
            yield first
            yield from batches

    def shape_of(self, block: RecordBlock) -> Shape:
        """Return the shape of the batch of a block's records."""
        longest, most = (int(length) for length in block.lengths.max(axis=0))
        limits = self.limits
        self.check_longest(longest, most)
        rows, width = block.num_records, self.config.width
        if width == WIDTH_OF_BATCH:
            return Shape(rows, max(1, longest), max(1, most))
        assert limits.max_seq_length is not None and limits.max_predictions_per_seq is not None
        if width == WIDTH_MAX:
            return Shape(rows, limits.max_seq_length, limits.max_predictions_per_seq)
        assert isinstance(width, tuple)
        widths = (*(w for w in width if w < limits.max_seq_length), limits.max_seq_length)
        next_width = next(w for w in widths if longest <= w)
        return Shape(rows, next_width, limits.max_predictions_per_seq)

    @property
    def static_shape(self) -> StaticShape:
        """Rows, width, predictions and instances if they are the same in all batches."""
        config, limits = self.config, self.limits
        rows = config.batch_size if config.drop_remainder or config.num_epochs is None else None
        width = limits.max_seq_length if config.width == WIDTH_MAX else None
        predictions = None if config.width == WIDTH_OF_BATCH else limits.max_predictions_per_seq
        return rows, width, predictions, 1

    def groups(self) -> Iterator[BatchGroup]:
        """Yield the decoded batches, several at a time: first one, then twice as many, and so on.

        A thread reads, checks and shuffles ahead; the consumer's thread decodes.
        """
        held: list[tuple[RecordBlock, Shape]] = []
        num_words, num_batches = 0, 1
        for block in self.batches():
            shape = self.shape_of(block)
            held.append((block, shape))
            num_words += words_of_batch(shape, self.layout)
            if len(held) == num_batches or num_words >= GROUP_WORDS:
                yield self._decode_held(held)
                held, num_words, num_batches = [], 0, 2 * num_batches
        if held:
            yield self._decode_held(held)

    def _decode_held(self, held: Sequence[tuple[RecordBlock, Shape]]) -> BatchGroup:
        return self.decode(_rows_of(block for block, _ in held), [shape for _, shape in held])


def _rows_of(blocks: Iterable[RecordBlock]) -> Iterator[tuple[RecordBlock, Rows]]:
    """Join blocks of the same data; yield these and their rows, of one record each."""
    for _, same in itertools.groupby(blocks, key=lambda block: id(block.data)):
        joined = list(same)
        splits = np.cumsum([0, *(block.num_records for block in joined)])
        rows = Rows(np.ones(splits[-1], np.bool_), np.arange(splits[-1] + 1), splits)
        yield one_block(joined), rows
