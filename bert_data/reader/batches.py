"""Shards in, dense NumPy batches out: the reader without TensorFlow's part.

    find shards -> check -> host's part -> epochs, each in its order -> batches of records -> decode

Several batches go into one array, because what passes from Python to tf.data costs by the call.
"""

import contextlib
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.ahead import work_ahead
from bert_data.reader.block import RecordBlock
from bert_data.reader.blocks import read_blocks
from bert_data.reader.checks import Limits, check_lengths, check_shards
from bert_data.reader.config import WIDTH_MAX, WIDTH_OF_BATCH, ReaderConfig
from bert_data.reader.corruption import Damage
from bert_data.reader.decode import Shape, decode_records, new_buffer, padded_words
from bert_data.reader.order import (
    OpenShard,
    batch_blocks,
    epoch_blocks,
    host_blocks,
    host_num_records,
)
from bert_data.reader.shards import Shard, find_shards

TABLE_COLUMNS = 15
_GROUP_WORDS = 1 << 19
_BLOCKS_AHEAD = 2
_MAX_ID = 2**31 - 1


class BatchGroup(NamedTuple):
    """Batches side by side in one array.

    Attributes:
      words: int32[any], the batches, each as `decode_records` writes it.
      table: int32[batches, 15], of each: where it begins in `words` and how many it has, the
        numbers of the seven features, and the shapes of the first three (rows, width), the next
        three (rows, predictions) and the last (rows, 1).
    """

    words: NDArray[np.int32]
    table: NDArray[np.int32]


def _table_entry(shape: Shape) -> tuple[int, ...]:
    rows, width, predictions = shape
    sizes = (rows * width,) * 3 + (rows * predictions,) * 3 + (rows,)
    return shape.num_words, *sizes, rows, width, rows, predictions, rows, 1


class BatchSource:
    """Makes the batches that a configuration tells of.

    Attributes:
      config: the configuration.
      shards: the shards that its patterns name.
      limits: the most that a row may hold.
    """

    def __init__(self, config: ReaderConfig) -> None:
        """Finds the shards and checks them.

        Raises:
          ValueError, OSError, CorruptDataError: see `find_shards`, `check_shards`.
        """
        self.config = config
        self.shards: tuple[Shard, ...] = find_shards(config)
        self.limits: Limits = check_shards(self.shards, config)

    def num_records(self) -> int | None:
        """This host's records in an epoch where indexes or manifests tell; else None."""
        config = self.config
        counts = [shard.num_records for shard in self.shards if shard.num_records is not None]
        if config.skip_corrupt or len(counts) < len(self.shards):
            return None
        return host_num_records(counts, config.num_hosts, config.host_index)

    def _count_records(self, most: int) -> int | None:
        """This host's records in an epoch by reading one; None if they are more than `most`."""
        shards, open_shard = self._host_part(Damage(skip=self.config.skip_corrupt))
        num_records = 0
        for block in itertools.chain.from_iterable(map(open_shard, shards)):
            num_records += block.num_records
            if num_records > most:
                return None
        return num_records

    def records(self, first_epoch: int = 0) -> Iterator[RecordBlock]:
        """This host's records of all epochs from `first_epoch` on, in order."""
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
                raise ValueError(f"no records in {self._names} for {host}")

    def _host_part(self, damage: Damage) -> tuple[list[int], OpenShard]:
        def open_shard(number: int) -> Iterator[RecordBlock]:
            return read_blocks(self.shards[number], damage)

        counts = [1 if shard.num_records is None else shard.num_records for shard in self.shards]
        return host_blocks(open_shard, counts, self.config.num_hosts, self.config.host_index)

    @property
    def _names(self) -> str:
        return ", ".join(self.config.patterns)

    def batches(self) -> Iterator[RecordBlock]:
        """Blocks of the records of one batch each."""
        config = self.config
        to_skip, first_epoch = config.start_batch * config.batch_size, 0
        num_records = self.num_records()
        if num_records is None and to_skip:
            num_records = self._count_records(to_skip)
        if num_records:  # epochs that are passed over are not read
            first_epoch, to_skip = divmod(to_skip, num_records)
        with contextlib.closing(work_ahead(self.records(first_epoch), _BLOCKS_AHEAD)) as blocks:
            yield from batch_blocks(
                blocks,
                config.batch_size,
                skip_records=to_skip,
                drop_remainder=config.drop_remainder,
            )

    def shape_of(self, block: RecordBlock) -> Shape:
        """The shape of the batch of a block's records.

        Raises:
          ValueError: a record is longer than the limits.
        """
        longest, most = (int(length) for length in block.lengths.max(axis=0))
        limits = self.limits
        check_lengths((longest, most), f"a record of {self._names} holds", limits)
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

    def groups(self) -> Iterator[BatchGroup]:
        """The batches, decoded, several at a time: first one, then twice as many, and so on.

        A thread reads, checks and shuffles ahead; decoding is done by who asks for the groups.
        """
        held: list[tuple[RecordBlock, Shape]] = []
        num_words, num_batches = 0, 1
        for block in self.batches():
            shape = self.shape_of(block)
            held.append((block, shape))
            num_words += padded_words(shape.num_words)
            if len(held) == num_batches or num_words >= _GROUP_WORDS:
                yield self._decode(held, num_words)
                held, num_words, num_batches = [], 0, 2 * num_batches
        if held:
            yield self._decode(held, num_words)

    def _decode(self, held: list[tuple[RecordBlock, Shape]], num_words: int) -> BatchGroup:
        words = new_buffer(num_words)
        table = np.empty((len(held), TABLE_COLUMNS), np.int32)
        at = 0
        for row, (block, shape) in zip(table, held, strict=True):
            row[:] = at, *_table_entry(shape)
            largest = decode_records(block, shape, words[at : at + shape.num_words])
            self._check_values(*largest, shape)
            at += padded_words(shape.num_words)
        return BatchGroup(words, table)

    def _check_values(self, largest_id: int, largest_position: int, shape: Shape) -> None:
        where = f"a record of {self._names}"
        size = self.config.vocab_size
        if largest_id > _MAX_ID:
            raise ValueError(f"{where} holds a token id that is not in [0, 2**31)")
        if size is not None and largest_id >= size:
            raise ValueError(f"vocab_size is {size}, but {where} holds the token id {largest_id}")
        if largest_position >= shape.width:
            raise ValueError(
                f"{where} predicts a position outside its batch's {shape.width} tokens"
            )
