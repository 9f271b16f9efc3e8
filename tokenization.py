"""Text to WordPiece tokens as BERT defines them: the readable definition, in plain Python.

    "Unaffable, naïve 東京!"
      --BasicTokenizer-->      unaffable , naive 東 京 !
      --WordpieceTokenizer-->  una ##ffa ##ble , naive 東 京 !
      --convert_tokens_to_ids-->  one number a token: its line in the vocabulary file

The interface is that of the module of the same name in google-research/bert, and the tokens are the
same for every text. They depend on the Unicode version of the interpreter's `unicodedata`.

A vocabulary is a file with one token a line; a piece that continues a word begins with "##".
`bert_data.tokens` holds a tokenizer that gives the same ids at many times the speed; this one says
what they are.
"""

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_CONTINUATION = "##"

# Released models by their way of casing: the name of the folder that the checkpoint lies in.
_UNCASED_MODELS = frozenset(
    {
        "uncased_L-12_H-768_A-12",
        "uncased_L-24_H-1024_A-16",
        "multilingual_L-12_H-768_A-12",
        "chinese_L-12_H-768_A-12",
    }
)
_CASED_MODELS = frozenset(
    {
        "cased_L-12_H-768_A-12",
        "cased_L-24_H-1024_A-16",
        "multi_cased_L-12_H-768_A-12",
    }
)


def validate_case_matches_checkpoint(do_lower_case: bool, init_checkpoint: str | None) -> None:
    """Checks that the casing fits a released model, as far as its path tells.

    Args:
      do_lower_case: whether the tokenizer is going to lower-case its input.
      init_checkpoint: path such as ".../uncased_L-12_H-768_A-12/bert_model.ckpt". Empty, None or
        any other path passes: a checkpoint does not say how its text was cased.

    Raises:
      ValueError: the model is known to have been trained with the other casing.
    """
    match = re.search(r"([A-Za-z0-9_-]+)/bert_model\.ckpt", init_checkpoint or "")
    if not match:
        return
    model = match[1]
    expected = model in _UNCASED_MODELS
    if (expected or model in _CASED_MODELS) and expected != bool(do_lower_case):
        raise ValueError(
            f"--do_lower_case={bool(do_lower_case)} does not fit --init_checkpoint="
            f"{init_checkpoint}: {model} is {'an uncased' if expected else 'a cased'} model, "
            f"so pass --do_lower_case={expected} to tokenize as it was trained"
        )


def convert_to_unicode(text: str | bytes) -> str:
    """Returns the text as a str; bytes are UTF-8, and those that are not valid are left out.

    Raises:
      ValueError: the text is neither str nor bytes.
    """
    if isinstance(text, str):
        return text
    if isinstance(text, bytes):
        return text.decode("utf-8", "ignore")
    raise ValueError(f"Unsupported string type: {type(text)}")


def printable_text(text: str | bytes) -> str:
    """Returns the text as print and logging take it, which in Python 3 is a str.

    Raises:
      ValueError: the text is neither str nor bytes.
    """
    return convert_to_unicode(text)


def load_vocab(vocab_file: str | os.PathLike[str]) -> dict[str, int]:
    r"""Reads a vocabulary: one token a line, its id is the number of its line from 0.

    Lines end at "\n" only and every "\r" is dropped. White space around a token is dropped. A token
    that stands twice has the id of its last line and the place of its first in the dict's order.

    Args:
      vocab_file: a local path, or one with a scheme (gs://...) that TensorFlow opens.

    Returns:
      Token -> id, in the order of the file.

    Raises:
      OSError: the file cannot be read.
      UnicodeDecodeError: it is not UTF-8.
    """
    content = read_file(os.fspath(vocab_file))
    return {token: number for number, token in enumerate(split_vocab(content))}


def read_file(path: str) -> bytes:
    """Returns a file's bytes; a path with a scheme (gs://...) is opened by TensorFlow."""
    if "://" in path:
        import tensorflow as tf  # only remote files need it

        with tf.io.gfile.GFile(path, "rb") as remote:
            return remote.read()
    with open(path, "rb") as file:
        return file.read()


def split_vocab(content: bytes) -> list[str]:
    """Returns the token of each line of a vocabulary file, as `load_vocab` says."""
    lines = content.replace(b"\r", b"").decode("utf-8").split("\n")
    if not lines[-1]:  # what follows the last line's end is not a line
        lines.pop()
    return [line.strip() for line in lines]


def convert_by_vocab(vocab: Mapping[Any, Any], items: Iterable[Any]) -> list[Any]:
    """Looks up every item.

    Raises:
      KeyError: an item is not in the vocabulary.
    """
    return [vocab[item] for item in items]


def convert_tokens_to_ids(vocab: Mapping[str, int], tokens: Iterable[str]) -> list[int]:
    """Returns the ids of tokens; `vocab` maps token to id."""
    return convert_by_vocab(vocab, tokens)


def convert_ids_to_tokens(inv_vocab: Mapping[int, str], ids: Iterable[int]) -> list[str]:
    """Returns the tokens of ids; `inv_vocab` maps id to token."""
    return convert_by_vocab(inv_vocab, ids)


def whitespace_tokenize(text: str) -> list[str]:
    """Splits at runs of whitespace (what `str.isspace` says); no piece is empty."""
    return text.split()


class FullTokenizer:
    """Text to word pieces, and word pieces to ids and back.

    Attributes:
      vocab: token -> id.
      inv_vocab: id -> token.
      basic_tokenizer: makes words.
      wordpiece_tokenizer: makes pieces of a word.
    """

    def __init__(self, vocab_file: str | os.PathLike[str], do_lower_case: bool = True) -> None:
        self.vocab = load_vocab(vocab_file)
        self.inv_vocab = {number: token for token, number in self.vocab.items()}
        self.basic_tokenizer = BasicTokenizer(do_lower_case=do_lower_case)
        self.wordpiece_tokenizer = WordpieceTokenizer(vocab=self.vocab)

    def tokenize(self, text: str | bytes) -> list[str]:
        """Returns the word pieces of a text."""
        return [
            piece
            for word in self.basic_tokenizer.tokenize(text)
            for piece in self.wordpiece_tokenizer.tokenize(word)
        ]

    def convert_tokens_to_ids(self, tokens: Iterable[str]) -> list[int]:
        """Returns the ids of tokens that `tokenize` gave."""
        return convert_by_vocab(self.vocab, tokens)

    def convert_ids_to_tokens(self, ids: Iterable[int]) -> list[str]:
        """Returns the tokens that have these ids."""
        return convert_by_vocab(self.inv_vocab, ids)


class BasicTokenizer:
    """Text to words: cleans, sets ideographs apart, lower-cases, splits at punctuation."""

    def __init__(self, do_lower_case: bool = True) -> None:
        """Sets the casing.

        Args:
          do_lower_case: lower-case the text and drop the accents.
        """
        self.do_lower_case = do_lower_case

    def tokenize(self, text: str | bytes) -> list[str]:
        """Returns the words of a text; a punctuation mark or an ideograph is a word of its own."""
        text = _set_ideographs_apart(_clean(convert_to_unicode(text)))
        words: list[str] = []
        for word in whitespace_tokenize(text):
            if self.do_lower_case:
                # The order matters: lower() looks at what stands around a capital sigma, and a
                # decomposed text can lower-case to something else than a composed one.
                word = strip_accents(word.lower())
            words += split_at_punctuation(word)
        # Joined and split once more: a character may decompose to one with a space.
        return whitespace_tokenize(" ".join(words))


class WordpieceTokenizer:
    """A word to the longest pieces that the vocabulary has, from left to right."""

    def __init__(
        self,
        vocab: Mapping[str, int],
        unk_token: str = "[UNK]",
        max_input_chars_per_word: int = 200,
    ) -> None:
        """Keeps the vocabulary.

        Args:
          vocab: its keys are the pieces; one that continues a word begins with "##".
          unk_token: stands for a word that cannot be put together from pieces.
          max_input_chars_per_word: a longer word is unknown without trying.
        """
        self.vocab = vocab
        self.unk_token = unk_token
        self.max_input_chars_per_word = max_input_chars_per_word

    def tokenize(self, text: str | bytes) -> list[str]:
        """Returns the pieces of each word of a text that `BasicTokenizer` has been through.

        With the pieces un, ##aff, ##able: "unaffable" -> ["un", "##aff", "##able"]; a word with a
        part that no piece covers is the one token "[UNK]".
        """
        pieces: list[str] = []
        for word in whitespace_tokenize(convert_to_unicode(text)):
            pieces += self._pieces_of(word) or [self.unk_token]
        return pieces

    def _pieces_of(self, word: Sequence[str]) -> list[str] | None:
        """Returns the pieces of one word, None when it is unknown."""
        if len(word) > self.max_input_chars_per_word:
            return None
        pieces: list[str] = []
        start = 0
        while start < len(word):
            prefix = _CONTINUATION if start else ""
            for end in range(len(word), start, -1):
                piece = f"{prefix}{word[start:end]}"
                if piece in self.vocab:
                    break
            else:
                return None
            pieces.append(piece)
            start = end
        return pieces


def _clean(text: str) -> str:
    """Deletes what is invisible and makes every whitespace character a space."""
    return "".join(" " if is_whitespace(char) else char for char in text if not is_deleted(char))


def _set_ideographs_apart(text: str) -> str:
    return "".join(f" {char} " if is_ideograph(char) else char for char in text)


def strip_accents(text: str) -> str:
    """Decomposes each character (NFD) and drops the marks that take no space of their own."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(char for char in decomposed if unicodedata.category(char) != "Mn")


def split_at_punctuation(word: str) -> list[str]:
    """Returns the punctuation marks, each alone, and what stands between them."""
    parts: list[str] = []
    start = 0
    for position, char in enumerate(word):
        if is_punctuation(char):
            parts += [word[start:position], char]
            start = position + 1
    parts.append(word[start:])
    return [part for part in parts if part]


def is_ideograph(char: str) -> bool:
    """Whether the character is in a block of CJK Unified (or Compatibility) Ideographs.

    Hangul, Hiragana and Katakana are not: these scripts are treated like alphabets.
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
    """Whether the character is a space of any width, a tab or the end of a line."""
    return char in " \t\n\r" or unicodedata.category(char) == "Zs"


def is_control(char: str) -> bool:
    """Whether the character controls or formats and is not whitespace (category Cc or Cf)."""
    return char not in "\t\n\r" and unicodedata.category(char) in ("Cc", "Cf")


def is_deleted(char: str) -> bool:
    """Whether the cleaning drops the character: a control, NUL, or what stands for lost bytes."""
    return char in "\0\ufffd" or is_control(char)


def is_punctuation(char: str) -> bool:
    """Whether the character is of a category P*, or ASCII and no letter, digit, space or control.

    Unicode calls "$", "+", "<", "^", "`", "|", "~" symbols; here they split words all the same.
    """
    if char.isascii():
        return char.isprintable() and not char.isalnum() and char != " "
    return unicodedata.category(char).startswith("P")


# The names that the predicates have in google-research/bert.
_is_whitespace = is_whitespace
_is_control = is_control
_is_punctuation = is_punctuation
