"""Arrays of different lengths, one after the other in a file; any of them can be read.

    with RaggedWriter(path, np.uint64) as writer:      path/values        3 1 4 | 1 5 |  | 9
        writer.append(np.array([3, 1, 4], np.uint64))  path/offsets.npy   0 3 5 5 6
    open_ragged(path, np.uint64).row(1)  ->  [1 5]

The writer holds eight bytes a row in memory; the reader maps the file.
"""

import os
from array import array
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import DTypeLike

from bert_data.storage import load_array, load_values, make_folder, open_scratch, save_array
from bert_data.work.row_records import Ragged

_BUFFER_BYTES = 1 << 20


class RaggedWriter:
    """Writes rows to a new folder."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        make_folder(path)
        self._path = path
        self._dtype = np.dtype(dtype)
        self._offsets = array("q", [0])
        self._file = open_scratch(path / "values", buffering=_BUFFER_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._file.close()
        if kind is None:
            save_array(self._path / "offsets.npy", np.frombuffer(self._offsets, np.int64))

    def append(self, row: np.ndarray) -> None:
        """Add a row of the writer's type."""
        assert row.dtype == self._dtype
        self._file.write(row.data)
        self._offsets.append(self._offsets[-1] + len(row))


def open_ragged(path: str, dtype: DTypeLike) -> Ragged:
    """Open the rows that a writer left in a folder."""
    return Ragged(
        load_values(os.path.join(path, "values"), dtype),
        load_array(os.path.join(path, "offsets.npy")),
    )
