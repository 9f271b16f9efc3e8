"""Tokenizers that libraries run: BPE, Unigram, WordPiece with other rules than BERT's.

load_tokenizer(None, "tokenizer.json").tokenize_sequences(["a b", "c"], ends=[1, 2])
  -> ids [1 2 3], sentence_lengths [2 1], breaks [1 2]

tokenizer.json, .tiktoken  --choose_backend, read_content-->  backend, content
.model                     --open_model---------------------->  backend, content
"""

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.text.documents import TextDocument, block_sequences
from bert_data.tokens.backends import TOKENIZERS
from bert_data.tokens.backends.choosing import Choice
from bert_data.tokens.backends.sentencepiece import SentencepieceBackend
from bert_data.tokens.backends.tokenizers import DefinitionFile
from bert_data.tokens.special_tokens import find_special_tokens
from bert_data.tokens.token_block import TokenBlock
from bert_data.tokens.tokenizer_json import all_ids, parts
from bert_data.tokens.vocabulary_file import MAX_VOCAB_SIZE
from bert_data.tokens.word_bits import (
    marked_continuations,
    pre_token_starts,
    words_by_mark,
    words_by_pre_tokens,
)

NO_ID = -1
_SPACE = "\u2581"  # what begins words in vocabularies of SentencePiece's kind


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TokenizerContent:
    """What the file of a tokenizer says beyond how to encode.

    Attributes:
      sha256: hex digest of its bytes.
      ids: token -> id, of all tokens, including added ones.
      unk_token: the unknown token of the model, if there is one.
      special_tokens: role -> token, see `special_tokens`.
      special_ids: of tokens that are no part of text.
      find_word_bits: of the tokens by id, see `word_bits`.
    """

    path: str
    sha256: str
    ids: Mapping[str, int]
    unk_token: str | None
    special_tokens: Mapping[str, str]
    special_ids: frozenset[int]
    find_word_bits: Callable[[Sequence[str], frozenset[int]], NDArray[np.uint16]]


class LibraryTokenizer:
    """Converts text to ids, without special tokens and without truncation.

    One object serves any number of threads at a time. Another process makes its own from the file.

    Attributes:
      path: the file it was read from.
      sha256: hex digest of the file's bytes.
      ids: token -> id, of all tokens, including added ones.
      num_ids: number of tokens.
      id_limit: all ids are below it; there may be gaps.
      unk_id: id of the unknown token, or `NO_ID`.
      choice: what runs it.
    """

    def __init__(
        self, choice: Choice, content: TokenizerContent, reopen: Callable[..., "LibraryTokenizer"]
    ) -> None:
        """Combine a backend with the content of its file.

        In another process, `reopen` makes the tokenizer again, of path, sha256, special tokens, and
        the choice's name and reason.
        """
        assert choice.backend is not None
        self.do_lower_case = self.max_word_letters = None  # the file has its own rules
        self.choice = choice
        self.content = content
        self.path = content.path
        self.sha256 = content.sha256
        self.ids = dict(content.ids)
        self.num_ids = len(self.ids)
        self.id_limit = max(self.ids.values(), default=-1) + 1
        self.unk_id = self.ids.get(content.unk_token or "", NO_ID)
        self._backend = choice.backend
        self._reopen = reopen

    def __reduce__(self) -> tuple[Any, ...]:
        special = dict(self.content.special_tokens)
        return self._reopen, (
            self.path, self.sha256, special, self.choice.name, self.choice.reason,
        )  # fmt: skip

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
        return self.content.find_word_bits(self.tokens, self.content.special_ids)

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
        """Tokenize texts, each by itself.

        Args:
          texts: strings that UTF-8 can encode.
          ends: ascending, how many texts precede the end of each document.

        Returns:
          The tokens; a text without tokens is not a sentence.

        Raises:
          ValueError: the file has rules that the text cannot be tokenized by, such as an unknown
            token that is not in its vocabulary.
        """
        try:
            ids, splits = self._backend.encode(texts)
        except ValueError as error:
            raise ValueError(f"{self.path} cannot tokenize the text: {error}") from None
        lengths = np.diff(splits).astype(np.int32)
        before = np.concatenate([[0], np.cumsum(lengths > 0)])
        return TokenBlock(
            ids=ids,
            sentence_lengths=lengths[lengths > 0],
            breaks=before[np.asarray(ends, np.int64)],
            num_lines=len(texts),
            num_unknown=int(np.count_nonzero(ids == self.unk_id)) if self.unk_id >= 0 else 0,
            num_replaced=0,
        )


def read_content(
    file: DefinitionFile, choice: Choice, special_tokens: Mapping[str, str] | None
) -> TokenizerContent:
    """Return what a tokenizer.json says besides.

    Args:
      choice: what runs it; `tokenizers` is asked only if it has loaded the file anyway.

    Raises:
      ValueError: the file cannot be used.
    """
    if choice.name == TOKENIZERS:
        definition, library = file.definition_of_library, file.reference.library
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
    largest = max(ids.values(), default=0)
    if largest >= MAX_VOCAB_SIZE:
        allowed = f"it must be below {MAX_VOCAB_SIZE:,}"
        raise ValueError(f"{file.path} has a token of the id {largest}; {allowed}")
    unk_token = model.get("unk_token") if isinstance(model.get("unk_token"), str) else None
    if isinstance(model["vocab"], list) and model.get("unk_id") is not None:
        unk_token = model["vocab"][model["unk_id"]][0]
    return TokenizerContent(
        path=file.path,
        sha256=file.sha256,
        ids=ids,
        unk_token=unk_token,
        special_tokens=_special_tokens(file.path, definition, ids, special_tokens, unk_token),
        special_ids=special_ids,
        find_word_bits=_word_finder(file, definition),
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


def _word_finder(
    file: DefinitionFile, definition: Mapping[str, Any]
) -> Callable[[Sequence[str], frozenset[int]], NDArray[np.uint16]]:
    """Return how the words of a tokenizer.json are found; see `word_bits`."""
    model = definition["model"]
    prefix, suffix = model.get("continuing_subword_prefix"), model.get("end_of_word_suffix")
    if prefix:
        return lambda tokens, _: marked_continuations([t.startswith(prefix) for t in tokens])
    if suffix:
        return lambda tokens, special: words_by_mark(tokens, special, suffix, at_end=True)
    splits = [*parts(definition["pre_tokenizer"], "pretokenizers")]
    if any(split["type"] == "ByteLevel" for split in splits):
        return lambda tokens, special: words_by_pre_tokens(
            tokens, special, pre_token_starts(file.reference.library.pre_tokenizer)
        )
    changes = [*splits, *parts(definition["normalizer"], "normalizers")]
    if any(_SPACE in (each.get("replacement"), each.get("content")) for each in changes):
        return lambda tokens, special: words_by_mark(tokens, special, _SPACE)
    return lambda tokens, _: np.zeros(len(tokens), np.uint16)


def open_model(
    path: str, content: bytes, special_tokens: Mapping[str, str] | None
) -> tuple[SentencepieceBackend, TokenizerContent]:
    """Load a .model file with `sentencepiece`.

    Raises:
      ValueError: it cannot be used.
    """
    backend = SentencepieceBackend(content, path)
    library = backend.library
    pieces = [library.IdToPiece(number) for number in range(library.GetPieceSize())]
    unk_id = library.unk_id()
    ids = {piece: number for number, piece in enumerate(pieces)}
    unk_token = pieces[unk_id] if unk_id >= 0 else None
    return backend, TokenizerContent(
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        ids=ids,
        unk_token=unk_token,
        special_tokens=_special_tokens(path, {}, ids, special_tokens, unk_token),
        special_ids=frozenset(
            number
            for number in range(len(pieces))
            if library.IsControl(number) or library.IsUnknown(number)
        ),
        find_word_bits=lambda tokens, special: words_by_mark(tokens, special, _SPACE),
    )
