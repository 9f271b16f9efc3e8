"""Items of shards: found by number through all shards, decoded by a subclass.

A shard with an index is entered where the record is; others are read from their beginning: Parquet,
compressed and remote ones, and those of other programs.
"""

import abc
import collections
import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bert_data import storage
from bert_data.inspection.sources.items import Description, Item, Source, check_one_vocabulary
from bert_data.reader.files.blocks import walk_blocks
from bert_data.reader.files.gathering import TFRecords
from bert_data.reader.files.indexes import why_not_addressable
from bert_data.reader.files.remote_records import records_of_shards
from bert_data.reader.files.shards import Shard
from bert_data.records.formats.tfrecord import index_path
from bert_data.records.sets.manifest import Manifest

_RECORDS_AT_A_TIME = 64
Decoded = tuple[int, Mapping[str, Any], int]
"""The place of a record in its shard, its fields, and its padding."""


class ShardSource(Source):
    """Items that are the records of shards, in order."""

    def __init__(self, shards: Sequence[Shard], description: Description) -> None:
        super().__init__(description, [shard.path for shard in shards])
        self._shards = tuple(shards)
        self._counts = {shard.path: shard.num_records for shard in shards}

    @abc.abstractmethod
    def read_shard(self, shard: Shard, places: Sequence[int] | None) -> Iterator[Decoded]:
        """Yield records of a shard: all, or those at ascending places, as far as it has them."""

    def count(self) -> int:
        """Return the number of records; shards that nothing describes are read for it."""
        return sum(map(self._count_of, self._shards))

    def _count_of(self, shard: Shard) -> int:
        count = self._counts[shard.path]
        if count is None:
            blocks = walk_blocks(shard, are_instances=False)
            count = sum(block.num_records for _, block in blocks)
            self._counts[shard.path] = count
        return count

    def stream(self) -> Iterator[Item]:
        """Yield all records in order."""
        pairs = ((s, decoded) for s in self._shards for decoded in self.read_shard(s, None))
        for number, (shard, decoded) in enumerate(pairs):
            yield _item(shard, decoded, number)

    def read(self, numbers: Sequence[int]) -> Iterator[Item]:
        """Yield records by number, see `Source.read`."""
        pending, first = collections.deque(numbers), 0
        for shard in self._shards:
            if not pending:
                return
            count = self._counts[shard.path]
            places = [n - first for n in pending if count is None or n < first + count]
            if places:
                for decoded in self.read_shard(shard, places):
                    yield _item(shard, decoded, pending.popleft())
            if pending:
                first += self._count_of(shard)


def _item(shard: Shard, decoded: Decoded, number: int) -> Item:
    place, fields, padding = decoded
    return Item(number=number, path=shard.path, place=place, fields=fields, padding=padding)


def describe_shards(shards: Sequence[Shard], kind: str) -> Description:
    """Describe records of a kind by their manifests."""
    manifests = [shard.manifest for shard in shards if shard.manifest is not None]
    first = manifests[0] if manifests else None
    return Description(
        kind=kind,
        unit="record",
        settings=_settings_of_manifests(manifests),
        vocab_sha256=check_one_vocabulary(
            (shard.path, shard.manifest.vocabulary.sha256) for shard in shards if shard.manifest
        ),
        vocab_size=first.vocabulary.size if first else None,
        do_lower_case=first.flags.get("do_lower_case") if first else None,
        special_tokens=next((shard.special_tokens for shard in shards if shard.manifest), {}),
    )


def within(places: Sequence[int], span: range) -> list[int]:
    """Return those of ascending places that are in a range."""
    first, last = np.searchsorted(np.asarray(places), [span.start, span.stop])
    return list(places[first:last])


def has_index(shard: Shard) -> bool:
    """Whether records of a TFRecord shard can be read by number without scanning it."""
    return why_not_addressable(shard) is None and storage.exists(index_path(shard.path))


def indexed_records(shard: Shard) -> TFRecords:
    """Open the records of a shard by number."""
    return records_of_shards([shard], in_order=True, skip_corrupt=False)


def read_payloads(shard: Shard, places: Sequence[int] | None) -> Iterator[tuple[int, bytes]]:
    """Yield places and bytes of records of a TFRecord shard: all, or those at ascending places."""
    if places is not None and has_index(shard):
        records = indexed_records(shard)
        present = [place for place in places if place < records.num_tokens.size]
        for begin in range(0, len(present), _RECORDS_AT_A_TIME):
            part = present[begin : begin + _RECORDS_AT_A_TIME]
            yield from zip(part, records.read(np.array(part)), strict=True)
        return
    included = None if places is None else set(places)
    with contextlib.closing(walk_blocks(shard, are_instances=False)) as blocks:
        for first, block in blocks:
            ends = (block.starts + block.sizes).tolist()
            for place, start, end in zip(itertools.count(first), block.starts.tolist(), ends):
                if included is None or place in included:
                    yield place, block.data[start:end].tobytes()
            if places is not None and first + block.num_records > places[-1]:
                return


def _settings_of_manifests(manifests: Sequence[Manifest]) -> dict[str, Any]:
    """Return what manifests say of their sets; a setting that differs among them is "several"."""
    all_settings = [
        {
            "output_format": manifest.output_format,
            "record_layout": manifest.record_layout,
            "max_seq_length": manifest.max_seq_length,
            **manifest.flags,
            "created_by": manifest.created_by,
        }
        for manifest in manifests
    ]
    first, *others = all_settings or [{}]
    return {
        name: value if all(each.get(name) == value for each in others) else "several"
        for name, value in first.items()
    }
