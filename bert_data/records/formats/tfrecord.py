"""Shards as TFRecord files, and the index of each: where records begin, and their tokens.

    train-00000-of-00002    index.train-00000-of-00002.npy    (0, 71) (1043, 128) ... (98432, 0)

An index is a NumPy array with a row per record, its offset in the uncompressed shard and its number
of tokens without padding, and a last row with the size of the uncompressed shard. Its name begins
with `index.` so that a pattern such as `train*` matches only shards.
"""

import contextlib
import dataclasses
import os
import queue
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.kernels.crc32c import crc32c
from bert_data.records.columns import ColumnBatch
from bert_data.records.fields import RecordKind
from bert_data.records.formats.examples import ExampleEncoder
from bert_data.records.formats.manifest_file import ManifestFile, OpenFile
from bert_data.records.formats.wire_kernels import FRAME_END, FRAME_START
from bert_data.storage import read_array
from bert_data.storage.changing import SummedFile

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
    """Writes the index of a shard whose number of records is known, batch by batch."""

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
        """Add records; `ends` are counted from the end of the last batch."""
        rows = np.empty(ends.size, INDEX_DTYPE)
        rows["offset"][0] = self._offset
        rows["offset"][1:] = ends[:-1] + self._offset
        rows["num_tokens"] = num_tokens
        self._file.write(rows.tobytes())
        self._offset += int(ends[-1])

    def finish(self) -> None:
        """Add the last row."""
        self._file.write(np.array([(self._offset, 0)], INDEX_DTYPE).tobytes())


_GZIP_HEADER = b"\x1f\x8b\x08" + b"\0" * 6 + b"\xff"  # deflate, no name, no time, unknown system
_LAST_BLOCK = b"\x03\x00"  # final, fixed codes, empty
_GZIP_LEVEL = 6  # gzip's own default


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class EncodedRecords:
    """Framed records, end to end.

    Attributes:
      ends: int64[records], where in `data` each ends.
      num_tokens: uint32[records], for the index.
      deflated: the data as compressed by `deflate_chunk`, for compressed shards.
      give_back: called when the data has been written; its memory may then be used again.
    """

    data: memoryview
    ends: NDArray[np.int64]
    num_tokens: NDArray[np.uint32]
    deflated: bytes = b""
    give_back: Callable[[], None] = lambda: None


class TFRecordWriter:
    """Writes TFRecord shards, see `bert_data.records.formats.registry.ShardWriter`."""

    def __init__(self, kind: RecordKind, *, gzip: bool = False) -> None:
        self.kind = kind
        self._gzip = gzip
        self._encoder = ExampleEncoder(kind)
        self._buffers: queue.SimpleQueue[NDArray[np.uint8]] = queue.SimpleQueue()

    def encode(self, batch: ColumnBatch) -> EncodedRecords:
        """Encode a batch, into memory that is used again once it has been written."""
        buffers: list[NDArray[np.uint8]] = []

        def take_buffer(size: int) -> NDArray[np.uint8]:
            buffers.append(self._take_buffer(size))
            return buffers[0]

        records, ends = self._encoder.encode(batch, take_buffer)
        return EncodedRecords(
            data=records.data,
            ends=ends,
            num_tokens=batch.num_tokens(),
            deflated=deflate_chunk(records.data) if self._gzip else b"",
            give_back=lambda: self._buffers.put(buffers[0]),
        )

    def _take_buffer(self, size: int) -> NDArray[np.uint8]:
        # Batches differ a little in size, so there is room for larger ones: pages that are never
        # written cost nothing, and new pages cost more than the records that go into them.
        with contextlib.suppress(queue.Empty):
            buffer = self._buffers.get_nowait()
            if buffer.size >= size:
                return buffer
        return np.empty(1 << size.bit_length(), np.uint8)

    @contextlib.contextmanager
    def open_shard(
        self, open_file: OpenFile, path: str, num_records: int
    ) -> Iterator["TFRecordShard"]:
        """Begin a shard and its index."""
        with open_file(path) as file, open_file(index_path(path)) as index_file:
            yield TFRecordShard(path, file, index_file, num_records, gzip=self._gzip)


class TFRecordShard:
    """A shard that is being written."""

    def __init__(
        self, path: str, file: IO[bytes], index_file: IO[bytes], num_records: int, *, gzip: bool
    ) -> None:
        self._path = path
        self._file = SummedFile(file, crc32c)
        self._num_records = num_records
        self._stream = GzipStream(self._file.write) if gzip else None
        self._index = IndexWriter(index_file, num_records)

    def add(self, encoded: EncodedRecords) -> None:
        """Add records."""
        if self._stream is not None:
            self._stream.add(encoded.data, encoded.deflated)
        else:
            self._file.write(encoded.data)
        self._index.add(encoded.ends, encoded.num_tokens)
        encoded.give_back()

    def finish(self) -> ManifestFile:
        """End the shard and its index; return what the manifest says about it."""
        if self._stream is not None:
            self._stream.finish()
        self._index.finish()
        return ManifestFile.of(self._file, self._path, self._num_records)


def deflate_chunk(data: memoryview) -> bytes:
    """Compress a chunk so that others can follow it."""
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)


class GzipStream:
    """Puts the frame of a gzip file around chunks that are compressed in parallel.

        header | deflate(chunk 0), to a whole byte | deflate(chunk 1) ... | last block | crc, size

    Each chunk is a run of whole deflate blocks (RFC 1951, 3.2.4: a flush ends with an empty stored
    block), so the chunks form one stream that any gzip reader reads. The bytes depend only on where
    the data is cut into chunks, not on how many threads compress them.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._crc = 0
        self._size = 0
        write(_GZIP_HEADER)

    def add(self, data: memoryview, deflated: bytes) -> None:
        """Add a chunk: its bytes, and those bytes as compressed by `deflate_chunk`."""
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)
        self._write(deflated)

    def finish(self) -> None:
        """End the stream."""
        self._write(_LAST_BLOCK + struct.pack("<II", self._crc, self._size & 0xFFFFFFFF))
