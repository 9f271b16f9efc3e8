"""Encoded records kept in a file until their number is known, then dealt out to shards.

    add(records 0 1 2), add(records 3 4)  ->  read_chunks, 2 shards  ->  0 2 4 | 1 3

Only where the records are is in memory.
"""

from collections.abc import Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from bert_data.datasets.writing import Chunk
from bert_data.formats.tfrecord import EncodedRecords
from bert_data.storage import map_file

_CHUNK_RECORDS = 1 << 12


class RecordSpool:
    """Framed records in one file, which is open for writing and reading, in their order."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._ends: list[NDArray[np.int64]] = []
        self._num_tokens: list[NDArray[np.uint32]] = []
        self._num_bytes = 0

    def add(self, records: EncodedRecords) -> None:
        """Append records."""
        self._file.write(records.data)
        self._ends.append(records.ends + self._num_bytes)
        self._num_tokens.append(records.num_tokens)
        self._num_bytes += len(records.data)
        records.give_back()

    def max_tokens(self) -> int:
        """Return the number of tokens of the longest record; 0 if there is no record."""
        return max((int(numbers.max(initial=0)) for numbers in self._num_tokens), default=0)

    def read_chunks(self, num_shards: int) -> Iterator[Chunk]:
        """Read the records, at least one; record i goes to shard i mod num_shards.

        Yields:
          Chunks of `EncodedRecords`, shard by shard.
        """
        self._file.flush()
        ends, num_tokens = np.concatenate(self._ends), np.concatenate(self._num_tokens)
        starts = np.concatenate([[0], ends[:-1]])
        data = map_file(self._file.name).data.data
        for shard in range(num_shards):
            numbers = np.arange(shard, ends.size, num_shards)
            for first in range(0, numbers.size, _CHUNK_RECORDS):
                part = numbers[first : first + _CHUNK_RECORDS]
                places = zip(starts[part].tolist(), ends[part].tolist(), strict=True)
                encoded = EncodedRecords(
                    data=memoryview(b"".join([data[start:end] for start, end in places])),
                    ends=np.cumsum(ends[part] - starts[part]),
                    num_tokens=num_tokens[part],
                )
                yield Chunk(shard, part.size, encoded)
