"""Opens the file of a tokenizer that a library runs: what encodes, and what the file says besides.

tokenizer.json, .tiktoken  --open_definition-->  TokenizersBackend, TokenizerContent
.model                     --open_model------->  SentencepieceBackend, TokenizerContent
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.tokens.backends.rules import parts
from bert_data.tokens.backends.sentencepiece import SentencepieceBackend
from bert_data.tokens.backends.tokenizers import TokenizersBackend
from bert_data.tokens.library_tokenizer import TokenizerContent
from bert_data.tokens.special_tokens import find_special_tokens
from bert_data.tokens.tiktoken_ranks import are_ranks, ranks_to_json
from bert_data.tokens.tokenizer_json import parse_definition
from bert_data.tokens.vocabulary_file import MAX_VOCAB_SIZE
from bert_data.tokens.word_bits import (
    marked_continuations,
    pre_token_starts,
    words_by_mark,
    words_by_pre_tokens,
)

_SPACE = "\u2581"  # what begins words in vocabularies of SentencePiece's kind


def open_definition(
    path: str, content: bytes, special_tokens: Mapping[str, str] | None
) -> tuple[TokenizersBackend, TokenizerContent]:
    """Load a tokenizer.json, or ranks, with `tokenizers`.

    Raises:
      ValueError: it cannot be used.
    """
    text = ranks_to_json(path, content) if are_ranks(content) else content.decode()
    model = parse_definition(path, text.encode())["model"]
    if model.get("dropout"):
        raise ValueError(
            f"{path} has dropout {model['dropout']}, which makes tokens random; set it to null"
        )
    try:
        reference = TokenizersBackend(text)
    except ValueError as error:
        raise ValueError(f"{path} is not a readable tokenizer.json: {error}") from None
    ids = reference.library.get_vocab(with_added_tokens=True)
    largest = max(ids.values(), default=0)
    if largest >= MAX_VOCAB_SIZE:
        allowed = f"it must be below {MAX_VOCAB_SIZE:,}"
        raise ValueError(f"{path} has a token of the id {largest}; {allowed}")
    unk_token = model.get("unk_token") if isinstance(model.get("unk_token"), str) else None
    if isinstance(model["vocab"], list) and model.get("unk_id") is not None:
        unk_token = reference.library.id_to_token(model["unk_id"])
    added = reference.library.get_added_tokens_decoder().items()
    return reference, TokenizerContent(
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        ids=ids,
        unk_token=unk_token,
        special_tokens=_special_tokens(path, reference.definition, ids, special_tokens, unk_token),
        special_ids=frozenset(number for number, token in added if token.special),
        find_word_bits=_word_finder(reference),
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
    reference: TokenizersBackend,
) -> Callable[[Sequence[str], frozenset[int]], NDArray[np.uint16]]:
    """Return how the words of a tokenizer.json are found; see `word_bits`."""
    definition = reference.definition
    model = definition["model"]
    prefix, suffix = model.get("continuing_subword_prefix"), model.get("end_of_word_suffix")
    if prefix:
        return lambda tokens, _: marked_continuations([t.startswith(prefix) for t in tokens])
    if suffix:
        return lambda tokens, special: words_by_mark(tokens, special, suffix, at_end=True)
    splits = [*parts(definition["pre_tokenizer"], "pretokenizers")]
    if any(split["type"] == "ByteLevel" for split in splits):
        starts = pre_token_starts(reference.library.pre_tokenizer)
        return lambda tokens, special: words_by_pre_tokens(tokens, special, starts)
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
