"""Loads a tokenizer from a vocabulary or a tokenizer.json.

    vocab.txt                                            -> FastTokenizer
    tokenizer.json of WordPiece with BERT's rules        -> FastTokenizer
    any other: BPE, Unigram, WordPiece with other rules  -> LibraryTokenizer

BERT's rules are those of tokenization.py. The library differs from them for some rare characters
(the final sigma, new ones in Unicode), and turns "[SEP]" in a text into the special token; the fast
tokenizer treats it as text.
"""

import hashlib
import os
from textwrap import shorten
from typing import Any

from absl import logging

from bert_data.storage import read_bytes
from bert_data.tokens.library_tokenizer import LibraryTokenizer
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

_REASON_CHARACTERS = 200  # of the library, whose reasons may quote the whole file


def load_tokenizer(
    vocab_file: str | None, tokenizer_file: str | None = None, *, do_lower_case: bool = True
) -> Tokenizer:
    """Load a tokenizer from one of the two files.

    Args:
      vocab_file: WordPiece vocabulary, one token per line; or None.
      tokenizer_file: a tokenizer.json of the `tokenizers` library; or None.
      do_lower_case: with a vocab_file: lower-case the text and drop the accents.

    Raises:
      OSError: the file cannot be read.
      ValueError: both files or neither is set, or the file cannot be used.
    """
    if (vocab_file is None) == (tokenizer_file is None):
        set_flags = "both are" if vocab_file else "neither is"
        raise ValueError(f"set one of --vocab_file and --tokenizer_file; {set_flags} set")
    if tokenizer_file is None:
        assert vocab_file is not None
        return FastTokenizer(load_vocabulary(vocab_file), do_lower_case)
    content = read_bytes(tokenizer_file)
    definition = parse_definition(tokenizer_file, content)
    kind = definition["model"].get("type") or "an unnamed model"
    reason = difference_from_bert(definition)
    if not reason:
        logging.info("%s: WordPiece with BERT's rules; using the fast tokenizer", tokenizer_file)
        return _fast_tokenizer(tokenizer_file, definition)
    logging.info("%s: %s (%s); using the tokenizers library", tokenizer_file, kind, reason)
    return _library_tokenizer(tokenizer_file, content, definition)


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
    return find_definition(path, read_bytes(path)) is not None


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


def _library_tokenizer(path: str, content: bytes, definition: dict[str, Any]) -> LibraryTokenizer:
    # Our own threads share the work; the library would start threads for each of them.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import tokenizers

    model = definition["model"]
    if model.get("dropout"):
        raise ValueError(
            f"{path} has dropout {model['dropout']}, which makes tokens random; set it to null"
        )
    try:
        tokenizer = tokenizers.Tokenizer.from_str(content.decode())
    except Exception as error:  # the library raises nothing more specific
        reason = shorten(str(error), _REASON_CHARACTERS)
        raise ValueError(f"{path} is not a readable tokenizer.json: {reason}") from None
    largest = max(tokenizer.get_vocab().values(), default=0)
    if largest >= MAX_VOCAB_SIZE:
        allowed = f"it must be below {MAX_VOCAB_SIZE:,}"
        raise ValueError(f"{path} has a token of the id {largest}; {allowed}")
    unk_token = model.get("unk_token") if isinstance(model.get("unk_token"), str) else None
    if isinstance(model["vocab"], list) and model.get("unk_id") is not None:
        unk_token = tokenizer.id_to_token(model["unk_id"])
    return LibraryTokenizer(
        tokenizer,
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        unk_token=unk_token,
        has_continuations=model.get("continuing_subword_prefix") == CONTINUATION,
    )
