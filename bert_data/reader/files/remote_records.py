"""Read records of remote TFRecord shards by number, fetched ahead of the plan into a local file.

    plan      7 3 | 0 9 | 4 8 | 5 1 ...     groups of batches, in order
    stage     0 1 3 4 | 7 8 9               the records of the next groups, by their place
    units     [0 1 . 3 4]  [7 8 9]          one request each: records with little between them
    order     [7 8 9]  [0 1 . 3 4]          that in which the batches need the units

Shards that fit into the local file together are kept there whole, for all epochs: each of their
bytes is fetched at most once. Of larger sets it keeps only the records of the plan's next part, and
meanwhile those of the part after that are fetched, so that an epoch in random order reads the set
some three times its size over the file's, and not a unit for each record.
"""

import contextlib
import copy
import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.reader.files.gathering import TFRecords
from bert_data.reader.files.indexes import Ranges, RecordPlaces
from bert_data.reader.files.record_source import RecordsOf, Step
from bert_data.reader.files.shards import Shard
from bert_data.storage.remote_files import RemoteFiles, UnnamedFile
from bert_data.work.executor import Threads
from bert_data.work.sorting import distinct

UNIT_BYTES = 1 << 20
GAP_BYTES = 1 << 18  # reading them takes less time than a second request
_CHUNK_RECORDS = 1 << 20


class Units(NamedTuple):
    """Ranges of shards that are fetched by one request each.

    Attributes:
      shards, begins, ends: int64[units], in bytes.
      firsts: int64[units + 1], the first record of each, and how many there are in all.
    """

    shards: NDArray[np.int64]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    firsts: NDArray[np.int64]


def join_ranges(ranges: Ranges) -> Units:
    """Join the ranges of records, which ascend, across gaps of at most GAP_BYTES.

    A unit has the records that begin in the same UNIT_BYTES of a shard, or fewer.
    """
    shards, begins = ranges.shards, ranges.offsets
    ends = begins + ranges.sizes
    is_first = np.ones(shards.size, np.bool_)
    is_first[1:] = shards[1:] != shards[:-1]
    is_first[1:] |= begins[1:] - ends[:-1] > GAP_BYTES
    is_first[1:] |= begins[1:] // UNIT_BYTES != begins[:-1] // UNIT_BYTES
    firsts = np.flatnonzero(is_first)
    splits = np.append(firsts, shards.size)
    return Units(shards[firsts], begins[firsts], ends[splits[1:] - 1], splits)


def _units_of_all(places: RecordPlaces) -> Units:
    """Return the units of all records, found some records at a time."""
    num_records = int(places.firsts[-1])
    parts = [
        join_ranges(places.find(np.arange(first, min(first + _CHUNK_RECORDS, num_records))))
        for first in range(0, max(1, num_records), _CHUNK_RECORDS)
    ]
    starts = itertools.count(0, _CHUNK_RECORDS)
    firsts = [part.firsts[:-1] + start for part, start in zip(parts, starts, strict=False)]
    return Units(
        np.concatenate([part.shards for part in parts]),
        np.concatenate([part.begins for part in parts]),
        np.concatenate([part.ends for part in parts]),
        np.concatenate([*firsts, [num_records]]),
    )


class KeptRecords:
    """Records in a local file, in the order of their numbers."""

    def __init__(
        self, files: RemoteFiles, places: RecordPlaces, numbers: NDArray[np.int64] | None
    ) -> None:
        """Plan how to fetch them; nothing is fetched yet.

        Args:
          numbers: int64[any], of the records, ascending; None: all records, at the places that they
            have when the shards are joined.
        """
        self._files, self._places, self._numbers = files, places, numbers
        if numbers is None:
            self._units = _units_of_all(places)
        else:
            ranges = places.find(numbers)
            self._units, self._starts = join_ranges(ranges), ranges.places
        self.is_fetched = np.zeros(self._units.shards.size, np.bool_)
        self._file = UnnamedFile()

    def units_of(self, records: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return int64[records], the unit of each."""
        index = records if self._numbers is None else np.searchsorted(self._numbers, records)
        return np.searchsorted(self._units.firsts, index, side="right") - 1

    def fetch(self, unit: int) -> None:
        """Fetch a unit."""
        shard, begin = int(self._units.shards[unit]), int(self._units.begins[unit])
        data = self._files.read(shard, begin, int(self._units.ends[unit]) - begin)
        if self._numbers is None:
            start = int(self._places.shard_starts[shard]) + begin
        else:
            first, end = self._units.firsts[unit : unit + 2].tolist()
            start = int(self._starts[first])
            ranges = self._places.find(self._numbers[first:end])
            if ranges.num_bytes < len(data):
                starts = (ranges.offsets - begin).tolist()
                sizes = ranges.sizes.tolist()
                spans = zip(starts, sizes, strict=True)
                data = b"".join([data[at : at + size] for at, size in spans])
        self._file.write(data, start)
        self.is_fetched[unit] = True

    def locate(self, records: NDArray[np.integer], ranges: Ranges) -> tuple[dict[int, int], Ranges]:
        """Return the local file as file 0, and where in it the records of some ranges are."""
        if self._numbers is None:
            offsets = self._places.shard_starts[ranges.shards] + ranges.offsets
        else:
            offsets = np.zeros(records.size, np.int64)
            is_there = records >= 0
            offsets[is_there] = self._starts[np.searchsorted(self._numbers, records[is_there])]
        here = ranges._replace(shards=np.zeros_like(ranges.shards), offsets=offsets)
        return {0: self._file.descriptor}, here

    def release(self) -> None:
        """Remove the local file, unless it keeps all records."""
        if self._numbers is not None:
            self._file.close()


_NUM_THREADS = 8
_UNITS_AHEAD = 32
_STAGES_AT_ONCE = 3  # one is read, the next is fetched, and a third may have begun
_MOST_RECORDS = 1 << 20  # of a stage


class _FetchStage(NamedTuple):
    """The next steps of a plan.

    Attributes:
      order: int64[any], the units to fetch, in the order in which the steps need them.
      base: how many units the stages before have.
      needs: int64[steps], how many of `order` must be there before each step.
    """

    kept: KeptRecords
    order: NDArray[np.int64]
    base: int
    needs: NDArray[np.int64]


class _Ahead:
    """The records of a plan's steps, of which threads fetch the next ones."""

    def __init__(
        self,
        steps: Iterable[NDArray[np.integer]],
        make_stages: Callable[[Iterator[NDArray[np.integer]]], Iterator[_FetchStage]],
        executor: Threads,
        *,
        prepares_next_stage: bool,
    ) -> None:
        """Begin with the first step; nothing is fetched yet.

        Args:
          prepares_next_stage: whether to fetch a stage while the one before is read, as steps need
            units from all over it.
        """
        self._coming = make_stages(iter(steps))
        self._stages: dict[int, _FetchStage] = {}
        self._num_stages = self._stage = self._step = self._num_fetched = 0
        self._prepares_next_stage = prepares_next_stage
        self._has_failed = False
        self._fetched = executor.ordered_map(self._fetch, self._units())

    def kept(self) -> KeptRecords:
        """Wait for the records of the next step, and return where they are."""
        stage = self._find(self._stage)
        assert stage is not None, "more steps were taken than announced"
        if self._step == stage.needs.size:
            self._stages.pop(self._stage).kept.release()
            self._stage, self._step = self._stage + 1, 0
            return self.kept()
        target = stage.base + int(stage.needs[self._step])
        self._step += 1
        if self._prepares_next_stage and self._step > 1:
            target = max(target, self._share_of_next(self._step / stage.needs.size))
        while self._num_fetched < target:
            self._num_fetched += next(self._fetched)
        return stage.kept

    def _share_of_next(self, share: float) -> int:
        """Return how many units to have fetched so that the next stage is there in time."""
        following = self._find(self._stage + 1)
        return 0 if following is None else following.base + int(following.order.size * share)

    def _find(self, number: int) -> _FetchStage | None:
        """Return a stage from the current one on; None after the last."""
        while self._num_stages <= number and (stage := next(self._coming, None)) is not None:
            self._stages[self._num_stages] = stage
            self._num_stages += 1
        return self._stages.get(number)

    def _fetch(self, kept_and_unit: tuple[KeptRecords, int] | None) -> int:
        """Fetch a unit; return how many were fetched."""
        if kept_and_unit is None or self._has_failed:  # an earlier unit's error is raised anyway
            return 0
        kept, unit = kept_and_unit
        try:
            kept.fetch(unit)
        except BaseException:
            self._has_failed = True
            raise
        return 1

    def _units(self) -> Iterator[tuple[KeptRecords, int] | None]:
        """Yield the units of all stages; None where a stage must wait for an earlier one's end."""
        number = 0
        while True:
            number = max(number, self._stage)
            if number >= self._stage + _STAGES_AT_ONCE:
                yield None
                continue
            stage = self._find(number)
            if stage is None:
                return
            for unit in stage.order.tolist():
                yield stage.kept, unit
            number += 1


class RemoteRecords(TFRecords):
    """The records of TFRecord shards of which some are remote, by number."""

    def __init__(
        self, shards: Sequence[Shard], *, in_order: bool, skip_corrupt: bool, cache_bytes: int
    ) -> None:
        """Read the indexes.

        Args:
          cache_bytes: most bytes of the local file, or of all of them.
        """
        super().__init__(shards, skip_corrupt=skip_corrupt)
        self._shards = RemoteFiles(self._paths, [shard.num_bytes for shard in shards])
        self._in_order, self._stage_bytes = in_order, cache_bytes // _STAGES_AT_ONCE
        self._steps_ahead: _Ahead | None = None
        num_bytes = int(self._places.shard_starts[-1])
        self._whole = None
        if num_bytes <= cache_bytes:
            self._whole = KeptRecords(self._shards, self._places, None)
        elif not in_order:
            logging.warning(
                "remote shards of %.0f MB are read in random order through a local file of %.0f MB:"
                " an epoch fetches them some %d times; a larger remote_cache_bytes is faster, and"
                " batching=stream fetches them once",
                num_bytes / 1e6, cache_bytes / 1e6, -(-num_bytes // self._stage_bytes),
            )  # fmt: skip

    @contextlib.contextmanager
    def ahead(self, steps: Iterator[Step], of: RecordsOf) -> Iterator[tuple[Self, Iterator[Step]]]:
        """Fetch the records of the next steps ahead, see `RecordSource`."""
        announced, steps = itertools.tee(steps)
        with Threads(_NUM_THREADS, max_in_flight=_UNITS_AHEAD) as executor:
            here = copy.copy(self)
            here._steps_ahead = _Ahead(
                map(of, announced),
                self._make_stages,
                executor,
                prepares_next_stage=self._whole is None and not self._in_order,
            )
            del announced
            yield here, steps

    def _open(
        self, records: NDArray[np.integer], ranges: Ranges
    ) -> Generator[tuple[dict[int, int], Ranges]]:
        """Yield the local file, once the records are there."""
        if self._steps_ahead is not None:
            yield self._steps_ahead.kept().locate(records, ranges)
            return
        with self.ahead(iter([records]), lambda step: step) as (here, _):
            yield from here._open(records, ranges)

    def _check_unchanged(self, shard: int) -> None:
        self._shards.check(shard)

    def _make_stages(self, steps: Iterator[NDArray[np.integer]]) -> Iterator[_FetchStage]:
        """Divide the steps into stages of at most so many bytes or records, or one step."""
        base, whole = 0, self._whole
        is_asked = np.zeros(0, np.bool_) if whole is None else whole.is_fetched.copy()
        for records_of_steps in self._divide(steps):
            if whole is not None and is_asked.all():
                yield _FetchStage(
                    whole, np.zeros(0, np.int64), base, np.zeros(len(records_of_steps), np.int64)
                )
                continue
            valid = [records[records >= 0] for records in records_of_steps]
            requested = np.concatenate([np.zeros(0, np.int64), *valid])
            kept = whole or KeptRecords(self._shards, self._places, distinct(requested))
            units = kept.units_of(requested)
            order, first = np.unique(units, return_index=True)
            order = order[np.argsort(first)]
            if whole is not None:
                order = order[~is_asked[order]]
                is_asked[order] = True
            ranks = np.zeros(kept.is_fetched.size, np.int64)
            ranks[order] = np.arange(1, order.size + 1)
            most = np.maximum.accumulate(np.append(0, ranks[units]))
            needs = most[np.cumsum([records.size for records in valid])]
            yield _FetchStage(kept, order, base, needs)
            base += order.size

    def _divide(self, steps: Iterator[NDArray[np.integer]]) -> Iterator[list[NDArray[np.integer]]]:
        stage: list[NDArray[np.integer]] = []
        num_bytes = num_records = 0
        most_records = min(_MOST_RECORDS, self.num_tokens.size)  # epochs of a small set do not end
        for records in steps:
            more = 0 if self._whole is not None else self._places.find(records).num_bytes
            is_full = num_bytes + more > self._stage_bytes
            if stage and (is_full or num_records + records.size > most_records):
                yield stage
                stage, num_bytes, num_records = [], 0, 0
            stage.append(records)
            num_bytes, num_records = num_bytes + more, num_records + records.size
        if stage:
            yield stage
