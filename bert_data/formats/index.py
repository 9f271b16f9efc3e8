"""The index of a shard: where each record begins, and how many tokens it has.

    train-00000-of-00002    index.train-00000-of-00002.npy    (0, 71) (1043, 128) ... (98432, 0)

Its name begins with `index.` so that a pattern such as `train*` matches only shards.
"""

import os
from typing import IO

import numpy as np
from numpy.typing import NDArray

INDEX_PREFIX = "index."
INDEX_DTYPE = np.dtype([("offset", "<u8"), ("num_tokens", "<u4")])


def index_path(shard: str) -> str:
    """Return the path of a shard's index."""
    folder, name = os.path.split(shard)
    return os.path.join(folder, f"{INDEX_PREFIX}{name}.npy")


class IndexWriter:
    """Writes the index of a shard whose number of records is known, batch by batch.

    The file is a NumPy array: one row per record, with its offset in the uncompressed shard and its
    number of tokens without padding, and a last row with the size of the uncompressed shard.
    """

    def __init__(self, file: IO[bytes], num_records: int) -> None:
        self._file = file
        self._offset = 0
        header = {
            "descr": np.lib.format.dtype_to_descr(INDEX_DTYPE),
            "fortran_order": False,
            "shape": (num_records + 1,),
        }
        np.lib.format.write_array_header_1_0(file, header)

    def add(self, ends: NDArray[np.int64], num_tokens: NDArray[np.uint32]) -> None:
        """Add records.

        Args:
          ends: int64[records], where each record ends, counted from the end of the last batch.
          num_tokens: uint32[records].
        """
        rows = np.empty(ends.size, INDEX_DTYPE)
        rows["offset"][0] = self._offset
        rows["offset"][1:] = ends[:-1] + self._offset
        rows["num_tokens"] = num_tokens
        self._file.write(rows.tobytes())
        self._offset += int(ends[-1])

    def finish(self) -> None:
        """Add the last row."""
        self._file.write(np.array([(self._offset, 0)], INDEX_DTYPE).tobytes())
