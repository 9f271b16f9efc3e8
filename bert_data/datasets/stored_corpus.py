"""Token stores in place of text: their checks, cuts and contents.

["a", "b"], 3 blocks  --cut_stores-->  [a 0:40] [a 40:, b 0:7] [b 7:]      documents
[a 40:, b 0:7]        --load_documents-->  a store of these documents, and its counts
"""

import bisect
import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
from absl import logging

from bert_data.text.documents import DOCUMENT
from bert_data.tokens.filling import TokenCounts
from bert_data.tokens.merging import StoreSpan, join_spans
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_notes import StoreNotes, check_files, read_notes
from bert_data.tokens.verifying import check_sums
from bert_data.tokens.vocabulary import Vocabulary

_DTYPES = ("uint16", "int32")
_COUNTED_IDS = 1 << 24  # at a time


def check_stores(
    prefixes: Sequence[str], vocabulary: Vocabulary, *, do_lower_case: bool | None
) -> None:
    """Check what can be checked without reading the tokens.

    Raises:
      ValueError: a store has another vocabulary, case, level or kind of tokens.
    """
    dtypes = {}
    for prefix in prefixes:
        store = open_store(prefix)
        store.refuse_modes(prefix)
        dtypes[store.ids.dtype.name] = prefix
        if store.ids.dtype.name not in _DTYPES:
            raise ValueError(
                f"{prefix}: the token store holds {store.ids.dtype.name}; it must hold"
                f" {' or '.join(_DTYPES)}"
            )
        if not store.ids.size:
            raise ValueError(f"{prefix}: the token store has no token")
        notes = read_notes(prefix)
        if notes is not None:
            check_files(prefix, notes)
            check_sums(prefix, notes, ["idx"])
            _check_notes(prefix, notes, vocabulary, do_lower_case)
        elif np.array_equal(store.documents, np.arange(store.lengths.size + 1)):
            logging.warning(
                "%s: each document is one sequence; does the store hold sentences?", prefix
            )
    if len(dtypes) > 1:
        held = " and ".join(f"{name} in {prefix}" for name, prefix in dtypes.items())
        raise ValueError(f"the token stores hold different types of ids: {held}")


def _check_notes(
    prefix: str, notes: StoreNotes, vocabulary: Vocabulary, do_lower_case: bool | None
) -> None:
    settings = notes.settings
    if notes.vocab_sha256 != vocabulary.sha256:
        raise ValueError(
            f"{prefix}: the token store was made with another vocabulary ({notes.vocab_size:,}"
            f" tokens, sha256 {notes.vocab_sha256[:12]}) than {vocabulary.path}"
            f" ({vocabulary.size:,} tokens, sha256 {vocabulary.sha256[:12]})"
        )
    of_store = settings["do_lower_case"]
    if None not in (of_store, do_lower_case) and of_store != do_lower_case:
        raise ValueError(
            f"{prefix}: the token store was made with do_lower_case {str(of_store).lower()}, but"
            f" {str(do_lower_case).lower()} is requested"
        )
    if settings["level"] == DOCUMENT:
        raise ValueError(
            f"{prefix}: the token store's sequences are documents; instances need sentences"
            " (level=sentence of bert-data tokenize)"
        )
    for name, what, flag in (
        ("eod_id", "an end", "`append_eod=False`"),
        ("bos_id", "a start", "`prepend_bos=False`"),
    ):
        if settings.get(name) is not None:
            raise ValueError(
                f"{prefix}: the token store has {what}-of-document token in each document;"
                f" instances need a store without it ({flag})"
            )


def cut_stores(prefixes: Sequence[str], num_blocks: int) -> list[tuple[list[StoreSpan], int]]:
    """Divide the documents of stores into at most so many blocks.

    A cut is before the first document that begins at or after its target, in tokens of all stores.

    Returns:
      The documents of each block, and its size: how many blocks it would be if documents could be
      cut anywhere.
    """
    stores = [open_store(prefix) for prefix in prefixes]
    ends = list(itertools.accumulate(store.ids.size for store in stores))
    cuts = [(0, 0)]
    for number in range(1, num_blocks):
        target = ends[-1] * number // num_blocks
        place = bisect.bisect_right(ends, target)
        cuts.append(
            (place, _first_document(stores[place], target - ends[place] + stores[place].ids.size))
        )
    cuts.append((len(stores), 0))
    blocks: list[tuple[list[StoreSpan], int]] = []
    for pair in itertools.pairwise(cuts):
        spans = _between(prefixes, stores, *pair)
        if spans or not blocks:
            blocks.append((spans, 1))
        else:
            blocks[-1] = blocks[-1][0], blocks[-1][1] + 1
    return [block for block in blocks if block[0]]


def _first_document(store: TokenStore, target: int) -> int:
    """Return the number of the first document that begins at or after a token."""

    def first_token(document: int) -> int:
        sequence = int(store.documents[document])
        is_after_last = sequence == store.lengths.size
        return (
            store.ids.size if is_after_last else int(store.offsets[sequence]) // store.ids.itemsize
        )

    return bisect.bisect_left(range(store.num_documents), target, key=first_token)


def _between(
    prefixes: Sequence[str],
    stores: Sequence[TokenStore],
    start: tuple[int, int],
    end: tuple[int, int],
) -> list[StoreSpan]:
    """Return the documents between two cuts, of those stores that have tokens there."""
    spans = []
    for place in range(start[0], min(end[0] + 1, len(stores))):
        store = stores[place]
        first = start[1] if place == start[0] else 0
        stop = end[1] if place == end[0] else store.num_documents
        if store.documents[first] < store.documents[stop]:
            is_last = stop == store.num_documents
            spans.append(
                StoreSpan(prefix=prefixes[place], start=first, stop=None if is_last else stop)
            )
    return spans


def load_documents(
    spans: Sequence[StoreSpan], vocabulary: Vocabulary, prefix: str
) -> tuple[TokenStore, TokenCounts]:
    """Open documents of checked stores as one store.

    Args:
      prefix: of the store to write, unless a store is taken as it is.

    Raises:
      ValueError: an id is not in the vocabulary.
    """
    name = spans[0].prefix
    notes = [read_notes(span.prefix) if span.is_whole else None for span in spans]
    if len(spans) == 1 and spans[0].is_whole:
        if notes[0] is not None:
            check_sums(name, notes[0])
        store = _without_empty(open_store(name))
    else:
        join_spans(spans, prefix)
        store = _without_empty(open_store(prefix))
    return store, _count(name, store, notes, vocabulary)


def _without_empty(store: TokenStore) -> TokenStore:
    """Return the store without sentences and documents that have no token, as from the text."""
    bounds = store.documents
    if store.lengths.all() and (bounds[1:] > bounds[:-1]).all():
        return store
    before = np.concatenate([[0], np.cumsum(store.lengths > 0)])
    lengths = store.lengths[store.lengths > 0]
    offsets = store.offsets[store.lengths > 0]
    documents = np.unique(before[bounds])
    for array in (lengths, offsets, documents):
        array.flags.writeable = False  # one type for kernels, so that they are compiled once
    return dataclasses.replace(store, lengths=lengths, offsets=offsets, documents=documents)


def _count(
    prefix: str, store: TokenStore, notes: Sequence[StoreNotes | None], vocabulary: Vocabulary
) -> TokenCounts:
    """Count the contents of a store, and check that all ids are in the vocabulary."""
    num_unknown = 0
    for start in range(0, store.ids.size, _COUNTED_IDS):
        ids = store.ids[start : start + _COUNTED_IDS]
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= vocabulary.size:
            raise ValueError(
                f"{prefix}: the token store has id {low if low < 0 else high}; {vocabulary.path}"
                f" has {vocabulary.size:,} tokens"
            )
        num_unknown += int(np.count_nonzero(ids == vocabulary.unk_id))
    known = [each.counts for each in notes if each is not None]
    noted = {
        name: sum(counts.get(name, 0) for counts in known)
        for name in ("num_bytes", "num_lines", "num_replaced", "num_skipped")
        if len(known) == len(notes)
    }
    return TokenCounts(
        num_bytes=noted.get("num_bytes") or store.ids.nbytes,
        num_lines=noted.get("num_lines", 0),
        num_documents=store.num_documents,
        num_sentences=store.lengths.size,
        num_tokens=store.ids.size,
        num_unknown=num_unknown,
        num_replaced=noted.get("num_replaced", 0),
        num_skipped=noted.get("num_skipped", 0),
    )
