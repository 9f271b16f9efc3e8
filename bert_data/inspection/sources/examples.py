"""Any tf.train.Example: its features by name, without TensorFlow.

    b"\\n..."  ->  {"label": int64[1], "text": [b"so, so"], "weights": float32[3]}

Source of the format: the encoding chapter of protobuf.dev; the messages of
tensorflow/core/example/feature.proto: Example{features 1}, Features{map feature 1: key 1, value 2},
Feature{bytes_list 1, float_list 2, int64_list 3}, each list {value 1}, its numbers packed or not.
"""

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.inspection.content import Span
from bert_data.inspection.sources.items import Description, Item, Line, View, show_text
from bert_data.inspection.sources.shards import Decoded, ShardSource, read_payloads
from bert_data.reader.files.shards import Shard

Feature = NDArray[np.int64] | NDArray[np.float32] | list[bytes]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3
_NO_EXAMPLE = "a record is not a tf.train.Example"
_MAX_VALUES = 24


def read_features(data: bytes) -> dict[str, Feature]:
    """Read the features of an Example, sorted by name.

    Raises:
      ValueError: the bytes are not an Example.
    """
    features: dict[str, Feature] = {}
    try:
        for number, content in _fields(data):
            if number != 1 or not isinstance(content, bytes):
                continue
            for entry_number, entry in _fields(content):
                if entry_number == 1 and isinstance(entry, bytes):
                    name, feature = _read_entry(entry)
                    features[name] = feature
    except (IndexError, struct.error, UnicodeDecodeError, OverflowError) as error:
        raise ValueError(f"{_NO_EXAMPLE} ({error})") from None
    return dict(sorted(features.items()))


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and content of each field of a message."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _read_varint(data, at)
            yield number, value
            continue
        sizes = {_FIXED64: 8, _FIXED32: 4}
        if kind == _BYTES:
            size, at = _read_varint(data, at)
        elif kind in sizes:
            size = sizes[kind]
        else:
            raise IndexError(f"wire type {kind}")
        if size > len(data) - at:
            raise IndexError("it ends too early")
        yield number, data[at : at + size]
        at += size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise IndexError("a number of more than 64 bits")


def _read_entry(entry: bytes) -> tuple[str, Feature]:
    name, feature = "", np.empty(0, np.int64)
    read: Any = feature
    for number, content in _fields(entry):
        if number == 1 and isinstance(content, bytes):
            name = content.decode()
        elif number == 2 and isinstance(content, bytes):
            for kind, values in _fields(content):
                if isinstance(values, bytes):
                    read = _read_list(kind, values)
    return name, read


def _read_list(kind: int, data: bytes) -> Feature:
    if kind == _BYTES_LIST:
        return [value for number, value in _fields(data) if number == 1 and type(value) is bytes]
    if kind == _FLOAT_LIST:
        parts = [value for number, value in _fields(data) if number == 1 and type(value) is bytes]
        return np.frombuffer(b"".join(parts), "<f4").astype(np.float32)
    numbers: list[int] = []
    for number, value in _fields(data):
        if number == 1 and isinstance(value, int):
            numbers.append(value)
        elif number == 1:
            at, packed = 0, bytes(value)
            while at < len(packed):
                one, at = _read_varint(packed, at)
                numbers.append(one)
    return np.array(numbers, np.uint64).view(np.int64) if numbers else np.empty(0, np.int64)


def read_shard_features(
    shard: Shard, places: Sequence[int] | None
) -> Iterator[tuple[int, dict[str, Feature]]]:
    """Yield places and features of records, see `read_payloads`.

    Raises:
      CorruptDataError: the shard is damaged, or a record is not an Example.
    """
    for place, data in read_payloads(shard, places):
        try:
            yield place, read_features(data)
        except ValueError as error:
            raise CorruptDataError(shard.path, 0, str(error), place) from None


class ExampleSource(ShardSource):
    """Records of other programs: their features by name; nothing says what the numbers are."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        super().__init__(shards, Description(kind="tf.train.Examples", unit="record"))

    def read_shard(self, shard: Shard, places: Sequence[int] | None) -> Iterator[Decoded]:
        """Yield records of a shard, see `ShardSource`."""
        for place, features in read_shard_features(shard, places):
            yield place, {name: as_field(value) for name, value in features.items()}, 0

    def lines(self, item: Item, view: View) -> list[Line]:
        """Return a line for each feature."""
        lines: list[Line] = []
        for name, value in item.fields.items():
            if isinstance(value, str):
                lines.append((name, show_text(value, view)))
                continue
            values = value.tolist()
            shown = " ".join(f"{each:g}" if isinstance(each, float) else str(each)
                             for each in values[:_MAX_VALUES])  # fmt: skip
            more = f" ... {len(values):,} values" if len(values) > _MAX_VALUES else ""
            lines.append((name, [shown, Span(more, "faint")]))
        return lines

    def measures(self, item: Item) -> dict[str, int | str]:
        """Return the number of features."""
        return {"features": len(item.fields)}


def as_field(value: Feature) -> Any:
    """Return a feature as the content of an item: bytes as text, several texts as JSON."""
    if not isinstance(value, list):
        return value
    texts = [text.decode(errors="backslashreplace") for text in value]
    return texts[0] if len(texts) == 1 else json.dumps(texts, ensure_ascii=False)
