"""Shards as TFRecord files, each with its index.

batch of columns --encode, in workers--> framed Examples, compressed if requested
--add, in order--> shard, index, checksum
"""

import contextlib
import dataclasses
import queue
from collections.abc import Callable, Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from bert_data.formats.examples import ExampleEncoder
from bert_data.formats.gzip_stream import GzipStream, deflate_chunk
from bert_data.formats.index import IndexWriter, index_path
from bert_data.formats.registry import OpenFile
from bert_data.formats.summed_file import ManifestFile, SummedFile
from bert_data.schema.columns import ColumnBatch
from bert_data.schema.fields import RecordKind


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class EncodedRecords:
    """Framed records, end to end.

    Attributes:
      data: their bytes.
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
    """Writes TFRecord shards, see `bert_data.formats.registry.ShardWriter`."""

    def __init__(self, kind: RecordKind, *, gzip: bool = False) -> None:
        """Describe a set.

        Args:
          kind: of its records.
          gzip: whether shards are compressed.
        """
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
        """Return memory that is free again, or new memory if that is too small or there is none.

        Batches differ a little in size, so there is room for larger ones: pages that are never
        written cost nothing, and new pages cost more than the records that go into them.
        """
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
            yield TFRecordShard(SummedFile(file, path), index_file, num_records, gzip=self._gzip)


class TFRecordShard:
    """A shard that is being written."""

    def __init__(
        self, file: SummedFile, index_file: IO[bytes], num_records: int, *, gzip: bool
    ) -> None:
        self._file = file
        self._num_records = num_records
        self._stream = GzipStream(file.write) if gzip else None
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
        return self._file.describe(self._num_records)
