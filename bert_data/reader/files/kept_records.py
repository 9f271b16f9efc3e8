"""Keep records of remote shards in a local file, into which ranges of the shards are fetched.

records   0 1 3 4 | 7 8 9              of shard 0 | of shard 1
units     [0 1 . 3 4]  [7 8 9]         one request each: records with little between them
file      0 1 3 4 7 8 9                without what is between them
"""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.files.indexes import Places, Ranges
from bert_data.storage.remote_files import RemoteFiles, UnnamedFile

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


def _units_of_all(places: Places) -> Units:
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
    """Records in a local file, in the order of their numbers.

    Attributes:
      is_fetched: bool[units].
    """

    def __init__(
        self, files: RemoteFiles, places: Places, numbers: NDArray[np.int64] | None
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
        """Fetch a unit.

        Raises:
          OSError, CorruptDataError: see `RemoteFiles.read`; or the local file cannot be written.
        """
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
