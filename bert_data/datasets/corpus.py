"""The tokens from which instances are made: of text, or of a token store.

"corpus.txt"            --fill_store--> store in the work folder
"tokens.bin" ("tokens") --open_store--> sentences and documents that have tokens
"""

import dataclasses
import errno
import os
from collections.abc import Sequence

import numpy as np
from absl import logging

from bert_data.storage import exists, expand_inputs
from bert_data.text.documents import AUTO, DOCUMENT, TextConfig
from bert_data.text.formats import find_plain_format
from bert_data.tokens.filling import TokenCounts, fill_store
from bert_data.tokens.oddities import warn_of_text
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_notes import StoreNotes, check_files, read_notes
from bert_data.tokens.tokenizer_file import Tokenizer
from bert_data.tokens.verifying import check_sums
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.work import Executor

STORE = "store"
_ENDINGS = (".bin", ".idx")
_DTYPES = ("uint16", "int32")
_COUNTED_IDS = 1 << 24  # at a time


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorpusFiles:
    """The files to read; `prefix` is that of their token store, or None if they are text."""

    paths: Sequence[str]
    prefix: str | None = None


def find_corpus(input_file: str, text: TextConfig) -> CorpusFiles:
    """Find the files, and whether they are text or a token store.

    Raises:
      ValueError: there is no file, or they have several formats, or belong to several stores.
      OSError: a file of the store is missing.
    """
    entries = input_file.split(",")
    is_store = all(
        entry.endswith(_ENDINGS) or (not exists(entry) and exists(entry + ".idx"))
        for entry in entries
    )
    if text.input_format == STORE or (text.input_format == AUTO and is_store):
        bases = {os.path.splitext(e)[0] if e.endswith(_ENDINGS) else e for e in entries}
        if len(bases) > 1:
            raise ValueError(
                f"the input is {len(bases)} token stores; it must be one: merge them with python -m"
                " bert_data.cli.tokenize --merge"
            )
        prefix = bases.pop()
        paths = [prefix + ending for ending in _ENDINGS]
        for path in paths:
            if not exists(path):
                reason = "No such file; a token store is a .bin and an .idx file"
                if exists(input_file):
                    reason += f" (--input_format=lines reads {input_file} as text)"
                raise FileNotFoundError(errno.ENOENT, reason, path)
        return CorpusFiles(paths=paths, prefix=prefix)
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
    """Open the tokens of a corpus; text is tokenized first.

    Args:
      files: of the corpus.
      tokenizer: of text.
      vocabulary: of the tokens.
      prefix: of the store to write, for text.
      text: how files are read.
      executor: tokenizes text.

    Raises:
      ValueError: the text has no sentence, or the store has another vocabulary, case or level.
      OSError, CorruptDataError: a file cannot be read.
    """
    if files.prefix is None:
        warn_of_text(files.paths, text, are_sentences=True)
        filled = fill_store(files.paths, tokenizer, prefix, text=text, executor=executor)
        return open_store(prefix), filled.counts
    store = open_store(files.prefix)
    if store.ids.dtype.name not in _DTYPES:
        raise ValueError(
            f"{files.prefix}: the token store holds {store.ids.dtype.name}; it must hold"
            f" {' or '.join(_DTYPES)}"
        )
    notes = read_notes(files.prefix)
    if notes is not None:
        check_files(files.prefix, notes)
        check_sums(files.prefix, notes)
        _check_notes(files.prefix, notes, vocabulary, tokenizer)
    elif np.array_equal(store.documents, np.arange(store.lengths.size + 1)):
        logging.warning(
            "%s: each document is one sequence; does the store hold sentences?", files.prefix
        )
    store = _without_empty(store)
    if not store.ids.size:
        raise ValueError(f"{files.prefix}: the token store has no token")
    return store, _count(files.prefix, store, notes, vocabulary)


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
    of_store, requested = settings["do_lower_case"], tokenizer.do_lower_case
    if None not in (of_store, requested) and of_store != requested:
        raise ValueError(
            f"{prefix}: the token store was made with do_lower_case {str(of_store).lower()}, but"
            f" {str(requested).lower()} is requested"
        )
    if settings["level"] == DOCUMENT:
        raise ValueError(
            f"{prefix}: the token store's sequences are documents; instances need sentences"
            " (--level=sentence)"
        )
    if settings["eod_id"] is not None:
        raise ValueError(
            f"{prefix}: the token store has an end-of-document token in each document; instances"
            " need a store without it (--noappend_eod)"
        )


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
    prefix: str, store: TokenStore, notes: StoreNotes | None, vocabulary: Vocabulary
) -> TokenCounts:
    """Count what is in a store, and check that all ids are in the vocabulary.

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
    noted = notes.counts if notes is not None else {}
    return TokenCounts(
        num_bytes=noted.get("num_bytes", store.ids.nbytes),
        num_lines=noted.get("num_lines", 0),
        num_documents=store.num_documents,
        num_sentences=store.lengths.size,
        num_tokens=store.ids.size,
        num_unknown=num_unknown,
        num_replaced=noted.get("num_replaced", 0),
        num_skipped=noted.get("num_skipped", 0),
    )
