"""Checks of token stores: sizes, bounds, ids and checksums, of all of one or of some places."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from zlib_ng.zlib_ng import crc32

from bert_data.errors import CorruptDataError
from bert_data.progress import progress
from bert_data.storage import exists, open_input
from bert_data.tokens.provenance import ENDING, Provenance
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_files import ENDINGS, StoreNotes, check_files, read_notes
from bert_data.tokens.store_writer import FileSummary

_READ_BYTES = 4 << 20
_SPOTS, _SPOT_TOKENS = 16, 1024


@dataclasses.dataclass(frozen=True, kw_only=True)
class VerifiedStore:
    """The content of an intact store.

    Attributes:
      num_empty: documents without a sequence or with empty ones only.
      notes: of what made it, or None if there are none: then ids and bounds were checked, but no
        checksum.
      has_provenance: whether it says where its documents came from.
    """

    num_documents: int
    num_sequences: int
    num_tokens: int
    num_empty: int
    dtype: str
    max_id: int
    notes: StoreNotes | None
    has_provenance: bool


def verify_store(prefix: str) -> VerifiedStore:
    """Read and check a whole store."""
    store = open_store(prefix)
    notes = read_notes(prefix)
    if notes is not None:
        check_files(prefix, notes, side_files=True)
        files = {**notes.files, **notes.side_files}
        total = sum(file.num_bytes for file in files.values())
        with progress("verify", total=total, unit="B") as advance:
            check_sums(prefix, notes, list(files), advance=advance)
    provenance = open_provenance(prefix, store, notes)
    for _ in () if provenance is None else provenance.groups():
        pass  # it checks what it reads
    max_id = _check_all_ids(store, prefix + ".bin", notes)
    tokens = np.concatenate([[0], np.cumsum(store.lengths, dtype=np.int64)])[store.documents]
    verified = VerifiedStore(
        num_documents=store.num_documents,
        num_sequences=store.lengths.size,
        num_tokens=store.ids.size,
        num_empty=int(np.count_nonzero(tokens[1:] == tokens[:-1])),
        dtype=store.ids.dtype.name,
        max_id=max_id,
        notes=notes,
        has_provenance=provenance is not None,
    )
    if notes is not None:
        _check_counts(prefix, verified, notes)
    return verified


def open_provenance(prefix: str, store: TokenStore, notes: StoreNotes | None) -> Provenance | None:
    """Open what says where a store's documents came from, if anything does; it must be its own."""
    path = f"{prefix}.{ENDING}"
    if not exists(path):
        return None
    if notes is not None:
        check_files(prefix, notes, side_files=True)
    provenance = Provenance(path)
    if provenance.num_documents != store.num_documents:
        counts = f"{provenance.num_documents:,} documents, and its store {store.num_documents:,}"
        raise CorruptDataError(path, 0, f"has {counts}")
    return provenance


def check_sums(
    prefix: str,
    notes: StoreNotes,
    endings: Sequence[str] = ENDINGS,
    *,
    advance: Callable[[int], object] = lambda num_bytes: None,
) -> None:
    """Compare the checksums of a store's files with its notes."""
    for ending in endings:
        path, checksum = f"{prefix}.{ending}", 0
        with open_input(path) as file:
            while data := file.read(_READ_BYTES):
                checksum = crc32(data, checksum)
                advance(len(data))
        compare_sum(path, checksum, {**notes.files, **notes.side_files}[ending])


def compare_sum(path: str, checksum: int, noted: FileSummary) -> None:
    """Compare the CRC-32 of a file with what its notes say."""
    if checksum != noted.crc32:
        raise CorruptDataError(path, 0, "its CRC-32 is not the one in its notes")


def spot_check(prefix: str, store: TokenStore) -> None:
    """Check what can be checked without reading all tokens of a store.

    These are the sizes of the files, the checksum of the index, the ids of `_SPOTS` places, the
    first and the last tokens among them, and the ends of as many documents. Without notes, only ids
    below 0 are wrong.
    """
    notes = read_notes(prefix)
    if notes is not None:
        check_files(prefix, notes)
        check_sums(prefix, notes, ["idx"])
    path = prefix + ".bin"
    last = max(0, store.ids.size - _SPOT_TOKENS)
    for start in np.linspace(0, last, _SPOTS).astype(np.int64).tolist():
        _check_ids(store, path, notes, slice(start, start + _SPOT_TOKENS))
    if notes is None or not store.num_documents:
        return
    documents = np.linspace(0, store.num_documents - 1, _SPOTS).astype(np.int64)
    has_sequence = store.documents[documents] < store.documents[documents + 1]
    documents = documents[has_sequence]
    for verb, mark, sequences in (
        ("begins", notes.settings.get("bos_id"), store.documents[documents]),
        ("ends", notes.settings.get("eod_id"), store.documents[documents + 1] - 1),
    ):
        sequences = sequences[store.lengths[sequences] > 0]
        places = store.offsets[sequences] // store.ids.itemsize
        if verb == "ends":
            places = places + store.lengths[sequences] - 1
        wrong = np.flatnonzero(store.ids[places] != mark)
        if mark is not None and wrong.size:
            at = int(places[wrong[0]])
            reason = (
                f"a document {verb} with token {store.ids[at]}, not with {mark} as its notes say"
            )
            raise CorruptDataError(path, at * store.ids.itemsize, reason)


def _check_all_ids(store: TokenStore, path: str, notes: StoreNotes | None) -> int:
    return max(
        (
            _check_ids(store, path, notes, slice(start, start + _READ_BYTES))
            for start in range(0, store.ids.size, _READ_BYTES)
        ),
        default=0,
    )


def _check_ids(store: TokenStore, path: str, notes: StoreNotes | None, part: slice) -> int:
    """Check that ids are in the vocabulary, if its size is known; return the largest."""
    limit = None if notes is None else notes.settings["id_limit"]
    ids = store.ids[part]
    if not ids.size:
        return 0
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or (limit is not None and high >= limit):
        bad = low if low < 0 else high
        at = part.start + int(np.argmax(ids == bad))
        raise CorruptDataError(path, at * ids.itemsize, f"token id {bad} is not in the vocabulary")
    return high


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
