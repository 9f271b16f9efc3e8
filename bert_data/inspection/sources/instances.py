"""Masked LM records of TFRecord (also of Google's program) or Parquet shards, as items.

Their fields are those of unpadded records, so that layouts and formats do not matter.
"""

import contextlib
import itertools
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.inspection.readable_ids import TokenNames
from bert_data.inspection.sources.items import Item, Line, Source, View, show_ids
from bert_data.inspection.sources.shard_items import (
    Decoded,
    ShardSource,
    describe_shards,
    has_index,
    indexed_records,
    walk_blocks,
    within,
)
from bert_data.inspection.terminal import StyledText
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.decode import Rows, decode_records
from bert_data.reader.examples.example import MASK
from bert_data.reader.files.blocks import read_blocks
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.shards import Shard
from bert_data.reader.layout import (
    BatchArrays,
    BatchGroup,
    Shape,
    arrays_of,
    layout_of,
    make_table,
    new_buffer,
)
from bert_data.records import fields
from bert_data.records.fields import RecordKind
from bert_data.records.objectives import Objective

INSTANCES = "masked LM records"
_IDS, _SEGMENTS = fields.INPUT_IDS.name, fields.SEGMENT_IDS.name
_POSITIONS, _LABELS = fields.MASKED_LM_POSITIONS.name, fields.MASKED_LM_IDS.name
_WEIGHTS, _NEXT = fields.MASKED_LM_WEIGHTS.name, fields.NEXT_SENTENCE_LABELS.name
MAX_HELD_VALUES = 1 << 20  # of a field, padding included, in memory at a time
_MOST_OF_SHORT = 4096  # values of a field: a single long record would pad all others


class MaskedSource(Source):
    """Masked LM instances, wherever they are from.

    Attributes:
      objective: that their labels are of.
    """

    objective: Objective

    def ids_of(self, item: Item) -> dict[str, NDArray[np.int64]]:
        """Return the ids before they were masked."""
        ids, predicted = item.fields[_IDS].copy(), originals(item)
        for position, original in predicted.items():
            if 0 <= position < ids.size:
                ids[position] = original
        return {_IDS: ids}

    def lines(self, item: Item, view: View) -> list[Line]:
        """Return a line for each segment, the label, and what is wrong."""
        content = item.fields
        ids, segments = content[_IDS].tolist(), content[_SEGMENTS]
        predicted = originals(item)
        marked = view.marked.get(_IDS, set())
        cuts = [0, *(np.flatnonzero(np.diff(segments)) + 1).tolist(), len(ids)]
        lines: list[Line] = []
        for begin, end in itertools.pairwise(cuts):
            if begin == end:
                continue
            segment = int(segments[begin])
            style = "segment_b" if segment == 1 else ""
            spans = show_ids(
                ids[begin:end], view, style=style, marked=marked, first=begin, predicted=predicted
            )
            lines.append(("AB"[segment] if segment in (0, 1) else f"segment {segment}", spans))
        if _NEXT in content:
            meanings = "B follows A", "B is from elsewhere"
            if self.objective.swaps:
                meanings = "A and B are in order", "A and B are swapped"
            lines.append((self.objective.title, meanings[bool(content[_NEXT])]))
        outside = [position for position in predicted if position >= len(ids)]
        if outside:
            where = f"position {outside[0]} is outside the {len(ids)} tokens"
            lines.append(("wrong", [StyledText(where, "bad")]))
        size = f"{len(ids):,} tokens, {len(predicted):,} to predict"
        padding = [StyledText(f", {item.padding:,} of padding", "padding")] if item.padding else []
        return [*lines, ("", [StyledText(size, "faint"), *padding])]

    def row(self, item: Item, words: TokenNames) -> dict[str, Any]:
        """Return the fields, and tokens where there is a vocabulary."""
        row = super().row(item, words)
        if words.tokens:
            row["tokens"] = [words.token(number) for number in row[_IDS]]
            row["masked_lm_tokens"] = [words.token(number) for number in row[_LABELS]]
        return row | {"padding": item.padding}


class InstanceSource(MaskedSource, ShardSource):
    """The records of shards."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        ShardSource.__init__(self, shards, describe_shards(shards, INSTANCES))
        self.objective, self.kind = shards[0].objective, shards[0].kind
        for shard in shards:
            if shard.objective != self.objective:
                first = f"next_sentence is {self.objective.name!r} in {shards[0].path}"
                raise ValueError(
                    f"{first} and {shard.objective.name!r} in {shard.path}; look at one at a time"
                )

    def read_shard(self, shard: Shard, places: Sequence[int] | None) -> Iterator[Decoded]:
        """Yield records of a shard, see `ShardSource`."""
        with contextlib.closing(_blocks(shard, places)) as blocks:
            for first, block in blocks:
                chosen: Sequence[int] = range(first, first + block.num_records)
                if places is not None:
                    chosen = within(places, range(first, first + block.num_records))
                    block = block.take(np.array(chosen, np.int64) - first)
                records = fields_of_records(block, shard.kind)
                for place, (values, padding) in zip(chosen, records, strict=True):
                    yield place, values, padding
                if places is not None and first + block.num_records > places[-1]:
                    return

    def first_lengths(self, most: int) -> tuple[NDArray[np.int64], CorruptDataError | None]:
        """Return the tokens of the first records: some `most`, or all to the first damage."""
        parts, num_records = [np.zeros(0, np.int64)], 0
        try:
            for shard in self._shards:
                with contextlib.closing(_blocks(shard, None)) as blocks:
                    for _, block in blocks:
                        parts.append(block.lengths[:, 0].astype(np.int64))
                        num_records += block.num_records
                        if num_records >= most:
                            return np.concatenate(parts), None
        except CorruptDataError as error:
            return np.concatenate(parts), error
        return np.concatenate(parts), None


def originals(item: Item) -> dict[int, int]:
    """Return the original id of each position to predict."""
    positions, labels = item.fields[_POSITIONS].tolist(), item.fields[_LABELS].tolist()
    return dict(zip(positions, labels, strict=True))


def _blocks(shard: Shard, places: Sequence[int] | None) -> Generator[tuple[int, RecordBlock]]:
    """Yield blocks of records and the place of their first; those without `places` may lack."""
    damage = Damage(skip=False)
    if shard.is_parquet:
        first = 0
        for block in read_blocks(shard, damage):
            yield first, block
            first += block.num_records
    elif places is not None and has_index(shard):
        records = indexed_records(shard)
        for place in places:
            if place < records.num_tokens.size:
                yield place, records.gather(np.array([place]), damage).block
    else:
        yield from walk_blocks(shard, are_instances=True)


def fields_of_records(block: RecordBlock, kind: RecordKind) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the fields of each record of a block, unpadded, and its positions of padding."""
    for part in _cut(block):
        batch, padding = decode_block(part, kind), _padding(part).tolist()
        for i, (num_tokens, num_predictions) in enumerate(part.lengths.tolist()):
            yield _fields_of_row(batch, i, num_tokens, num_predictions), padding[i]


def _cut(block: RecordBlock) -> Iterator[RecordBlock]:
    """Cut a block into runs that are not much padding side by side, however long a record is."""
    first = widest = 0
    for i, length in enumerate([*block.lengths.max(axis=1).tolist(), 2 * MAX_HELD_VALUES]):
        widest = max(widest, length)
        if i > first and (i + 1 - first) * widest > MAX_HELD_VALUES:
            yield block.take(slice(first, i))
            first, widest = i, length


def _fields_of_row(
    batch: BatchArrays, row: int, num_tokens: int, num_predictions: int
) -> dict[str, Any]:
    lengths = {_IDS: num_tokens, _SEGMENTS: num_tokens}
    lengths |= {_POSITIONS: num_predictions, _LABELS: num_predictions}
    values: dict[str, Any] = {
        name: batch[name][row, :length].astype(np.int64) for name, length in lengths.items()
    }
    weights: NDArray[Any] = batch[_WEIGHTS][row, :num_predictions]
    if (weights != 1).any():  # they are 1 in all records but those of other programs
        values[_WEIGHTS] = weights.astype(np.float32)
    if _NEXT in batch:
        values[_NEXT] = int(batch[_NEXT][row, 0])
    return values


def _padding(block: RecordBlock) -> NDArray[np.int64]:
    """Return int64[records], the padding of each, from its input_mask: one byte a position."""
    begins, ends = block.spans[:, MASK, 0].astype(np.int64), block.spans[:, MASK, 1]
    is_packed = (begins >= 0) & (ends >= begins)
    sizes = np.where(is_packed, ends - begins, 0)
    return np.maximum(sizes - block.lengths[:, 0], 0)


def short_records(block: RecordBlock) -> RecordBlock:
    """Return the records of usual lengths, which are cheap to pad."""
    is_short = (block.lengths <= _MOST_OF_SHORT).all(axis=1) & (block.lengths[:, 0] > 0)
    return block.take(np.flatnonzero(is_short))


def decode_block(block: RecordBlock, kind: RecordKind) -> BatchArrays:
    """Return the fields of short records by name, padded with 0; at least one record."""
    rows = block.num_records
    width, predictions = np.maximum(block.lengths.max(axis=0), 1).tolist()
    layout = layout_of(kind)
    table, num_words = make_table([Shape(rows, width, predictions)], layout)
    words, splits = new_buffer(num_words), np.arange(rows + 1)
    to_fill = Rows(np.ones(rows, np.bool_), splits, np.array([0, rows]))
    decode_records(block, to_fill, layout, table, words)
    return next(arrays_of(BatchGroup(words, table), layout))
