"""Index the n-grams of some files on disk, to look them up in many documents.

    files     exams.jsonl: "What is the capital of France?"        n = 3
    index     "what is the" -> exams.jsonl, "is the capital" -> exams.jsonl, ...

Words are compared in lower case; punctuation and symbols are ignored.
"""

import dataclasses
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.duplicates.minhash import make_shingles
from bert_data.curation.duplicates.sorted_runs import runs_of_equals
from bert_data.curation.hash_tables import NONE, fill_slots, look_up, make_slots
from bert_data.curation.words import Words
from bert_data.storage import load_array, read_json, save_array, write_bytes


def ngrams_of(words: Words, size: int) -> NDArray[np.uint64]:
    """Return the hashes of the n-grams, [words that are not symbols - size + 1], in their order."""
    out = np.empty(len(words), np.uint64)
    number = make_shingles(words.hashes, words.is_symbol, size, out)
    num_words = len(words) - int(words.is_symbol.sum())
    return out[: number if num_words >= size else 0]


@dataclasses.dataclass(frozen=True, slots=True)
class NgramIndex:
    """A hash table of n-grams.

    Attributes:
      slots: uint64 [a power of two], hashes; 0 for free slots.
      groups: int32 [slots], which files have the n-gram, see `files`.
      files: for each group, the names of the files.
    """

    slots: NDArray[np.uint64]
    groups: NDArray[np.int32]
    files: Sequence[Sequence[str]]

    def find(self, ngrams: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the group of each n-gram, or -1: int32 [n-grams]."""
        groups = np.empty(len(ngrams), np.int32)
        look_up(ngrams, self.slots, self.groups, groups)
        return groups


def write_index(folder: Path, ngrams: Iterable[tuple[str, NDArray[np.uint64]]]) -> None:
    """Write an index; takes about 60 bytes of memory per n-gram.

    Args:
      folder: exists.
      ngrams: for each file, its name and hashes.
    """
    names, hashes = [], []
    for name, each in ngrams:
        names.append(name)
        hashes.append(np.unique(each))
    files = np.repeat(np.arange(len(names)), [len(each) for each in hashes])
    keys = np.concatenate([*hashes, np.empty(0, np.uint64)])
    order = np.argsort(keys, kind="stable")
    keys, files = keys[order], files[order]
    groups: dict[tuple[int, ...], int] = {(number,): number for number in range(len(names))}
    group = files.astype(np.int32)
    for begin, end in runs_of_equals(keys).tolist():
        members = tuple(files[begin:end].tolist())
        group[begin:end] = groups.setdefault(members, len(groups))
    slots = make_slots(len(keys))
    slot_groups = np.full(len(slots), NONE, np.int32)
    fill_slots(keys, group, slots, slot_groups)
    save_array(folder / "slots.npy", slots)
    save_array(folder / "groups.npy", slot_groups)
    names_of_groups = [[names[member] for member in members] for members in groups]
    write_bytes(folder / "files.json", json.dumps(names_of_groups).encode())


def open_index(folder: str) -> NgramIndex:
    """Map the index in a folder."""
    slots = load_array(os.path.join(folder, "slots.npy"))
    groups = load_array(os.path.join(folder, "groups.npy"))
    files = read_json(os.path.join(folder, "files.json"))
    return NgramIndex(np.asarray(slots), np.asarray(groups), files)
