"""The documents of a token store, from which GPT samples are made."""

import dataclasses
import functools
import hashlib
import itertools
from typing import Any

from bert_data.gpt.gpt_config import SPLITS, parse_split
from bert_data.storage import exists, read_status
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_files import noted_words, read_notes, store_paths
from bert_data.tokens.tokenizer_config import PIECES
from bert_data.tokens.verifying import spot_check, verify_store

DocumentRange = tuple[int, int]


def split_documents(split: str, num_documents: int) -> tuple[DocumentRange | None, ...]:
    """Return the range of documents of each split; None for a share of 0.

    A split with a share may be empty if there are few documents.
    """
    bounds = list(itertools.accumulate(parse_split(split), initial=0.0))
    return tuple(
        (round(first * float(num_documents)), round(last * float(num_documents)))
        if last > first
        else None
        for first, last in itertools.pairwise(bounds)
    )


CHECKED_BOUNDS = 1 << 20  # at a time
_MAX_DOCUMENTS = 2**31 - 1  # their numbers are int32


class StoreDocuments:
    """An open token store in which each sequence is a document.

    Like Megatron-LM, this ignores documents without any sequence (whose writer repeats the
    boundary).

    Attributes:
      identity: sizes, times of change and inodes of the files; another store has another one.
    """

    def __init__(self, prefix: str, *, verify: bool = False) -> None:
        """Open a store."""
        if prefix.endswith((".bin", ".idx")) and not exists(f"{prefix}.idx"):
            raise ValueError(f"{prefix}: name a token store without .bin and .idx")
        self.prefix = prefix
        # Before they are opened: what replaces them afterwards is not taken for what was read.
        statuses = [read_status(path) for path in store_paths(prefix)]
        self.identity = [dataclasses.astuple(status) if status else None for status in statuses]
        self.store: TokenStore = open_store(prefix)
        self.store.refuse_modes(prefix)
        if verify:
            verify_store(prefix)
        else:
            spot_check(prefix, self.store)
        if not self.num_documents:
            raise ValueError(f"{prefix}: the token store holds no documents")
        if self.num_documents > _MAX_DOCUMENTS:
            raise ValueError(
                f"{prefix}: {self.num_documents:,} documents; {_MAX_DOCUMENTS:,} are allowed"
            )
        self._check_level()
        words = noted_words([read_notes(prefix)])
        if words != PIECES:
            raise ValueError(
                f"{prefix}: a token store with `words={words}`, whose ids say what a word is; GPT"
                f" samples need one with `words={PIECES}`"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_again, (self.prefix, self.identity)

    def _check_level(self) -> None:
        bounds = self.store.documents
        for start in range(0, bounds.size - 1, CHECKED_BOUNDS):
            part = bounds[start : start + CHECKED_BOUNDS + 1]
            if (part[1:] - part[:-1] > 1).any():
                raise ValueError(
                    f"{self.prefix}: a sentence-level token store; GPT samples need a "
                    "document-level one (one sequence per document)"
                )

    @property
    def num_documents(self) -> int:
        """Sequences in the store."""
        return self.store.lengths.size

    def count_tokens(self, documents: DocumentRange) -> int:
        """Return the number of tokens in a range of documents."""
        return int(self.store.lengths[slice(*documents)].sum(dtype="int64"))

    def of_split(self, split: str, name: str) -> DocumentRange:
        """Return the documents of the split called `name`, one of `SPLITS`."""
        if name not in SPLITS:
            raise ValueError(f"split {name!r} is not one of {', '.join(SPLITS)}")
        documents = split_documents(split, self.num_documents)[SPLITS.index(name)]
        if documents is None:
            raise ValueError(f"the {name} split has a share of 0 in {split!r}")
        if not self.count_tokens(documents):
            raise ValueError(
                f"the {name} split of {self.prefix} is empty: {split!r} gives it "
                f"{documents[1] - documents[0]:,} of {self.num_documents:,} documents and no token"
            )
        return documents

    @functools.cached_property
    def lengths_sha256(self) -> str:
        """Digest of the documents' lengths, on which indices depend; they depend on no token."""
        return hashlib.sha256(self.store.lengths.data).hexdigest()


def _open_again(prefix: str, identity: list[Any]) -> StoreDocuments:
    documents = StoreDocuments(prefix)
    if documents.identity != identity:
        raise ValueError(f"{prefix}: the token store was replaced while samples were made from it")
    return documents
