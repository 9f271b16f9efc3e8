"""Loads a tokenizer from a vocabulary, a tokenizer.json, a .model file or .tiktoken ranks.

    vocab.txt                                            -> FastTokenizer
    tokenizer.json of WordPiece with BERT's rules        -> FastTokenizer
    any other: BPE, Unigram, WordPiece with other rules  -> LibraryTokenizer
    .model of SentencePiece, .tiktoken                   -> LibraryTokenizer

With a vocabulary, ids are those of tokenization.py, Google's; with any other file, those of the
library that defines it: `tokenizers` turns "[SEP]" in a text into the special token, and differs
for some rare characters (see `bert_rules`). `backends` has the libraries.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from absl import logging

from bert_data.checks import check_choice
from bert_data.settings import AUTO, OneOf
from bert_data.storage import file_size, is_file, is_remote, read_bytes
from bert_data.text.text_config import TextConfig
from bert_data.tokens.backends import BACKEND_NAMES, WORDPIECE
from bert_data.tokens.casing import decide_case
from bert_data.tokens.definition import validate_case_matches_checkpoint
from bert_data.tokens.library_tokenizer import NO_ID, LibraryTokenizer, load_with_library
from bert_data.tokens.segmenting import PIECES, WORDS
from bert_data.tokens.special_tokens import IN_TEXT, REFUSE, TEXT, TOKEN
from bert_data.tokens.tiktoken_ranks import are_ranks
from bert_data.tokens.tokenizer import FastTokenizer
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
from bert_data.work import THIS_MACHINE, Engine

Tokenizer = FastTokenizer | LibraryTokenizer
BACKENDS = (AUTO, *BACKEND_NAMES)
_LITTLE_BYTES = 200_000  # fastokens takes longer to load GPT-2's file than tokenizers to encode it


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenizerConfig:
    """A tokenizer.

    Attributes:
      vocab_file: WordPiece vocabulary, one token per line. Either this or `tokenizer_file` is
        required.
      tokenizer_file: a tokenizer in place of `vocab_file`: a tokenizer.json (BPE, Unigram,
        WordPiece) or a Hugging Face folder that contains it, a .model of SentencePiece, or
        .tiktoken ranks. The file itself decides whether text is lower-cased.
      do_lower_case: with `vocab_file`: lower-case the text and drop accents. Not set: true, as in
        Google's programs, but refused if the vocabulary's tokens, a tokenizer_config.json beside it
        or the name of a model that Google released say that text keeps its case.
      special_tokens_in_text: how to read the characters of a special token, such as [SEP], in a
        text. token: as that token, like the library of `tokenizer_file`. text: as ordinary tokens.
        refuse: as an error that names the place. With `vocab_file` they are always text, as in
        Google's program.
      tokenizer_backend: what runs `tokenizer_file`. auto: the fastest library known to be exact for
        the file, or for little text the one that loads fastest; the log says which, and why no
        faster one. The output is always that of tokenizers (of sentencepiece for a .model).
      words: what counts as a word in whole-word masks, n-grams, spans and row splits. pieces: a
        token and the ## pieces after it, as in Google's program; each Chinese or Japanese character
        is then a word. spaces: what stands between spaces, in any script, for text that is
        segmented already. jieba: the words that rjieba finds in Chinese text (extra jieba). The
        tokens are the same with all three. A token store keeps its words for records and recipes;
        other programs cannot read such a store.
    """

    vocab_file: str | None = None
    tokenizer_file: str | None = None
    do_lower_case: bool | None = None
    special_tokens_in_text: Annotated[str, OneOf(IN_TEXT)] = TOKEN
    tokenizer_backend: Annotated[str, OneOf(BACKENDS)] = AUTO
    words: Annotated[str, OneOf(WORDS)] = PIECES

    def load_tokenizer(
        self, special_tokens: Mapping[str, str] | None = None, *, paths: Sequence[str] | None = None
    ) -> Tokenizer:
        """Load the tokenizer for the text of some files, or for any; see `load_tokenizer`."""
        tokenizer = load_tokenizer(
            self.vocab_file,
            self.tokenizer_file,
            do_lower_case=self.do_lower_case,
            backend=self.tokenizer_backend,
            special_tokens=special_tokens,
            in_text=self.special_tokens_in_text,
            is_for_little=paths is not None and _have_little(paths),
        )
        if self.words == PIECES:
            return tokenizer
        if not isinstance(tokenizer, FastTokenizer):
            raise ValueError(
                f"words is {self.words!r}; it needs WordPiece with BERT's rules, which"
                f" {self.tokenizer_file} is not"
            )
        return tokenizer.of_words(self.words)

    def noted(self) -> dict[str, str]:
        """Return what manifests and notes say of special tokens and words: nothing by default."""
        return {
            name: getattr(self, name)
            for name in ("special_tokens_in_text", "words")
            if getattr(self, name) != getattr(TokenizerConfig, name)
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenizingConfig(TokenizerConfig):
    """Text to tokenize.

    Attributes:
      input_file: text: files or patterns, separated by commas; .gz, .zst, .bz2 and .xz are
        decompressed.
      text: how the input is read.
      engine: what runs the tasks.
      overwrite: replace existing outputs.
    """

    input_file: str
    text: TextConfig = TextConfig()  # noqa: RUF009 (frozen)
    engine: Engine = THIS_MACHINE
    overwrite: bool = False


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
      backend: with a tokenizer_file: what runs it, one of `backends.NAMES`; AUTO: the fastest that
        is known to be exact for the file.
      special_tokens: with a tokenizer_file that is not WordPiece with BERT's rules: role -> token
        where the file does not say it, see `find_special_tokens`.
      model_files: with a vocab_file: see `decide_case`.
      in_text: what becomes of special tokens in a text: one of `special_tokens.IN_TEXT`.
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
    path: str,
    *,
    special_tokens: Mapping[str, str] | None = None,
    needed: Sequence[str] = NEEDED,
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
