"""Loads a tokenizer from a vocabulary, a tokenizer.json, a .model file or .tiktoken ranks.

    vocab.txt                                            -> FastTokenizer
    tokenizer.json of WordPiece with BERT's rules        -> FastTokenizer
    any other: BPE, Unigram, WordPiece with other rules  -> LibraryTokenizer
    .model of SentencePiece, .tiktoken                   -> LibraryTokenizer

With a vocabulary, ids are those of tokenization.py, Google's; with any other file, those of the
library that defines it: `tokenizers` turns "[SEP]" in a text into the special token, and differs
for some rare characters (see `bert_rules`). `backends/` has the libraries.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from absl import logging

from bert_data.settings import check_choice
from bert_data.storage import read_bytes
from bert_data.tokens.backends import AUTO, NAMES, SENTENCEPIECE, WORDPIECE
from bert_data.tokens.backends.choosing import Choice, choose_backend, open_backend
from bert_data.tokens.backends.tokenizers import DefinitionFile
from bert_data.tokens.library_tokenizer import (
    NO_ID,
    LibraryTokenizer,
    open_model,
    read_content,
)
from bert_data.tokens.special_tokens import NEEDED
from bert_data.tokens.tiktoken_ranks import are_ranks
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_json import (
    difference_from_bert,
    digest_of_lines,
    find_definition,
    parse_definition,
    tokens_by_id,
)
from bert_data.tokens.vocabulary import Vocabulary, load_vocabulary, make_vocabulary

Tokenizer = FastTokenizer | LibraryTokenizer

_DEFINES = "it defines these files"
_MODEL = ".model"  # what the names of SentencePiece's files end with


def load_tokenizer(
    vocab_file: str | None,
    tokenizer_file: str | None = None,
    *,
    do_lower_case: bool = True,
    backend: str = AUTO,
    special_tokens: Mapping[str, str] | None = None,
) -> Tokenizer:
    """Load a tokenizer from one of the two files.

    Args:
      vocab_file: WordPiece vocabulary, one token per line; or None.
      tokenizer_file: a tokenizer.json, a .model of SentencePiece, or .tiktoken ranks; or None.
      do_lower_case: with a vocab_file: lower-case the text and drop the accents.
      backend: with a tokenizer_file: what runs it, one of `backends.backend.NAMES`; AUTO: the
        fastest that is known to be exact for the file.
      special_tokens: with a tokenizer_file that is not WordPiece with BERT's rules: role -> token
        where the file does not say it, see `special_tokens`.

    Raises:
      ValueError: both files or neither is set, or the file or the backend cannot be used.
    """
    if (vocab_file is None) == (tokenizer_file is None):
        set_flags = "both are" if vocab_file else "neither is"
        raise ValueError(f"set one of `vocab_file` and `tokenizer_file`; {set_flags} set")
    check_choice("tokenizer_backend", backend, (AUTO, *NAMES))
    if tokenizer_file is None:
        assert vocab_file is not None
        if backend not in (AUTO, WORDPIECE):
            raise ValueError(f"`tokenizer_backend={backend}` needs `tokenizer_file`")
        if special_tokens:
            raise ValueError("`special_tokens` needs `tokenizer_file`")
        return FastTokenizer(load_vocabulary(vocab_file), do_lower_case)
    content = read_bytes(tokenizer_file)
    if _is_library_file(tokenizer_file, content):
        return _load_with_library(tokenizer_file, content, backend, special_tokens)
    definition = parse_definition(tokenizer_file, content)
    reason = difference_from_bert(definition)
    if not (reason or special_tokens) and backend in (AUTO, WORDPIECE):
        logging.info("%s: WordPiece with BERT's rules; using the fast tokenizer", tokenizer_file)
        return _fast_tokenizer(tokenizer_file, definition)
    return _load_with_library(tokenizer_file, content, backend, special_tokens, definition)


def load_wordpiece(
    vocab_file: str | None, tokenizer_file: str | None, *, do_lower_case: bool, reason: str
) -> FastTokenizer:
    """Load a tokenizer of WordPiece with BERT's rules; see `load_tokenizer`.

    Raises:
      ValueError: a tokenizer_file is of another kind; the error ends with the `reason` against it.
    """
    tokenizer = load_tokenizer(vocab_file, tokenizer_file, do_lower_case=do_lower_case)
    if not isinstance(tokenizer, FastTokenizer):
        raise ValueError(f"{tokenizer_file} is not WordPiece with BERT's rules{reason}")
    return tokenizer


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """Return the vocabulary of a tokenizer, for making instances.

    Raises:
      ValueError: no token begins an instance, ends a segment, or masks another.
    """
    if isinstance(tokenizer, FastTokenizer):
        return tokenizer.vocabulary
    special = tokenizer.content.special_tokens
    missing = [role for role in NEEDED if role not in special]
    if missing:
        example = ",".join(f"{role}=TOKEN" for role in missing)
        raise ValueError(
            f"{tokenizer.path} does not say which tokens are used as {', '.join(missing)}, which"
            f" instances need; name them with `special_tokens={example}`"
        )
    numbers = {role: tokenizer.ids[token] for role, token in special.items()}
    ids = dict(sorted(tokenizer.ids.items(), key=lambda item: item[1]))
    return Vocabulary(
        path=tokenizer.path,
        sha256=tokenizer.sha256,
        tokens=tokenizer.tokens,
        ids=ids,
        word_ids=np.fromiter(ids.values(), np.int32, len(ids)),
        word_bits=tokenizer.word_bits,
        unk_id=numbers.get("unk", NO_ID),
        cls_id=numbers["cls"],
        sep_id=numbers["sep"],
        mask_id=numbers["mask"],
        pad_id=numbers.get("pad", 0),
    )


def read_vocabulary(path: str, *, special_tokens: Mapping[str, str] | None = None) -> Vocabulary:
    """Read the vocabulary of a file of any kind.

    Args:
      path: of a vocabulary, one token per line, or of a tokenizer.
      special_tokens: as for `load_tokenizer`.

    Raises:
      ValueError: it cannot be used to make instances.
    """
    if _is_definition(path):
        return vocabulary_of(load_tokenizer(None, path, special_tokens=special_tokens))
    return load_vocabulary(path)


def read_tokenizer(
    path: str, *, do_lower_case: bool, special_tokens: Mapping[str, str] | None = None
) -> Tokenizer:
    """Load the tokenizer of a file of any kind.

    Args:
      path: of a vocabulary, one token per line, or of a tokenizer.
      do_lower_case, special_tokens: as for `load_tokenizer`; each is for one of the two.

    Raises:
      ValueError: it cannot be used.
    """
    if _is_definition(path):
        return load_tokenizer(None, path, special_tokens=special_tokens)
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
    digest = digest_of_lines(tokens)
    return FastTokenizer(
        make_vocabulary(path, digest, tokens, ids),
        bool(definition["normalizer"]["lowercase"]),
        definition["model"]["max_input_chars_per_word"],
        [token["content"] for token in definition.get("added_tokens") or []],
    )


def _load_with_library(
    path: str,
    content: bytes,
    requested: str,
    special_tokens: Mapping[str, str] | None,
    definition: dict[str, Any] | None = None,
) -> LibraryTokenizer:
    """Load a tokenizer with the requested backend, and log what runs it and why."""
    if are_ranks(content) or definition is not None:
        file = DefinitionFile(path, content, definition)
        choice = choose_backend(file, requested)
        about = read_content(file, choice, special_tokens)
        kind = file.definition["model"].get("type")
    else:
        if requested not in (AUTO, SENTENCEPIECE):
            raise ValueError(
                f"`tokenizer_backend={requested}` cannot run {path}: it is a .model file"
            )
        backend, about = open_model(path, content, special_tokens)
        choice, kind = Choice(name=SENTENCEPIECE, backend=backend, reason=_DEFINES), "a model"
    logging.info("%s: %s; %s runs it (%s)", path, kind, choice.version, choice.reason)
    return LibraryTokenizer(choice, about, _reopen)


def _reopen(
    path: str, sha256: str, special_tokens: Mapping[str, str], name: str, reason: str
) -> LibraryTokenizer:
    """Load the tokenizer that another process has chosen; it has tested it, too.

    Raises:
      ValueError: it has changed.
    """
    content = read_bytes(path)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(f"{path} has changed while it was used")
    if name == SENTENCEPIECE:
        backend, about = open_model(path, content, special_tokens)
        return LibraryTokenizer(Choice(name=name, backend=backend, reason=reason), about, _reopen)
    file = DefinitionFile(path, content)
    choice = Choice(name=name, backend=open_backend(name, file), reason=reason)
    return LibraryTokenizer(choice, read_content(file, choice, special_tokens), _reopen)
