"""The tokens from which instances are made: of text, or of token stores.

"corpus.txt"            --fill_store--> store in the work folder
"tokens.bin" ("tokens") --open_store--> sentences and documents that have tokens
"tokens@2"              --join_spans--> one store of both in the work folder

`Corpus.cut` divides either at documents, into blocks; `load_part` reads the tokens of some.
"""

import bisect
import collections
import dataclasses
import errno
import itertools
from collections.abc import Sequence

import numpy as np
from absl import logging

from bert_data.progress import how_many
from bert_data.records.objectives import Objective
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.settings import AUTO
from bert_data.storage import common_folder, exists, read_statuses, split_names
from bert_data.text.documents import Span, as_spans
from bert_data.text.formats import find_plain_format, input_files
from bert_data.text.partitions import count_rows, plan_blocks
from bert_data.text.text_config import DOCUMENT, TextConfig
from bert_data.text.without import ReadText
from bert_data.tokens.corpus_warnings import warn_of_characters, warn_of_counts, warn_of_text
from bert_data.tokens.filling import TokenCounts, fill_store, numbers_rows
from bert_data.tokens.merging import StoreSpan, join_spans
from bert_data.tokens.special_tokens import count_special
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_files import (
    StoreNotes,
    are_store_names,
    check_files,
    expand_stores,
    read_notes,
    store_paths,
    words_of_stores,
)
from bert_data.tokens.tokenizer_config import PIECES
from bert_data.tokens.tokenizer_file import Tokenizer, tokenizer_of, vocabulary_of
from bert_data.tokens.verifying import check_sums
from bert_data.tokens.vocabulary import TokenTable
from bert_data.work import Executor

_DTYPES = ("uint16", "int32")
_COUNTED_IDS = 1 << 24  # at a time


def check_stores(
    prefixes: Sequence[str], vocabulary: TokenTable, *, do_lower_case: bool | None
) -> None:
    """Check vocabulary, case, level and kind of tokens, without reading the tokens."""
    dtypes = {}
    for prefix in prefixes:
        store = open_store(prefix)
        store.refuse_modes(prefix)
        dtypes[store.ids.dtype.name] = prefix
        if store.ids.dtype.name not in _DTYPES:
            held, allowed = store.ids.dtype.name, " or ".join(_DTYPES)
            raise ValueError(f"{prefix}: the token store holds {held}; it must hold {allowed}")
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
    prefix: str, notes: StoreNotes, vocabulary: TokenTable, do_lower_case: bool | None
) -> None:
    settings = notes.settings
    if notes.vocabulary.sha256 != vocabulary.sha256:
        raise ValueError(
            f"{prefix}: the token store was made with another vocabulary ({notes.vocabulary.size:,}"
            f" tokens, sha256 {notes.vocabulary.sha256[:12]}) than {vocabulary.path}"
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
    """Divide the documents of stores into at most so many blocks, each with its size.

    A cut is before the first document that begins at or after its target, in tokens of all stores.
    The size is how many blocks it would be if documents could be cut anywhere.
    """
    stores = [open_store(prefix) for prefix in prefixes]
    ends = list(itertools.accumulate(store.ids.size for store in stores))
    cuts = [(0, 0)]
    for number in range(1, num_blocks):
        target = ends[-1] * number // num_blocks
        place = bisect.bisect_right(ends, target)
        store = stores[place]
        target -= ends[place] - store.ids.size
        first = bisect.bisect_left(range(store.num_documents), target, key=store.first_token)
        cuts.append((place, first))
    cuts.append((len(stores), 0))
    blocks: list[tuple[list[StoreSpan], int]] = []
    for pair in itertools.pairwise(cuts):
        spans = _between(prefixes, stores, *pair)
        if spans or not blocks:
            blocks.append((spans, 1))
        else:
            blocks[-1] = blocks[-1][0], blocks[-1][1] + 1
    return [block for block in blocks if block[0]]


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
    spans: Sequence[StoreSpan], vocabulary: TokenTable, prefix: str
) -> tuple[TokenStore, TokenCounts]:
    """Open documents of checked stores as one store, which is written unless it is there."""
    name = spans[0].prefix
    notes = [read_notes(span.prefix) if span.is_whole else None for span in spans]
    if len(spans) == 1 and spans[0].is_whole:
        if notes[0] is not None:
            check_sums(name, notes[0])
        store = _without_empty(open_store(name))
    else:
        join_spans(spans, prefix)
        store = _without_empty(open_store(prefix))
    return store, count_tokens(name, store, notes, vocabulary)


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


def count_tokens(
    prefix: str, store: TokenStore, notes: Sequence[StoreNotes | None], vocabulary: TokenTable
) -> TokenCounts:
    """Count the contents of a store, and check that all ids are in the vocabulary."""
    num_unknown, special = 0, collections.Counter[int]()
    for start in range(0, store.ids.size, _COUNTED_IDS):
        ids = store.ids[start : start + _COUNTED_IDS]
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= vocabulary.id_limit:
            raise ValueError(
                f"{prefix}: the token store has id {low if low < 0 else high}; {vocabulary.path}"
                f" has {vocabulary.size:,} tokens"
            )
        ids = vocabulary.plain(ids)
        num_unknown += int(np.count_nonzero(ids == vocabulary.unk_id))
        special.update(count_special(ids, vocabulary.special_ids, vocabulary.id_limit))
    known = [each.counts for each in notes if each is not None]
    noted = {
        name: sum(counts.get(name, 0) for counts in known)
        for name in ("num_lines", "num_replaced", "num_skipped")
        if len(known) == len(notes)
    }
    return TokenCounts(
        num_bytes=store.ids.nbytes,
        num_lines=noted.get("num_lines", 0),
        num_documents=store.num_documents,
        num_sentences=store.lengths.size,
        num_tokens=store.ids.size,
        num_unknown=num_unknown,
        num_replaced=noted.get("num_replaced", 0),
        num_skipped=noted.get("num_skipped", 0),
        special_tokens={vocabulary.tokens[number]: special[number] for number in sorted(special)},
    )


Loaded = tuple[TokenStore, TokenCounts, ReadText]
"""Tokens, their counts, and what was noted of text."""

STORE = "store"  # as an `input_format`
TEXT_BLOCK_BYTES = 1 << 19  # of text, or of tokens, in a block
_MANY_BLOCKS = 1 << 14  # more are never made: blocks get larger
_LEAST_OF_PART = 16  # blocks, however small


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorpusFiles:
    """The files to read; `stores` are the prefixes of token stores, or () if they are text."""

    paths: Sequence[str]
    stores: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorpusPart:
    """Parts of files of text, or documents of token stores; `size` is about so many blocks."""

    text: Sequence[Span] = ()
    documents: Sequence[StoreSpan] = ()
    size: int = 1

    @classmethod
    def join(cls, parts: "Sequence[CorpusPart]") -> "CorpusPart":
        """Return several parts as one."""
        return cls(
            text=[span for part in parts for span in part.text],
            documents=[span for part in parts for span in part.documents],
            size=sum(part.size for part in parts),
        )


def find_corpus(input_file: str, text: TextConfig) -> CorpusFiles:
    """Find the files, and whether they are text or token stores, of one format."""
    names = split_names(input_file)
    is_store = text.input_format == AUTO and are_store_names(names)
    if is_store or text.input_format == STORE:
        stores = list(dict.fromkeys(expand_stores(names)))  # both files of one may be named
        paths = [path for prefix in stores for path in store_paths(prefix)[:2]]
        for path in paths:
            if not exists(path):
                reason = "No such file; a token store is a .bin and an .idx file"
                if exists(input_file):
                    reason += f" (`input_format=lines` reads {input_file} as text)"
                raise FileNotFoundError(errno.ENOENT, reason, path)
        return CorpusFiles(paths=paths, stores=stores)
    paths = input_files(input_file, text)
    find_plain_format(paths, text)
    return CorpusFiles(paths=paths)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Corpus:
    """The files of a corpus, and how they are read."""

    files: CorpusFiles
    text: TextConfig
    tokenizer: Tokenizer
    vocabulary: TokenTable

    def check(self) -> None:
        """Refuse stores that do not fit, and warn of text that was probably not meant."""
        if self.files.stores:
            do_lower_case = self.tokenizer.do_lower_case
            check_stores(self.files.stores, self.vocabulary, do_lower_case=do_lower_case)
        else:
            warn_of_text(self.files.paths, self.text, are_sentences=True)

    def warn_of(self, tokens: TokenCounts, objective: Objective) -> None:
        """Warn of tokens that a good corpus for an objective does not have."""
        warn_of_counts(
            tokens.numbers(),
            tokens.special_tokens,
            paths=() if self.files.stores else self.files.paths,
            text=self.text,
            tokenizer=self.tokenizer,
            has_pairs=objective.label is not None,
        )

    def load(self, prefix: str, executor: Executor) -> Loaded:
        """Check the corpus and open its tokens; text is tokenized first.

        Args:
          prefix: of the store to write, for text or several stores.
        """
        self.check()
        if self.files.stores:
            whole = CorpusPart(documents=[StoreSpan(prefix=name) for name in self.files.stores])
        else:
            whole = CorpusPart(text=as_spans(self.files.paths))
        return self.load_part(whole, prefix, executor, may_be_empty=False)

    def load_part(
        self, part: CorpusPart, prefix: str, executor: Executor, *, may_be_empty: bool = True
    ) -> Loaded:
        """Open the tokens of a part of a checked corpus, whose text may have no sentence."""
        if part.documents:
            read = ReadText(with_text=set(self.files.paths))
            return *load_documents(part.documents, self.vocabulary, prefix), read
        filled = fill_store(
            part.text,
            self.tokenizer,
            prefix,
            text=self.text,
            executor=executor,
            may_be_empty=may_be_empty,
        )
        return open_store(prefix), filled.counts, filled.read

    def cut(self, num_parts: int) -> list[CorpusPart]:
        """Cut it into blocks at documents; they depend on nothing but the files and `num_parts`.

        Blocks have 512 kB of text, or of tokens; more where there would be more than 16,384, and
        less where there would be fewer than 16 for each part. Compressed files are not cut.
        """
        paths, stores = self.files.paths, self.files.stores
        num_bytes = sum(status.num_bytes for status in read_statuses(paths) if status)
        least, most = _LEAST_OF_PART * num_parts, min(num_bytes // TEXT_BLOCK_BYTES, _MANY_BLOCKS)
        num_blocks = max(least, most)
        if stores:
            blocks = [CorpusPart(documents=s, size=n) for s, n in cut_stores(stores, num_blocks)]
        else:
            planned = plan_blocks(paths, find_plain_format(paths, self.text), num_blocks)
            blocks = [CorpusPart(text=spans, size=size) for spans, size in planned]
        if len(blocks) < num_parts:
            kind, names = ("token store", stores) if stores else ("file", paths)
            raise ValueError(
                f"{num_parts} partitions are requested, but the"
                f" {how_many(len(names), kind)},"
                f" {names[0]!r} first, can only be cut into {len(blocks)} at ends of documents"
            )
        return blocks

    def count_rows_before(
        self, blocks: Sequence[CorpusPart], executor: Executor
    ) -> Sequence[CorpusPart]:
        """Add to blocks of text how many lines come before, if `load_part` needs that."""
        if self.files.stores:
            return blocks
        text_format = find_plain_format(self.files.paths, self.text)
        if not numbers_rows(text_format, self.tokenizer, self.text):
            return blocks
        counted = count_rows([block.text for block in blocks], text_format, executor)
        pairs = zip(blocks, counted, strict=True)
        return [dataclasses.replace(block, text=spans) for block, spans in pairs]


def open_corpus(config: DatasetConfig) -> Corpus:
    """Find the files of a set, and load the tokenizer."""
    files = find_corpus(config.input_file, config.text)
    tokenizer = tokenizer_of(config, config.special_tokens, paths=files.paths)
    vocabulary = vocabulary_of(tokenizer)
    if files.stores:
        if config.words != PIECES:
            raise ValueError(f"words is {config.words!r}; store {files.stores[0]} has its own")
        vocabulary = vocabulary.of_words(words_of_stores(files.stores))
    if config.instances.do_whole_word_mask and not vocabulary.continuation.any():
        raise ValueError(
            "`do_whole_word_mask` needs a vocabulary with pieces that continue words, such as ##s;"
            f" {vocabulary.path} has none"
        )
    if config.instances.masks_words:
        warn_of_characters(vocabulary)
    without = config.find_without(id_field=config.id_field, folder=common_folder(files.paths))
    if without is not None and files.stores:
        raise ValueError(
            f"{files.stores[0]}: `without_documents` is for text; leave documents out when token"
            " stores are made (bert-data tokenize)"
        )
    text = dataclasses.replace(config.text, without=without)
    return Corpus(files=files, text=text, tokenizer=tokenizer, vocabulary=vocabulary)
