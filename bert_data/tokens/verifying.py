"""Reads a whole token store, and reports what is wrong with it or what it holds.

PREFIX.bin, PREFIX.idx --open_store--> sizes and bounds --every id--> in the vocabulary
PREFIX.store.json      --CRC-32 of both files, counts-->              as they were written
"""

import dataclasses
import zlib

import numpy as np

from bert_data.errors import CorruptDataError
from bert_data.progress import progress
from bert_data.storage import file_size, open_input
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_notes import ENDINGS, StoreNotes, check_files, read_notes

_READ_BYTES = 4 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class VerifiedStore:
    """The content of an intact store.

    Attributes:
      num_documents, num_sequences, num_tokens: counts.
      num_empty: documents without a sequence or with empty ones only.
      dtype: of the ids.
      max_id: the largest one.
      notes: of what made it, or None if there are none: then ids and bounds were checked, but no
        checksum.
    """

    num_documents: int
    num_sequences: int
    num_tokens: int
    num_empty: int
    dtype: str
    max_id: int
    notes: StoreNotes | None


def verify_store(prefix: str) -> VerifiedStore:
    """Read and check a whole store.

    Raises:
      OSError: a file cannot be read.
      CorruptDataError: a file is damaged; the error says what is wrong.
    """
    store = open_store(prefix)
    notes = read_notes(prefix)
    if notes is not None:
        check_files(prefix, notes)
    paths = [f"{prefix}.{ending}" for ending in ENDINGS]
    with progress("verify", total=sum(map(file_size, paths)), unit="B") as advance:
        for number, path in enumerate(paths):
            crc32 = 0
            with open_input(path) as file:
                while data := file.read(_READ_BYTES):
                    crc32 = zlib.crc32(data, crc32)
                    advance(len(data))
            if notes is not None and crc32 != notes.files[number].crc32:
                raise CorruptDataError(path, 0, "its CRC-32 is not the one in its notes")
    max_id = _check_ids(store, prefix + ".bin", notes)
    tokens = np.concatenate([[0], np.cumsum(store.lengths, dtype=np.int64)])[store.documents]
    verified = VerifiedStore(
        num_documents=store.num_documents,
        num_sequences=store.lengths.size,
        num_tokens=store.ids.size,
        num_empty=int(np.count_nonzero(tokens[1:] == tokens[:-1])),
        dtype=store.ids.dtype.name,
        max_id=max_id,
        notes=notes,
    )
    if notes is not None:
        _check_counts(prefix, verified, notes)
    return verified


def _check_ids(store: TokenStore, path: str, notes: StoreNotes | None) -> int:
    """Check that ids are in the vocabulary, if its size is known; return the largest."""
    limit = np.iinfo(np.int64).max if notes is None else notes.settings["id_limit"]
    largest = 0
    for start in range(0, store.ids.size, _READ_BYTES):
        ids = store.ids[start : start + _READ_BYTES]
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= limit:
            bad = low if low < 0 else high
            at = start + int(np.argmax(ids == bad))
            raise CorruptDataError(
                path, at * ids.itemsize, f"token id {bad} is not in the vocabulary"
            )
        largest = max(largest, high)
    return largest


def _check_counts(prefix: str, verified: VerifiedStore, notes: StoreNotes) -> None:
    noted = notes.counts
    for name, number in (
        ("num_documents", verified.num_documents),
        ("num_sentences", verified.num_sequences),
        ("num_tokens", verified.num_tokens),
    ):
        if noted[name] != number:
            reason = f"holds {name} {number}; its notes say {noted[name]}"
            raise CorruptDataError(prefix + ".idx", 0, reason)
