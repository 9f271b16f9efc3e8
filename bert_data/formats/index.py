"""The index of a shard: where each record begins, and how many tokens it has.

    train-00000-of-00002    index.train-00000-of-00002.npy    (0, 71) (1043, 128) ... (98432, 0)

Its name begins with `index.` so that a pattern such as `train*` matches only shards.
"""

import os
from typing import IO

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.formats.wire import FRAME_END, FRAME_START
from bert_data.storage import read_array

INDEX_PREFIX = "index."
INDEX_DTYPE = np.dtype([("offset", "<u8"), ("num_tokens", "<u4")])
FRAME_BYTES = FRAME_START + FRAME_END
"""Bytes of a record in its shard besides its own: length and checksums."""
_OFFSET_LIMIT = np.uint64(1 << 63)
_MAX_RECORD_BYTES = 2**31 - 1


def index_path(shard: str) -> str:
    """Return the path of a shard's index."""
    folder, name = os.path.split(shard)
    return os.path.join(folder, f"{INDEX_PREFIX}{name}.npy")


def read_index_file(path: str) -> NDArray[np.void]:
    """Read an index and check that its offsets are those of records.

    Returns:
      INDEX_DTYPE[records + 1]; offsets ascend from 0 and are below 2**63, and each record has
      `FRAME_BYTES` to `FRAME_BYTES` + 2**31 - 1 bytes.

    Raises:
      CorruptDataError: it is not an index.
    """
    index = read_array(path)
    if index.dtype != INDEX_DTYPE or index.ndim != 1 or not index.size:
        raise CorruptDataError(path, 0, "is not an index of records")
    offsets = index["offset"]
    # Compared before they are subtracted: differences of damaged offsets may wrap around.
    ascends = not offsets[0] and offsets[-1] < _OFFSET_LIMIT and (offsets[1:] > offsets[:-1]).all()
    sizes = np.diff(offsets)
    if not ascends or ((sizes < FRAME_BYTES) | (sizes > FRAME_BYTES + _MAX_RECORD_BYTES)).any():
        raise CorruptDataError(path, 0, "its offsets are not those of records")
    if (index["num_tokens"][:-1] > sizes - FRAME_BYTES).any():
        raise CorruptDataError(path, 0, "a record has more tokens than bytes in it")
    return index


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
