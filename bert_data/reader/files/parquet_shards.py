"""Read the records of Parquet shards: in order, or by number.

    file        ->  some rows of a row group at a time  ->  RecordBlock, RecordBlock, ...
    rows 70000 5  ->  row group 1 of shard 0, its row 4464; row group 0, its row 5

A damaged row costs that row; a damaged page, which its checksum reveals, costs the rest of its row
group; a damaged footer, which holds Parquet's table of contents, costs the whole file.

Single rows of Parquet cannot be read, so a row group is kept as records once one of its rows is
needed; those unused for longest are dropped first. All sets of a process share the memory for it.
"""

import collections
import contextlib
import copy
import itertools
import os
import threading
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.formats.parquet_files import parquet_schema
from bert_data.reader.examples.block import Gathered, RecordBlock, join_blocks, no_records
from bert_data.reader.examples.example import OK
from bert_data.reader.files.parquet_rows import (
    LOST,
    REASONS,
    check_columns,
    is_damage,
    open_parquet,
    records_of,
    rows_of_group,
    tokens_of_rows,
    what_is_wrong,
)
from bert_data.reader.files.record_source import Damage, RecordsOf, RecordSource, Step
from bert_data.reader.files.shards import Shard, map_files
from bert_data.reader.layout import stored_fields
from bert_data.schema.fields import SEGMENT_IDS, RecordKind
from bert_data.work.executor import Threads

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet


BLOCK_BYTES = 1 << 19  # of pages at a time; records are about twice as large
LEAST_ROWS, _MOST_ROWS = 64, 8192
MAX_KEPT_BYTES = 1 << 30
_WORD_BYTES = 4
_NUM_THREADS = 4


class GroupRows(NamedTuple):
    """Consecutive rows of a row group.

    Attributes:
      block: one record per row, empty if the row is damaged.
      statuses: int32[rows], OK, one of `REASONS`, or LOST.
      reason: why rows are LOST.
    """

    block: RecordBlock
    statuses: NDArray[np.int32]
    reason: str = ""

    def tell(self, damage: Damage, path: str, offset: int, first: int) -> None:
        """Report the damaged rows; `first` is the number of the first row."""
        bad = np.flatnonzero(self.statuses).tolist()
        if bad and self.statuses[bad[0]] == LOST:
            damage.found(CorruptDataError(path, offset, self.reason, first), len(bad))
            return
        for row in bad:
            reason = REASONS[int(self.statuses[row])]
            damage.found(CorruptDataError(path, offset, reason, first + row), 1)


def read_row_blocks(
    path: str, num_records: int | None, damage: Damage, kind: RecordKind
) -> Generator[RecordBlock]:
    """Yield the records of a file, in order."""
    record = 0
    try:
        with open_parquet(path) as file:
            check_columns(file.schema_arrow, parquet_schema(kind), path)
            for group in range(file.num_row_groups):
                offset, first = offset_of_group(file, group), record
                for rows in read_group(file, kind, group):
                    rows.tell(damage, path, offset, first)
                    first += rows.statuses.size
                    yield rows.block.take(np.flatnonzero(rows.statuses == OK))
                record += rows_of_group(file, group)
    except Exception as error:
        if not is_damage(error):
            raise
        lost = 1 if num_records is None else max(1, num_records - record)
        damage.found(CorruptDataError(path, 0, what_is_wrong(error)), lost)
        return
    if num_records is not None and record != num_records:
        reason = f"holds {record} rows; its manifest or footer says {num_records}"
        damage.found(CorruptDataError(path, 0, reason), max(1, num_records - record))


def offset_of_group(file: "pyarrow.parquet.ParquetFile", group: int) -> int:
    """Return where in the file a row group begins."""
    column = file.metadata.row_group(group).column(0)
    return int(column.file_offset or column.data_page_offset)


def read_group(
    file: "pyarrow.parquet.ParquetFile", kind: RecordKind, group: int
) -> Iterator[GroupRows]:
    """Yield the rows of a row group, in order, as many as the footer says."""
    metadata, left = file.metadata.row_group(group), rows_of_group(file, group)
    if not left:
        return
    schema = parquet_schema(kind)
    num_rows = BLOCK_BYTES * left // max(1, metadata.total_byte_size)
    batches = file.iter_batches(
        batch_size=min(max(num_rows, LEAST_ROWS), _MOST_ROWS),
        row_groups=[group],
        columns=schema.names,
        use_threads=False,
    )
    reason = ""
    try:
        for batch in batches:
            rows = GroupRows(*records_of(_cast(batch, schema), kind))
            left -= rows.statuses.size
            yield rows
    except Exception as error:
        if not is_damage(error):
            raise
        reason = what_is_wrong(error)
    if left:
        reason = reason or f"a row group has {left} fewer rows than the footer says"
        lost = np.full(left, LOST, np.int32)
        yield GroupRows(no_records(left, _num_spans(kind)), lost, reason)


def _cast(batch: Any, schema: "pyarrow.Schema") -> "pyarrow.RecordBatch":
    """Return the batch with the columns and types of instances; other integers must fit."""
    batch = batch.select(schema.names)
    return batch if batch.schema.equals(schema) else batch.cast(schema)


class _RowGroup(NamedTuple):
    """One row group: its file and the time of its last change, its place there, its records."""

    path: str
    changed: int
    number: int
    offset: int
    num_rows: int
    kind: RecordKind


class _Kept:
    """Row groups as records, the least recently used first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: collections.OrderedDict[_RowGroup, GroupRows] = collections.OrderedDict()
        self._reading: dict[_RowGroup, threading.Lock] = {}
        self._num_bytes = 0

    def read(self, group: _RowGroup) -> GroupRows:
        with self._lock:
            reading = self._reading.setdefault(group, threading.Lock())
        with reading:  # once, if several threads need it
            with self._lock:
                rows = self._groups.get(group)
            rows = rows or _read_group(group)
            with self._lock:
                self._reading.pop(group, None)
                if group not in self._groups:
                    self._groups[group] = rows
                    self._num_bytes += _num_bytes(rows)
                self._groups.move_to_end(group)
                while self._num_bytes > MAX_KEPT_BYTES and len(self._groups) > 1:
                    self._num_bytes -= _num_bytes(self._groups.popitem(last=False)[1])
        return rows

    def forget(self) -> None:
        self.__init__()  # type: ignore[misc]


def _read_group(group: _RowGroup) -> GroupRows:
    """Return the rows of a row group; all are lost if the file has changed."""
    reason, status = "has changed since it was opened", storage.read_status(group.path)
    try:
        if status is None or status.modified_ns == group.changed:  # opening a missing file raises
            with open_parquet(group.path) as file:
                rows = read_group(file, group.kind, group.number)
                blocks, statuses, reasons = zip(*rows, strict=True)
            return GroupRows(join_blocks(blocks), np.concatenate(statuses), reasons[-1])
    except Exception as error:
        if not is_damage(error):
            raise
        reason = what_is_wrong(error)
    lost = np.full(group.num_rows, LOST, np.int32)
    return GroupRows(no_records(group.num_rows, _num_spans(group.kind)), lost, reason)


def _num_spans(kind: RecordKind) -> int:
    return len(stored_fields(kind.fields))


def _num_bytes(rows: GroupRows) -> int:
    return sum(array.nbytes for array in rows.block)


_kept = _Kept()
os.register_at_fork(after_in_child=_kept.forget)


class ParquetRecords(RecordSource):
    """The records of Parquet shards, by number."""

    def __init__(self, shards: Sequence[Shard], *, skip_corrupt: bool) -> None:
        """Read the footers, and of each row the column that gives its number of tokens."""
        damage = Damage(skip=skip_corrupt)
        self._groups: list[_RowGroup] = []
        parts: list[NDArray[np.uint32]] = []
        paths = [shard.path for shard in shards]
        for groups, num_tokens, errors in map_files(_look_at, shards, paths):
            for error, num_lost in errors:
                damage.found(error, num_lost)
            self._groups += groups
            parts += num_tokens
        damage.tell()
        self._coming: Iterator[GroupRows] | None = None
        self._kind = shards[0].kind
        self._firsts = np.cumsum([0, *(part.size for part in parts)])
        self.num_tokens = np.concatenate([np.zeros(0, np.uint32), *parts])
        num_bytes = 2 * _WORD_BYTES * int(self.num_tokens.sum())
        self._goes_ahead = num_bytes <= MAX_KEPT_BYTES and any(map(storage.is_remote, paths))
        if num_bytes > MAX_KEPT_BYTES:
            logging.warning(
                "records of %s take %.0f MB, more than the %.0f MB that are kept in memory: row"
                " groups are read again and again; TFRecord and batching=stream need no memory",
                shards[0].path, num_bytes / 1e6, MAX_KEPT_BYTES / 1e6,
            )  # fmt: skip

    @contextlib.contextmanager
    def ahead(self, steps: Iterator[Step], of: RecordsOf) -> Iterator[tuple[Self, Iterator[Step]]]:
        """Read row groups of remote files ahead, if all can be kept, see `RecordSource`."""
        if not self._goes_ahead:
            yield self, steps
            return
        announced, steps = itertools.tee(steps)
        needed = (
            self._groups[group]
            for step in announced
            for group in np.unique(self._groups_of(of(step))).tolist()
            if group >= 0
        )
        with Threads(_NUM_THREADS) as executor:
            here = copy.copy(self)
            here._coming = executor.ordered_map(_kept.read, needed)
            del announced
            yield here, steps

    def _groups_of(self, records: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the row group of each record, or -1."""
        return np.where(records < 0, -1, np.searchsorted(self._firsts, records, "right") - 1)

    def gather(self, records: NDArray[np.integer], damage: Damage) -> Gathered:
        """Read records, see `RecordSource`."""
        groups = self._groups_of(records)
        is_there = records >= 0
        places: list[NDArray[np.int64]] = []
        num_spans = _num_spans(self._kind)
        blocks = [no_records(0, num_spans)]
        for group in np.unique(groups).tolist():
            which = np.flatnonzero(groups == group)
            places.append(which)
            if group < 0:
                blocks.append(no_records(which.size, num_spans))
                continue
            rows = _kept.read(self._groups[group]) if self._coming is None else next(self._coming)
            number = records[which] - self._firsts[group]
            chosen = GroupRows(rows.block.take(number), rows.statuses[number], rows.reason)
            self._check(chosen, group, number, damage)
            is_there[which] = chosen.statuses == OK
            blocks.append(chosen.block)
        order = np.argsort(np.concatenate([np.zeros(0, np.int64), *places]))
        return Gathered(join_blocks(blocks).take(order), is_there)

    def _check(
        self, rows: GroupRows, group: int, in_group: NDArray[np.int64], damage: Damage
    ) -> None:
        if not rows.statuses.any():
            return
        place = self._groups[group]
        same_file = (g for g in range(group) if self._groups[g].path == place.path)
        before = sum(int(self._firsts[g + 1] - self._firsts[g]) for g in same_file)
        for row in np.flatnonzero(rows.statuses).tolist():
            one = GroupRows(rows.block.take(slice(row, row + 1)), rows.statuses[row : row + 1],
                            rows.reason)  # fmt: skip
            one.tell(damage, place.path, place.offset, before + int(in_group[row]))


def _look_at(
    shard: Shard,
) -> tuple[list[_RowGroup], list[NDArray[np.uint32]], list[tuple[CorruptDataError, int]]]:
    """Return the row groups of a shard, the tokens of the rows of each, and damage.

    Damage is an error, and how many rows are lost to it.
    """
    groups: list[_RowGroup] = []
    parts: list[NDArray[np.uint32]] = []
    reason = ""
    try:
        status = storage.read_status(shard.path)
        changed = 0 if status is None else status.modified_ns
        with open_parquet(shard.path) as file:
            check_columns(file.schema_arrow, parquet_schema(shard.kind), shard.path)
            for number in range(file.num_row_groups):
                offset = offset_of_group(file, number)
                num_rows = rows_of_group(file, number)
                place = shard.path, changed, number, offset, num_rows, shard.kind
                groups.append(_RowGroup(*place))
                parts.append(_tokens_of_group(file, number, num_rows))
    except Exception as error:
        if not is_damage(error):
            raise
        reason = what_is_wrong(error)
    num_rows = sum(part.size for part in parts)
    if not reason and shard.num_records not in (None, num_rows):
        reason = f"holds {num_rows} rows; its manifest says {shard.num_records}"
    if not reason:
        return groups, parts, []
    num_lost = max(1, (shard.num_records or 0) - num_rows)
    return groups, parts, [(CorruptDataError(shard.path, 0, reason), num_lost)]


def _tokens_of_group(file: object, number: int, num_rows: int) -> NDArray[np.uint32]:
    """Return uint32[rows], tokens of each row; 0 if the column is damaged."""
    import pyarrow as pa

    try:
        column = SEGMENT_IDS.column
        table = file.read_row_group(number, columns=[column], use_threads=False)  # type: ignore[attr-defined]
        lists = table.column(column).cast(pa.list_(pa.int8())).combine_chunks()
        if table.num_rows == num_rows and not lists.null_count and num_rows:
            return tokens_of_rows(lists.offsets.to_numpy(), lists.values.to_numpy())
    except Exception as error:
        if not is_damage(error):
            raise
    return np.zeros(num_rows, np.uint32)


def is_kept(shards: Sequence[Shard]) -> bool:
    """Return whether the row groups of Parquet shards fit in the memory for them, uncompressed."""
    num_bytes = 0
    for shard in shards:
        with open_parquet(shard.path) as file:
            metadata = file.metadata
            groups = map(metadata.row_group, range(metadata.num_row_groups))
            num_bytes += sum(group.total_byte_size for group in groups)
    return 2 * num_bytes <= MAX_KEPT_BYTES
