"""Documents of text, curated or not, of every format that commands read, as items.

document 3        web.jsonl:4
  id      crawl/a.jsonl:7
  source  crawl
  text    One. Two.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from bert_data.inspection.sources.items import Description, Item, Line, Source, View, show_text
from bert_data.text.documents import TextConfig
from bert_data.text.formats import read_documents

KIND = "documents of text"
TEXT = "text"


class TextSource(Source):
    """The documents of files."""

    def __init__(self, paths: Sequence[str], config: TextConfig) -> None:
        super().__init__(Description(kind=KIND, unit="document"), paths)
        self._config = config

    def count(self) -> int:
        """Return the number of documents; the files are read for it."""
        return sum(len(block.documents) for block in read_documents(self.paths, self._config))

    def stream(self) -> Iterator[Item]:
        """Yield all documents in order."""
        number = 0
        for block in read_documents(self.paths, self._config):
            for document in block.documents:
                text = document.whole_text
                others = {name: _content(v) for name, v in (document.fields or {}).items()}
                yield Item(
                    number=number,
                    path=block.path,
                    place=document.row,
                    fields={**others, TEXT: text},
                )
                number += 1

    def lines(self, item: Item, view: View) -> list[Line]:
        """Return the other fields, then the lines of the text."""
        lines: list[Line] = [
            (name, show_text(_shown(value), view))
            for name, value in item.fields.items()
            if name != TEXT
        ]
        text, *rest = show_text(item.fields[TEXT], view)
        for i, line in enumerate(text.text.split("\n")):
            lines.append((TEXT if i == 0 else "", line))
        return [*lines, *(("", more) for more in rest)]

    def measures(self, item: Item) -> dict[str, int | str]:
        """Return the number of characters."""
        return {"characters": len(item.fields[TEXT])}


def _content(value: Any) -> Any:
    """Return a field's value as content: numbers and texts as they are, others as JSON."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
