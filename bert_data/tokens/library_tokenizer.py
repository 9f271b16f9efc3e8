"""Tokenizers that libraries run: BPE, Unigram, WordPiece with other rules than BERT's."""

import bisect
import collections
import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.settings import AUTO
from bert_data.storage import read_bytes
from bert_data.text.documents import TextDocument, block_sequences
from bert_data.text.text_config import STRICT
from bert_data.tokens.backends import Backend, DefinitionFile, Encoded, SentencepieceBackend
from bert_data.tokens.block_run import TokenBlock
from bert_data.tokens.fastokens_backend import FastokensBackend, choose_backend, why_not_known
from bert_data.tokens.special_tokens import SpecialTokenError, find_special, refusal
from bert_data.tokens.tiktoken_ranks import are_ranks
from bert_data.tokens.tokenizer_config import REFUSE, SENTENCEPIECE, TEXT, TOKEN, TOKENIZERS
from bert_data.tokens.tokenizer_json import all_ids, find_special_tokens, parts, refuse_large_id
from bert_data.tokens.vocabulary import VocabularyNote
from bert_data.tokens.word_bits import (
    marked_continuations,
    pre_token_starts,
    words_by_mark,
    words_by_pre_tokens,
)

NO_ID = -1
_SPACE = "\u2581"  # what begins words in vocabularies of SentencePiece's kind

OpenAsText = Callable[[Collection[str]], Backend]
"""Returns a backend for which some tokens stand in no text."""

FindWordBits = Callable[[Sequence[str], frozenset[int]], NDArray[np.uint16]]
"""Returns the bits of the tokens by id, given the special ids; see `word_bits`."""


class UntokenizableError(ValueError):
    """Texts that the rules of a file cannot tokenize; the message is that of the first.

    Attributes:
      reasons: number of each text, from 0, and why.
      documents: number of each document with such a text, from 0, and why.
    """

    def __init__(self, reasons: Mapping[int, str], documents: Mapping[int, str]) -> None:
        self.reasons, self.documents = dict(reasons), dict(documents)
        super().__init__(next(iter(self.reasons.values())))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reasons, self.documents)


def left_out(
    reasons: Mapping[int, str], place_of: Callable[[int], str], on_error: str
) -> list[str]:
    """Return what is said of texts that are left out; an error about the first one if strict."""
    sentences = [f"{place_of(number)}: {why}" for number, why in reasons.items()]
    if on_error == STRICT:
        raise ValueError(f"{sentences[0]} (`on_error=skip` leaves it out)")
    return sentences


class LibraryTokenizer:
    """Converts text to ids, without special tokens and without truncation.

    One object serves any number of threads at a time. Another process makes its own from the file.

    Attributes:
      ids: token -> id, of all tokens, including added ones.
      id_limit: all ids are below it; there may be gaps.
      unk_id: id of the unknown token, or `NO_ID`.
      special_tokens: role -> token, see `tokenizer_json`.
      special_ids: of tokens that stand for no text; the unknown one stands for words.
      in_text: what becomes of special tokens in a text, one of `special_tokens.IN_TEXT`.
      backend, reason: what runs it, and why it does, or why no faster one does.
    """

    def __init__(
        self,
        path: str,
        sha256: str,
        backend: Backend,
        reason: str,
        *,
        ids: Mapping[str, int],
        unk_token: str | None,
        special_tokens: Mapping[str, str],
        special_ids: frozenset[int],
        find_word_bits: FindWordBits,
        in_text: str,
        open_as_text: OpenAsText | None = None,
    ) -> None:
        self.do_lower_case = self.max_word_letters = None  # the file has its own rules
        self.path, self.sha256, self.backend, self.reason = path, sha256, backend, reason
        self.ids = dict(ids)
        self.num_ids = len(self.ids)
        self.id_limit = max(self.ids.values(), default=-1) + 1
        self.unk_id = self.ids.get(unk_token or "", NO_ID)
        self.special_tokens = dict(special_tokens)
        roles = {role: self.ids[token] for role, token in special_tokens.items()}
        unknown = {self.unk_id, roles.pop("unk", NO_ID)} - {NO_ID, *roles.values()}
        self._no_text = special_ids | {*roles.values()} | unknown
        self.special_ids = self._no_text - unknown
        self._find_word_bits = find_word_bits
        self.in_text, self._open_as_text = in_text, open_as_text

    def __reduce__(self) -> tuple[Any, ...]:
        how = self.special_tokens, self.in_text, self.backend.name, self.reason
        return _reopen, (self.path, self.sha256, *how)

    @property
    def note(self) -> VocabularyNote:
        """The vocabulary's entry in manifests."""
        return VocabularyNote(size=self.num_ids, sha256=self.sha256)

    @property
    def ran_by(self) -> dict[str, str]:
        """What runs it, and why, as notes of stores have it."""
        return {"backend": self.backend.version, "reason": self.reason}

    @functools.cached_property
    def tokens(self) -> list[str]:
        """The token of each id; "" for ids without one."""
        tokens = [""] * self.id_limit
        for token, number in self.ids.items():
            tokens[number] = token
        return tokens

    @functools.cached_property
    def word_bits(self) -> NDArray[np.uint16]:
        """uint16 [id_limit], which tokens are of one word; see `tokens.word_bits`."""
        return self._find_word_bits(self.tokens, self._no_text)

    @functools.cached_property
    def _as_text(self) -> Backend | None:
        names = {self.tokens[number] for number in self._no_text}
        return None if self._open_as_text is None else self._open_as_text(names)

    def tokenize_documents(
        self, documents: Iterable[TextDocument], level: str, language: str
    ) -> TokenBlock:
        """Tokenize documents; see `block_sequences` for the arguments."""
        return self.tokenize_sequences(*block_sequences(documents, level, language))

    def encode(self, text: str) -> list[int]:
        """Return the ids of one text, without special tokens."""
        ids: list[int] = self.tokenize_sequences([text], [1]).ids.tolist()
        return ids

    def tokenize_sequences(self, texts: Sequence[str], ends: Sequence[int]) -> TokenBlock:
        """Tokenize texts, each by itself; one without tokens is not a sentence.

        Args:
          texts: strings that UTF-8 can encode.
          ends: ascending, how many texts precede the end of each document.

        Raises:
          SpecialTokenError: a text has a special token that it may not have.
          UntokenizableError: the library fails on a text, as by a regular expression of the file.
        """
        try:
            ids, splits = self.backend.encode(texts)
            if self.in_text == TEXT:
                ids, splits = self._encode_as_text(texts, ids, splits)
        except ValueError as error:
            raise self._untokenizable(texts, ends, error) from None
        places = find_special(ids, self.special_ids, self.id_limit)
        if places.size and self.in_text != TOKEN:
            text = int(np.searchsorted(splits, places[0], "right")) - 1
            reason = self._refusal(self.tokens[ids[places[0]]])
            raise SpecialTokenError(reason, text, bisect.bisect_right(ends, text))
        lengths = np.diff(splits).astype(np.int32)
        before = np.concatenate([[0], np.cumsum(lengths > 0)])
        return TokenBlock(
            ids=ids,
            sentence_lengths=lengths[lengths > 0],
            breaks=before[np.asarray(ends, np.int64)],
            num_lines=len(texts),
            num_unknown=int(np.count_nonzero(ids == self.unk_id)) if self.unk_id >= 0 else 0,
            num_replaced=0,
            blank_lines=np.empty(0, np.int64),
            special=collections.Counter(ids[places].tolist()),
        )

    def _untokenizable(
        self, texts: Sequence[str], ends: Sequence[int], error: ValueError
    ) -> UntokenizableError:
        """Return the error of each text by itself, as that of all does not say which it is."""
        backends = [self.backend, *([self._as_text] if self._as_text else [])]
        reasons = {}
        for number, text in enumerate(texts):
            for backend in backends if self.in_text == TEXT else backends[:1]:
                try:
                    backend.encode([text])
                except ValueError as of_text:
                    reasons[number] = f"{self.path} cannot tokenize the text: {of_text}"
        reasons = reasons or {0: f"{self.path} cannot tokenize the text: {error}"}
        documents = {bisect.bisect_right(ends, each): why for each, why in reasons.items()}
        return UntokenizableError(reasons, documents)

    def _encode_as_text(
        self, texts: Sequence[str], ids: NDArray[np.int32], splits: NDArray[np.int64]
    ) -> Encoded:
        """Encode those of encoded texts again that have special tokens, as ordinary characters."""
        places = find_special(ids, self._no_text, self.id_limit)
        rows = np.unique(np.searchsorted(splits, places, "right") - 1).tolist()
        if not rows or self._as_text is None:
            return ids, splits
        again, bounds = self._as_text.encode([texts[row] for row in rows])
        parts = [ids[start:end] for start, end in itertools.pairwise(splits)]
        for row, (start, end) in zip(rows, itertools.pairwise(bounds), strict=True):
            parts[row] = again[start:end]
        return np.concatenate(parts), np.cumsum([0, *map(len, parts)], dtype=np.int64)

    def _refusal(self, token: str) -> str:
        if self.in_text == REFUSE:
            return refusal(token)
        return (
            f"the text has {token!r}, which {self.path} makes a token of in any case;"
            " `special_tokens_in_text=text` cannot be kept, `special_tokens_in_text=token` can"
        )


def load_with_library(
    path: str,
    content: bytes,
    requested: str,
    special_tokens: Mapping[str, str] | None,
    in_text: str,
    definition: dict[str, Any] | None = None,
    *,
    is_for_little: bool = False,
) -> LibraryTokenizer:
    """Load a tokenizer with the requested backend, and log what runs it and why."""
    if are_ranks(content) or definition is not None:
        file = DefinitionFile(path, content, definition)
        backend, reason = choose_backend(file, requested, is_for_little=is_for_little)
        tokenizer = _of_definition(file, backend, reason, special_tokens, in_text)
        kind = file.definition["model"].get("type")
    elif requested not in (AUTO, SENTENCEPIECE):
        raise ValueError(f"`tokenizer_backend={requested}` cannot run {path}: it is a .model file")
    else:
        tokenizer, kind = _of_model(path, content, special_tokens, in_text), "a model"
    version = tokenizer.backend.version
    logging.info("%s: %s; %s runs it (%s)", path, kind, version, tokenizer.reason)
    return tokenizer


def _reopen(
    path: str, sha256: str, special_tokens: Mapping[str, str], in_text: str, name: str, reason: str
) -> LibraryTokenizer:
    """Load the tokenizer that another process has chosen."""
    content = read_bytes(path)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(f"{path} has changed while it was used")
    if name == SENTENCEPIECE:
        return _of_model(path, content, special_tokens, in_text)
    file = DefinitionFile(path, content)
    backend = file.reference if name == TOKENIZERS else FastokensBackend(file.definition)
    return _of_definition(file, backend, reason, special_tokens, in_text)


def _of_definition(
    file: DefinitionFile,
    backend: Backend,
    reason: str,
    special_tokens: Mapping[str, str] | None,
    in_text: str,
) -> LibraryTokenizer:
    """Return the tokenizer of a tokenizer.json.

    `tokenizers` is asked what the file means only where that is not known, and then it runs it.
    """
    if why_not_known(file.definition):
        library = file.reference.library
        definition = json.loads(library.to_str())
        ids = library.get_vocab(with_added_tokens=True)
        added = library.get_added_tokens_decoder().items()
        special_ids = frozenset(number for number, token in added if token.special)
    else:
        definition = file.definition
        ids = all_ids(definition)
        special_ids = frozenset(t["id"] for t in definition["added_tokens"] if t.get("special"))
    model = definition["model"]
    if model.get("dropout"):
        raise ValueError(
            f"{file.path} has dropout {model['dropout']}, which makes tokens random; set it to null"
        )
    refuse_large_id(file.path, ids.values())
    unk_token = model.get("unk_token") if isinstance(model.get("unk_token"), str) else None
    if isinstance(model["vocab"], list) and model.get("unk_id") is not None:
        unk_token = model["vocab"][model["unk_id"]][0]
    return LibraryTokenizer(
        file.path,
        file.sha256,
        backend,
        reason,
        ids=ids,
        unk_token=unk_token,
        special_tokens=_special_tokens(file.path, definition, ids, special_tokens, unk_token),
        special_ids=special_ids,
        find_word_bits=_word_finder(file, definition),
        in_text=in_text,
        open_as_text=file.as_text,
    )


def _special_tokens(
    path: str,
    definition: Mapping[str, Any],
    ids: Mapping[str, int],
    named: Mapping[str, str] | None,
    unk_token: str | None,
) -> Mapping[str, str]:
    try:
        return find_special_tokens(definition, ids, named=named, unk_token=unk_token)
    except ValueError as error:
        raise ValueError(f"{path} {error}") from None


def _word_finder(file: DefinitionFile, definition: Mapping[str, Any]) -> FindWordBits:
    model = definition["model"]
    prefix, suffix = model.get("continuing_subword_prefix"), model.get("end_of_word_suffix")
    if prefix:
        return lambda tokens, _: marked_continuations([t.startswith(prefix) for t in tokens])
    if suffix:
        return lambda tokens, special: words_by_mark(tokens, special, suffix, at_end=True)
    splits = [*parts(definition["pre_tokenizer"], "pretokenizers")]
    if any(split["type"] == "ByteLevel" for split in splits):
        return lambda tokens, special: words_by_pre_tokens(
            tokens, special, pre_token_starts(file.rules.pre_tokenizer)
        )
    changes = [*splits, *parts(definition["normalizer"], "normalizers")]
    if any(_SPACE in (each.get("replacement"), each.get("content")) for each in changes):
        return lambda tokens, special: words_by_mark(tokens, special, _SPACE)
    return lambda tokens, _: np.zeros(len(tokens), np.uint16)


def _of_model(
    path: str, content: bytes, special_tokens: Mapping[str, str] | None, in_text: str
) -> LibraryTokenizer:
    backend = SentencepieceBackend(content, path)
    library = backend.library
    pieces = [library.IdToPiece(number) for number in range(library.GetPieceSize())]
    ids = {piece: number for number, piece in enumerate(pieces)}
    unk_token = pieces[library.unk_id()] if library.unk_id() >= 0 else None
    special = (n for n in range(len(pieces)) if library.IsControl(n) or library.IsUnknown(n))
    return LibraryTokenizer(
        path,
        hashlib.sha256(content).hexdigest(),
        backend,
        "it defines these files",
        ids=ids,
        unk_token=unk_token,
        special_tokens=_special_tokens(path, {}, ids, special_tokens, unk_token),
        special_ids=frozenset(special),
        find_word_bits=lambda tokens, special: words_by_mark(tokens, special, _SPACE),
        in_text=in_text,
    )
