"""Write the shards of a set, whatever its records are.

    chunks --encode, in workers--> bytes, or rows --in order--> shards, one after the other

    chunks of shard 0 --encode, add--> shard 0      for formats in which adding takes the time,
    chunks of shard 1 --encode, add--> shard 1      several shards at a time, each by a worker

A chunk is a run of records of one shard, and depends only on the records; workers only decide who
encodes which chunk.
"""

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import IO, Any, NamedTuple

from bert_data.formats.registry import OpenShard, ShardWriter
from bert_data.formats.summed_file import ManifestFile
from bert_data.progress import progress
from bert_data.work import Executor


class Chunk(NamedTuple):
    """Records of one shard.

    Attributes:
      item: the argument of `encode`.
      turn: number of its `Turn`, when several shards are written at a time.
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
    """Yield the order in which to write the records of a set, several shards at a time.

        8 records, 3 shards, 2 of them at a time, 2 records per turn
          ->  0: 0 1   1: 0 1   0: 2   1: 2   2: 0 1

    Args:
      num_records: of the set; record i is number i // num_shards of shard i mod num_shards.
      num_open: shards that are written at a time, >= 1.
      turn_size: consecutive records of one shard, >= 1.
    """
    sizes = [len(range(shard, num_records, num_shards)) for shard in range(num_shards)]
    for first in range(0, num_shards, num_open):
        shards = range(first, min(first + num_open, num_shards))
        for start in range(0, sizes[first], turn_size):  # no shard after it has more records
            for shard in shards:
                end = min(start + turn_size, sizes[shard])
                if start < end:
                    yield Turn(shard, start, end)


class ShardFiles(NamedTuple):
    """The shards to write: their final paths, and what opens a path, of a shard or its index."""

    paths: Sequence[str]
    open: Callable[[str], AbstractContextManager[IO[bytes]]]


def write_shards(
    files: ShardFiles,
    writer: ShardWriter,
    chunks: Iterable[Chunk],
    encode: Callable[[Any], Any],
    *,
    num_records: int,
    num_open: int = 1,
    executor: Executor,
) -> tuple[ManifestFile, ...]:
    """Write shards to which records are dealt in turn; return their entries in the manifest.

    Args:
      files: of the shards; record i goes to shard i mod their number.
      chunks: in the order of `take_turns`.
      encode: turns a chunk's item into what the writer's shards add; called in workers.
      num_open: shards that are written at a time; if more than one, workers also add what they have
        encoded.
      executor: its workers share memory. The files do not depend on it.
    """
    add = _add_here if num_open == 1 else functools.partial(_add_in_workers, num_open)
    with (
        _Shards(files, writer, num_records) as shards,
        progress("write records", total=num_records, unit="record") as advance,
    ):
        for chunk in add(shards, chunks, encode, executor):
            shards.count(chunk)
            advance(chunk.num_records)
        return shards.finish()


def _add_here(
    shards: "_Shards", chunks: Iterable[Chunk], encode: Callable[[Any], Any], executor: Executor
) -> Iterator[Chunk]:
    """Add chunks that workers encode; yield each once it is added."""

    def encode_chunk(chunk: Chunk) -> tuple[Chunk, Any]:
        return chunk, encode(chunk.item)

    for chunk, encoded in executor.ordered_map(encode_chunk, chunks):
        shards.open(chunk.shard).add(encoded)
        yield chunk


def _add_in_workers(
    num_open: int,
    shards: "_Shards",
    chunks: Iterable[Chunk],
    encode: Callable[[Any], Any],
    executor: Executor,
) -> Iterator[Chunk]:
    """Let workers encode and add, each the chunks of another shard; yield chunks once added."""

    def write_turn(turn: tuple[OpenShard, Sequence[Chunk]]) -> Sequence[Chunk]:
        shard, own = turn
        for chunk in own:
            shard.add(encode(chunk.item))
        return own

    turns = (list(own) for _, own in itertools.groupby(chunks, key=lambda chunk: chunk.turn))
    for together in _without_repeats(turns, num_open):
        ready = [(shards.open(own[0].shard), own) for own in together]
        for added in executor.ordered_map(write_turn, ready):
            yield from added


def _without_repeats(turns: Iterable[list[Chunk]], most: int) -> Iterator[list[list[Chunk]]]:
    """Group turns that can be taken at the same time: of different shards, at most `most`."""
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

    def __init__(self, files: ShardFiles, writer: ShardWriter, num_records: int) -> None:
        self._files, self._writer = files, writer
        num_shards = len(files.paths)
        self._sizes = [len(range(n, num_records, num_shards)) for n in range(num_shards)]
        self._left = list(self._sizes)
        self._open: dict[int, tuple[OpenShard, contextlib.ExitStack]] = {}
        self._written: dict[int, ManifestFile] = {}

    def __enter__(self) -> "_Shards":
        return self

    def __exit__(self, *error: Any) -> None:
        for _, stack in self._open.values():
            stack.__exit__(*error)

    def open(self, number: int) -> OpenShard:
        """Return a shard to add to."""
        if number not in self._open:
            stack, path = contextlib.ExitStack(), self._files.paths[number]
            opened = self._writer.open_shard(self._files.open, path, self._sizes[number])
            shard = stack.enter_context(opened)
            self._open[number] = shard, stack
        return self._open[number][0]

    def count(self, chunk: Chunk) -> None:
        """Note that a chunk was added; finish its shard if it was the last one."""
        self._left[chunk.shard] -= chunk.num_records
        if not self._left[chunk.shard]:
            self._finish(chunk.shard)

    def finish(self) -> tuple[ManifestFile, ...]:
        """Return the manifest's entries of all shards, when all records were added."""
        for number in range(len(self._left)):
            if number not in self._written:  # it has no record
                self._finish(number)
        return tuple(self._written[number] for number in range(len(self._left)))

    def _finish(self, number: int) -> None:
        self._written[number] = self.open(number).finish()
        self._open.pop(number)[1].close()
