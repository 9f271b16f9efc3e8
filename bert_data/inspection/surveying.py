"""Survey a shard: read it whole; what it holds, what is damaged, which records are wrong.

    shard --frames, or rows--> blocks of records --measure--> counts, faults, lengths
          --again as bytes---> checksum                        all damage, with its places

Damage ends nothing: reading goes on behind it as far as the format allows.
"""

import dataclasses
import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.formats.crc32c import crc32c
from bert_data.formats.index import FRAME_BYTES, index_path, read_index_file
from bert_data.inspection.measuring import COUNTS, FAULTS, Rule, measure_records
from bert_data.inspection.repeats import SeenRecords
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.example import NUM_NAMES, OK
from bert_data.reader.files.blocks import Frames, walk_frames
from bert_data.reader.files.corruption import Damage
from bert_data.reader.files.parquet_shards import read_row_blocks
from bert_data.reader.files.shards import Shard

MOST_PLACES = 5
"""Places that are kept of each kind of fault or damage."""

_MOST_LENGTH = 1 << 16  # of the histogram; longer records count as this long
_TELLING_PREDICTIONS = 5  # from which on equal masks are no chance: one pair in a million
_BYTES_AT_ONCE = 1 << 22


class FoundDamage(Damage):
    """Damage that is collected.

    Attributes:
      errors: of each reason the first `MOST_PLACES` in a file.
      num_losses: places where records are lost.
    """

    def __init__(self) -> None:
        super().__init__(skip=True)
        self.errors: list[CorruptDataError] = []
        self.num_losses = 0

    def found(self, error: CorruptDataError, num_records: int) -> None:
        """Note an error, and that it costs so many records."""
        super().found(error, num_records)
        self.num_losses += num_records > 0
        alike = [e for e in self.errors if (e.path, e.reason) == (error.path, error.reason)]
        if len(alike) < MOST_PLACES:
            self.errors.append(error)


@dataclasses.dataclass(kw_only=True)
class Survey:
    """What a shard holds.

    Attributes:
      path: of the shard.
      counts: int64[counts], see `Measured`.
      num_faults: int64[faults], records with each of `FAULTS`.
      num_faulty: records with any.
      places: of each fault by its name, the records of the first ones.
      num_of_length: int64[any], records of each number of tokens.
      damage: all that is damaged.
    """

    path: str
    counts: NDArray[np.int64]
    num_faults: NDArray[np.int64]
    places: dict[str, list[int]]
    num_of_length: NDArray[np.int64]
    damage: FoundDamage
    num_faulty: int = 0

    @property
    def num_records(self) -> int:
        """The number of undamaged records."""
        return int(self.num_of_length.sum())


def survey_shard(shard: Shard, number: int, rule: Rule, seen: SeenRecords) -> Survey:
    """Read a shard and measure its records.

    Args:
      shard: of masked LM records.
      number: of the shard, for `seen`.
      rule: what the records must agree with.
      seen: the records are added to it.

    Raises:
      ValueError: the columns of a Parquet file are not those of instances.
      OSError: the file cannot be read.
    """
    survey = Survey(
        path=shard.path,
        counts=np.zeros(len(COUNTS), np.int64),
        num_faults=np.zeros(len(FAULTS), np.int64),
        places={},
        num_of_length=np.zeros(1, np.int64),
        damage=FoundDamage(),
    )
    _check_bytes(shard, survey.damage)
    blocks = _read_rows if shard.is_parquet else _read_frames
    for block, records in blocks(shard, survey.damage):
        if block.num_records:
            _add(survey, block, records, number, rule, seen)
    return survey


def _add(
    survey: Survey,
    block: RecordBlock,
    records: NDArray[np.int64],
    number: int,
    rule: Rule,
    seen: SeenRecords,
) -> None:
    measured = measure_records(block, rule)
    survey.counts += measured.counts
    survey.num_faults += measured.num_faults
    survey.num_faulty += int(np.count_nonzero(measured.faults))
    for bit in np.flatnonzero(measured.num_faults).tolist():
        places = survey.places.setdefault(list(FAULTS)[bit], [])
        wrong = records[measured.faults >> bit & 1 == 1]
        places += wrong[: MOST_PLACES - len(places)].tolist()
    counts = np.bincount(np.minimum(block.lengths[:, 0], _MOST_LENGTH))
    survey.num_of_length = add_padded(survey.num_of_length, counts)
    is_telling = block.lengths[:, 1] >= _TELLING_PREDICTIONS
    seen.add(number, records, measured.texts, measured.instances, is_telling)


def add_padded(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of two histograms, which may differ in length."""
    longer, shorter = (first, second) if first.size >= second.size else (second, first)
    total = longer.astype(np.int64)
    total[: shorter.size] += shorter
    return total


def _read_rows(
    shard: Shard, damage: FoundDamage
) -> Iterator[tuple[RecordBlock, NDArray[np.int64]]]:
    """Yield the undamaged rows of a Parquet file, and about which rows they are."""
    num_rows = 0
    for block in read_row_blocks(shard.path, shard.num_records, damage, shard.next_sentence):
        first = num_rows + damage.num_records
        spans = np.zeros((block.num_records, NUM_NAMES, 2), np.int32)
        spans[:, : block.spans.shape[1]] = block.spans
        yield block._replace(spans=spans), np.arange(first, first + block.num_records)
        num_rows += block.num_records


def _read_frames(
    shard: Shard, damage: FoundDamage
) -> Iterator[tuple[RecordBlock, NDArray[np.int64]]]:
    """Yield the undamaged records of a TFRecord file, and their numbers; compare the index."""
    index = _read_index(shard, damage)
    num_records, end = 0, 0
    for frames in walk_frames(shard, damage, with_splits=True):
        records = np.arange(num_records, num_records + frames.offsets.size)
        num_records += frames.offsets.size
        end = int(frames.offsets[-1] + frames.block.sizes[-1]) + FRAME_BYTES
        if index is not None and not _agrees(index, records, frames, shard, damage):
            index = None
        is_whole = frames.statuses == OK
        block = frames.block if is_whole.all() else frames.block.take(np.flatnonzero(is_whole))
        yield block, records[is_whole]
    if index is not None and (index.size - 1, int(index["offset"][-1])) != (num_records, end):
        reason = f"lists {index.size - 1:,} records in {index['offset'][-1]:,} bytes;"
        actual = f" {shard.path} holds {num_records:,} in {end:,}"
        damage.found(CorruptDataError(index_path(shard.path), 0, reason + actual), 0)


def _read_index(shard: Shard, damage: FoundDamage) -> NDArray[np.void] | None:
    name = index_path(shard.path)
    if storage.is_remote(shard.path) or not storage.exists(name):
        return None
    try:
        return read_index_file(name)
    except CorruptDataError as error:
        damage.found(error, 0)
        return None


def _agrees(
    index: NDArray[np.void],
    records: NDArray[np.int64],
    frames: Frames,
    shard: Shard,
    damage: FoundDamage,
) -> bool:
    """Compare the index with frames, and report the first record that differs."""
    entries = index[records[0] : records[-1] + 1]
    offsets, lengths = frames.offsets[: entries.size], frames.block.lengths[: entries.size, 0]
    is_whole = frames.statuses[: entries.size] == OK
    differs = entries["offset"] != offsets.astype(np.uint64)
    differs |= is_whole & (entries["num_tokens"] != lengths)
    if not differs.any():
        return True
    first = int(differs.argmax())
    offset, num_tokens = entries[first].tolist()
    damage.found(
        CorruptDataError(
            index_path(shard.path),
            index.dtype.itemsize * int(records[first]),
            f"lists a record of {num_tokens:,} tokens at byte {offset:,}; {shard.path} has one of"
            f" {lengths[first]:,} at {offsets[first]:,}",
            int(records[first]),
        ),
        0,
    )
    return False


def _check_bytes(shard: Shard, damage: FoundDamage) -> None:
    """Compare the size and the checksum of a shard with its manifest."""
    name = os.path.basename(shard.path)
    listed = () if shard.manifest is None else shard.manifest.files
    file = next((file for file in listed if file.name == name), None)
    if file is None:
        return
    checksum = num_bytes = 0
    with storage.open_input(shard.path) as stream:
        while data := stream.read(_BYTES_AT_ONCE):
            checksum = crc32c(data, checksum)
            num_bytes += len(data)
    if num_bytes != file.num_bytes:
        reason = f"has {num_bytes:,} bytes; its manifest says {file.num_bytes:,}"
        damage.found(CorruptDataError(shard.path, min(num_bytes, file.num_bytes), reason), 0)
    elif checksum != file.crc32c:
        reason = "differs from the file that its manifest describes: the checksum is another"
        damage.found(CorruptDataError(shard.path, 0, reason), 0)
