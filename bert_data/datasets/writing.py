"""Writes the shards of a set, whatever its records are.

    chunks --encode, in workers--> bytes, or rows --in order--> shards, one after the other

    chunks of shard 0 --encode, add--> shard 0      where adding is what takes the time,
    chunks of shard 1 --encode, add--> shard 1      several shards at a time, each by a worker

A chunk is a run of records of one shard. What it holds depends on the records alone; workers only
decide who encodes which chunk.
"""

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from bert_data.datasets.record_set import RecordSet
from bert_data.formats.registry import OpenShard, ShardWriter
from bert_data.formats.summed_file import ManifestFile
from bert_data.progress import progress
from bert_data.storage import naming
from bert_data.work import Executor


class Chunk(NamedTuple):
    """Records of one shard.

    Attributes:
      shard: its number.
      num_records: >= 1.
      item: what `encode` takes.
      turn: number of its `Turn`, where several shards are written at a time.
    """

    shard: int
    num_records: int
    item: Any
    turn: int = 0


class Turn(NamedTuple):
    """Records `start` to `end`, exclusive, of a shard."""

    shard: int
    start: int
    end: int


def take_turns(
    num_records: int, num_shards: int, *, num_open: int, turn_size: int
) -> Iterator[Turn]:
    """The order in which the records of a set are written, so many shards at a time.

        8 records, 3 shards, 2 of them at a time, 2 records a turn
          ->  0: 0 1   1: 0 1   0: 2   1: 2   2: 0 1

    Args:
      num_records: of the set; record i is number i // num_shards of shard i mod num_shards.
      num_shards: >= 1.
      num_open: shards that are written at a time, >= 1.
      turn_size: records of one shard in a row, >= 1.
    """
    sizes = [len(range(shard, num_records, num_shards)) for shard in range(num_shards)]
    for first in range(0, num_shards, num_open):
        shards = range(first, min(first + num_open, num_shards))
        for start in range(0, sizes[first], turn_size):  # no shard after it has more records
            for shard in shards:
                end = min(start + turn_size, sizes[shard])
                if start < end:
                    yield Turn(shard, start, end)


def write_shards(
    record_set: RecordSet,
    writer: ShardWriter,
    chunks: Iterable[Chunk],
    encode: Callable[[Any], Any],
    *,
    num_records: int,
    num_open: int = 1,
    executor: Executor,
    label: str = "write records",
    unit: str = "record",
) -> tuple[ManifestFile, ...]:
    """Writes all shards of a set.

    Args:
      record_set: the set; record i goes to shard i mod the number of its shards.
      writer: of the set.
      chunks: in the order of `take_turns`.
      encode: makes of a chunk's item what the writer's shards take; called in workers.
      num_records: of the set.
      num_open: shards that are written at a time; with more than one, workers also add what they
        have encoded.
      executor: its workers share memory. The files do not depend on it.
      label, unit: what progress is called, and what it counts.

    Returns:
      What the manifest says of each shard.
    """
    add = _add_here if num_open == 1 else functools.partial(_add_in_workers, num_open)
    with (
        _Shards(record_set, writer, num_records) as shards,
        progress(label, total=num_records, unit=unit) as advance,
    ):
        for chunk in add(shards, chunks, encode, executor):
            shards.count(chunk)
            advance(chunk.num_records)
        return shards.finish()


def _add_here(
    shards: "_Shards", chunks: Iterable[Chunk], encode: Callable[[Any], Any], executor: Executor
) -> Iterator[Chunk]:
    """Adds chunks that workers encode; yields each when it is added."""

    def encode_chunk(chunk: Chunk) -> tuple[Chunk, Any]:
        return chunk, encode(chunk.item)

    for chunk, encoded in executor.ordered_map(encode_chunk, chunks):
        with shards.naming(chunk.shard):
            shards.open(chunk.shard).add(encoded)
        yield chunk


def _add_in_workers(
    num_open: int,
    shards: "_Shards",
    chunks: Iterable[Chunk],
    encode: Callable[[Any], Any],
    executor: Executor,
) -> Iterator[Chunk]:
    """Lets workers encode and add, each the chunks of another shard; yields chunks when added."""

    def write_turn(turn: tuple[OpenShard, Sequence[Chunk]]) -> Sequence[Chunk]:
        shard, own = turn
        with shards.naming(own[0].shard):
            for chunk in own:
                shard.add(encode(chunk.item))
        return own

    turns = (list(own) for _, own in itertools.groupby(chunks, key=lambda chunk: chunk.turn))
    for together in _without_repeats(turns, num_open):
        ready = [(shards.open(own[0].shard), own) for own in together]
        for added in executor.ordered_map(write_turn, ready):
            yield from added


def _without_repeats(turns: Iterable[list[Chunk]], most: int) -> Iterator[list[list[Chunk]]]:
    """Turns that can be taken at the same time: of different shards, at most so many."""
    together: list[list[Chunk]] = []
    for own in turns:
        if len(together) == most or own[0].shard in [each[0].shard for each in together]:
            yield together
            together = []
        together.append(own)
    if together:
        yield together


class _Shards:
    """The shards of a set, each opened for its first record and finished after its last."""

    def __init__(self, record_set: RecordSet, writer: ShardWriter, num_records: int) -> None:
        self._record_set, self._writer = record_set, writer
        num_shards = len(record_set.paths)
        self._sizes = [len(range(n, num_records, num_shards)) for n in range(num_shards)]
        self._left = list(self._sizes)
        self._open: dict[int, tuple[OpenShard, contextlib.ExitStack]] = {}
        self._files: dict[int, ManifestFile] = {}

    def __enter__(self) -> "_Shards":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for _, stack in self._open.values():
            stack.__exit__(kind, error, trace)

    def naming(self, number: int) -> contextlib.AbstractContextManager[None]:
        """An error on the disk names the shard."""
        return naming(self._record_set.paths[number])

    def open(self, number: int) -> OpenShard:
        """A shard to add to."""
        if number not in self._open:
            stack, path = contextlib.ExitStack(), self._record_set.paths[number]
            with self.naming(number):
                shard = stack.enter_context(
                    self._writer.open_shard(
                        self._record_set.outputs.open, path, self._sizes[number]
                    )
                )
            self._open[number] = shard, stack
        return self._open[number][0]

    def count(self, chunk: Chunk) -> None:
        """Notes that a chunk was added; finishes its shard if it was the last one."""
        self._left[chunk.shard] -= chunk.num_records
        if not self._left[chunk.shard]:
            self._finish(chunk.shard)

    def finish(self) -> tuple[ManifestFile, ...]:
        """What the manifest says of all shards, when all records were added."""
        for number in range(len(self._left)):
            if number not in self._files:  # it has no record
                self._finish(number)
        return tuple(self._files[number] for number in range(len(self._left)))

    def _finish(self, number: int) -> None:
        with self.naming(number):
            self._files[number] = self.open(number).finish()
            self._open.pop(number)[1].close()
