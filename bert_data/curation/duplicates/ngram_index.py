"""Index the n-grams of some files on disk, to look them up in many documents.

    files     exams.jsonl: "What is the capital of France?"        n = 3
    index     "what is the" -> exams.jsonl, "is the capital" -> exams.jsonl, ...

Words are compared in lower case; punctuation and symbols are ignored. The index is a sorted array
of hashes, with a table of where those begin that agree in their first bits. It is written in order
from sorted files, and mapped to look n-grams up: neither takes memory that grows with the files.
"""

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.duplicates.minhash import make_shingles
from bert_data.curation.words import Words
from bert_data.kernels import kernel
from bert_data.storage import load_values, open_scratch, read_json, remove, write_bytes
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.records import Layout, Records, RecordWriter

_NGRAMS = Layout(("ngram", "file"), num_keys=2)
"""The hash of an n-gram, and the number of a file that has it."""

_PORTION_BYTES = 8_000_000  # of records that are held; memory is some twelve times that
_STARTS_AT_A_TIME = 1 << 18
_KEYS, _GROUPS, _STARTS, _FILES = "keys", "groups", "starts", "files.json"


def ngrams_of(words: Words, size: int) -> NDArray[np.uint64]:
    """Return the hashes of the n-grams, [words that are not symbols - size + 1], in their order."""
    out = np.empty(len(words), np.uint64)
    number = make_shingles(words.hashes, words.is_symbol, size, out)
    num_words = len(words) - int(words.is_symbol.sum())
    return out[: number if num_words >= size else 0]


@dataclasses.dataclass(frozen=True, slots=True)
class NgramIndex:
    """An index of n-grams.

    Attributes:
      keys: uint64 [n-grams], their hashes, sorted.
      groups: int32 [n-grams], which files have the n-gram, see `files`.
      starts: int64 [2^k + 1], where the keys begin that agree in their first k bits; k >= 1.
      files: for each group, the names of the files.
    """

    keys: NDArray[np.uint64]
    groups: NDArray[np.int32]
    starts: NDArray[np.int64]
    files: Sequence[Sequence[str]]

    def find(self, ngrams: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the group of each n-gram, or -1: int32 [n-grams]."""
        groups = np.empty(len(ngrams), np.int32)
        _look_up(ngrams, self.keys, self.groups, self.starts, _shift(len(self.starts)), groups)
        return groups


def write_index(folder: Path, files: Iterable[tuple[str, Iterable[NDArray[np.uint64]]]]) -> None:
    """Write an index, in some 100 MB of memory.

    Args:
      folder: exists.
      files: for each file, its name and the hashes of its texts.
    """
    names: list[str] = []
    writer = RecordWriter(_NGRAMS, os.fspath(folder / "ngrams"), _PORTION_BYTES)
    for name, texts in files:
        for hashes in texts:
            writer.add(ngram=hashes, file=np.full(len(hashes), len(names), np.uint64))
        names.append(name)
    writer.flush()
    records = Records(_NGRAMS, tuple(writer.files))
    groups: dict[tuple[int, ...], int] = {(number,): number for number in range(len(names))}
    with open_scratch(folder / _KEYS) as keys_file, open_scratch(folder / _GROUPS) as groups_file:
        for pairs in _whole_ngrams(RangeReader(records, Range(), _PORTION_BYTES)):
            is_first = np.diff(pairs["ngram"], prepend=~pairs["ngram"][:1]) != 0
            group = pairs["file"].astype(np.int32)
            bounds = np.append(np.flatnonzero(is_first), len(pairs))
            is_shared = np.diff(bounds) > 1
            for begin, end in zip(bounds[:-1][is_shared], bounds[1:][is_shared], strict=True):
                members = tuple(pairs["file"][begin:end].tolist())
                group[begin] = groups.setdefault(members, len(groups))
            keys_file.write(pairs["ngram"][is_first].tobytes())
            groups_file.write(group[is_first].tobytes())
    for file in records.files:
        remove(file.path)
    _write_starts(folder)
    names_of_groups = [[names[member] for member in members] for members in groups]
    write_bytes(folder / _FILES, json.dumps(names_of_groups).encode())


def _whole_ngrams(reader: RangeReader) -> Iterator[np.ndarray]:
    """Yield each record once, in order, in portions that do not divide the files of an n-gram."""
    waiting = np.empty(0, reader.layout.dtype)
    for batch in reader.batches(2):
        pairs = np.concatenate([waiting, batch.records[batch.places == 0]])
        end = int(np.searchsorted(pairs["ngram"], pairs["ngram"][-1:])[0]) if len(pairs) else 0
        if end:
            yield pairs[:end]
        waiting = pairs[end:]
    if len(waiting):
        yield waiting


def _write_starts(folder: Path) -> None:
    """Write the table of starts for the keys in a folder, some two keys for each."""
    keys = load_values(folder / _KEYS, np.uint64)
    num_starts = 1 << max(1, (len(keys) // 2).bit_length())
    shift = np.uint64(_shift(num_starts + 1))
    with open_scratch(folder / _STARTS) as file:
        for first in range(0, num_starts, _STARTS_AT_A_TIME):
            bits = np.arange(first, min(first + _STARTS_AT_A_TIME, num_starts), dtype=np.uint64)
            file.write(np.searchsorted(keys, bits << shift).astype(np.int64).tobytes())
        file.write(np.int64(len(keys)).tobytes())


def open_index(folder: str) -> NgramIndex:
    """Map the index in a folder."""
    return NgramIndex(
        load_values(os.path.join(folder, _KEYS), np.uint64),
        load_values(os.path.join(folder, _GROUPS), np.int32),
        load_values(os.path.join(folder, _STARTS), np.int64),
        read_json(os.path.join(folder, _FILES)),
    )


def _shift(num_starts: int) -> int:
    """Return how many of 64 bits are not among the first k, for 2^k + 1 starts."""
    return 65 - (num_starts - 1).bit_length()


@kernel
def _look_up(
    ngrams: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    groups: NDArray[np.int32],
    starts: NDArray[np.int64],
    shift: int,
    out: NDArray[np.int32],
) -> None:
    """Write the group of each n-gram, or -1, to int32 [n-grams].

    Args:
      ngrams: [any].
      shift: by which an n-gram is moved right, so that its first bits are the number of its start.
      out: [n-grams].
    """
    for i in range(len(ngrams)):
        out[i] = -1
        bits = np.int64(ngrams[i] >> np.uint64(shift))
        for place in range(starts[bits], starts[bits + 1]):
            if keys[place] >= ngrams[i]:
                if keys[place] == ngrams[i]:
                    out[i] = groups[place]
                break
