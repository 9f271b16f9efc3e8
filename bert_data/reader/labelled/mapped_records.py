"""Records of uncompressed shards by their numbers, in any order, through their indexes.

    MappedRecords(shards).read([7, 0])  ->  [bytes of record 7, bytes of record 0]

Records are counted through all shards, in the order of the shards. Nothing but the indexes is read
in advance; bytes come from memory-mapped files when they are asked for, and are checked then.
"""

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bert_data.errors import CorruptDataError
from bert_data.formats.crc32c import masked_crc32c
from bert_data.formats.index import index_path
from bert_data.reader.files.indexes import read_index, why_not_addressable
from bert_data.reader.files.mapping import map_files
from bert_data.reader.files.scan import FRAME_BYTES, HEADER_BYTES, LENGTH_BYTES
from bert_data.reader.files.shards import Shard

_CRC_BYTES = 4


class MappedRecords:
    """The records of some shards.

    Attributes:
      num_tokens: uint32[records], what the indexes tell of each record.
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        """Reads the indexes and maps the shards.

        Raises:
          ValueError: a shard is compressed, remote or without an index.
          OSError: a file cannot be read.
          CorruptDataError: an index does not fit its shard.
        """
        for shard in shards:
            _check_index(shard)
        self._paths = [shard.path for shard in shards]
        indexes = [read_index(shard, skip_corrupt=False) for shard in shards]
        self._files = map_files(self._paths, in_order=False)
        self._offsets = [index["offset"].astype(np.int64) for index in indexes]
        self._bases = np.cumsum([0, *(index.size - 1 for index in indexes)])
        self.num_tokens: NDArray[np.uint32] = np.concatenate(
            [index["num_tokens"][:-1] for index in indexes]
        )

    def read(self, numbers: ArrayLike) -> list[bytes]:
        """The bytes of records, without their frames.

        Args:
          numbers: integers [any], in [0, num_tokens.size).

        Raises:
          CorruptDataError: a record's frame or checksum is damaged.
        """
        asked = np.asarray(numbers, np.int64)
        shards = np.searchsorted(self._bases, asked, side="right") - 1
        places = zip(shards.tolist(), (asked - self._bases[shards]).tolist(), strict=True)
        return [self._read_one(shard, record) for shard, record in places]

    def _read_one(self, shard: int, record: int) -> bytes:
        start, end = self._offsets[shard][record : record + 2].tolist()
        frame = self._files[shard][start:end].tobytes()
        size = int.from_bytes(frame[:LENGTH_BYTES], "little")
        if size != len(frame) - FRAME_BYTES or _crc_at(frame, LENGTH_BYTES) != masked_crc32c(
            frame[:LENGTH_BYTES]
        ):
            reason = "no record begins where the index tells of one"
            raise CorruptDataError(self._paths[shard], start, reason, record)
        data = frame[HEADER_BYTES:-_CRC_BYTES]
        if _crc_at(frame, len(frame) - _CRC_BYTES) != masked_crc32c(data):
            reason = "the checksum of a record's data does not match"
            raise CorruptDataError(self._paths[shard], start, reason, record)
        return data


def _crc_at(frame: bytes, at: int) -> int:
    return int.from_bytes(frame[at : at + _CRC_BYTES], "little")


def _check_index(shard: Shard) -> None:
    why_not = why_not_addressable(shard)
    if why_not is not None:
        raise ValueError(f"{shard.path} {why_not}; records are taken from local, plain files only")
    path = index_path(shard.path)
    if not os.path.exists(path):
        raise ValueError(f"{shard.path} has no index; there should be {path}")
