"""BERT's rules for text, as the two programs that define them apply them.

    Google's (vocab.txt)             "a [SEP] b" -> a [ sep ] b      "ΣΑΣ" -> σας
    tokenizers' (tokenizer.json)     "a [SEP] b" -> a [SEP] b        "ΣΑΣ" -> σασ

They differ in text that has the names of special tokens, in the final sigma, and in characters that
are private, or that Unicode got after version 8. Each says what to do at a code point, for the
tables of the kernels, and encodes what the tables cannot express.
"""

import functools
import os
import unicodedata
from collections.abc import Sequence
from typing import Any, Protocol

from bert_data.tokens.codepoints import (
    MAX_LETTERS,
    Action,
    CodePoint,
    are_plain_ideographs,
    describe,
)
from bert_data.tokens.definition import BasicTokenizer, WordpieceTokenizer
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.tokens.vocabulary_file import CONTINUATION


class BertRules(Protocol):
    """BERT's rules with a vocabulary and a casing; any number of threads may use them at a time."""

    def describe(self, char: str) -> CodePoint:
        """Return how a code point is tokenized."""

    def are_plain_ideographs(self, text: str) -> bool:
        """Whether `describe` calls each character an IDEOGRAPH whose letter is itself."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of one text, which is slow."""


class GoogleRules:
    """The rules of google-research/bert."""

    def __init__(self, vocabulary: Vocabulary, do_lower_case: bool, max_word_letters: int) -> None:
        """Prepare them; see `FastTokenizer` for the arguments."""
        self._lower = do_lower_case
        self._ids = vocabulary.ids
        self._basic = BasicTokenizer(do_lower_case)
        self._wordpiece = WordpieceTokenizer(
            vocabulary.ids, max_input_chars_per_word=max_word_letters
        )

    def describe(self, char: str) -> CodePoint:
        """Return how a code point is tokenized."""
        return describe(char, do_lower_case=self._lower)

    def are_plain_ideographs(self, text: str) -> bool:
        """Whether `describe` calls each character an IDEOGRAPH whose letter is itself."""
        return are_plain_ideographs(text, do_lower_case=self._lower)

    def encode(self, text: str) -> list[int]:
        """Return the ids of one text by the definition."""
        words = self._basic.tokenize(text)
        return [self._ids[piece] for word in words for piece in self._wordpiece.tokenize(word)]


class LibraryRules:
    """The rules of the library `tokenizers`, which is asked for each code point."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        do_lower_case: bool,
        max_word_letters: int,
        added: Sequence[str],
    ) -> None:
        """Prepare them; see `FastTokenizer` for the arguments."""
        # Our own threads share the work; the library would start threads for each of them.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from tokenizers import normalizers, pre_tokenizers

        self._vocabulary, self._max_word_letters = vocabulary, max_word_letters
        self._lower, self._added = do_lower_case, list(added)
        self._normalizer = normalizers.BertNormalizer(lowercase=do_lower_case)
        self._splitter = pre_tokenizers.BertPreTokenizer()

    @functools.cached_property
    def _library(self) -> Any:
        from tokenizers import Tokenizer, models

        model = models.WordPiece(
            vocab=dict(self._vocabulary.ids),
            unk_token="[UNK]",
            max_input_chars_per_word=self._max_word_letters,
            continuing_subword_prefix=CONTINUATION,
        )
        library = Tokenizer(model)
        library.normalizer, library.pre_tokenizer = self._normalizer, self._splitter
        library.add_special_tokens(self._added)
        return library

    def describe(self, char: str) -> CodePoint:
        """Return how a code point is tokenized."""
        if "\ud800" <= char <= "\udfff":  # no UTF-8 has surrogates
            return CodePoint(Action.UNUSUAL)
        is_space = char.isspace()
        letters = self._normalizer.normalize_str(char)
        words = self._words(letters)
        if not words:
            return CodePoint(Action.SPACE if letters else Action.DELETE, "", is_space)
        if letters == f" {char} ":
            return CodePoint(Action.IDEOGRAPH, char, is_space)
        stands_apart = len(self._words(f"a{letters}a")) == 3
        is_long = len(letters) > (1 if stands_apart else min(MAX_LETTERS, len(char.encode())))
        if words != [letters] or is_long:
            return CodePoint(Action.UNUSUAL, "", is_space)
        if stands_apart:
            action = Action.BRACKET if char == "[" and self._added else Action.PUNCTUATION
            return CodePoint(action, letters, is_space)
        # Characters newer than this Python's Unicode may be marks that the library knows.
        may_move = self._lower and any(
            unicodedata.combining(letter) or unicodedata.category(letter) == "Cn"
            for letter in letters
        )
        return CodePoint(Action.MARK if may_move else Action.LETTERS, letters, is_space)

    def are_plain_ideographs(self, text: str) -> bool:
        """Whether `describe` calls each character an IDEOGRAPH whose letter is itself."""
        return bool(self._normalizer.normalize_str(text) == "".join(f" {char} " for char in text))

    def encode(self, text: str) -> list[int]:
        """Return the ids of one text by the library; surrogates become U+FFFD, which is dropped."""
        text = text.encode(errors="surrogatepass").decode(errors="replace")
        ids: list[int] = self._library.encode(text, add_special_tokens=False).ids
        return ids

    def _words(self, text: str) -> list[str]:
        return [word for word, _ in self._splitter.pre_tokenize_str(text)]
