"""An independent reader of TFRecord files, and the Example that an instance stands for."""

import gzip
import struct
from pathlib import Path

from pyarrow import parquet as pq

from bert_data.records import fields
from bert_data.records.instances.rows import Instance
from bert_data.tokens.vocabulary import TokenTable

_CRC_TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    _CRC_TABLE.append(_byte)


def crc32c(data: bytes) -> int:
    """CRC-32C by one table, byte by byte."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def split_records(data: bytes) -> list[tuple[int, bytes]]:
    """(offset, bytes) of each record of an uncompressed file; its checksums are compared."""
    records = []
    at = 0
    while at < len(data):
        length, length_crc = struct.unpack_from("<QI", data, at)
        record = data[at + 12 : at + 12 + length]
        (record_crc,) = struct.unpack_from("<I", data, at + 12 + length)
        assert length_crc == masked(crc32c(data[at : at + 8]))
        assert record_crc == masked(crc32c(record))
        records.append((at, record))
        at += 16 + length
    assert at == len(data)
    return records


def features_of(
    instance: Instance,
    vocabulary: TokenTable,
    layout: str,
    *,
    max_seq_length: int,
    max_predictions_per_seq: int,
) -> dict[str, list[int] | list[float]]:
    """The values of each feature, in the order of the names."""
    num_tokens, num_predictions = len(instance.ids), len(instance.masked_ids)
    ragged = layout == fields.RAGGED
    tokens_pad = 0 if ragged else max_seq_length - num_tokens
    predictions_pad = 0 if ragged else max_predictions_per_seq - num_predictions
    values: dict[str, list[int] | list[float]] = {
        fields.INPUT_IDS.name: [*instance.ids, *[0] * tokens_pad],
        fields.INPUT_MASK.name: [1] * num_tokens + [0] * tokens_pad,
        fields.SEGMENT_IDS.name: [*instance.segment_ids, *[0] * tokens_pad],
        fields.MASKED_LM_POSITIONS.name: [*instance.masked_positions, *[0] * predictions_pad],
        fields.MASKED_LM_IDS.name: [*instance.masked_ids, *[0] * predictions_pad],
        fields.MASKED_LM_WEIGHTS.name: [1.0] * num_predictions + [0.0] * predictions_pad,
    }
    if instance.label is not None:
        values[fields.NEXT_SENTENCE_LABELS.name] = [int(instance.label)]
    if ragged:
        values[fields.INPUT_IDS_SPLITS.name] = word_splits(instance, vocabulary)
    return dict(sorted(values.items()))


def word_splits(instance: Instance, vocabulary: TokenTable) -> list[int]:
    """The starts of words, by the original tokens; and the number of tokens."""
    original = list(instance.ids)
    for position, token in zip(instance.masked_positions, instance.masked_ids, strict=True):
        original[position] = token
    splits = []
    for position, token in enumerate(original):
        first_of_its_kind = position == 1 or instance.segment_ids[position] != (
            instance.segment_ids[position - 1] if position else 1
        )
        if first_of_its_kind or not vocabulary.tokens[token].startswith("##"):
            splits.append(position)
    return [*splits, len(original)]


def records_of_shards(folder: Path) -> list[list[bytes]]:
    """The records of each shard: Examples, or rows of Parquet as text."""
    shards = []
    for path in sorted(folder.glob("t*")):
        data = path.read_bytes()
        if data.startswith(b"PAR1"):
            shards.append([repr(row).encode() for row in pq.read_table(path).to_pylist()])
        else:
            plain = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
            shards.append([record for _, record in split_records(plain)])
    return shards
