"""Shards as TFRecord files, each with its index.

rows of a chunk --workers--> framed Examples, deflated if asked for --in order--> shard, index
"""

import contextlib
import dataclasses
import queue
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bert_data.records.examples import write_records
from bert_data.records.gzip_stream import deflate_chunk
from bert_data.records.layout import max_record_bytes, record_layout, record_scratch
from bert_data.records.manifest import Manifest, ManifestFile
from bert_data.records.sidecars import index_path
from bert_data.records.tfrecord_writer import TFRecordWriter
from bert_data.storage import OutputSet
from bert_data.tokens.store import TokenStore
from bert_data.tokens.vocabulary import Vocabulary

_CHUNK_BYTES = 1 << 20  # fits the second-level cache of a core


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncodedRecords:
    """A chunk's bytes, in a buffer that is used again, and what the index says of its records."""

    data: memoryview
    deflated: bytes
    ends: NDArray[np.int64]
    num_tokens: NDArray[np.uint32]
    buffer: NDArray[np.uint8]


class TFRecordFormat:
    """Makes TFRecord shards, see `bert_data.records.formats.ShardFormat`."""

    def __init__(self, store: TokenStore, vocabulary: Vocabulary, manifest: Manifest) -> None:
        """Prepares.

        Args:
          store, vocabulary: of the instances.
          manifest: what is known of the shards before they are written.
        """
        lengths = manifest.max_seq_length, manifest.max_predictions_per_seq
        self._store = store
        self._gzip = manifest.compression == "gzip"
        self._layout = record_layout(
            manifest.record_layout,
            vocabulary,
            max_seq_length=manifest.max_seq_length,
            max_predictions_per_seq=manifest.max_predictions_per_seq,
        )
        record_bytes = max_record_bytes(*lengths)
        self.chunk_size = max(1, _CHUNK_BYTES // record_bytes)
        self._buffer_bytes = self.chunk_size * record_bytes
        self._max_seq_length = manifest.max_seq_length
        self._buffers: queue.SimpleQueue[NDArray[np.uint8]] = queue.SimpleQueue()

    def encode(self, rows: NDArray[np.uint32], order: NDArray[np.uint32]) -> EncodedRecords:
        """Makes the records of a chunk; called by many threads at a time."""
        try:
            buffer = self._buffers.get_nowait()
        except queue.Empty:
            buffer = np.empty(self._buffer_bytes, np.uint8)
        scratch = record_scratch(self._max_seq_length)
        ends = np.empty(order.size, np.int64)
        num_tokens = np.empty(order.size, np.uint32)
        num_bytes = write_records(
            rows, order, self._store.ids, self._layout, scratch, buffer, ends, num_tokens
        )
        data = buffer.data[:num_bytes]
        return EncodedRecords(
            data=data,
            deflated=deflate_chunk(data) if self._gzip else b"",
            ends=ends,
            num_tokens=num_tokens,
            buffer=buffer,
        )

    @contextlib.contextmanager
    def open_shard(
        self, outputs: OutputSet, path: str, num_records: int
    ) -> Iterator["TFRecordShard"]:
        """Begins a shard."""
        with outputs.open(path) as file, outputs.open(index_path(path)) as index_file:
            writer = TFRecordWriter(file, index_file, num_records, gzip=self._gzip)
            yield TFRecordShard(writer, self._buffers)


class TFRecordShard:
    """A shard of encoded records; their buffers go back when they are written."""

    def __init__(
        self, writer: TFRecordWriter, buffers: "queue.SimpleQueue[NDArray[np.uint8]]"
    ) -> None:
        self._writer = writer
        self._buffers = buffers

    def add(self, encoded: EncodedRecords) -> None:
        """Adds a chunk."""
        self._writer.add(encoded.data, encoded.ends, encoded.num_tokens, deflated=encoded.deflated)
        self._buffers.put(encoded.buffer)

    def finish(self) -> None:
        """Ends the shard and its index."""
        self._writer.finish()

    def describe(self, path: str) -> ManifestFile:
        """What the manifest says of the shard."""
        return self._writer.describe(path)
