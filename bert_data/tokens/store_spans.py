"""Documents of token stores, in pieces of bounded size, and joined into one store.

StoreSpan("a"), StoreSpan("b", 2, 5)  --join_spans-->  all documents of a, and three of b
"""

import dataclasses
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.tokens.store import MEGATRON, StoreShape, TokenStore, open_store
from bert_data.tokens.store_notes import read_notes
from bert_data.tokens.store_writer import FileSummary, StoreWriter
from bert_data.tokens.verifying import compare_sum

_SEQUENCES = 1 << 18  # at a time
_TOKENS = 1 << 24

Piece = tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreSpan:
    """Documents `start` to `stop`, exclusive, of a token store; None: to its end."""

    prefix: str
    start: int = 0
    stop: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the store."""
        return self.start == 0 and self.stop is None


def read_pieces(store: TokenStore, start: int = 0, stop: int | None = None) -> Iterator[Piece]:
    """Yield documents in parts of whole sequences, as arguments of `StoreWriter.add`."""
    size, bounds = store.ids.itemsize, store.documents[start : None if stop is None else stop + 1]
    at, end = int(bounds[0]), int(bounds[-1])
    documents, done = bounds[1:], 0
    while at < end:
        lengths = store.lengths[at : min(at + _SEQUENCES, end)]
        fitting = np.searchsorted(np.cumsum(lengths, dtype=np.int64), _TOKENS, side="right")
        lengths = lengths[: max(1, int(fitting))]
        last = at + lengths.size
        first = int(store.offsets[at]) // size
        ended = int(np.searchsorted(documents, last, side="right"))
        breaks = documents[done:ended] - at
        yield store.ids[first : first + int(lengths.sum(dtype=np.int64))], lengths, breaks
        at, done = last, ended


def join_spans(
    spans: Sequence[StoreSpan],
    prefix: str,
    *,
    stores: Sequence[TokenStore] = (),
    advance: Callable[[int], object] = lambda num_bytes: None,
) -> tuple[FileSummary, FileSummary]:
    """Write documents of stores of one kind to a new store; no span is empty.

    Args:
      stores: of the spans, if they are open already.
      advance: is called with the number of bytes of ids that were copied.

    Returns:
      What the notes say of the new files.

    Raises:
      CorruptDataError: a store is damaged, though its checksum in the new store would vouch for it.
    """
    if not stores:
        opened = {prefix: open_store(prefix) for prefix in {span.prefix for span in spans}}
        stores = [opened[span.prefix] for span in spans]
    shape = StoreShape(empty_documents=MEGATRON)
    with StoreWriter(prefix, stores[0].ids.dtype, shape) as writer:
        for span, store in zip(spans, stores, strict=True):
            crc32 = 0
            for ids, lengths, breaks in read_pieces(store, span.start, span.stop):
                crc32 = zlib.crc32(ids.data, crc32)
                writer.add(ids, lengths, breaks)
                advance(ids.nbytes)
            notes = read_notes(span.prefix) if span.is_whole else None
            if notes is not None:
                compare_sum(f"{span.prefix}.bin", crc32, notes.files[0])
            store.release_memory(0)
    assert writer.files is not None
    return writer.files
