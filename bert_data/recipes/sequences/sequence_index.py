"""Where the sequences of a token store are: found by reading its index, once if that is kept.

    cache_dir/sequences-3fb1...c2.bin    entries, int64[any, 4] | sequences, entries, CRC-32, key

The name is a digest of all that the file depends on: the room of sequences, and of PREFIX.idx its
size, time of change and inode (or the store's URI), and its checksum in the store's notes, or one
of some lengths. A file appears whole, so processes may make it at once. Where none can be written,
a warning says so.
"""

import dataclasses
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.recipes.sequences.cutting import EVERY, SECTION, SentenceArrays, index_sequences
from bert_data.recipes.sequences.opened_stores import OpenedPart, crc32_of_some
from bert_data.storage import exists, make_folder, map_file, open_whole, remove_abandoned
from bert_data.tokens.store import TokenStore

_VERSION = 1
_DOCUMENTS = 1 << 18  # at a time
_WORDS = 4  # of an entry, and of the row at the end


class SequenceIndex(NamedTuple):
    """Every 128th sequence of a store.

    Attributes:
      entries: int64[any, 4], read-only, see `index_sequences`.
      num_sequences: of all.
    """

    entries: NDArray[np.int64]
    num_sequences: int


def sentence_arrays(store: TokenStore) -> SentenceArrays:
    """Return what kernels take of a store."""
    return SentenceArrays(store.lengths, store.offsets, store.documents, store.ids.itemsize)


def index_store(part: OpenedPart, room: int, check: Callable[[], None]) -> SequenceIndex:
    """Index a store, whose bounds are checked first.

    Args:
      room: most tokens of a sequence, without special ones.
    """
    check()
    number, parts = 0, [np.empty((0, _WORDS), np.int64)]
    for so_far, entries in _index_blocks(part.store, room):
        number = so_far
        parts.append(entries.copy())
    entries = np.concatenate(parts)
    entries.flags.writeable = False  # as those of a file, so that kernels are compiled once
    return SequenceIndex(entries, number)


def kept_index(
    part: OpenedPart, room: int, check: Callable[[], None], folder: str
) -> SequenceIndex:
    """Return the same from a file, which is made if there is none, or a damaged one."""
    digest = _digest(part, room)
    path = os.path.join(folder, f"sequences-{digest.hex()[:32]}.bin")
    key = int.from_bytes(digest[-8:], "little", signed=True)
    try:
        return _kept_index(part, room, check, path, key)
    except OSError as error:
        logging.warning("what is found in stores cannot be kept: %s", error)
        return index_store(part, room, check)


def _digest(part: OpenedPart, room: int) -> bytes:
    """Return a digest of all that the sequences of a store depend on."""
    checksum = crc32_of_some(part.store) if part.notes is None else part.notes.files["idx"].crc32
    assert part.identity is not None
    place = "" if part.identity.inode else part.prefix
    made_from = [
        _VERSION,
        EVERY,
        SECTION,
        room,
        dataclasses.astuple(part.identity),
        place,
        checksum,
    ]
    return hashlib.sha256(json.dumps(made_from).encode()).digest()


def _kept_index(
    part: OpenedPart, room: int, check: Callable[[], None], path: str, key: int
) -> SequenceIndex:
    if exists(path):
        found = _read(path, key)
        if found is not None:
            return found
        logging.warning("%s is damaged; it is made again", path)
    check()
    make_folder(os.path.dirname(path))
    remove_abandoned(os.path.dirname(path))
    number = num_entries = crc = 0
    with open_whole(path) as file:
        for so_far, entries in _index_blocks(part.store, room):
            number = so_far
            file.write(entries.data)
            num_entries, crc = num_entries + len(entries), zlib.crc32(entries.data, crc)
        file.write(_last_row(number, num_entries, crc, key).tobytes())
    return _read(path, key) or index_store(part, room, check)


def _index_blocks(store: TokenStore, room: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the sequences so far, and the entries of some documents."""
    number, sentences = 0, sentence_arrays(store)
    for first in range(0, store.num_documents, _DOCUMENTS):
        last = min(first + _DOCUMENTS, store.num_documents)
        num_tokens = store.first_token(last) - store.first_token(first)
        most = last - first + 2 * num_tokens // room
        entries = np.empty((1 + most // EVERY, _WORDS), np.int64)
        found, size = index_sequences(sentences, room, (first, last), number, entries)
        number = int(found)
        yield number, entries[:size]


def _last_row(number: int, num_entries: int, crc: int, key: int) -> NDArray[np.int64]:
    return np.array((number, num_entries, zlib.crc32(b"%d" % number, crc), key), "<i8")


def _read(path: str, key: int) -> SequenceIndex | None:
    """Map a file; return None if it is damaged."""
    data = map_file(path).data
    if not data.size or data.size % (8 * _WORDS):
        return None
    rows = data.view("<i8").reshape(-1, _WORDS)
    entries, number = rows[:-1], int(rows[-1, 0])
    last = _last_row(number, len(entries), zlib.crc32(entries.data), key)
    return SequenceIndex(entries, number) if (rows[-1] == last).all() else None
