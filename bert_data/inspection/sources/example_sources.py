"""Any tf.train.Example, and labelled texts: their features by name, without TensorFlow.

Source of the format: tensorflow/core/example/example.proto and feature.proto.
"""

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.inspection.readable_ids import TokenNames
from bert_data.inspection.sources.items import Description, Item, Line, View, show_ids, show_text
from bert_data.inspection.sources.shard_items import (
    Decoded,
    ShardSource,
    describe_shards,
    read_payloads,
)
from bert_data.inspection.terminal import StyledText
from bert_data.reader.files.shards import Shard
from bert_data.records import fields
from bert_data.records.ragged_arrays import values_name

Feature = NDArray[np.int64] | NDArray[np.float32] | list[bytes]

_MESSAGES = """
name: "example.proto"
message_type { name: "Example" field { name: "features" number: 1 type_name: ".Features" } }
message_type {
  name: "Features"
  field { name: "feature" number: 1 label: LABEL_REPEATED type_name: ".Entry" }
}
message_type {
  name: "Entry"
  field { name: "key" number: 1 type: TYPE_BYTES }
  field { name: "value" number: 2 type_name: ".Feature" }
}
message_type {
  name: "Feature"
  oneof_decl { name: "kind" }
  field { name: "bytes_list" number: 1 type_name: ".BytesList" oneof_index: 0 }
  field { name: "float_list" number: 2 type_name: ".FloatList" oneof_index: 0 }
  field { name: "int64_list" number: 3 type_name: ".Int64List" oneof_index: 0 }
}
message_type {
  name: "BytesList"
  field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_BYTES }
}
message_type {
  name: "FloatList"
  field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_FLOAT }
}
message_type {
  name: "Int64List"
  field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_INT64 }
}
"""
_NO_EXAMPLE = "a record is not a tf.train.Example"
_MAX_VALUES = 24
LABELLED_TEXTS = "labelled texts"


def read_features(data: bytes) -> dict[str, Feature]:
    """Read the features of an Example, sorted by name."""
    from google.protobuf.message import DecodeError

    try:
        entries = _example_class().FromString(data).features.feature
        features = {entry.key.decode(): _values_of(entry.value) for entry in entries}
    except (DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{_NO_EXAMPLE} ({error})") from None
    return dict(sorted(features.items()))


@functools.cache
def _example_class() -> Any:
    """Return the class of messages, whose names and numbers are TensorFlow's."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

    pool = descriptor_pool.DescriptorPool()
    pool.Add(text_format.Parse(_MESSAGES, descriptor_pb2.FileDescriptorProto()))
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Example"))


def _values_of(feature: Any) -> Feature:
    kind = feature.WhichOneof("kind")
    if kind is None:
        return np.empty(0, np.int64)
    values = getattr(feature, kind).value
    if kind == "bytes_list":
        return list(values)
    return np.array(values, np.float32) if kind == "float_list" else np.array(values, np.int64)


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
        self._label = self.description.settings.get("label_feature", fields.LABEL)

    def read_shard(self, shard: Shard, places: Sequence[int] | None) -> Iterator[Decoded]:
        """Yield records of a shard, see `ShardSource`."""
        for place, features in read_shard_features(shard, places):
            texts = texts_of(features)
            if self._label not in features or not texts:
                missing = "text with tokens" if self._label in features else repr(self._label)
                raise CorruptDataError(shard.path, 0, f"a record has no {missing}", place)
            content = {name: as_field(value) for name, value in features.items()}
            for name in (self._label, *map(fields.num_tokens_name, texts)):
                values = content.get(name)
                if isinstance(values, np.ndarray) and values.size == 1:
                    content[name] = int(values[0])
            yield place, content, 0

    def ids_of(self, item: Item) -> dict[str, NDArray[np.int64]]:
        """Return the ids of each text."""
        return {ids: item.fields[ids] for ids in texts_of(item.fields).values()}

    def lines(self, item: Item, view: View) -> list[Line]:
        """Return the label, and text and tokens of each text."""
        lines: list[Line] = [("label", self._class_of(item))]
        for text, ids in texts_of(item.fields).items():
            lines.append((text, show_text(item.fields[text], view)))
            marked = view.marked.get(ids, set())
            shown = show_ids(item.fields[ids].tolist(), view, marked=marked)
            lines.append((fields.tokens_name(text).replace("_", " "), shown))
        return lines

    def _class_of(self, item: Item) -> str:
        label = item.fields[self._label]
        classes = self.description.settings.get("classes") or ()
        is_known = isinstance(label, int) and 0 <= label < len(classes)
        return f"{label} ({classes[label]})" if is_known else f"{label}"

    def row(self, item: Item, words: TokenNames) -> dict[str, Any]:
        """Return the fields, and tokens where there is a vocabulary."""
        row = super().row(item, words)
        if words.tokens:
            for text, ids in texts_of(item.fields).items():
                row[fields.tokens_name(text)] = [words.token(number) for number in row[ids]]
        return row


def texts_of(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of a record's texts, each with that of the field that holds its ids."""
    names = ((text, values_name(fields.tokens_name(text))) for text in content)
    return {text: ids for text, ids in names if ids in content}
