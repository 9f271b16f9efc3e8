"""Sorted runs of records of fixed size, one after the other in a file.

    layout   Layout(("hash", "document"), num_keys=2)            all fields are uint64
    added    8 4, 3 2, 3 7, 5 9, 5 1
    written  3 2, 3 7, 8 4 | 5 1, 5 9                            two sorted runs

`ranges.py` reads them. Rows of any length are cut into pieces, each a record:

    rows of bytes   abcde, f, -         width 2 (here in bytes)
    records         row 0 0 0 1 2       a piece of each row, at least one
                    piece 0 1 2 0 0
                    size 5 5 5 1 0
                    values ab cd e. f. ..
"""

import bisect
import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.storage import fill_array, is_remote, open_scratch
from bert_data.work.sorting import sorted_rows

_WORD_BYTES = 8
_SORTING_BYTES, _WRITTEN_BYTES = 3 * _WORD_BYTES, 1 << 18
"""Bytes that sorting takes for each record, and that are put in order at a time to be written."""

_NUM_SAMPLES = 32
_BLOCK_BYTES, _REMOTE_BLOCK_BYTES = 1 << 15, 1 << 20
"""So much of a file is read at once to find a key in it: about what a further read costs."""

Longs = NDArray[np.uint64]
"""[records, words of each]."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """The fields of a record, 8 bytes each.

    Attributes:
      fields: their names; values are uint64, or the bits of a float64.
      num_keys: records are sorted by the first so many fields; equal ones are equal in all fields,
        or their order does not matter.
      width: further words, not named, in the column `values`.
    """

    fields: tuple[str, ...]
    num_keys: int
    width: int = 0

    @property
    def num_words(self) -> int:
        """Words of a record."""
        return len(self.fields) + self.width

    @property
    def num_bytes(self) -> int:
        """Bytes of a record."""
        return self.num_words * _WORD_BYTES

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a record, with named fields."""
        fields: list[Any] = [(name, np.uint64) for name in self.fields]
        return np.dtype([*fields, ("values", np.uint64, (self.width,))] if self.width else fields)

    def named(self, words: Longs) -> np.ndarray:
        """Return records, [any], with named fields."""
        return words.view(self.dtype)[:, 0] if len(words) else np.empty(0, self.dtype)


@dataclasses.dataclass(frozen=True)
class RecordFile:
    """A sorted part of a file.

    Attributes:
      begin: the byte where it begins.
      num_records: in it, >= 1.
      samples: the first fields of records at even distances.
    """

    path: str
    begin: int
    num_records: int
    samples: tuple[int, ...]

    def place(self, sample: int) -> int:
        """Return the number of the record from which a sample is."""
        return sample * self.num_records // len(self.samples)

    def part(self, num_words: int, begin: int, end: int) -> "FilePart":
        """Return the records from `begin` to `end`, exclusive, of so many words."""
        return FilePart(self.path, self.begin, num_words, begin, end)


@dataclasses.dataclass(frozen=True)
class SortedRecords:
    """Sorted files of one layout."""

    layout: Layout
    files: tuple[RecordFile, ...] = ()

    def __len__(self) -> int:
        return sum(file.num_records for file in self.files)

    @property
    def num_bytes(self) -> int:
        """Bytes of all records."""
        return len(self) * self.layout.num_bytes


class RecordWriter:
    """Writes sorted records to the end of a file, in as many parts as it needs.

    It holds up to `max_bytes`, of records and of what sorting them takes; at least one record.
    """

    def __init__(self, layout: Layout, path: str, max_bytes: int) -> None:
        self._layout, self._path = layout, path
        self._max_records = max(max_bytes // (layout.num_bytes + _SORTING_BYTES), 1)
        self._waiting = np.empty((0, layout.num_words), np.uint64)
        self._num_waiting = 0
        self.files: list[RecordFile] = []

    def add(self, **columns: Any) -> None:
        """Add records, a column for each field; `values` is [records, width]."""
        names = self._layout.fields
        assert set(columns) == {*names, *(["values"] if self._layout.width else [])}
        start, count = 0, len(columns[names[0]])
        while start < count:
            place = self._make_room(count - start)
            some = slice(start, start + len(place))
            for k, name in enumerate(names):
                column = np.asarray(columns[name][some])
                place[:, k] = column.view(np.uint64) if column.dtype == np.float64 else column
            if self._layout.width:
                place[:, len(names) :] = columns["values"][some]
            start += len(place)

    def _make_room(self, num_records: int) -> Longs:
        if self._num_waiting == self._max_records:
            self.flush()
        begin = self._num_waiting
        self._num_waiting = min(begin + num_records, self._max_records)
        if self._num_waiting > len(self._waiting):
            size = min(max(self._num_waiting, 2 * len(self._waiting)), self._max_records)
            larger = np.empty((size, self._layout.num_words), np.uint64)
            larger[:begin] = self._waiting[:begin]
            self._waiting = larger
        return self._waiting[begin : self._num_waiting]

    def flush(self) -> None:
        """Write what waits."""
        if self._num_waiting:
            words = self._waiting[: self._num_waiting]
            rows = sorted_rows(words, self._layout.num_keys)
            self._num_waiting = 0
            starts = range(0, len(rows), max(_WRITTEN_BYTES // self._layout.num_bytes, 1))
            self.add_sorted(words[rows[k : k + starts.step]] for k in starts)

    def add_sorted(self, portions: Iterable[Longs]) -> None:
        """Write portions of records, which are in order, as one part of any size."""
        self.files.append(_write_part(self._path, portions))


def _write_part(path: str, portions: Iterable[Longs]) -> RecordFile:
    num_records, num_words = 0, 1
    with open_scratch(path, "ab") as file:
        begin = file.seek(0, os.SEEK_END)
        for words in portions:
            file.write(np.ascontiguousarray(words).data)
            num_records, num_words = num_records + len(words), words.shape[1]
    places = [k * num_records // _NUM_SAMPLES for k in range(_NUM_SAMPLES)][:num_records]
    if num_records < _NUM_SAMPLES:
        places = list(range(num_records))
    run = FilePart(path, begin, num_words, 0, num_records)
    return RecordFile(path, begin, num_records, tuple(key for (key,) in run.keys(places, 1)))


class FilePart:
    """Sorted records of a file, which is open only while it is read.

    Attributes:
      first_byte: where the record with the number 0 begins.
      begin, end: numbers of the records to read, the end exclusive.
    """

    def __init__(self, path: str, first_byte: int, num_words: int, begin: int, end: int) -> None:
        self.path, self.first_byte, self.num_words = path, first_byte, num_words
        self.begin, self.end = begin, end

    def keys(self, places: Sequence[int], num_keys: int) -> list[tuple[int, ...]]:
        """Return the first words of some records."""
        return [_key(self._read(place, 1)[0], num_keys) for place in places]

    def cut(
        self, key: tuple[int, ...], *, after: bool = False, firsts: tuple[int, int] | None = None
    ) -> int:
        """Return the place of the first record whose first words are at least `key`, or above.

        Args:
          after: whether records with the same words come before that place, too.
          firsts: the first words, about, of the first and the last record; between them, the place
            is guessed as if keys were spread evenly, as hashes and numbers are.
        """
        search = bisect.bisect_right if after else bisect.bisect_left
        block_bytes = _REMOTE_BLOCK_BYTES if is_remote(self.path) else _BLOCK_BYTES
        max_records = max(block_bytes // (self.num_words * _WORD_BYTES), 1)
        begin, end = self.begin, self.end
        while begin < end:
            start = (begin + end - max_records) // 2
            if firsts is not None and firsts[0] < firsts[1]:
                share = (key[0] - firsts[0]) / (firsts[1] - firsts[0])
                start, firsts = begin + int(share * (end - begin)) - max_records // 2, None
            start = max(min(start, end - max_records), begin)
            block = self._read(start, min(max_records, end - start))
            place = search(block, key, key=lambda record: _key(record, len(key)))
            if 0 < place < len(block) or (start, start + len(block)) == (begin, end):
                return start + place
            if place:
                begin = start + len(block)
            else:
                end = start
        return begin

    def read_into(self, words: Longs) -> None:
        """Fill records with the next ones, and move past them."""
        self._fill(self.begin, words)
        self.begin += len(words)

    def _read(self, place: int, num_records: int) -> Longs:
        words = np.empty((num_records, self.num_words), np.uint64)
        self._fill(place, words)
        return words

    def _fill(self, place: int, words: Longs) -> None:
        fill_array(self.path, self.first_byte + place * self.num_words * _WORD_BYTES, words)


def _key(record: NDArray[np.uint64], num_keys: int) -> tuple[int, ...]:
    return tuple(record[:num_keys].tolist())


def records_from_json(description: Any) -> SortedRecords:
    """Return the records that `dataclasses.asdict` described."""
    layout = description["layout"]
    return SortedRecords(
        Layout(tuple(layout["fields"]), layout["num_keys"], layout["width"]),
        tuple(RecordFile(**file) for file in description["files"]),
    )


def relative(records: SortedRecords, folder: str) -> SortedRecords:
    """Return records whose paths begin in a folder, relative to it; `placed` is the inverse."""
    return _with_paths(records, lambda path: os.path.relpath(path, folder))


def placed(records: SortedRecords, folder: str) -> SortedRecords:
    """Return records whose paths are relative to a folder."""
    return _with_paths(records, lambda path: os.path.join(folder, path))


def _with_paths(records: SortedRecords, change: Callable[[str], str]) -> SortedRecords:
    files = tuple(dataclasses.replace(file, path=change(file.path)) for file in records.files)
    return dataclasses.replace(records, files=files)


@dataclasses.dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths.

    Attributes:
      values: [any], of all rows.
      offsets: int64 [rows + 1], where each row begins, and the end of the last one.
    """

    values: np.ndarray
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, number: int) -> np.ndarray:
        """Return the values of a row."""
        return self.values[self.offsets[number] : self.offsets[number + 1]]

    def lengths(self) -> NDArray[np.int64]:
        """int64 [rows], values in each."""
        return np.diff(self.offsets)


class Pieces(NamedTuple):
    """Pieces of rows, one row after the other.

    Attributes:
      rows: int64 [pieces], number of the row.
      pieces: int64 [pieces], number of the piece in its row.
      sizes: int64 [pieces], number of values of the row.
      values: uint64 [pieces, width], of the piece.
    """

    rows: NDArray[np.int64]
    pieces: NDArray[np.int64]
    sizes: NDArray[np.int64]
    values: NDArray[np.uint64]


def cut_rows(rows: Ragged, numbers: NDArray[np.int64], width: int) -> Pieces:
    """Cut numbered rows, of a type whose size divides 8 bytes, into pieces of `width` words."""
    starts, sizes = rows.offsets[numbers], rows.offsets[numbers + 1] - rows.offsets[numbers]
    a_piece = width * _WORD_BYTES // rows.values.itemsize
    num_pieces = np.maximum(-(-sizes // a_piece), 1)
    firsts = np.cumsum(num_pieces) - num_pieces
    values = np.zeros(int(num_pieces.sum()) * a_piece, rows.values.dtype)
    values[spread(firsts * a_piece, sizes)] = rows.values[spread(starts, sizes)]
    return Pieces(
        np.repeat(np.arange(len(numbers)), num_pieces),
        spread(np.zeros(len(numbers), np.int64), num_pieces),
        np.repeat(sizes, num_pieces),
        values.view(np.uint64).reshape(-1, width),
    )


def join_pieces(records: np.ndarray, dtype: type[Any]) -> tuple[Ragged, NDArray[np.int64]]:
    """Join the pieces of rows.

    Args:
      records: with the fields `piece`, `size` and `values`; the pieces of a row follow each other.

    Returns:
      The rows, and the number of the record with the first piece of each, int64 [rows].
    """
    firsts = np.flatnonzero(records["piece"] == 0)
    sizes = records["size"][firsts].astype(np.int64)
    values = np.ascontiguousarray(records["values"]).view(dtype)
    a_piece = values.shape[1]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Ragged(values.reshape(-1)[spread(firsts * a_piece, sizes)], offsets), firsts


def spread(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers from each start on, as many as each size says: 3 7, 2 1 -> 3 4 7."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
