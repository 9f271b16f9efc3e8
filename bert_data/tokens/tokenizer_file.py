"""Loads a tokenizer from a vocabulary, a tokenizer.json, a .model file or .tiktoken ranks.

    vocab.txt                                            -> FastTokenizer
    tokenizer.json of WordPiece with BERT's rules        -> FastTokenizer
    any other: BPE, Unigram, WordPiece with other rules  -> LibraryTokenizer
    .model of SentencePiece, .tiktoken                   -> LibraryTokenizer

With a vocabulary, ids are those of tokenization.py, Google's; with any other file, those of the
library that defines it: `tokenizers` turns "[SEP]" in a text into the special token, and differs
for some rare characters (see `bert_rules`). `backends` has the libraries.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from absl import logging

from bert_data.checks import check_choice
from bert_data.settings import AUTO
from bert_data.storage import file_size, is_file, is_remote, read_bytes
from bert_data.tokens.casing import decide_case
from bert_data.tokens.definition import validate_case_matches_checkpoint
from bert_data.tokens.library_tokenizer import NO_ID, LibraryTokenizer, load_with_library
from bert_data.tokens.tiktoken_ranks import are_ranks
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_config import (
    BACKENDS,
    PIECES,
    REFUSE,
    TEXT,
    TOKEN,
    WORDPIECE,
    TokenizerConfig,
)
from bert_data.tokens.tokenizer_json import (
    NEEDED,
    difference_from_bert,
    digest_of_lines,
    find_definition,
    parse_definition,
    refuse_identifier,
    tokenizer_path,
    tokens_by_id,
)
from bert_data.tokens.vocabulary import TokenTable, load_vocabulary, make_vocabulary

Tokenizer = FastTokenizer | LibraryTokenizer
_LITTLE_BYTES = 200_000  # fastokens takes longer to load GPT-2's file than tokenizers to encode it


def load_tokenizer(
    vocab_file: str | None,
    tokenizer_file: str | None = None,
    *,
    do_lower_case: bool | None = None,
    backend: str = AUTO,
    special_tokens: Mapping[str, str] | None = None,
    model_files: Sequence[str] = (),
    in_text: str = TOKEN,
    is_for_little: bool = False,
) -> Tokenizer:
    """Load a tokenizer from one of the two files.

    Args:
      do_lower_case: with a vocab_file: lower-case the text and drop the accents; None: see
        `decide_case`.
      backend: with a tokenizer_file: what runs it, one of `tokenizer_config.BACKENDS`; AUTO: the
        fastest that is known to be exact for the file.
      special_tokens: with a tokenizer_file that is not WordPiece with BERT's rules: role -> token
        where the file does not say it, see `find_special_tokens`.
      model_files: with a vocab_file: see `decide_case`.
      in_text: what becomes of special tokens in a text: one of `tokenizer_config.IN_TEXT`.
      is_for_little: whether there is so little text that loading a backend takes longer.
    """
    if (vocab_file is None) == (tokenizer_file is None):
        set_flags = "both are" if vocab_file else "neither is"
        raise ValueError(f"set one of `vocab_file` and `tokenizer_file`; {set_flags} set")
    check_choice("tokenizer_backend", backend, BACKENDS)
    if tokenizer_file is None:
        assert vocab_file is not None
        if backend not in (AUTO, WORDPIECE):
            raise ValueError(f"`tokenizer_backend={backend}` needs `tokenizer_file`")
        if special_tokens:
            raise ValueError("`special_tokens` needs `tokenizer_file`")
        refuse_identifier(vocab_file, "vocab.txt")
        vocabulary = load_vocabulary(vocab_file)
        return FastTokenizer(vocabulary, decide_case(vocabulary, do_lower_case, model_files))
    if do_lower_case is not None:
        raise ValueError(
            f"`do_lower_case` needs `vocab_file`; {tokenizer_file} itself says whether text is"
            " lower-cased"
        )
    tokenizer_file = tokenizer_path(tokenizer_file)
    content = read_bytes(tokenizer_file)
    load = functools.partial(
        load_with_library,
        *(tokenizer_file, content, backend, special_tokens, in_text),
        is_for_little=is_for_little,
    )
    if _is_library_file(tokenizer_file, content):
        return load()
    definition = parse_definition(tokenizer_file, content)
    is_bert = not difference_from_bert(definition)
    if is_bert and not special_tokens and backend in (AUTO, WORDPIECE):
        logging.info("%s: WordPiece with BERT's rules; using the fast tokenizer", tokenizer_file)
        return _fast_tokenizer(tokenizer_file, definition, in_text)
    return load(definition)


def tokenizer_of(
    config: TokenizerConfig,
    special_tokens: Mapping[str, str] | None = None,
    *,
    paths: Sequence[str] | None = None,
) -> Tokenizer:
    """Load the tokenizer for the text of some files, or for any; see `load_tokenizer`."""
    tokenizer = load_tokenizer(
        config.vocab_file,
        config.tokenizer_file,
        do_lower_case=config.do_lower_case,
        backend=config.tokenizer_backend,
        special_tokens=special_tokens,
        in_text=config.special_tokens_in_text,
        is_for_little=paths is not None and _have_little(paths),
    )
    if config.words == PIECES:
        return tokenizer
    if not isinstance(tokenizer, FastTokenizer):
        raise ValueError(
            f"words is {config.words!r}; it needs WordPiece with BERT's rules, which"
            f" {config.tokenizer_file} is not"
        )
    return tokenizer.of_words(config.words)


def _have_little(paths: Sequence[str]) -> bool:
    """Whether files have little text; the sizes of pipes are unknown, remote ones cost requests."""
    are_files = all(not is_remote(path) and is_file(path) for path in paths)
    return are_files and sum(map(file_size, paths)) <= _LITTLE_BYTES


def load_wordpiece(
    vocab_file: str | None,
    tokenizer_file: str | None,
    *,
    do_lower_case: bool | None,
    reason: str,
    model_files: Sequence[str] = (),
) -> FastTokenizer:
    """Load a tokenizer of WordPiece with BERT's rules; an error ends with the `reason`."""
    tokenizer = load_tokenizer(
        vocab_file, tokenizer_file, do_lower_case=do_lower_case, model_files=model_files
    )
    if not isinstance(tokenizer, FastTokenizer):
        raise ValueError(f"{tokenizer_file} is not WordPiece with BERT's rules{reason}")
    if tokenizer_file is not None:
        for path in model_files:
            validate_case_matches_checkpoint(tokenizer.do_lower_case, path)
    return tokenizer


def vocabulary_of(tokenizer: Tokenizer, needed: Sequence[str] = NEEDED) -> TokenTable:
    """Return the vocabulary of a tokenizer, for making instances.

    Args:
      needed: the roles for which it must have a token.
    """
    if isinstance(tokenizer, FastTokenizer):
        return tokenizer.vocabulary
    special = tokenizer.special_tokens
    missing = [role for role in needed if role not in special]
    if missing:
        example = ",".join(f"{role}=TOKEN" for role in missing)
        raise ValueError(
            f"{tokenizer.path} does not say which tokens are used as {', '.join(missing)}, which"
            f" instances need; name them with `special_tokens={example}`"
        )
    numbers = {role: tokenizer.ids[token] for role, token in special.items()}
    ids = dict(sorted(tokenizer.ids.items(), key=lambda item: item[1]))
    return TokenTable(
        path=tokenizer.path,
        sha256=tokenizer.sha256,
        tokens=tokenizer.tokens,
        ids=ids,
        word_ids=np.fromiter(ids.values(), np.int32, len(ids)),
        word_bits=tokenizer.word_bits,
        unk_id=numbers.get("unk", NO_ID),
        cls_id=numbers.get("cls", NO_ID),
        sep_id=numbers.get("sep", NO_ID),
        mask_id=numbers.get("mask", NO_ID),
        pad_id=numbers.get("pad", 0),
        do_lower_case=False,
        special_ids=tokenizer.special_ids,
    )


def read_vocabulary(
    path: str, *, special_tokens: Mapping[str, str] | None = None, needed: Sequence[str] = NEEDED
) -> TokenTable:
    """Read the vocabulary of a file of any kind.

    See `load_tokenizer` for the special tokens, and `vocabulary_of` for those that are needed.
    """
    path = tokenizer_path(path)
    if _is_definition(path):
        return vocabulary_of(load_tokenizer(None, path, special_tokens=special_tokens), needed)
    return load_vocabulary(path)


def read_tokenizer(
    path: str, *, do_lower_case: bool | None, special_tokens: Mapping[str, str] | None = None
) -> Tokenizer:
    """Load the tokenizer of a file of any kind, with the one of the two settings that is for it."""
    path = tokenizer_path(path)
    if _is_definition(path):
        return load_tokenizer(None, path, special_tokens=special_tokens)
    return load_tokenizer(path, do_lower_case=do_lower_case)


def _is_definition(path: str) -> bool:
    content = read_bytes(path)
    return _is_library_file(path, content) or find_definition(path, content) is not None


def _is_library_file(path: str, content: bytes) -> bool:
    """Whether a file is neither a vocabulary nor a tokenizer.json."""
    is_model = path.endswith(".model") and content.lstrip()[:1] != b"{"
    return are_ranks(content) or is_model


def _fast_tokenizer(path: str, definition: dict[str, Any], in_text: str) -> FastTokenizer:
    tokens = tokens_by_id(definition)
    ids = {token: number for number, token in enumerate(tokens)}
    added = [] if in_text == TEXT else definition.get("added_tokens") or []
    lower = definition["normalizer"]["lowercase"]
    return FastTokenizer(
        make_vocabulary(path, digest_of_lines(tokens), tokens, ids, lower),
        lower,
        definition["model"]["max_input_chars_per_word"],
        [token["content"] for token in added],
        refuses_special=in_text == REFUSE,
    )
