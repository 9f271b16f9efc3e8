"""Index the n-grams of some files on disk, to look them up in many documents.

    files     exams.jsonl: "What is the capital of France?"        n = 3
    index     "what is the" -> exams.jsonl, "is the capital" -> exams.jsonl, ...

Words are compared in lower case; punctuation and symbols are ignored. The index is a sorted array
of hashes, with a table of where those begin that agree in their first bits, and for each the number
of its file, or where the list of its files is. It is written in order from sorted files, and mapped
to look n-grams up: neither takes memory that grows with the files.
"""

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.duplicates.minhash import make_shingles
from bert_data.curation.words import Words
from bert_data.kernels import kernel
from bert_data.storage import fill_array, load_values, open_scratch, read_json, remove, write_json
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.sorted_records import Layout, RecordWriter, SortedRecords

_NGRAMS = Layout(("ngram", "file"), num_keys=2)
"""The hash of an n-gram, and the number of a file that has it."""

PORTION_BYTES = 8_000_000  # of records that are held; memory is some twelve times that
STARTS_AT_A_TIME = KEYS_AT_A_TIME = 1 << 18
_KEYS, _GROUPS, _STARTS = "keys", "groups", "starts"
_MEMBERS, _FILES = "members", "files.json"


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
      groups: int64 [n-grams], which files have the n-gram, see `files_of`.
      starts: int64 [2^k + 1], where the keys begin that agree in their first k bits; k >= 1.
      members: int32 [any], lists of the numbers of files, the length of each before it.
    """

    keys: NDArray[np.uint64]
    groups: NDArray[np.int64]
    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    files: Sequence[str]

    def find(self, ngrams: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the group of each n-gram, or -1: int64 [n-grams]."""
        groups = np.empty(len(ngrams), np.int64)
        _look_up(ngrams, self.keys, self.groups, self.starts, _shift(len(self.starts)), groups)
        return groups

    def files_of(self, group: int) -> list[str]:
        """Return the names of the files of a group, which is a file or a place in `members`."""
        place = group - len(self.files)
        if place < 0:
            return [self.files[group]]
        begin = place + 1
        return [self.files[n] for n in self.members[begin : begin + self.members[place]].tolist()]


def write_index(folder: Path, files: Iterable[tuple[str, Iterable[NDArray[np.uint64]]]]) -> None:
    """Write an index of files, each a name and the hashes of its texts, in some 100 MB."""
    names: list[str] = []
    writer = RecordWriter(_NGRAMS, os.fspath(folder / "ngrams"), PORTION_BYTES)
    for name, texts in files:
        for hashes in texts:
            writer.add(ngram=hashes, file=np.full(len(hashes), len(names), np.uint64))
        names.append(name)
    writer.flush()
    records = SortedRecords(_NGRAMS, tuple(writer.files))
    num_keys = 0
    with (
        open_scratch(folder / _KEYS) as keys_file,
        open_scratch(folder / _GROUPS) as groups_file,
        open_scratch(folder / _MEMBERS) as members_file,
    ):
        lists = _Lists(members_file)
        for pairs in _whole_ngrams(RangeReader(records, Range(), PORTION_BYTES)):
            is_first = np.diff(pairs["ngram"], prepend=~pairs["ngram"][:1]) != 0
            group = pairs["file"].astype(np.int64)
            bounds = np.append(np.flatnonzero(is_first), len(pairs))
            is_shared = np.diff(bounds) > 1
            for begin, end in zip(bounds[:-1][is_shared], bounds[1:][is_shared], strict=True):
                group[begin] = len(names) + lists.place_of(pairs["file"][begin:end])
            num_keys += int(is_first.sum())
            keys_file.write(pairs["ngram"][is_first].tobytes())
            groups_file.write(group[is_first].tobytes())
    for file in records.files:
        remove(file.path)
    _write_starts(folder, num_keys)
    write_json(folder / _FILES, names)


class _Lists:
    """Writes lists of the numbers of files; the last ones that are equal are written once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._num_written = file, 0
        self._places: dict[bytes, int] = {}
        self._num_held = 0

    def place_of(self, numbers: NDArray[np.uint64]) -> int:
        """Return where a list is, at least one number."""
        members = numbers.astype(np.int32)
        data = members.tobytes()
        if data not in self._places:
            if self._num_held + len(data) > PORTION_BYTES:
                self._places, self._num_held = {}, 0
            self._places[data] = self._num_written
            self._num_held += len(data)
            self._file.write(np.int32(len(members)).tobytes() + data)
            self._num_written += 1 + len(members)
        return self._places[data]


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


def _write_starts(folder: Path, num_keys: int) -> None:
    """Write the table of starts for the keys in a folder, some two keys for each."""
    num_starts = 1 << max(1, (num_keys // 2).bit_length())
    shift = np.uint64(_shift(num_starts + 1))
    done = 0
    with open_scratch(folder / _STARTS) as file:
        for first in range(0, num_keys, KEYS_AT_A_TIME):
            keys = np.empty(min(KEYS_AT_A_TIME, num_keys - first), np.uint64)
            fill_array(folder / _KEYS, first * keys.itemsize, keys)
            end = int(keys[-1] >> shift) + 1
            for begin in range(done, end, STARTS_AT_A_TIME):
                bits = np.arange(begin, min(begin + STARTS_AT_A_TIME, end), dtype=np.uint64)
                file.write(
                    (first + np.searchsorted(keys, bits << shift)).astype(np.int64).tobytes()
                )
            done = max(done, end)
        for begin in range(done, num_starts + 1, STARTS_AT_A_TIME):
            number = min(STARTS_AT_A_TIME, num_starts + 1 - begin)
            file.write(np.full(number, num_keys, np.int64).tobytes())


def open_index(folder: str) -> NgramIndex:
    """Map the index in a folder."""
    return NgramIndex(
        load_values(os.path.join(folder, _KEYS), np.uint64),
        load_values(os.path.join(folder, _GROUPS), np.int64),
        load_values(os.path.join(folder, _STARTS), np.int64),
        load_values(os.path.join(folder, _MEMBERS), np.int32),
        read_json(os.path.join(folder, _FILES), list[str]),
    )


def _shift(num_starts: int) -> int:
    """Return how many of 64 bits are not among the first k, for 2^k + 1 starts."""
    return 65 - (num_starts - 1).bit_length()


@kernel
def _look_up(
    ngrams: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    groups: NDArray[np.int64],
    starts: NDArray[np.int64],
    shift: int,
    out: NDArray[np.int64],
) -> None:
    """Write the group of each n-gram, or -1; by `shift`, it is the number of its start."""
    for i in range(len(ngrams)):
        out[i] = -1
        bits = np.int64(ngrams[i] >> np.uint64(shift))
        for place in range(starts[bits], starts[bits + 1]):
            if keys[place] >= ngrams[i]:
                if keys[place] == ngrams[i]:
                    out[i] = groups[place]
                break
