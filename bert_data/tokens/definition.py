"""Text to WordPiece tokens as BERT defines them: the readable definition, in plain Python.

    "Unaffable, naïve 東京!"
      --BasicTokenizer-->      unaffable , naive 東 京 !
      --WordpieceTokenizer-->  una ##ffa ##ble , naive 東 京 !
      --convert_tokens_to_ids-->  one number per token: its line in the vocabulary file

The interface is that of google-research/bert's `tokenization`, methods that subclasses override
included, and the tokens are the same for every text. `tokenizer.FastTokenizer` gives the same ids
many times faster; its tests compare it with this module.
"""

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bert_data.storage import read_bytes

CONTINUATION = "##"
"""The prefix of a piece that continues a word."""


def load_vocab(vocab_file: str | os.PathLike[str]) -> dict[str, int]:
    """Return token -> id of a vocabulary file; the id is the number of the line, from 0."""
    content = read_bytes(os.fspath(vocab_file))
    return {token: number for number, token in enumerate(stripped_lines(content))}


def stripped_lines(content: bytes) -> list[str]:
    """Return the lines of a file's bytes, without the white space around each."""
    lines = content.replace(b"\r", b"").decode("utf-8").split("\n")
    if not lines[-1]:  # the empty string after the last line end
        lines.pop()
    return [line.strip() for line in lines]


def is_ideograph(char: str) -> bool:
    """Whether the character is in a block of CJK Unified (or Compatibility) Ideographs.

    Hangul, Hiragana and Katakana are not ideographs: BERT treats these scripts like alphabets.
    """
    return char >= "\u3400" and (
        "\u3400" <= char <= "\u4dbf"
        or "\u4e00" <= char <= "\u9fff"
        or "\uf900" <= char <= "\ufaff"
        or "\U00020000" <= char <= "\U0002a6df"
        or "\U0002a700" <= char <= "\U0002b73f"
        or "\U0002b740" <= char <= "\U0002b81f"
        or "\U0002b820" <= char <= "\U0002ceaf"
        or "\U0002f800" <= char <= "\U0002fa1f"
    )


def is_whitespace(char: str) -> bool:
    """Whether the character is a space of any width, a tab or a line ending."""
    return char in " \t\n\r" or unicodedata.category(char) == "Zs"


def is_control(char: str) -> bool:
    """Whether the character is a control or format character (Cc, Cf) and not whitespace."""
    return char not in "\t\n\r" and unicodedata.category(char) in ("Cc", "Cf")


def is_deleted(char: str) -> bool:
    """Whether cleaning drops the character: controls, NUL and the replacement character."""
    return char in "\0\ufffd" or is_control(char)


def is_punctuation(char: str) -> bool:
    """Whether the character is in one of the categories P*, or is an ASCII symbol.

    Unicode calls "$", "+", "<", "^", "`", "|" and "~" symbols; BERT splits words at them too.
    """
    if char.isascii():
        return char.isprintable() and not char.isalnum() and char != " "
    return unicodedata.category(char).startswith("P")


def convert_to_unicode(text: str | bytes) -> str:
    """Return the text as a str; bytes are UTF-8, and invalid ones are left out."""
    if isinstance(text, str):
        return text
    if isinstance(text, bytes):
        return text.decode("utf-8", "ignore")
    raise ValueError(f"Unsupported string type: {type(text)}")


def printable_text(text: str | bytes) -> str:
    """Return the text as print and logging expect it: in Python 3, a str."""
    return convert_to_unicode(text)


def convert_by_vocab(vocab: Mapping[Any, Any], items: Iterable[Any]) -> list[Any]:
    """Look up every item."""
    return [vocab[item] for item in items]


def convert_tokens_to_ids(vocab: Mapping[str, int], tokens: Iterable[str]) -> list[int]:
    """Return the ids of tokens; `vocab` maps token to id."""
    return convert_by_vocab(vocab, tokens)


def convert_ids_to_tokens(inv_vocab: Mapping[int, str], ids: Iterable[int]) -> list[str]:
    """Return the tokens of ids; `inv_vocab` maps id to token."""
    return convert_by_vocab(inv_vocab, ids)


def whitespace_tokenize(text: str) -> list[str]:
    """Split at runs of whitespace, as `str.isspace` defines it, into non-empty parts."""
    return text.split()


def split_at_spaces(text: str) -> list[str]:
    """Split where a character separates words, one that cleaning does not drop."""
    is_space = ((char.isspace() or is_whitespace(char)) and not is_deleted(char) for char in text)
    marked = "".join(" " if each else char for char, each in zip(text, is_space, strict=True))
    return [part for part in marked.split(" ") if part]


def strip_accents(text: str) -> str:
    """Decompose each character (NFD) and drops the nonspacing marks."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(char for char in decomposed if unicodedata.category(char) != "Mn")


class FullTokenizer:
    """Text to word pieces, and word pieces to ids and back."""

    def __init__(self, vocab_file: str | os.PathLike[str], do_lower_case: bool = True) -> None:
        self.vocab = load_vocab(vocab_file)
        self.inv_vocab = {number: token for token, number in self.vocab.items()}
        self.basic_tokenizer = BasicTokenizer(do_lower_case=do_lower_case)
        self.wordpiece_tokenizer = WordpieceTokenizer(vocab=self.vocab)

    def tokenize(self, text: str | bytes) -> list[str]:
        """Return the word pieces of a text."""
        return [
            piece
            for word in self.basic_tokenizer.tokenize(text)
            for piece in self.wordpiece_tokenizer.tokenize(word)
        ]

    def convert_tokens_to_ids(self, tokens: Iterable[str]) -> list[int]:
        """Return the ids of tokens from `tokenize`."""
        return convert_by_vocab(self.vocab, tokens)

    def convert_ids_to_tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens that have these ids."""
        return convert_by_vocab(self.inv_vocab, ids)


class BasicTokenizer:
    """Text to words: cleans, sets ideographs apart, lower-cases, splits at punctuation.

    The methods with an underscore are the steps, named as in the reference: a subclass may override
    any of them.
    """

    def __init__(self, do_lower_case: bool = True) -> None:
        """Set the casing; lower-cased text loses its accents."""
        self.do_lower_case = do_lower_case

    def tokenize(self, text: str | bytes) -> list[str]:
        """Return the words of a text; each punctuation mark and each ideograph is a word."""
        text = self._tokenize_chinese_chars(self._clean_text(convert_to_unicode(text)))
        words: list[str] = []
        for word in whitespace_tokenize(text):
            if self.do_lower_case:
                # The order matters: lower() looks at what surrounds a capital sigma, and a
                # decomposed text can lower-case differently than a composed one.
                word = self._run_strip_accents(word.lower())
            words += self._run_split_on_punc(word)
        # Joined and split again, as a character may decompose into several with a space.
        return whitespace_tokenize(" ".join(words))

    def _clean_text(self, text: str) -> str:
        """Delete invisible characters and turns every whitespace character into a space."""
        return "".join(
            " " if is_whitespace(char) else char for char in text if not is_deleted(char)
        )

    def _tokenize_chinese_chars(self, text: str) -> str:
        """Put a space on either side of every ideograph."""
        return "".join(f" {char} " if self._is_chinese_char(ord(char)) else char for char in text)

    def _is_chinese_char(self, cp: int) -> bool:
        """Whether a code point is an ideograph."""
        return is_ideograph(chr(cp))

    def _run_strip_accents(self, text: str) -> str:
        """Drop the accents of a word."""
        return strip_accents(text)

    def _run_split_on_punc(self, text: str) -> list[str]:
        """Return the punctuation marks of a word, each by itself, and the text between them."""
        parts: list[str] = []
        start = 0
        for position, char in enumerate(text):
            if is_punctuation(char):
                parts += [text[start:position], char]
                start = position + 1
        parts.append(text[start:])
        return [part for part in parts if part]


class WordpieceTokenizer:
    """Splits words into the longest pieces that the vocabulary has, from left to right."""

    def __init__(
        self,
        vocab: Mapping[str, int],
        unk_token: str = "[UNK]",
        max_input_chars_per_word: int = 200,
    ) -> None:
        """Keep the vocabulary, whose keys are the pieces; a longer word is unknown."""
        self.vocab = vocab
        self.unk_token = unk_token
        self.max_input_chars_per_word = max_input_chars_per_word

    def tokenize(self, text: str | bytes) -> list[str]:
        """Return the pieces of each word of a text that `BasicTokenizer` has split.

        With the pieces un, ##aff, ##able: "unaffable" -> ["un", "##aff", "##able"]; a word with a
        part that no piece covers becomes the one token "[UNK]".
        """
        pieces: list[str] = []
        for word in whitespace_tokenize(convert_to_unicode(text)):
            pieces += self._pieces_of(word) or [self.unk_token]
        return pieces

    def _pieces_of(self, word: Sequence[str]) -> list[str] | None:
        """Return the pieces of one word, or None if it is unknown."""
        if len(word) > self.max_input_chars_per_word:
            return None
        pieces: list[str] = []
        start = 0
        while start < len(word):
            prefix = CONTINUATION if start else ""
            for end in range(len(word), start, -1):
                piece = f"{prefix}{word[start:end]}"
                if piece in self.vocab:
                    break
            else:
                return None
            pieces.append(piece)
            start = end
        return pieces


_UNCASED_MODELS = frozenset(
    {
        "uncased_L-12_H-768_A-12",
        "uncased_L-24_H-1024_A-16",
        "multilingual_L-12_H-768_A-12",
        "chinese_L-12_H-768_A-12",
    }
)
_CASED_MODELS = frozenset(
    {"cased_L-12_H-768_A-12", "cased_L-24_H-1024_A-16", "multi_cased_L-12_H-768_A-12"}
)


def is_released_uncased(model: str) -> bool | None:
    """Whether a model that Google released is uncased, by its name; None: it is none of them."""
    if model in _UNCASED_MODELS:
        return True
    return False if model in _CASED_MODELS else None


def validate_case_matches_checkpoint(do_lower_case: bool, init_checkpoint: str | None) -> None:
    """Check that the casing fits a released model, which is recognized by its path.

    Any other path, an empty one or None passes: checkpoints do not record how text was cased.
    """
    match = re.search(r"([A-Za-z0-9_-]+)/bert_model\.ckpt", init_checkpoint or "")
    if not match:
        return
    model = match[1]
    expected = is_released_uncased(model)
    if expected not in (None, bool(do_lower_case)):
        raise ValueError(
            f"`do_lower_case={bool(do_lower_case)}` does not fit `init_checkpoint`="
            f"{init_checkpoint}: {model} is {'an uncased' if expected else 'a cased'} model, "
            f"so pass `do_lower_case={expected}` to tokenize as it was trained"
        )
