"""The documents of token stores as items.

document 3
  1  the cat sat .          a store of sentences: one line each
  2  it was warm .

document 3
     the cat sat . ...      a store of documents
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.inspection.content import Span
from bert_data.inspection.sources.items import (
    Description,
    Item,
    Line,
    Source,
    View,
    check_one_vocabulary,
    show_ids,
)
from bert_data.inspection.words import Words
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_notes import StoreNotes, read_notes, store_paths

KIND = "token stores"
_TOKENS, _LENGTHS = "tokens", "sequence_lengths"


def _describe(prefixes: Sequence[str], notes: Sequence[StoreNotes | None]) -> Description:
    digests = [None if each is None else each.vocab_sha256 for each in notes]
    vocab_sha256, first = check_one_vocabulary(zip(prefixes, digests, strict=True)), notes[0]
    if first is None:
        return Description(kind=KIND, unit="document")
    counts = {f"text.{name}": value for name, value in first.counts.items()}
    return Description(
        kind=KIND,
        unit="document",
        settings={**first.settings, **(counts if len(notes) == 1 else {})},
        vocab_sha256=vocab_sha256,
        vocab_size=first.vocab_size,
        do_lower_case=first.settings.get("do_lower_case"),
    )


class StoreSource(Source):
    """The documents of one or several stores, one store after the other."""

    def __init__(self, prefixes: Sequence[str]) -> None:
        """Open the stores.

        Raises:
          ValueError: the stores were made with different vocabularies.
        """
        self._stores: list[TokenStore] = [open_store(prefix) for prefix in prefixes]
        self._firsts = np.cumsum([0, *(store.num_documents for store in self._stores)])
        paths = [path for prefix in prefixes for path in store_paths(prefix)]
        super().__init__(_describe(prefixes, [*map(read_notes, prefixes)]), prefixes, paths)

    def count(self) -> int:
        """Return the number of documents."""
        return int(self._firsts[-1])

    def stream(self) -> Iterator[Item]:
        """Yield all documents in order."""
        return self.read(range(self.count()))

    def read(self, numbers: Sequence[int]) -> Iterator[Item]:
        """Yield documents by number, see `Source.read`."""
        for number in numbers:
            if number >= self.count():
                return
            which = int(np.searchsorted(self._firsts, number, side="right")) - 1
            store, place = self._stores[which], number - int(self._firsts[which])
            first, last = store.documents[place : place + 2].tolist()
            lengths = store.lengths[first:last].astype(np.int64)
            begin = int(store.offsets[first]) // store.ids.itemsize if first < last else 0
            ids = store.ids[begin : begin + int(lengths.sum())].astype(np.int64)
            fields = {_TOKENS: ids, _LENGTHS: lengths}
            yield Item(number=number, path=self.names[which], place=place, fields=fields)

    def ids_of(self, item: Item) -> dict[str, NDArray[np.int64]]:
        """Return the ids of all sequences."""
        return {_TOKENS: item.fields[_TOKENS]}

    def lines(self, item: Item, view: View) -> list[Line]:
        """Return a line for each sequence, as far as `view.max_tokens` goes."""
        ids, lengths = item.fields[_TOKENS], item.fields[_LENGTHS]
        marked = view.marked.get(_TOKENS, set())
        ends = np.cumsum(lengths).tolist()
        size = f"{ids.size:,} tokens"
        if lengths.size != 1:
            size += f" in {lengths.size:,} sequences"
        lines: list[Line] = []
        begin = 0
        for i, end in enumerate(ends):
            if begin >= view.max_tokens:
                size += f"; {len(ends) - i:,} sequences are not shown"
                break
            shown = show_ids(ids[begin:end].tolist(), view, first=begin, marked=marked)
            lines.append((str(i + 1) if len(ends) > 1 else "", shown))
            begin = end
        return [*lines, ("", Span(size, "faint"))]

    def measures(self, item: Item) -> dict[str, int | str]:
        """Return the numbers of tokens and sequences."""
        return {"tokens": item.fields[_TOKENS].size, "sequences": item.fields[_LENGTHS].size}

    def row(self, item: Item, words: Words) -> dict[str, Any]:
        """Return the ids of each sequence, and its text where there is a vocabulary."""
        ends = np.cumsum(item.fields[_LENGTHS])[:-1]
        sequences = [part.tolist() for part in np.split(item.fields[_TOKENS], ends)]
        sequences = sequences if item.fields[_LENGTHS].size else []
        row: dict[str, Any] = {"sequences": sequences}
        if words.tokens:
            row["text"] = [
                " ".join(words.join(ids[begin:end]) for begin, end in words.divide(ids))
                for ids in sequences
            ]
        return row
