"""The token store: token ids of all sentences end to end, with sentence and document bounds.

    PREFIX.bin   ids of sentence 0 | ids of sentence 1 | ...          uint16 or int32, little-endian
    PREFIX.idx   header | lengths int32[S] | byte offsets int64[S] | documents int64[D + 1]

It is Megatron-LM's indexed dataset (magic MMIDIDX, version 1) at sentence level: document d is the
sentences documents[d] to documents[d + 1] - 1. Memory-mapped: opening one costs nothing, and any
sentence is one look-up away.
"""

import dataclasses
import mmap
import os
import struct
from collections.abc import Iterator
from typing import IO, Self

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.files import naming

_MAGIC = b"MMIDIDX\x00\x00"
_VERSION = 1
_HEADER = struct.Struct("<9sQBQQ")  # magic, version, dtype code, S, D + 1
_DTYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}
_CODES = {np.dtype(name): code for code, name in _DTYPES.items()}
_COPY_BYTES = 4 << 20
_CHECKED_SENTENCES = 1 << 20  # at a time


def token_dtype(vocab_size: int) -> np.dtype:
    """The dtype of ids: uint16 for up to 65,536 of them (NeMo Curator's rule), else int32."""
    return np.dtype("<u2") if vocab_size <= 1 << 16 else np.dtype("<i4")


class StoreWriter:
    """Writes a store in bounded memory, block by block.

    with StoreWriter(prefix, np.dtype("<u2")) as writer:
        writer.add(ids, lengths, breaks)
    """

    def __init__(self, prefix: str, dtype: np.dtype) -> None:
        """Describes a store; nothing is written yet.

        Args:
          prefix: path without `.bin` and `.idx`. Two further files exist while it writes.
          dtype: of the ids.
        """
        self._prefix = prefix
        self._dtype = np.dtype(dtype)
        self.num_tokens = 0
        self.num_sentences = 0
        self.num_documents = 0
        self._document_start = 0

    def __enter__(self) -> Self:
        self._ids = open(self._prefix + ".bin", "wb")
        self._lengths = open(self._prefix + ".lengths", "w+b")
        self._documents = open(self._prefix + ".documents", "w+b")
        self._documents.write(struct.pack("<q", 0))
        return self

    def add(
        self, ids: NDArray[np.integer], lengths: NDArray[np.int32], breaks: NDArray[np.int64]
    ) -> None:
        """Adds sentences, and ends documents between them. Empty documents leave no trace.

        Args:
          ids: of all the sentences, end to end, in the store's dtype.
          lengths: int32[sentences], tokens in each, >= 1.
          breaks: int64[ends], ascending: how many of the sentences are before a document's end.
        """
        assert ids.dtype == self._dtype and lengths.dtype == np.int32
        self._end_documents(np.unique(breaks + self.num_sentences))
        with naming(self._prefix + ".bin"):
            self._ids.write(np.ascontiguousarray(ids).data)
            self._lengths.write(np.ascontiguousarray(lengths).data)
        self.num_tokens += ids.size
        self.num_sentences += lengths.size

    def _end_documents(self, ends: NDArray[np.int64]) -> None:
        ends = ends[ends > self._document_start]
        if ends.size:
            self._document_start = int(ends[-1])
            self.num_documents += ends.size
            self._documents.write(ends.astype("<i8").tobytes())

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with naming(self._prefix + ".bin"), self._ids, self._lengths, self._documents:
            if kind is None:
                self._end_documents(np.array([self.num_sentences]))
                self._write_index()
        os.remove(self._prefix + ".lengths")
        os.remove(self._prefix + ".documents")

    def _write_index(self) -> None:
        with open(self._prefix + ".idx", "wb") as index:
            code = _CODES[self._dtype]
            index.write(
                _HEADER.pack(_MAGIC, _VERSION, code, self.num_sentences, self.num_documents + 1)
            )
            for piece in _pieces(self._lengths):
                index.write(piece)
            start = 0
            for piece in _pieces(self._lengths):
                ends = (
                    np.cumsum(np.frombuffer(piece, "<i4"), dtype=np.int64) * self._dtype.itemsize
                    + start
                )
                offsets = np.empty(ends.size, "<i8")
                offsets[0], offsets[1:] = start, ends[:-1]
                index.write(offsets.tobytes())
                start = int(ends[-1])
            for piece in _pieces(self._documents):
                index.write(piece)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a file from its start, some megabytes at a time."""
    file.seek(0)
    while piece := file.read(_COPY_BYTES):
        yield piece


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenStore:
    """A store that is open; arrays are views of the files.

    Attributes:
      ids: [tokens], uint16 or int32, >= 0.
      lengths: int32[sentences], >= 0.
      offsets: int64[sentences], byte offset of each sentence in the `.bin` file.
      documents: int64[documents + 1], first sentence of each document; ends with len(lengths).
    """

    ids: NDArray[np.integer]
    lengths: NDArray[np.int32]
    offsets: NDArray[np.int64]
    documents: NDArray[np.int64]
    _maps: tuple[mmap.mmap, ...]

    @property
    def num_documents(self) -> int:
        """Documents in the store."""
        return self.documents.size - 1

    def release_memory(self, max_bytes: int) -> None:
        """Lets go of the files' pages if there are more than `max_bytes` of them.

        They are read again when needed, from then on one by one: what follows is taken to be
        access here and there.
        """
        if sum(map(len, self._maps)) > max_bytes:
            for file in self._maps:
                file.madvise(mmap.MADV_RANDOM)
                file.madvise(mmap.MADV_DONTNEED)


def open_store(prefix: str) -> TokenStore:
    """Opens PREFIX.bin and PREFIX.idx and checks their sizes and bounds against each other.

    Raises:
      CorruptDataError: one of the files is not what its header or the other file says.
    """
    path = prefix + ".idx"
    data, index_map = _map_file(path)
    if data.size < _HEADER.size or data[: len(_MAGIC)].tobytes() != _MAGIC:
        raise CorruptDataError(path, 0, "not the index of a token store (no MMIDIDX at its start)")
    _, version, code, num_sentences, num_bounds = _HEADER.unpack(data[: _HEADER.size].tobytes())
    if version != _VERSION:
        raise CorruptDataError(
            path, len(_MAGIC), f"version {version}; version {_VERSION} can be read"
        )
    if code not in _DTYPES:
        raise CorruptDataError(path, 17, f"dtype code {code} is not one of {sorted(_DTYPES)}")
    expected = _HEADER.size + 12 * num_sentences + 8 * num_bounds
    if data.size != expected:
        raise CorruptDataError(
            path, data.size, f"has {data.size} bytes; its header says {expected}"
        )
    lengths, offsets, documents = np.split(
        data[_HEADER.size :], [4 * num_sentences, 12 * num_sentences]
    )
    binary, binary_map = _map_file(prefix + ".bin")
    dtype = np.dtype(_DTYPES[code])
    store = TokenStore(
        ids=binary[: binary.size // dtype.itemsize * dtype.itemsize].view(dtype),
        lengths=lengths.view("<i4"),
        offsets=offsets.view("<i8"),
        documents=documents.view("<i8"),
        _maps=tuple(each for each in (index_map, binary_map) if each is not None),
    )
    _check_bounds(store, prefix, binary.size)
    return store


def _check_bounds(store: TokenStore, prefix: str, num_bytes: int) -> None:
    """Checks all that kernels rely on, for they do not check bounds themselves."""
    end = _check_sentences(store, prefix + ".idx")
    if num_bytes != end:
        reason = f"has {num_bytes} bytes; the index says {end}"
        raise CorruptDataError(prefix + ".bin", num_bytes, reason)
    bounds = store.documents
    covered = bounds.size and bounds[0] == 0 and bounds[-1] == store.lengths.size
    if not covered or (bounds[:-1] > bounds[1:]).any():
        at = _HEADER.size + 12 * store.lengths.size
        raise CorruptDataError(
            prefix + ".idx", at, "the document bounds do not cover the sentences"
        )


def _check_sentences(store: TokenStore, path: str) -> int:
    """Checks that sentences lie end to end; returns the bytes that they take."""
    end = 0
    for start in range(0, store.lengths.size, _CHECKED_SENTENCES):
        lengths = store.lengths[start : start + _CHECKED_SENTENCES]
        offsets = store.offsets[start : start + _CHECKED_SENTENCES]
        ends = end + np.cumsum(lengths, dtype=np.int64) * store.ids.itemsize
        if lengths.min() < 0 or offsets[0] != end or (offsets[1:] != ends[:-1]).any():
            reason = "the sentences do not lie end to end as their lengths say"
            raise CorruptDataError(path, _HEADER.size + 4 * start, reason)
        end = int(ends[-1])
    return end


def _map_file(path: str) -> tuple[NDArray[np.uint8], mmap.mmap | None]:
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return np.empty(0, np.uint8), None
        handle = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(handle, np.uint8), handle
