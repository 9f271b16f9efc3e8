"""Loads a tokenizer from a vocabulary, a tokenizer.json, a .model file or .tiktoken ranks.

    vocab.txt                                            -> FastTokenizer
    tokenizer.json of WordPiece with BERT's rules        -> FastTokenizer
    any other: BPE, Unigram, WordPiece with other rules  -> LibraryTokenizer
    .model of SentencePiece, .tiktoken                   -> LibraryTokenizer

BERT's rules are those of tokenization.py. The library differs from them for some rare characters
(the final sigma, new ones in Unicode), and turns "[SEP]" in a text into the special token; the fast
tokenizer treats it as text. `backends/` has the libraries.
"""

import hashlib
from typing import Any

from absl import logging

from bert_data.storage import read_bytes
from bert_data.tokens.backends.choosing import Choice, choose_backend, open_backend
from bert_data.tokens.backends.names import AUTO, NAMES, SENTENCEPIECE, WORDPIECE
from bert_data.tokens.backends.sentencepiece import SentencepieceBackend
from bert_data.tokens.backends.tokenizers import TokenizersBackend
from bert_data.tokens.library_tokenizer import LibraryTokenizer, TokenizerContent
from bert_data.tokens.tiktoken_ranks import are_ranks, ranks_to_json
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_json import (
    difference_from_bert,
    digest_of_lines,
    find_definition,
    parse_definition,
    tokens_by_id,
)
from bert_data.tokens.vocabulary import REQUIRED, Vocabulary, load_vocabulary, make_vocabulary
from bert_data.tokens.vocabulary_file import CONTINUATION, MAX_VOCAB_SIZE

Tokenizer = FastTokenizer | LibraryTokenizer

_DEFINES = "it defines these files"
_MODEL = ".model"  # what the names of SentencePiece's files end with


def load_tokenizer(
    vocab_file: str | None,
    tokenizer_file: str | None = None,
    *,
    do_lower_case: bool = True,
    backend: str = AUTO,
) -> Tokenizer:
    """Load a tokenizer from one of the two files.

    Args:
      vocab_file: WordPiece vocabulary, one token per line; or None.
      tokenizer_file: a tokenizer.json, a .model of SentencePiece, or .tiktoken ranks; or None.
      do_lower_case: with a vocab_file: lower-case the text and drop the accents.
      backend: with a tokenizer_file: what runs it, one of `backends.backend.NAMES`; AUTO: the
        fastest that is known to be exact for the file.

    Raises:
      OSError: the file cannot be read.
      ValueError: both files or neither is set, or the file or the backend cannot be used.
    """
    if (vocab_file is None) == (tokenizer_file is None):
        set_flags = "both are" if vocab_file else "neither is"
        raise ValueError(f"set one of --vocab_file and --tokenizer_file; {set_flags} set")
    if backend not in (AUTO, *NAMES):
        allowed = ", ".join((AUTO, *NAMES))
        raise ValueError(f"tokenizer_backend is {backend!r}; it must be one of {allowed}")
    if tokenizer_file is None:
        assert vocab_file is not None
        if backend not in (AUTO, WORDPIECE):
            raise ValueError(f"--tokenizer_backend={backend} needs --tokenizer_file")
        return FastTokenizer(load_vocabulary(vocab_file), do_lower_case)
    content = read_bytes(tokenizer_file)
    if _is_library_file(tokenizer_file, content):
        return _load_with_library(tokenizer_file, content, backend)
    definition = parse_definition(tokenizer_file, content)
    reason = difference_from_bert(definition)
    if not reason and backend in (AUTO, WORDPIECE):
        logging.info("%s: WordPiece with BERT's rules; using the fast tokenizer", tokenizer_file)
        return _fast_tokenizer(tokenizer_file, definition)
    return _load_with_library(tokenizer_file, content, backend)


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """Return the vocabulary of a tokenizer, for making instances.

    Without "##" nothing marks pieces that continue a word: then each piece is a word.

    Raises:
      ValueError: one of [UNK], [CLS], [SEP], [MASK] is not among its tokens.
    """
    if isinstance(tokenizer, FastTokenizer):
        return tokenizer.vocabulary
    ids = dict(sorted(tokenizer.ids.items(), key=lambda item: item[1]))
    missing = [token for token in REQUIRED if token not in ids]
    if missing:
        raise ValueError(
            f"{tokenizer.path} has no token {', '.join(missing)}; [UNK], [CLS], [SEP] and [MASK]"
            " are needed to make instances"
        )
    tokens = [""] * (max(ids.values()) + 1)
    for token, number in ids.items():
        tokens[number] = token
    continuation = [tokenizer.has_continuations and t.startswith(CONTINUATION) for t in tokens]
    return make_vocabulary(tokenizer.path, tokenizer.sha256, tokens, ids, continuation)


def read_vocabulary(path: str) -> Vocabulary:
    """Read the vocabulary of a file of either kind.

    Args:
      path: of a vocabulary, one token per line, or a tokenizer.json.

    Raises:
      OSError: the file cannot be read.
      ValueError: it cannot be used to make instances.
    """
    if _is_definition(path):
        return vocabulary_of(load_tokenizer(None, path))
    return load_vocabulary(path)


def read_tokenizer(path: str, *, do_lower_case: bool) -> Tokenizer:
    """Load the tokenizer of a file of either kind.

    Args:
      path: of a vocabulary, one token per line, or a tokenizer.json.
      do_lower_case: as for `load_tokenizer`.

    Raises:
      OSError: the file cannot be read.
      ValueError: it cannot be used.
    """
    if _is_definition(path):
        return load_tokenizer(None, path)
    return load_tokenizer(path, do_lower_case=do_lower_case)


def _is_definition(path: str) -> bool:
    content = read_bytes(path)
    return _is_library_file(path, content) or find_definition(path, content) is not None


def _is_library_file(path: str, content: bytes) -> bool:
    """Whether a file is neither a vocabulary nor a tokenizer.json."""
    return are_ranks(content) or (path.endswith(_MODEL) and content.lstrip()[:1] != b"{")


def _fast_tokenizer(path: str, definition: dict[str, Any]) -> FastTokenizer:
    tokens = tokens_by_id(definition)
    ids = {token: number for number, token in enumerate(tokens)}
    continuation = [token.startswith(CONTINUATION) for token in tokens]
    digest = digest_of_lines(tokens)
    return FastTokenizer(
        make_vocabulary(path, digest, tokens, ids, continuation),
        bool(definition["normalizer"]["lowercase"]),
        definition["model"]["max_input_chars_per_word"],
    )


def _load_with_library(path: str, content: bytes, wanted: str) -> LibraryTokenizer:
    """Load a tokenizer with the backend that is wanted, and log what runs it and why."""
    if are_ranks(content) or not _is_library_file(path, content):
        reference, about = _open_definition(path, content)
        choice = choose_backend(path, reference, wanted)
        kind = reference.definition["model"]["type"]
    else:
        if wanted not in (AUTO, SENTENCEPIECE):
            raise ValueError(f"--tokenizer_backend={wanted} cannot run {path}: it is a .model file")
        backend, about = _open_model(path, content)
        choice, kind = Choice(name=SENTENCEPIECE, backend=backend, reason=_DEFINES), "a model"
    logging.info("%s: %s; %s runs it (%s)", path, kind, choice.version, choice.reason)
    return LibraryTokenizer(choice, about, _reopen)


def _reopen(path: str, sha256: str, name: str, reason: str) -> LibraryTokenizer:
    """Load the tokenizer that another process has chosen; it has tested it, too.

    Raises:
      OSError: the file cannot be read.
      ValueError: it has changed.
    """
    content = read_bytes(path)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(f"{path} has changed while it was used")
    if name == SENTENCEPIECE:
        backend, about = _open_model(path, content)
        return LibraryTokenizer(Choice(name=name, backend=backend, reason=reason), about, _reopen)
    reference, about = _open_definition(path, content)
    choice = Choice(name=name, backend=open_backend(name, reference), reason=reason)
    return LibraryTokenizer(choice, about, _reopen)


def _open_definition(path: str, content: bytes) -> tuple[TokenizersBackend, TokenizerContent]:
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
    return reference, TokenizerContent(
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        ids=ids,
        unk_token=unk_token,
        has_continuations=model.get("continuing_subword_prefix") == CONTINUATION,
    )


def _open_model(path: str, content: bytes) -> tuple[SentencepieceBackend, TokenizerContent]:
    """Load a .model file with `sentencepiece`.

    Raises:
      ValueError: it cannot be used.
    """
    backend = SentencepieceBackend(content, path)
    library = backend.library
    pieces = [library.IdToPiece(number) for number in range(library.GetPieceSize())]
    unk_id = library.unk_id()
    return backend, TokenizerContent(
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        ids={piece: number for number, piece in enumerate(pieces)},
        unk_token=pieces[unk_id] if unk_id >= 0 else None,
    )
