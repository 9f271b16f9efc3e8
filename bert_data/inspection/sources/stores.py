"""The documents of token stores as items."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.inspection.readable_ids import TokenNames
from bert_data.inspection.sources.items import (
    Description,
    Item,
    Line,
    Source,
    View,
    check_one_vocabulary,
    show_ids,
)
from bert_data.inspection.terminal import StyledText
from bert_data.tokens.provenance import Provenance
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_files import StoreNotes, noted_words, read_notes, store_paths
from bert_data.tokens.verifying import open_provenance

STORES = "token stores"
_TOKENS, _LENGTHS = "tokens", "sequence_lengths"


def _describe_stores(prefixes: Sequence[str], notes: Sequence[StoreNotes | None]) -> Description:
    digests = [None if each is None else each.vocabulary.sha256 for each in notes]
    vocab_sha256, first = check_one_vocabulary(zip(prefixes, digests, strict=True)), notes[0]
    if first is None:
        return Description(kind=STORES, unit="document")
    return Description(
        kind=STORES,
        unit="document",
        settings=first.settings,
        vocab_sha256=vocab_sha256,
        vocab_size=first.vocabulary.size,
        do_lower_case=first.settings.get("do_lower_case"),
        words=noted_words(notes),
    )


def origin_of(provenance: Provenance | None, document: int) -> dict[str, Any]:
    """Return what is known of where a document of a store came from."""
    row = {} if provenance is None else provenance.row(document)
    return {name: value for name, value in row.items() if value is not None}


def show_origin(origin: Mapping[str, Any]) -> str:
    """Return the id and the URL of a document, or else its place."""
    named = [origin[name] for name in ("id", "url") if name in origin]
    place = [f"{origin['file']}:{origin['row']}"] if "file" in origin else []
    return "  ".join(named or place)


class StoreDocumentSource(Source):
    """The documents of one or several stores, one store after the other."""

    def __init__(self, prefixes: Sequence[str]) -> None:
        self._stores: list[TokenStore] = [open_store(prefix) for prefix in prefixes]
        self._firsts = np.cumsum([0, *(store.num_documents for store in self._stores)])
        paths = [path for prefix in prefixes for path in store_paths(prefix)]
        notes = [*map(read_notes, prefixes)]
        self._provenance = {
            prefix: open_provenance(prefix, store, own)
            for prefix, store, own in zip(prefixes, self._stores, notes, strict=True)
        }
        super().__init__(_describe_stores(prefixes, notes), prefixes, paths)

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
        origin = show_origin(origin_of(self._provenance[item.path], item.place))
        first = [("from", StyledText(origin, "faint"))] if origin else []
        return [*first, *lines, ("", StyledText(size, "faint"))]

    def row(self, item: Item, words: TokenNames) -> dict[str, Any]:
        """Return where it came from, the ids of each sequence, and texts by a vocabulary."""
        ends = np.cumsum(item.fields[_LENGTHS])[:-1]
        sequences = [part.tolist() for part in np.split(item.fields[_TOKENS], ends)]
        sequences = sequences if item.fields[_LENGTHS].size else []
        row = origin_of(self._provenance[item.path], item.place) | {"sequences": sequences}
        if words.tokens:
            row["text"] = [
                " ".join(words.join(ids[begin:end]) for begin, end in words.divide(ids))
                for ids in sequences
            ]
        return row
