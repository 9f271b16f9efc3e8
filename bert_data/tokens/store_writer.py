"""Writes a token store in bounded memory, block by block.

    with StoreWriter(prefix, np.dtype("<u2"), StoreShape(level="document", eod_id=0)) as writer:
        writer.add(ids=[7 8 9], lengths=[1 2], breaks=[2])      two sentences, and a document's end
        -> one sequence 7 8 9 0

Of a sequence that may continue only the length is kept: its ids are in the file already.
"""

import dataclasses
import struct
from collections.abc import Iterator
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray
from zlib_ng.zlib_ng import crc32

from bert_data.settings import check_settings
from bert_data.storage import Count, open_scratch, remove
from bert_data.storage.changing import SummedFile
from bert_data.tokens.store import (
    CODES,
    DROP,
    HEADER,
    INDEX_MAGIC,
    MAX_LENGTH,
    STORE_VERSION,
    StoreShape,
    sequence_offsets,
)
from bert_data.tokens.store_config import CURATOR

COPY_BYTES = 4 << 20


class StoreWriter:
    """Writes a store in bounded memory, block by block."""

    def __init__(self, prefix: str, dtype: np.dtype, shape: StoreShape | None = None) -> None:
        """Describe a store; nothing is written yet.

        Args:
          prefix: path without `.bin` and `.idx`. Two more files exist while it writes.
          shape: of the sequences; None: `StoreShape()`.
        """
        self.prefix = prefix
        self.dtype = np.dtype(dtype)
        self.shape = shape or StoreShape()
        for mark in (self.shape.bos_id, self.shape.eod_id):
            if mark is not None:
                fitting_ids(np.array([mark]), self.dtype)
        self.num_tokens = 0
        self.num_sentences = 0  # complete sequences
        self.num_documents = 0
        self.num_empty = 0
        self.files: dict[str, FileSummary] = {}  # by endings; when done
        self._document_start = 0
        self._open_length = -1  # of the sequence that may continue; -1: there is none

    def __enter__(self) -> Self:
        self._ids = SummedFile(open_scratch(self.prefix + ".bin"), crc32)
        self._lengths = open_scratch(self.prefix + ".lengths", "w+b")
        self._documents = open_scratch(self.prefix + ".documents", "w+b")
        self._documents.write(struct.pack("<q", 0))
        return self

    def add(
        self, ids: NDArray[np.integer], lengths: NDArray[np.int32], breaks: NDArray[np.int64]
    ) -> None:
        """Add sentences, and end documents between them.

        Args:
          ids: of all the sentences, end to end, in the store's dtype.
          lengths: int32[sentences], tokens in each, >= 1.
          breaks: int64[ends], ascending: how many of the sentences precede the end of each
            document.
        """
        assert ids.dtype == self.dtype and lengths.dtype == np.int32
        if not self.shape.is_plain:
            ids, lengths, breaks = self._shaped(ids, lengths, breaks)
        self._end_documents(breaks + self.num_sentences)
        self._ids.write(np.ascontiguousarray(ids).data.cast("B"))
        self._lengths.write(np.ascontiguousarray(lengths).data)
        self.num_tokens += ids.size
        self.num_sentences += lengths.size

    def _shaped(
        self, ids: NDArray[Any], lengths: NDArray[np.int32], breaks: NDArray[np.int64]
    ) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64]]:
        """Return the ids to write, the lengths of the sequences they complete, and documents' ends.

        The open sequence is sentence 0 here, without ids; the last sequence stays open if no
        document ends after it.
        """
        shape, opened = self.shape, int(self._open_length >= 0)
        before = max(0, self._open_length)
        sizes = np.concatenate([[before] * opened, lengths]).astype(np.int64)
        ends = breaks + opened
        if shape.empty_documents == DROP:
            ends = without_repeats(ends)
            ends = ends[ends > 0]
        starts = np.concatenate([[0], ends])[:-1]
        has_sequence = ends > starts
        if shape.empty_documents == CURATOR and ends.size:
            sizes = np.insert(sizes, ends[~has_sequence], 0)
            shift = np.cumsum(~has_sequence)
            ends, starts = ends + shift, np.concatenate([[0], (ends + shift)[:-1]])
            self.num_empty += int(shift[-1])
            has_sequence = np.ones(ends.size, np.bool_)
        ids = self._mark_documents(ids, sizes, starts[has_sequence], ends[has_sequence])
        total = np.concatenate([[0], np.cumsum(sizes)])
        last_end = int(ends[-1]) if ends.size else 0
        rest = sizes[last_end:]
        if shape.joins_sentences:
            whole = (total[ends] - total[starts])[has_sequence]
            ends = np.cumsum(has_sequence)
            self._open_length = int(rest.sum()) if rest.size else -1
        else:
            whole = sizes[: sizes.size - 1 if rest.size else sizes.size]
            self._open_length = int(rest[-1]) if rest.size else -1
        if max(self._open_length, whole.max(initial=0)) > MAX_LENGTH:
            raise ValueError(
                f"a document has more than {MAX_LENGTH:,} tokens, the limit of a token store"
            )
        return ids, whole.astype(np.int32), ends

    def _mark_documents(
        self,
        ids: NDArray[Any],
        sizes: NDArray[np.int64],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
    ) -> NDArray[Any]:
        """Return ids with the tokens that begin and end documents, and add these to the sizes.

        Args:
          ids: of all sentences but those of the open sequence.
          sizes: int64[sentences], changed in place; the open sequence, if there is one, is first.
          starts: int64[documents that end], the first sentence of each.
          ends: int64[documents that end], after the last sentence of each, > starts.
        """
        shape, opened = self.shape, self._open_length >= 0
        if shape.bos_id is None and shape.eod_id is None:
            return ids
        places = np.concatenate([[0], np.cumsum(sizes)]) - max(0, self._open_length)
        last_end = int(ends[-1]) if ends.size else 0
        if last_end < sizes.size:
            starts = np.append(starts, last_end)  # of the document that may continue
        # In the order of the documents: where one ends and the next one begins, both are inserted.
        order = np.concatenate([2 * np.arange(starts.size), 2 * np.arange(ends.size) + 1])
        is_bos = np.arange(order.size) < starts.size
        where = np.concatenate([places[starts], places[ends]])
        is_marked = np.where(is_bos, shape.bos_id is not None, shape.eod_id is not None)
        if opened:
            is_marked[:1] = False  # it has begun before
        marks = np.where(is_bos, shape.bos_id or 0, shape.eod_id or 0)
        sizes[np.concatenate([starts, ends - 1])[is_marked & is_bos]] += 1
        sizes[np.concatenate([starts, ends - 1])[is_marked & ~is_bos]] += 1
        chosen = np.argsort(order)
        chosen = chosen[is_marked[chosen]]
        return np.insert(ids, where[chosen], marks[chosen])

    def _end_documents(self, ends: NDArray[np.int64]) -> None:
        """Record documents' ends: int64[ends], ascending, in sequences of the store."""
        if self.shape.empty_documents == DROP:
            ends = without_repeats(ends)
            ends = ends[ends > self._document_start]
        if ends.size:
            sizes = np.diff(ends, prepend=self._document_start)
            self.num_empty += int(np.count_nonzero(sizes == 0))
            self._document_start = int(ends[-1])
            self.num_documents += ends.size
            self._documents.write(ends.astype("<i8").tobytes())

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._ids.file, self._lengths, self._documents:
            if kind is None:
                if self._open_length >= 0:
                    no_ids, no_lengths = np.empty(0, self.dtype), np.empty(0, np.int32)
                    self.add(no_ids, no_lengths, np.zeros(1, np.int64))
                if self._document_start < self.num_sentences:
                    self._end_documents(np.array([self.num_sentences]))
                self._write_index()
        remove(self.prefix + ".lengths")
        remove(self.prefix + ".documents")

    def _write_index(self) -> None:
        index = SummedFile(open_scratch(self.prefix + ".idx"), crc32)
        with index.file:
            counts = self.num_sentences, self.num_documents + 1
            index.write(HEADER.pack(INDEX_MAGIC, STORE_VERSION, CODES[self.dtype], *counts))
            for piece in _pieces(self._lengths):
                index.write(piece)
            start = 0
            for piece in _pieces(self._lengths):
                lengths = np.frombuffer(piece, "<i4")
                offsets, start = sequence_offsets(lengths, self.dtype.itemsize, start)
                index.write(offsets.tobytes())
            for piece in _pieces(self._documents):
                index.write(piece)
        self.files = {"bin": FileSummary.of(self._ids), "idx": FileSummary.of(index)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class FileSummary:
    """The size of a file in bytes, and their CRC-32."""

    num_bytes: Count
    crc32: Count

    def __post_init__(self) -> None:
        check_settings(self)

    @classmethod
    def of(cls, file: SummedFile) -> Self:
        """Describe a file that is written, with CRC-32 as its checksum."""
        return cls(num_bytes=file.num_bytes, crc32=file.checksum)


def fitting_ids(ids: NDArray[Any], dtype: np.dtype) -> NDArray[Any]:
    """Convert ids to a dtype."""
    if ids.dtype != dtype and ids.size:
        limits = np.iinfo(dtype)
        for extreme in (int(ids.min()), int(ids.max())):
            if not limits.min <= extreme <= limits.max:
                raise ValueError(
                    f"token id {extreme} does not fit {dtype.name}, the dtype that the size of the"
                    " vocabulary selects"
                )
    return ids.astype(dtype, copy=False)


def without_repeats(ascending: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each number of an array once; `np.unique` would sort it, and import numpy.ma."""
    return ascending[np.diff(ascending, prepend=-1) > 0]


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of a file from its start, some megabytes at a time."""
    file.seek(0)
    while piece := file.read(COPY_BYTES):
        yield piece
