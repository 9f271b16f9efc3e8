"""A Parquet shard in, the TFRecord file of its rows out, mapped into memory, and its index.

    data/train.parquet  ->  uint8[98432], framed Examples, index (0, 71) (1043, 128) ... (98432, 0)

Plans read single records in any order, and rows of Parquet lie in row groups that are compressed as
a whole. So a shard is unpacked once in a process, into a file in the folder for temporary files
(TMPDIR names another) that has no name: it goes when the process ends, however that is.
"""

import functools
import mmap
import os
import tempfile
from typing import NamedTuple

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.formats.byte_blocks import BLOCK_BYTES, put_bytes
from bert_data.formats.index import INDEX_DTYPE
from bert_data.formats.wire import put_frame
from bert_data.kernels import kernel
from bert_data.progress import progress
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.files.corruption import Damage
from bert_data.reader.files.parquet_shards import read_row_blocks
from bert_data.reader.files.scan import FRAME_BYTES, HEADER_BYTES
from bert_data.reader.files.shards import Shard
from bert_data.reader.memory import new_bytes
from bert_data.storage import naming

_KEPT_SHARDS = 4096


class Unpacked(NamedTuple):
    """A shard's records.

    Attributes:
      data: uint8[bytes], mapped, as of a TFRecord file.
      records: INDEX_DTYPE[records + 1], their index, see `indexes.read_index`.
    """

    data: NDArray[np.uint8]
    records: NDArray[np.void]


@kernel
def _frame_records(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int32],
    out: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> None:
    """Copies records into frames; `ends` are where these end. Reads and writes whole blocks."""
    at = np.int64(0)
    for i in range(starts.size):
        stop = put_bytes(out, at + HEADER_BYTES, data, starts[i], np.int64(sizes[i]))
        at = put_frame(out, at, stop)
        ends[i] = at


def frame_block(block: RecordBlock) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The records of a block as bytes of a TFRecord file, and int64[records], where each ends."""
    ends = np.empty(block.num_records, np.int64)
    num_bytes = int(block.sizes.sum(dtype=np.int64)) + FRAME_BYTES * block.num_records
    out = new_bytes(num_bytes + BLOCK_BYTES)
    _frame_records(block.data, block.starts, block.sizes, out, ends)
    return out[:num_bytes], ends


def unpack(shard: Shard, *, skip_corrupt: bool) -> Unpacked:
    """Unpacks a local Parquet shard; once in a process, unless it changes.

    Args:
      shard: to read.
      skip_corrupt: whether to leave damage out, and warn of it.

    Raises:
      OSError: it cannot be read, or the folder for temporary files is full.
      CorruptDataError: it is damaged.
    """
    changed = os.stat(shard.path).st_mtime_ns
    return _unpack_once(
        shard.path, shard.num_bytes, shard.num_records, changed, skip_corrupt, shard.next_sentence
    )


@functools.lru_cache(_KEPT_SHARDS)
def _unpack_once(
    path: str,
    num_bytes: int,
    num_records: int | None,
    changed: int,
    skip_corrupt: bool,
    next_sentence: str,
) -> Unpacked:
    """The shard as it was when it was changed last."""
    del num_bytes, changed
    damage, folder = Damage(skip=skip_corrupt), tempfile.gettempdir()
    parts: list[NDArray[np.void]] = []
    at = 0
    with (
        naming(folder),
        tempfile.TemporaryFile(dir=folder) as file,
        progress(f"unpack {path}", total=num_records or 0, unit="record") as advance,
    ):
        for block in read_row_blocks(path, path, num_records, damage, next_sentence):
            data, ends = frame_block(block)
            file.write(data.data)
            part = np.zeros(ends.size, INDEX_DTYPE)
            part["offset"][:1] = at
            part["offset"][1:] = ends[:-1] + at
            part["num_tokens"] = block.lengths[:, 0]
            parts.append(part)
            at += data.size
            advance(block.num_records)
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if at else b""
    damage.tell()
    logging.info(
        "%s is unpacked into %s, to plan batches: %.1f MB there until this process ends",
        path, folder, at / 1e6,
    )  # fmt: skip
    index = np.concatenate([*parts, np.array([(at, 0)], INDEX_DTYPE)])
    return Unpacked(np.frombuffer(mapped, np.uint8), index)
