"""The token stores of a recipe, open: mapped, or with tokens that are fetched when they are read.

    stores = {"wiki": "data/wiki@8", "code": "s3://bucket/code@32"}
    open_stores(stores, recipe.named)["wiki"].num_tokens

Stores in buckets are mapped as local copies if all of them together are small beside what copies
may take; otherwise only their indexes are, and tokens are read by ranges, see `fetched_tokens`.
"""

import functools
import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data import storage
from bert_data.text.text_config import SENTENCE
from bert_data.tokens.store import TokenStore, check_store, open_store
from bert_data.tokens.store_files import StoreNotes, expand_store, read_notes, store_paths

Named = Callable[[str], AbstractContextManager[None]]

_NUM_SAMPLES, _SAMPLE_SENTENCES = 64, 1024
_COPIED_SHARE = 10  # a tenth of the room for copies may be copies of whole stores


def key_of_name(name: str) -> int:
    """Return the number that stands for the name of a store in keys."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")


class OpenStore(NamedTuple):
    """The tokens of a store, or of several with one path; their dtype is the store's."""

    opened: "Opened"
    prefix: str
    ids: NDArray[Any]


class OpenedPart(NamedTuple):
    """A token store of a name.

    Attributes:
      version: of the tokens' file if they are read by ranges, see `RemoteFile`; else None.
      identity: the status of PREFIX.idx before it was opened.
    """

    prefix: str
    store: TokenStore
    notes: StoreNotes | None
    version: tuple[object, ...] | None
    identity: storage.Status | None


class Opened:
    """The token stores of a name.

    Attributes:
      key: the number that stands for the name in keys.
      splits: int64[stores + 1], their tokens, one after the other.
      named: puts where the name is written before the text of an error.
    """

    def __init__(self, name: str, path: str, parts: Sequence[OpenedPart], named: Named) -> None:
        self.name, self.path, self.parts = name, path, tuple(parts)
        self.named = functools.partial(named, name)
        self._checked: set[str] = set()
        self.prefixes = [part.prefix for part in parts]
        self.stores = [part.store for part in parts]
        self.key = key_of_name(name)
        self.splits = np.cumsum([0, *(store.ids.size for store in self.stores)])
        with self.named():
            for part in parts:
                part.store.refuse_modes(part.prefix)
            if not self.splits[-1]:
                raise ValueError(f"{self.path}: the token store has no tokens")

    @property
    def num_tokens(self) -> int:
        """Tokens of all stores."""
        return int(self.splits[-1])

    @property
    def is_fetched(self) -> bool:
        """Whether tokens are read by ranges: of all stores, as they have one path."""
        return any(part.version is not None for part in self.parts)

    @property
    def contents(self) -> list[tuple[int, ...]]:
        """Tokens, sentences and documents of each store, and checksums.

        They are those of its notes, or without notes one of the lengths of some sentences.
        """
        found = []
        for part in self.parts:
            store, notes = part.store, part.notes
            noted = [] if notes is None else [file.crc32 for file in notes.files.values()]
            sums = noted or [crc32_of_some(store)]
            sizes = store.ids.size, store.lengths.size, store.num_documents
            found.append((*map(int, sizes), *sums))
        return found

    def check_bounds(self, part: OpenedPart) -> None:
        """Check the bounds of all sequences of a part, once, see `tokens.store.check_store`."""
        if part.prefix not in self._checked:
            check_store(part.store, part.prefix)
            self._checked.add(part.prefix)

    def check_sizes(self) -> None:
        """Check that no store has been truncated, see `TokenStore.check_sizes`."""
        with self.named():
            for store in self.stores:
                store.check_sizes()

    def check_vocabulary(self, sha256: str, path: str) -> None:
        """Compare the stores' notes, where there are any, with the vocabulary of a recipe."""
        for part in self.parts:
            if part.notes is not None and part.notes.vocabulary.sha256 != sha256:
                with self.named():
                    raise ValueError(f"{part.prefix} was made with another vocabulary than {path}")

    def check_pairs(self, objective: str) -> None:
        """Refuse a store without sentences for pairs of segments."""
        for part in self.parts:
            if part.notes is not None and part.notes.settings["level"] != SENTENCE:
                with self.named():
                    raise ValueError(
                        f"{part.prefix} has whole documents; `objective={objective}` needs a token"
                        f" store of sentences, made with `level={SENTENCE}`"
                    )


def crc32_of_some(store: TokenStore) -> int:
    """Return a checksum of the lengths of some sentences, all over the index."""
    last, checksum = max(0, store.lengths.size - _SAMPLE_SENTENCES), 0
    for number in range(_NUM_SAMPLES):
        start = last * number // (_NUM_SAMPLES - 1)
        checksum = zlib.crc32(store.lengths[start : start + _SAMPLE_SENTENCES].tobytes(), checksum)
    return checksum


def open_stores(
    paths: Mapping[str, str], named: Named, *, identify: bool = False
) -> dict[str, Opened]:
    """Open the stores of names, several at a time if they are remote; see `check_bounds`.

    Args:
      named: of a name: puts where it is written before the text of an error.
      identify: whether parts have an identity.
    """
    names, given = list(paths), list(paths.values())

    def expand(name: str) -> list[str]:
        with named(name):
            return expand_store(paths[name])

    prefixes = storage.read_many(expand, names, given)
    flat = [prefix for own in prefixes for prefix in own]
    of_names = [name for name, own in zip(names, prefixes, strict=True) for _ in own]
    remote = {prefix for prefix in flat if storage.local_path(prefix) is None}
    fetched = set() if _are_copied(list(remote)) else remote

    def open_one(name_and_prefix: tuple[str, str]) -> OpenedPart:
        name, prefix = name_and_prefix
        is_fetched, version = prefix in fetched, None
        with named(name):
            status = storage.read_status(store_paths(prefix)[1]) if identify else None
            store = open_store(prefix, with_ids=not is_fetched, all_bounds=False)
            if is_fetched:
                with storage.RemoteFile(store_paths(prefix)[0]) as file:
                    version = file.version()
            return OpenedPart(prefix, store, read_notes(prefix), version, status)

    opened = iter(storage.read_many(open_one, list(zip(of_names, flat, strict=True)), flat))
    return {
        name: Opened(name, path, [next(opened) for _ in own], named)
        for name, path, own in zip(names, given, prefixes, strict=True)
    }


def _are_copied(prefixes: Sequence[str]) -> bool:
    statuses = (
        storage.read_statuses([store_paths(prefix)[0] for prefix in prefixes]) if prefixes else ()
    )
    total = sum(0 if status is None else status.num_bytes for status in statuses)
    return not prefixes or total <= storage.copies_bytes() // _COPIED_SHARE
