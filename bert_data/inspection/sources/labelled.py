"""Records of labelled texts as items.

record 4
  label   2 (sports)
  text    Unable to score.
  tokens  unable to score .
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.inspection.sources.examples import as_field, read_shard_features
from bert_data.inspection.sources.items import Item, Line, View, show_ids, show_text
from bert_data.inspection.sources.shards import Decoded, ShardSource, describe_shards
from bert_data.inspection.words import Words
from bert_data.reader.files.shards import Shard
from bert_data.schema import fields
from bert_data.schema.ragged_arrays import values_name

KIND = "labelled texts"
_LABEL = fields.LABEL.name


class LabelledSource(ShardSource):
    """The records of shards."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        super().__init__(shards, describe_shards(shards, KIND))

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

    def measures(self, item: Item) -> dict[str, int | str]:
        """Return the number of tokens, and the label."""
        num_tokens = sum(item.fields[name].size for _, name in _texts_of(item.fields))
        return {"tokens": num_tokens, "label": self._class_of(item)}

    def _class_of(self, item: Item) -> str:
        label = item.fields[_LABEL]
        classes = self.description.settings.get("classes") or ()
        is_known = isinstance(label, int) and 0 <= label < len(classes)
        return f"{label} ({classes[label]})" if is_known else f"{label}"

    def row(self, item: Item, words: Words) -> dict[str, Any]:
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
