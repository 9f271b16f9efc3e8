"""The tokens that instances are made from: text is tokenized, a token store is taken as it is.

"corpus.txt"            --fill_store--> store in the work folder
"tokens.bin" ("tokens") --open_store--> sentences and documents that have tokens
"""

import dataclasses
import os
from collections.abc import Sequence

import numpy as np
from absl import logging

from bert_data.storage import exists, expand_inputs, file_size
from bert_data.text.documents import AUTO, DOCUMENT, TextConfig
from bert_data.text.formats import find_plain_format
from bert_data.tokens.filling import TokenCounts, fill_store
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_notes import StoreNotes, check_files, read_notes
from bert_data.tokens.tokenizer_file import Tokenizer
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.work import Executor

STORE = "store"
_ENDINGS = (".bin", ".idx")
_DTYPES = ("uint16", "int32")
_COUNTED_IDS = 1 << 24  # at a time


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorpusFiles:
    """What is read.

    Attributes:
      paths: the files.
      prefix: of the token store that they are, or None if they are text.
    """

    paths: Sequence[str]
    prefix: str | None = None


def find_corpus(input_file: str, text: TextConfig) -> CorpusFiles:
    """Finds out what files there are, and whether they are text or a token store.

    Raises:
      ValueError: there is none, they are of several formats, or of several token stores.
      OSError: a file of the store is missing.
    """
    entries = input_file.split(",")
    bases = {_prefix(entry) for entry in entries}
    is_store = all(
        entry.endswith(_ENDINGS) or (not exists(entry) and exists(entry + ".idx"))
        for entry in entries
    )
    if text.input_format == STORE or (text.input_format == AUTO and is_store):
        if len(bases) > 1:
            raise ValueError(
                f"{len(bases)} token stores are given; one is allowed: merge them with python -m"
                " bert_data.cli.tokenize --merge"
            )
        prefix = bases.pop()
        for ending in _ENDINGS:
            file_size(prefix + ending)  # it is told now if there is none
        return CorpusFiles(paths=[prefix + ending for ending in _ENDINGS], prefix=prefix)
    paths = expand_inputs(input_file)
    find_plain_format(paths, text.input_format)
    return CorpusFiles(paths=paths)


def load_corpus(
    files: CorpusFiles,
    tokenizer: Tokenizer,
    vocabulary: Vocabulary,
    prefix: str,
    *,
    text: TextConfig,
    executor: Executor,
) -> tuple[TokenStore, TokenCounts]:
    """Opens the tokens of a corpus, which are made of it first if it is text.

    Args:
      files: of the corpus.
      tokenizer: of text.
      vocabulary: of the tokens.
      prefix: of the store to make.
      text: how files are read.
      executor: tokenizes text.

    Raises:
      ValueError: the text has no sentence, or the store is of another vocabulary, case or level.
      OSError, CorruptDataError: a file cannot be read.
    """
    if files.prefix is None:
        filled = fill_store(files.paths, tokenizer, prefix, text=text, executor=executor)
        return open_store(prefix), filled.counts
    store = open_store(files.prefix)
    if store.ids.dtype.name not in _DTYPES:
        raise ValueError(
            f"{files.prefix}: the token store is of {store.ids.dtype.name}; one of"
            f" {' or '.join(_DTYPES)} is needed"
        )
    notes = read_notes(files.prefix)
    if notes is not None:
        check_files(files.prefix, notes)
        _check_notes(files.prefix, notes, vocabulary, tokenizer)
    elif np.array_equal(store.documents, np.arange(store.lengths.size + 1)):
        logging.warning("%s: each document is one sequence; is it of sentences?", files.prefix)
    store = _without_empty(store)
    if not store.ids.size:
        raise ValueError(f"{files.prefix}: the token store has no token")
    return store, _count(files.prefix, store, notes, vocabulary)


def _prefix(path: str) -> str:
    return os.path.splitext(path)[0] if path.endswith(_ENDINGS) else path


def _check_notes(
    prefix: str, notes: StoreNotes, vocabulary: Vocabulary, tokenizer: Tokenizer
) -> None:
    settings = notes.settings
    if notes.vocab_sha256 != vocabulary.sha256:
        raise ValueError(
            f"{prefix}: the token store was made with another vocabulary ({notes.vocab_size:,}"
            f" tokens, sha256 {notes.vocab_sha256[:12]}) than {vocabulary.path}"
            f" ({vocabulary.size:,} tokens, sha256 {vocabulary.sha256[:12]})"
        )
    of_store, asked_for = settings["do_lower_case"], tokenizer.do_lower_case
    if None not in (of_store, asked_for) and of_store != asked_for:
        raise ValueError(
            f"{prefix}: the token store was made with do_lower_case {str(of_store).lower()}, but"
            f" {str(asked_for).lower()} is asked for"
        )
    if settings["level"] == DOCUMENT:
        raise ValueError(
            f"{prefix}: the token store is of documents; instances are made from one of sentences"
            " (--level=sentence)"
        )
    if settings["eod_id"] is not None:
        raise ValueError(
            f"{prefix}: the token store has an end-of-document token in each document; instances"
            " are made from one without (--noappend_eod)"
        )


def _without_empty(store: TokenStore) -> TokenStore:
    """The store without sentences and documents that have no token, as from the text."""
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
    prefix: str, store: TokenStore, notes: StoreNotes | None, vocabulary: Vocabulary
) -> TokenCounts:
    """Counts what is in a store, and checks that all ids are of the vocabulary.

    Raises:
      ValueError: one is not.
    """
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
    counts = TokenCounts(**notes.counts) if notes is not None else None
    return TokenCounts(
        num_bytes=counts.num_bytes if counts else store.ids.nbytes,
        num_lines=counts.num_lines if counts else 0,
        num_documents=store.num_documents,
        num_sentences=store.lengths.size,
        num_tokens=store.ids.size,
        num_unknown=num_unknown,
        num_replaced=counts.num_replaced if counts else 0,
        num_skipped=counts.num_skipped if counts else 0,
    )
