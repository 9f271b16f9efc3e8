r"""BERT's rules for each code point, as the two programs that define them apply them.

    Google's (vocab.txt)             "a [SEP] b" -> a [ sep ] b      "ΣΑΣ" -> σας
    tokenizers' (tokenizer.json)     "a [SEP] b" -> a [SEP] b        "ΣΑΣ" -> σασ

They differ in text that has the names of special tokens, in the final sigma, and in characters that
are private, or that Unicode got after version 8. Each says what to do at a code point, for the
tables of the kernels, and encodes what the tables cannot express. A code point is treated the same
everywhere, but for SIGMA and MARK, where the kernel sees the neighbours. Google's, lower-cased:

    "É"           -> LETTERS "e"                   "\xad" (soft hyphen)    -> DELETE
    "각"          -> LETTERS, three jamo           "\u2028"                -> SPACE
    "東"          -> IDEOGRAPH "東"                "\u037e" (Greek "?")    -> PUNCTUATION ";"
    "Σ"           -> SIGMA, "σ" or "ς" at the end  "\u0301" (accent)       -> DELETE
    "\ua9c0"      -> MARK, NFD may put it after its neighbour

Nothing here is a list of characters: the answers come from the definition or the library, and from
`str` and `unicodedata` of the running interpreter, so they are right for its version of Unicode.
"""

import enum
import functools
import os
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bert_data.tokens.definition import (
    CONTINUATION,
    BasicTokenizer,
    WordpieceTokenizer,
    is_deleted,
    is_ideograph,
    is_punctuation,
    is_whitespace,
    strip_accents,
)
from bert_data.tokens.offsets import pieces_with_places, words_with_places
from bert_data.tokens.vocabulary import TokenTable

MAX_LETTERS = 3  # more is UNUSUAL; in Unicode 14 to 17 nothing is longer than a Hangul syllable
CAPITAL_SIGMA = "Σ"
SMALL_SIGMA = "σ"
FINAL_SIGMA = "ς"


Offsets = list[tuple[int, int]]
"""Where tokens begin and end in a text, in characters."""


class Action(enum.IntEnum):
    """The action at a code point; 0 is left for entries of a table that are not filled in yet."""

    LETTERS = 1  # append the letters to the word
    DELETE = 2  # skip it
    SPACE = 3  # end the word; the search around a sigma stops
    IDEOGRAPH = 4  # a space, its letter, a space
    PUNCTUATION = 5  # end the word; its letter is a word; the search around a sigma continues
    SIGMA = 6  # append a letter that depends on its neighbours
    MARK = 7  # append the letters, unless a MARK precedes: NFD may swap the two
    UNUSUAL = 8  # none of these: leave the text around it to the definition
    BRACKET = 9  # PUNCTUATION, unless the name of a special token follows


class CodePoint(NamedTuple):
    """The rule for one code point.

    Attributes:
      letters: what it becomes (SIGMA: one of these); empty for DELETE, SPACE and UNUSUAL.
      is_space: whether `str.isspace` holds; a line of only such characters is blank.
      is_cased: whether the search around a sigma stops here, at a cased letter.
      is_ignorable: whether the search around a sigma skips it.
    """

    action: Action
    letters: str = ""
    is_space: bool = False
    is_cased: bool = False
    is_ignorable: bool = False


def code_point(char: str, *, do_lower_case: bool) -> CodePoint:
    """Return how Google's program tokenizes a code point."""
    if "\ud800" <= char <= "\udfff":  # no UTF-8 has surrogates
        return CodePoint(Action.UNUSUAL)
    is_space = char.isspace()
    if is_deleted(char):
        return CodePoint(Action.DELETE, "", is_space, False, True)
    if is_space or is_whitespace(char):
        return CodePoint(Action.SPACE, "", is_space)
    if not do_lower_case:
        return CodePoint(_action(char, char, False), char)
    letters = strip_accents(char.lower())
    action = _action(char, letters, any(map(unicodedata.combining, letters)))
    if action == Action.UNUSUAL:
        letters = ""
    if action == Action.SIGMA:
        letters = SMALL_SIGMA + FINAL_SIGMA
    # Unicode, section 3.13, Final_Sigma: a cased letter precedes it and none follows, case-
    # ignorable characters skipped. Applying the rule through `str` shows the two properties.
    is_cased = is_ignorable = False
    if f"A{char}{CAPITAL_SIGMA}".lower()[-1] == FINAL_SIGMA:
        is_cased = f"{char}{CAPITAL_SIGMA}".lower()[-1] == FINAL_SIGMA
        is_ignorable = not is_cased
    return CodePoint(action, letters, False, is_cased, is_ignorable)


def _action(char: str, letters: str, has_marks: bool) -> Action:
    """Return the action of a character that is neither deleted by cleaning nor a space.

    Args:
      letters: what it becomes.
      has_marks: whether NFD may move a part of the letters.
    """
    stands_apart = is_ideograph(char)
    if len(letters) != 1:
        if stands_apart or len(letters) > min(MAX_LETTERS, len(char.encode())):
            return Action.UNUSUAL  # the kernel relies on no more letters than bytes
        if any(letter.isspace() or is_punctuation(letter) for letter in letters):
            return Action.UNUSUAL
        if not letters:
            return Action.DELETE
    elif letters.isspace():
        return Action.UNUSUAL
    if stands_apart:
        return Action.UNUSUAL if has_marks else Action.IDEOGRAPH
    if has_marks:
        return Action.MARK
    if char == CAPITAL_SIGMA and letters != char:
        return Action.SIGMA
    return Action.PUNCTUATION if is_punctuation(letters[0]) else Action.LETTERS


def are_plain_ideographs(text: str, *, do_lower_case: bool) -> bool:
    """Whether `code_point` calls each character an IDEOGRAPH whose letter is itself.

    There are 80,000 ideographs; this checks many at once.
    """
    if not all(map(is_ideograph, text)):
        return False
    return not do_lower_case or strip_accents(text.lower()) == text


class PointRules(NamedTuple):
    """The treatment of each code point.

    Attributes:
      describe: returns how a code point is tokenized.
      are_plain_ideographs: whether it calls each character an IDEOGRAPH whose letter is itself.
    """

    describe: Callable[[str], CodePoint]
    are_plain_ideographs: Callable[[str], bool]


class BertRules(NamedTuple):
    """The rules with a vocabulary and a casing; any number of threads may use them at a time.

    Attributes:
      describe, are_plain_ideographs: see `PointRules`.
      encode: returns the ids of one text, which is slow.
      encode_with_offsets: returns these ids, and where each begins and ends in the text.
    """

    describe: Callable[[str], CodePoint]
    are_plain_ideographs: Callable[[str], bool]
    encode: Callable[[str], list[int]]
    encode_with_offsets: Callable[[str], tuple[list[int], Offsets]]


def google_points(do_lower_case: bool) -> PointRules:
    """Return what google-research/bert does at each code point."""
    return PointRules(
        functools.partial(code_point, do_lower_case=do_lower_case),
        functools.partial(are_plain_ideographs, do_lower_case=do_lower_case),
    )


def google_rules(vocabulary: TokenTable, do_lower_case: bool, max_word_letters: int) -> BertRules:
    """Return the rules of google-research/bert; see `FastTokenizer` for the arguments."""
    ids, basic = vocabulary.ids, BasicTokenizer(do_lower_case)
    wordpiece = WordpieceTokenizer(ids, max_input_chars_per_word=max_word_letters)

    def encode(text: str) -> list[int]:
        return [ids[piece] for word in basic.tokenize(text) for piece in wordpiece.tokenize(word)]

    def encode_with_offsets(text: str) -> tuple[list[int], Offsets]:
        words = words_with_places(text, do_lower_case=do_lower_case)
        pieces = [each for word in words for each in pieces_with_places(word, wordpiece)]
        return [ids[piece] for piece, _ in pieces], [places for _, places in pieces]

    return BertRules(*google_points(do_lower_case), encode, encode_with_offsets)


def library_points(do_lower_case: bool, added: Sequence[str]) -> PointRules:
    """Return what the library `tokenizers` does, which is asked for each code point."""
    normalizer, splitter = _parts_of_library(do_lower_case)

    def words_of(text: str) -> list[str]:
        return [word for word, _ in splitter.pre_tokenize_str(text)]

    def moves(letter: str) -> bool:
        # This Python's Unicode, or the library's, may not know a mark; those here have the classes
        # 224 and 216.
        if not unicodedata.combining(letter) and unicodedata.category(letter) != "Cn":
            return False
        pairs = (f"\u302e{letter}", f"{letter}\U0001d165")
        return any(normalizer.normalize_str(pair) != pair for pair in pairs)

    def describe(char: str) -> CodePoint:
        if "\ud800" <= char <= "\udfff":  # no UTF-8 has surrogates
            return CodePoint(Action.UNUSUAL)
        is_space = char.isspace()
        letters = normalizer.normalize_str(char)
        words = words_of(letters)
        if not words:
            return CodePoint(Action.SPACE if letters else Action.DELETE, "", is_space)
        if letters == f" {words[0]} " and len(words[0]) == 1:
            return CodePoint(Action.IDEOGRAPH, words[0], is_space)
        stands_apart = len(words_of(f"a{letters}a")) == 3
        is_long = len(letters) > (1 if stands_apart else min(MAX_LETTERS, len(char.encode())))
        if words != [letters] or is_long:
            return CodePoint(Action.UNUSUAL, "", is_space)
        if stands_apart:
            action = Action.BRACKET if char == "[" and added else Action.PUNCTUATION
            return CodePoint(action, letters, is_space)
        may_move = do_lower_case and any(map(moves, letters))
        return CodePoint(Action.MARK if may_move else Action.LETTERS, letters, is_space)

    def are_plain_ideographs(text: str) -> bool:
        return bool(normalizer.normalize_str(text) == "".join(f" {char} " for char in text))

    return PointRules(describe, are_plain_ideographs)


def library_rules(
    vocabulary: TokenTable, do_lower_case: bool, max_word_letters: int, added: Sequence[str]
) -> BertRules:
    """Return the rules of the library `tokenizers`; see `FastTokenizer` for the arguments."""
    open_library = functools.cache(
        functools.partial(_open_library, vocabulary, do_lower_case, max_word_letters, added)
    )

    def encode_with_offsets(text: str) -> tuple[list[int], Offsets]:
        # The library drops U+FFFD, and takes no surrogates.
        text = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
        encoding = open_library().encode(text, add_special_tokens=False)
        return encoding.ids, encoding.offsets

    return BertRules(
        *library_points(do_lower_case, added),
        lambda text: encode_with_offsets(text)[0],
        encode_with_offsets,
    )


def _parts_of_library(do_lower_case: bool) -> tuple[Any, Any]:
    # Our own threads share the work; the library would start threads for each of them.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import normalizers, pre_tokenizers

    return normalizers.BertNormalizer(lowercase=do_lower_case), pre_tokenizers.BertPreTokenizer()


def _open_library(
    vocabulary: TokenTable, do_lower_case: bool, max_word_letters: int, added: Sequence[str]
) -> Any:
    from tokenizers import Tokenizer, models

    model = models.WordPiece(
        vocab=dict(vocabulary.ids),
        unk_token="[UNK]",
        max_input_chars_per_word=max_word_letters,
        continuing_subword_prefix=CONTINUATION,
    )
    library = Tokenizer(model)
    library.normalizer, library.pre_tokenizer = _parts_of_library(do_lower_case)
    library.add_special_tokens(list(added))
    return library
