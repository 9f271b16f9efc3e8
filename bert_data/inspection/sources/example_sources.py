"""Any tf.train.Example, and labelled texts: their features by name, without TensorFlow.

Source of the format: the encoding chapter of protobuf.dev; the messages of
tensorflow/core/example/feature.proto: Example{features 1}, Features{map feature 1: key 1, value 2},
Feature{bytes_list 1, float_list 2, int64_list 3}, each list {value 1}, its numbers packed or not.
"""

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.inspection.content import StyledText
from bert_data.inspection.readable_ids import TokenNames
from bert_data.inspection.sources.items import Description, Item, Line, View, show_ids, show_text
from bert_data.inspection.sources.shard_items import (
    Decoded,
    ShardSource,
    describe_shards,
    read_payloads,
)
from bert_data.reader.files.shards import Shard
from bert_data.schema import fields
from bert_data.schema.ragged_arrays import values_name

Feature = NDArray[np.int64] | NDArray[np.float32] | list[bytes]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3
_NO_EXAMPLE = "a record is not a tf.train.Example"
_MAX_VALUES = 24
LABELLED_TEXTS = "labelled texts"
_LABEL = fields.LABEL.name


def read_features(data: bytes) -> dict[str, Feature]:
    """Read the features of an Example, sorted by name."""
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
    """Yield places and features of records, see `read_payloads`."""
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
            lines.append((name, [shown, StyledText(more, "faint")]))
        return lines


def as_field(value: Feature) -> Any:
    """Return a feature as the content of an item: bytes as text, several texts as JSON."""
    if not isinstance(value, list):
        return value
    texts = [text.decode(errors="backslashreplace") for text in value]
    return texts[0] if len(texts) == 1 else json.dumps(texts, ensure_ascii=False)


class LabelledItems(ShardSource):
    """The records of shards."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        super().__init__(shards, describe_shards(shards, LABELLED_TEXTS))

    def read_shard(self, shard: Shard, places: Sequence[int] | None) -> Iterator[Decoded]:
        """Yield records of a shard, see `ShardSource`."""
        for place, features in read_shard_features(shard, places):
            required = (_LABEL, fields.TEXTS[0], values_name(fields.tokens_name(fields.TEXTS[0])))
            missing = [name for name in required if name not in features]
            if missing:
                raise CorruptDataError(shard.path, 0, f"a record has no {missing[0]!r}", place)
            content = {name: as_field(value) for name, value in features.items()}
            for name in (_LABEL, *map(fields.num_tokens_name, fields.TEXTS)):
                values = content.get(name)
                if isinstance(values, np.ndarray) and values.size == 1:
                    content[name] = int(values[0])
            yield place, content, 0

    def ids_of(self, item: Item) -> dict[str, NDArray[np.int64]]:
        """Return the ids of each text."""
        return {name: item.fields[name] for _, name in _texts_of(item.fields)}

    def lines(self, item: Item, view: View) -> list[Line]:
        """Return the label, and text and tokens of each text."""
        lines: list[Line] = [("label", self._class_of(item))]
        for text, ids in _texts_of(item.fields):
            lines.append((text, show_text(item.fields.get(text, ""), view)))
            marked = view.marked.get(ids, set())
            shown = show_ids(item.fields[ids].tolist(), view, marked=marked)
            lines.append((fields.tokens_name(text).replace("_", " "), shown))
        return lines

    def _class_of(self, item: Item) -> str:
        label = item.fields[_LABEL]
        classes = self.description.settings.get("classes") or ()
        is_known = isinstance(label, int) and 0 <= label < len(classes)
        return f"{label} ({classes[label]})" if is_known else f"{label}"

    def row(self, item: Item, words: TokenNames) -> dict[str, Any]:
        """Return the fields, and tokens where there is a vocabulary."""
        row = super().row(item, words)
        if words.tokens:
            for text, ids in _texts_of(item.fields):
                row[fields.tokens_name(text)] = [words.token(number) for number in row[ids]]
        return row


def _texts_of(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the names of a record's texts, and of the fields with their ids."""
    names = ((text, values_name(fields.tokens_name(text))) for text in fields.TEXTS)
    return [(text, ids) for text, ids in names if ids in content]
