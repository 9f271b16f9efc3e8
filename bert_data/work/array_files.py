"""Arrays in one file, with their table at its end: what a task leaves of a shard for later ones.

    with ArrayWriter(path, np.uint64) as writer:        values 3 1 4 1 5 | offsets 0 3 5 |
        writer.append(np.array([3, 1, 4], np.uint64))   sizes 12 7 | table
        writer.append(np.array([1, 5], np.uint64))
        writer.arrays["sizes"] = np.array([12, 7])
    ArrayFile(path)["sizes"]                            [12 7]

Rows of any length are written as they come; eight bytes a row, and the other arrays, stay in memory
until the end. Arrays begin at multiples of eight bytes.
"""

import json
import math
from array import array
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bert_data.storage import map_part, open_scratch
from bert_data.storage.paths import Path
from bert_data.work.sorted_records import Ragged
from bert_data.work.tasks import read_table, write_table

_VALUES, _OFFSETS = "values", "offsets"  # of rows
_ALIGNED, _BUFFER_BYTES = 8, 1 << 20


class ArrayWriter:
    """Writes a new file in the run's own work folder.

    Attributes:
      arrays: those to write at the end, besides the rows, by name.
    """

    def __init__(self, path: Path, dtype: DTypeLike = np.uint64) -> None:
        """Create the file; `dtype` is that of the rows."""
        self._dtype, self._offsets = np.dtype(dtype), array("q", [0])
        self.arrays: dict[str, NDArray[Any]] = {}
        self._file = open_scratch(path, buffering=_BUFFER_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self._file:
            if kind is None:
                self._write_rest()

    def append(self, row: NDArray[Any]) -> None:
        """Add a row of the writer's type."""
        assert row.dtype == self._dtype
        self._file.write(row.data)
        self._offsets.append(self._offsets[-1] + len(row))

    def _write_rest(self) -> None:
        end = self._offsets[-1] * self._dtype.itemsize
        table: dict[str, Any] = {_VALUES: (self._dtype.str, [self._offsets[-1]], 0)}
        offsets = np.frombuffer(self._offsets, np.int64)
        for name, values in {_OFFSETS: offsets, **self.arrays}.items():
            gap = -end % _ALIGNED
            self._file.write(bytes(gap))
            self._file.write(np.ascontiguousarray(values).data)
            table[name] = (values.dtype.str, values.shape, end + gap)
            end += gap + values.nbytes
        write_table(self._file, json.dumps(table))


class ArrayFile:
    """The arrays of a file, each of which is mapped, or fetched, when it is asked for."""

    def __init__(self, path: Path) -> None:
        """Read the table; see `read_table`."""
        self._path = path
        self._table, _ = read_table(path)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return an array, read-only."""
        kind, shape, begin = self._table[name]
        dtype = np.dtype(kind)
        end = begin + math.prod(shape) * dtype.itemsize
        return map_part(self._path, begin, end).view(dtype).reshape(shape)

    def rows(self) -> Ragged:
        """Return the rows, mapped or fetched."""
        return Ragged(self[_VALUES], self[_OFFSETS])

    def row_lengths(self) -> NDArray[np.int64]:
        """Return the number of values in each row, int64 [rows]; the values are not fetched."""
        return np.diff(self[_OFFSETS])
