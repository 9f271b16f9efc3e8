"""The token store: token ids of all sequences end to end, with the bounds of documents.

    PREFIX.bin   ids of sequence 0 | ids of sequence 1 | ...                      little-endian
    PREFIX.idx   header | lengths int32[S] | byte offsets int64[S] | documents int64[D + 1]
                 | modes int8[S], in multimodal stores only; only the size shows it

It is Megatron-LM's indexed dataset, version 1: document d is the sequences documents[d] to
documents[d + 1] - 1, which are sentences, or one whole document. The files are memory-mapped:
opening a store is cheap, and any sequence is found by one look-up. `store_writer` writes them.
"""

import dataclasses
import mmap
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.checks import check_choice
from bert_data.errors import CorruptDataError
from bert_data.storage import MappedFile, file_size, map_file
from bert_data.text.text_config import DOCUMENT, LEVELS, SENTENCE
from bert_data.tokens.store_config import CURATOR, MEGATRON

INDEX_MAGIC = b"MMIDIDX\x00\x00"
STORE_VERSION = 1
HEADER = struct.Struct("<9sQBQQ")  # magic, version, dtype code, S, D + 1
_DTYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}
CODES = {np.dtype(name): code for code, name in _DTYPES.items()}
MAX_LENGTH = 2**31 - 1
"""The most tokens of a sequence, as lengths are int32."""

DROP = "drop"
EMPTY_DOCUMENTS = (MEGATRON, CURATOR, DROP)
"""Ways to write a document without tokens: a repeated boundary, no sequence; a sequence of length
0, or of one end-of-document token; nothing at all, as in google-research/bert."""

_UINT16_BELOW = {CURATOR: (1 << 16) + 1, MEGATRON: 65500}
CHECKED = 1 << 20  # sequences or documents at a time


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreShape:
    """The shape of sequences, and the marks at the bounds of documents.

    Attributes:
      level: one of `LEVELS`.
      eod_id: of the token at the end of each document, or None; at sentence level it ends the last
        sentence.
      bos_id: of the token at the start of each document, or None; at sentence level it begins the
        first sentence.
      empty_documents: one of `EMPTY_DOCUMENTS`.
    """

    level: str = SENTENCE
    eod_id: int | None = None
    bos_id: int | None = None
    empty_documents: str = DROP

    def __post_init__(self) -> None:
        for field, allowed in (("level", LEVELS), ("empty_documents", EMPTY_DOCUMENTS)):
            check_choice(field, getattr(self, field), allowed)

    @property
    def is_plain(self) -> bool:
        """Whether sequences are the sentences, unchanged."""
        has_marks = (self.bos_id, self.eod_id) != (None, None)
        return self.level == SENTENCE and not has_marks and self.empty_documents != CURATOR

    def settings(self) -> dict[str, Any]:
        """Return the fields as a store's notes have them: without `bos_id` if it is None."""
        fields = dataclasses.asdict(self)
        if self.bos_id is None:
            del fields["bos_id"]
        return fields

    @property
    def joins_sentences(self) -> bool:
        """Whether all sentences of a document are one sequence."""
        return self.level == DOCUMENT


def token_dtype(vocab_size: int, rules: str = MEGATRON) -> np.dtype:
    """Return the dtype of ids.

    Args:
      rules: MEGATRON: uint16 for fewer than 65,500 tokens, as Megatron-LM's preprocess_data.
        CURATOR: for up to 65,536, as NeMo Curator's writer. Otherwise int32.
    """
    return np.dtype("<u2") if vocab_size < _UINT16_BELOW[rules] else np.dtype("<i4")


def sequence_offsets(
    lengths: NDArray[np.int32], item_bytes: int, start: int
) -> tuple[NDArray[np.int64], int]:
    """Return the byte offsets of sequences that lie end to end, and where the last one ends."""
    ends = np.cumsum(lengths, dtype=np.int64) * item_bytes + start
    offsets = np.concatenate([[start], ends[:-1]]).astype("<i8")
    return offsets[: ends.size], int(ends[-1]) if ends.size else start


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenStore:
    """An open store; its arrays are views of the files.

    Attributes:
      ids: [tokens], uint16 or int32, >= 0; all 0, in no memory, if only the index was opened.
      lengths: int32[sequences], >= 0; sequences are sentences or documents.
      offsets: int64[sequences], byte offset of each sequence in the `.bin` file.
      documents: int64[documents + 1], first sequence of each document; ends with len(lengths).
      modes: int8[sequences] of a multimodal store, else None.
    """

    ids: NDArray[np.integer]
    lengths: NDArray[np.int32]
    offsets: NDArray[np.int64]
    documents: NDArray[np.int64]
    modes: NDArray[np.int8] | None = None
    _maps: tuple[MappedFile, ...] = ()

    @property
    def num_documents(self) -> int:
        """Number of documents."""
        return self.documents.size - 1

    def first_token(self, document: int) -> int:
        """Return the first token of a document, or for the number of documents that of tokens."""
        sequence = int(self.documents[document])
        if sequence == self.lengths.size:
            return int(self.ids.size)
        return int(self.offsets[sequence]) // self.ids.itemsize

    def documents_of(self, tokens: range) -> list[int]:
        """Return the documents that have some tokens, which are in the store."""
        places = np.array([tokens[0], tokens[-1]]) * self.ids.itemsize
        sequences = np.searchsorted(self.offsets, places, side="right") - 1
        first, last = np.searchsorted(self.documents, sequences, side="right").tolist()
        between = range(first - 1, last)
        return [n for n in between if self.first_token(n) < self.first_token(n + 1)]

    def refuse_modes(self, prefix: str) -> None:
        """Refuse a multimodal store, whose sequences are not all text."""
        if self.modes is not None:
            raise ValueError(f"{prefix}: a multimodal token store cannot be read or merged as text")

    def check_sizes(self) -> None:
        """Check that the files have not been truncated, see `MappedFile.check_size`.

        Before tokens are read, as reading beyond the end of a file ends the process, and after it,
        as the end of its last page reads as zeros.
        """
        for each in self._maps:
            each.check_size()

    def release_memory(self, max_bytes: int) -> None:
        """Release the files' memory if they are larger than `max_bytes`.

        Pages are read again when needed, from then on one by one: further access is assumed to be
        random.
        """
        if sum(each.data.size for each in self._maps) > max_bytes:
            for each in self._maps:
                each.advise(mmap.MADV_RANDOM)
                each.advise(mmap.MADV_DONTNEED)


def open_store(prefix: str, *, with_ids: bool = True, all_bounds: bool = True) -> TokenStore:
    """Open PREFIX.bin and PREFIX.idx, and check their sizes and bounds against each other.

    Args:
      with_ids: whether to map PREFIX.bin.
      all_bounds: whether to check all bounds, as whoever gives them to kernels must: they are read,
        20 bytes a document and more. Otherwise the first and the last ones are checked.
    """
    path = prefix + ".idx"
    index = map_file(path)
    data = index.data
    if data.size < HEADER.size or data[: len(INDEX_MAGIC)].tobytes() != INDEX_MAGIC:
        raise CorruptDataError(path, 0, "not the index of a token store (no MMIDIDX at its start)")
    _, version, code, num_sequences, num_bounds = HEADER.unpack(data[: HEADER.size].tobytes())
    if version != STORE_VERSION:
        raise CorruptDataError(
            path, len(INDEX_MAGIC), f"version {version}; version {STORE_VERSION} can be read"
        )
    if code not in _DTYPES:
        raise CorruptDataError(path, 17, f"dtype code {code} is not one of {sorted(_DTYPES)}")
    expected = HEADER.size + 12 * num_sequences + 8 * num_bounds
    if data.size not in (expected, expected + num_sequences):
        raise CorruptDataError(
            path, data.size, f"has {data.size} bytes; its header says {expected}"
        )
    lengths, offsets, documents, modes = np.split(
        data[HEADER.size :], [4 * num_sequences, 12 * num_sequences, expected - HEADER.size]
    )
    path, dtype, maps = prefix + ".bin", np.dtype(_DTYPES[code]), [index]
    if with_ids:
        maps.append(map_file(path))
        num_bytes = maps[-1].data.size
        ids = maps[-1].data[: num_bytes // dtype.itemsize * dtype.itemsize].view(dtype)
    else:
        num_bytes = file_size(path)
        ids = np.broadcast_to(np.zeros(1, dtype), num_bytes // dtype.itemsize)
    store = TokenStore(
        ids=ids,
        lengths=lengths.view("<i4"),
        offsets=offsets.view("<i8"),
        documents=documents.view("<i8"),
        modes=modes.view(np.int8) if modes.size else None,
        _maps=tuple(maps),
    )
    if all_bounds:
        check_store(store, prefix)
    _check_ends(store, prefix, num_bytes)
    return store


def check_store(store: TokenStore, prefix: str) -> None:
    """Check all that kernels rely on, as they do not check bounds themselves."""
    _check_sequences(store, prefix + ".idx")
    bounds = store.documents
    parts = (bounds[start : start + CHECKED + 1] for start in range(0, bounds.size, CHECKED))
    if any((part[1:] < part[:-1]).any() for part in parts):
        raise _wrong_bounds(store, prefix)


def _check_ends(store: TokenStore, prefix: str, num_bytes: int) -> None:
    bounds, num_sequences, end = store.documents, store.lengths.size, 0
    if num_sequences:
        end = int(store.offsets[-1]) + int(store.lengths[-1]) * store.ids.itemsize
    if num_bytes != end:
        reason = f"has {num_bytes} bytes; the index says {end}"
        raise CorruptDataError(prefix + ".bin", num_bytes, reason)
    if not (bounds.size and bounds[0] == 0 and bounds[-1] == num_sequences):
        raise _wrong_bounds(store, prefix)


def _wrong_bounds(store: TokenStore, prefix: str) -> CorruptDataError:
    at = HEADER.size + 12 * store.lengths.size
    return CorruptDataError(prefix + ".idx", at, "the document bounds do not cover the sequences")


def _check_sequences(store: TokenStore, path: str) -> None:
    end = 0
    for start in range(0, store.lengths.size, CHECKED):
        lengths = store.lengths[start : start + CHECKED]
        offsets, end = sequence_offsets(lengths, store.ids.itemsize, end)
        if lengths.min() < 0 or (store.offsets[start : start + CHECKED] != offsets).any():
            reason = "the sequences do not lie end to end as their lengths say"
            raise CorruptDataError(path, HEADER.size + 4 * start, reason)
