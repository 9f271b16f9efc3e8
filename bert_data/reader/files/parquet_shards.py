"""Read the rows of Parquet shards as records, in order.

    tokens [101 7592 102]   segment_ids [0 0 1]   masked_positions [1]   ...
      ->  a RecordBlock of words, and which rows are damaged

Padding after a row's tokens, marked by segment -1, is dropped. A damaged row costs that row; a
damaged page, which its checksum reveals, costs the rest of its row group; a damaged footer, which
holds Parquet's table of contents, costs the whole file.
"""

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.formats.parquet_files import parquet_schema
from bert_data.reader.examples.block import RecordBlock, no_records, room_for
from bert_data.reader.examples.example import IDS, LABELS, OK, POSITIONS, SEGMENTS, WEIGHTS
from bert_data.reader.examples.number_lists import ONES
from bert_data.reader.files.parquet_opening import (
    check_columns,
    is_damage,
    open_parquet,
    rows_of_group,
    what_is_wrong,
)
from bert_data.reader.files.record_source import Damage
from bert_data.reader.layout import new_bytes, stored_fields
from bert_data.schema import fields
from bert_data.schema.fields import Axis, RecordKind

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

BLOCK_BYTES = 1 << 19  # of pages at a time; records are about twice as large
LEAST_ROWS, _MOST_ROWS = 64, 8192
_WORD_BYTES = 4
_REASONS = (
    f"a row's {fields.SEGMENT_IDS.name} are not 0s, then 1s, then -1s, one for each of"
    f" {fields.INPUT_IDS.column}",
    f"a row's {fields.INPUT_IDS.column} hold a negative number",
    f"a row's {fields.MASKED_LM_POSITIONS.column} do not ascend from 0 or more, each with one of"
    f" {fields.MASKED_LM_IDS.column}, 0 or more",
    "a row's lists differ in length",
)
_LOST = len(_REASONS) + 1


class GroupRows(NamedTuple):
    """Consecutive rows of a row group.

    Attributes:
      block: one record per row, empty if the row is damaged.
      statuses: int32[rows], OK; n for the n-th of `_REASONS`; or `_LOST`.
      reason: why rows are lost.
    """

    block: RecordBlock
    statuses: NDArray[np.int32]
    reason: str = ""

    def tell(self, damage: Damage, path: str, offset: int, first: int) -> None:
        """Report the damaged rows; `first` is the number of the first row."""
        bad = np.flatnonzero(self.statuses).tolist()
        if bad and self.statuses[bad[0]] == _LOST:
            damage.found(CorruptDataError(path, offset, self.reason, first), len(bad))
            return
        for row in bad:
            reason = _REASONS[int(self.statuses[row]) - 1]
            damage.found(CorruptDataError(path, offset, reason, first + row), 1)


class _Lists(NamedTuple):
    """A column: int32[any] values, and int64[rows + 1], where each row's begin."""

    values: NDArray[np.int32]
    splits: NDArray[np.int64]

    def counts(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return int64[rows], how many values of each row have a flag."""
        before = np.concatenate([[0], np.cumsum(flags)])
        return before[self.splits[1:]] - before[self.splits[:-1]]

    def places(self) -> NDArray[np.int64]:
        """Return int64[values], the place of each in its row."""
        return np.arange(self.values.size) - np.repeat(self.splits[:-1], np.diff(self.splits))


def _lists_of(column: "pyarrow.Array", name: str | None) -> _Lists:
    import pyarrow as pa

    is_list = pa.types.is_list(column.type)
    values = column.flatten() if is_list else column
    if column.null_count or values.null_count:
        raise pa.ArrowInvalid(f"column {name!r} contains nulls")
    offsets = column.offsets.to_numpy() if is_list else np.arange(len(column) + 1)
    numbers = values.to_numpy(zero_copy_only=False)
    is_float = np.issubdtype(numbers.dtype, np.floating)
    words = numbers.astype(np.float32).view(np.int32) if is_float else numbers.astype(np.int32)
    return _Lists(words, (offsets - offsets[0]).astype(np.int64))


def records_of(
    batch: "pyarrow.RecordBatch", kind: RecordKind
) -> tuple[RecordBlock, NDArray[np.int32]]:
    """Turn rows into records.

    Args:
      batch: at least one row; its columns are those of the kind, see `parquet_schema`.

    Returns:
      The records, those of damaged rows empty; and int32[rows], see `GroupRows`.
    """
    stored = stored_fields(kind.fields)
    columns = {
        number: _lists_of(batch.column(field.column), field.column)
        for number, field in enumerate(stored)
        if not field.is_implied
    }
    lengths, statuses = _check(columns, [field.axis for field in stored])
    implied = [number for number in range(len(stored)) if number not in columns]  # they are all 1
    counts = lengths.copy()
    counts[:, implied] = 0
    ends = counts.cumsum(axis=1)
    sizes = ends[:, -1]
    block = room_for(new_bytes(_WORD_BYTES * int(sizes.sum())), batch.num_rows, len(stored))
    starts, words = sizes.cumsum() - sizes, block.data.view(np.int32)
    for number, column in columns.items():
        count = counts[:, number]
        place = np.arange(count.sum()) - np.repeat(count.cumsum() - count, count)
        target = np.repeat(starts + ends[:, number] - count, count) + place
        words[target] = column.values[np.repeat(column.splits[:-1], count) + place]
    block.starts[:], block.sizes[:] = _WORD_BYTES * starts, _WORD_BYTES * sizes
    block.spans[..., 0], block.spans[..., 1] = _WORD_BYTES * (ends - counts), ~(_WORD_BYTES * ends)
    block.spans[:, implied, 0], block.spans[:, implied, 1] = ONES, lengths[:, implied]
    block.spans[statuses != OK] = 0
    block.lengths[:] = lengths[:, [IDS, POSITIONS]]
    return block, statuses


def _check(
    columns: dict[int, _Lists], axes: list[Axis]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return int64[rows, fields], the numbers of values without padding, and the statuses."""
    num_values = {number: np.diff(column.splits) for number, column in columns.items()}
    ids, segments, positions, labels = (columns[i] for i in (IDS, SEGMENTS, POSITIONS, LABELS))
    order = segments.values.astype(np.uint8).astype(np.int32)  # padding, -1, is 255
    is_mixed = ~np.isin(segments.values, (-1, 0, 1)) | (order < _least(order, segments, 0))
    num_tokens = segments.counts(segments.values != -1)
    is_token = ids.places() < np.repeat(num_tokens, num_values[IDS])
    is_unordered = positions.values < _least(positions.values, positions, 1)
    faults = [
        (num_values[SEGMENTS] != num_values[IDS]) | (segments.counts(is_mixed) > 0),
        ids.counts(is_token & (ids.values < 0)) > 0,
        (num_values[POSITIONS] != num_values[LABELS])
        | (positions.counts(is_unordered) > 0)
        | (labels.counts(labels.values < 0) > 0),
    ]
    needed = {Axis.TOKENS: num_values[IDS], Axis.PREDICTIONS: num_values[POSITIONS]}
    others = [n for n in columns if n > WEIGHTS]
    one = np.ones(num_tokens.size, np.int64)
    faults.append(np.any([num_values[n] != needed.get(axes[n], one) for n in others], axis=0))
    statuses = np.select(faults, range(1, _LOST), OK).astype(np.int32)
    kept = {Axis.TOKENS: num_tokens, Axis.PREDICTIONS: num_values[POSITIONS]}
    counts = np.stack([kept.get(axis, one) for axis in axes], axis=1)
    counts[statuses != OK] = 0
    return counts, statuses


def _least(values: NDArray[np.int32], column: _Lists, step: int) -> NDArray[np.int32]:
    """Return the least that each value may be: the one before it in its row and a step; first 0."""
    least = np.roll(values, 1) + step
    starts = column.splits[:-1]
    least[starts[starts < values.size]] = 0
    return least


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
            rows = GroupRows(*records_of(batch.select(schema.names).cast(schema), kind))
            left -= rows.statuses.size
            yield rows
    except Exception as error:
        if not is_damage(error):
            raise
        reason = what_is_wrong(error)
    if left:
        reason = reason or f"a row group has {left} fewer rows than the footer says"
        lost = np.full(left, _LOST, np.int32)
        yield GroupRows(no_records(left, len(stored_fields(kind.fields))), lost, reason)
