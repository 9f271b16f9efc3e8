"""Read where the documents of a token store came from; see `provenance`, which writes it."""

import contextlib
import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.storage import decode_json, exists, map_file
from bert_data.tokens.places import ProvenanceRule
from bert_data.tokens.provenance import (
    BITS_SET,
    COLUMNS,
    ENDING,
    FORMAT_VERSION,
    GROUP_ROWS,
    METADATA_KEY,
    GroupNote,
    filter_bit,
    hash_of,
    integer_array,
    integers,
    text_array,
)
from bert_data.tokens.store_writer import FileSummary

if TYPE_CHECKING:
    import pyarrow


_HASHES = 1 << 16  # looked up at a time


class DocumentOrigin(NamedTuple):
    """Origin of a document of a store; None: not known."""

    file: str | None
    row: int | None
    id: str | None
    url: str | None
    source: str | None
    license: str | None
    date: str | None


@dataclasses.dataclass(frozen=True)
class _Told:
    """The metadata of a file."""

    format_version: int

    num_documents: int
    num_repeated_ids: int
    store_index: FileSummary
    fields: dict[str, str]
    groups: list[GroupNote]


class Provenance:
    """An open file of where a store's documents come from.

    Attributes:
      num_repeated: documents whose id an earlier one has.
      fields: names of the columns' fields in the input.
    """

    def __init__(self, path: str) -> None:
        """Open a file, and check what it says of itself."""
        import pyarrow as pa
        from pyarrow import parquet

        self.path = path
        self._data = map_file(path).data
        with self._damage():
            reader = pa.BufferReader(pa.py_buffer(self._data))
            self._file = parquet.ParquetFile(reader, page_checksum_verification=True)
            told = (self._file.metadata.metadata or {}).get(METADATA_KEY)
        if told is None:
            raise CorruptDataError(path, 0, "not a list of where documents came from")
        self._told = decode_json(told, path, _Told)
        if self._told.format_version != FORMAT_VERSION:
            raise CorruptDataError(path, 0, f"not of version {FORMAT_VERSION}")
        self.num_documents, self.fields = self._told.num_documents, self._told.fields
        self.num_repeated = self._told.num_repeated_ids
        num_groups = -(-self.num_documents // GROUP_ROWS)
        is_whole = self._file.metadata.num_rows == self.num_documents
        groups = self._told.groups
        are_inside = all(
            0 <= group.offset <= group.offset + group.num_bits // 8 <= len(self._data)
            for group in groups
        )
        if not (is_whole and are_inside and len(groups) == num_groups):
            raise CorruptDataError(path, 0, "its parts contradict each other")

    def check_store(self, num_documents: int, index: FileSummary | None) -> None:
        """Compare the file with a store: its documents and, if it is known, the file .idx."""
        told = self._told.store_index
        is_other = index is not None and index != told
        if is_other or num_documents != self.num_documents:
            raise CorruptDataError(
                self.path, 0, f"is another store's, of {self.num_documents:,} documents"
            )

    @contextlib.contextmanager
    def _damage(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = f"not a readable list of where documents came from ({error})"
            raise CorruptDataError(self.path, 0, reason) from error

    @property
    def rule(self) -> ProvenanceRule:
        """The rule that it was made by, but for the folder of files."""
        return ProvenanceRule(fields=self.fields)

    def batches(self, start: int, stop: int) -> "Iterator[pyarrow.RecordBatch]":
        """Yield the rows of documents `start` to `stop`."""
        while start < stop:
            group, first = divmod(start, GROUP_ROWS)
            size = min(stop - start, GROUP_ROWS - first)
            yield from self._read(group, COLUMNS).slice(first, size).to_batches()
            start += size

    def _read(self, group: int, columns: Sequence[str]) -> "pyarrow.Table":
        with self._damage():
            return self._file.read_row_group(group, list(columns), use_threads=False)

    def origins(self, documents: Iterable[int]) -> dict[int, DocumentOrigin]:
        """Return where documents came from, by their numbers in the store."""
        found: dict[int, DocumentOrigin] = {}
        by_group = itertools.groupby(sorted(set(documents)), lambda number: number // GROUP_ROWS)
        for group, numbers in by_group:
            own = list(numbers)
            table = self._read(group, COLUMNS)
            with self._damage():
                table = table.take(integer_array(np.array(own) - group * GROUP_ROWS))
            rows = zip(*(table.column(name).to_pylist() for name in COLUMNS), strict=True)
            found |= {number: DocumentOrigin(*row) for number, row in zip(own, rows, strict=True)}
        return found

    def find_ids(self, names: Set[str]) -> tuple[NDArray[np.int64], set[str]]:
        """Return the numbers of the documents with one of some ids, and those ids."""
        from pyarrow import compute

        hashes = np.array([hash_of(name) for name in names], np.uint64)
        wanted, numbers, found = text_array([*names]), list[NDArray[np.int64]](), set[str]()
        for number in self._groups_that_may_hold(hashes):
            ids = self._read(number, ["id"]).column("id").combine_chunks()
            rows = compute.indices_nonzero(compute.is_in(ids, wanted, skip_nulls=True))
            numbers.append(integers(rows).astype(np.int64) + number * GROUP_ROWS)
            found.update(ids.take(rows).to_pylist())
        return np.concatenate([np.empty(0, np.int64), *numbers]), found

    def _groups_that_may_hold(self, hashes: NDArray[np.uint64]) -> list[int]:
        """Return the groups whose filters have all bits of some id; few pages of them are read."""
        notes = self._told.groups
        offsets, sizes = np.array([(each.offset, each.num_bits) for each in notes] or [(0, 0)]).T
        found = list[int]()
        for start in range(0, sizes.size, step := max(1, _HASHES // max(1, hashes.size))):
            groups = np.flatnonzero(sizes[start : start + step]) + start
            groups, own = np.repeat(groups, hashes.size), np.tile(hashes, groups.size)
            for number in range(BITS_SET):
                bits = filter_bit(own, sizes[groups], number).astype(np.int64)
                is_set = self._data[offsets[groups] + (bits >> 3)] >> (7 - (bits & 7)) & 1 == 1
                groups, own = groups[is_set], own[is_set]
            found += np.unique(groups).tolist()
        return found

    def find_row(self, file: str, row: int) -> list[int]:
        """Return the numbers of the documents of a file that begin in a row, or last before it."""
        groups = self._told.groups
        several = [number for number, group in enumerate(groups) if group.num_files > 1]
        whole = [
            (group.first_row, number)
            for number, group in enumerate(groups)
            if group.num_files == 1 and group.file == file and group.first_row <= row
        ]
        best, found = 0, list[int]()
        for number in sorted([*several, *(n for _, n in sorted(whole)[-1:])]):
            table = self._read(number, ["file", "row"])
            for place, (own, begin) in enumerate(
                zip(table.column("file").to_pylist(), table.column("row").to_pylist(), strict=True)
            ):
                if own == file and best <= begin <= row:
                    found = [*(found if begin == best else []), number * GROUP_ROWS + place]
                    best = begin
        return found


def open_provenance(prefix: str) -> Provenance | None:
    """Open the list of where a store's documents came from; None if there is none."""
    path = f"{prefix}.{ENDING}"
    return Provenance(path) if exists(path) else None
