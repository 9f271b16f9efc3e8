"""Ids to words, for people: pieces are joined, and without a vocabulary ids stay numbers."""

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.tokens.definition import CONTINUATION
from bert_data.tokens.tiktoken_ranks import byte_letters
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_config import PIECES
from bert_data.tokens.tokenizer_file import read_tokenizer
from bert_data.tokens.vocabulary import SPECIAL

MASK = "[MASK]"
_BYTE_TOKENS = re.compile("(?:<0x[0-9A-F]{2}>)+")
_BYTE_LEVEL, _SENTENCEPIECE = "\u0120", "\u2581"  # what a token that begins a word begins with


class TokenNames:
    """The tokens of a vocabulary, or numbers in their place.

    Attributes:
      path: of the vocabulary; None: there is none.
      sha256: by which manifests identify it.
      tokens: of each id; () without a vocabulary.
      mask_id: of [MASK]; None if it is unknown.
      special_tokens: role -> token, where the file does not say it.
    """

    def __init__(
        self,
        path: str | None,
        sha256: str | None,
        tokens: Sequence[str],
        *,
        word_bits: NDArray[np.uint16] | None = None,
        special_ids: Collection[int] = (),
        mask_token: str = MASK,
        special_tokens: Mapping[str, str] | None = None,
        num_plain: int | None = None,
    ) -> None:
        """Take the tokens of a vocabulary; without `word_bits`, each is a word.

        Args:
          num_plain: of a vocabulary of words, the number of plain ids, see `TokenTable.of_words`.
        """
        self._num_plain = num_plain
        self.special_tokens = special_tokens or {}
        self.path, self.sha256, self.tokens = path, sha256, tokens
        self.mask_id = tokens.index(mask_token) if mask_token in tokens else None
        self._word_bits, self._special_ids = word_bits, special_ids
        marks = (_BYTE_LEVEL, _SENTENCEPIECE)
        self._mark = next((m for m in marks if any(t.startswith(m) for t in tokens)), None)

    def token(self, number: int) -> str:
        """Return the token of an id, or the id itself if it has none."""
        return self.tokens[number] if 0 <= number < len(self.tokens) else str(number)

    def plain(self, ids: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the ids that a tokenizer has for the same text."""
        return ids if self._num_plain is None else ids % self._num_plain

    def is_outside(self, number: int) -> bool:
        """Whether the vocabulary has no such id."""
        return bool(self.tokens) and not 0 <= number < len(self.tokens)

    def is_special(self, number: int) -> bool:
        """Whether an id is [CLS], [SEP] or another token that does not come from text."""
        token = self.token(number)
        is_named_so = token in SPECIAL or (token.startswith("<|") and token.endswith("|>"))
        return is_named_so or number in self._special_ids

    def continues(self, previous: int, number: int) -> bool:
        """Whether a token continues the word of the one before it."""
        if self._word_bits is None or self.is_outside(number) or self.is_outside(previous):
            return False
        if self.is_special(number) or self.is_special(previous):
            return False
        return bool(self._word_bits[previous] >> 8 & self._word_bits[number] & 0xFF)

    def divide(self, ids: Sequence[int]) -> list[tuple[int, int]]:
        """Return where each word begins and ends, in pieces."""
        begins = [
            i for i, number in enumerate(ids) if i == 0 or not self.continues(ids[i - 1], number)
        ]
        return list(zip(begins, [*begins[1:], len(ids)], strict=True)) if begins else []

    def join(self, ids: Sequence[int]) -> str:
        """Return the word of consecutive pieces."""
        tokens = [self.token(number) for number in ids]
        if self._mark is None:
            return tokens[0] + "".join(token.removeprefix(CONTINUATION) for token in tokens[1:])
        joined = "".join(tokens)
        if self._mark == _SENTENCEPIECE:
            joined = _BYTE_TOKENS.sub(_decode_byte_tokens, joined)
            return joined.replace(_SENTENCEPIECE, " ").removeprefix(" ") or "\u2581"
        return _decode_bytes(joined).removeprefix(" ") or joined


def load_words(
    path: str | None, special_tokens: Mapping[str, str] | None = None, *, words: str = PIECES
) -> TokenNames:
    """Load a vocabulary, or the tokens of a tokenizer's file; None: there is none.

    Args:
      words: what a word is by the ids, see `TokenTable.of_words`.
    """
    if path is None:
        return TokenNames(None, None, ())
    tokenizer = read_tokenizer(path, do_lower_case=True, special_tokens=special_tokens)
    if isinstance(tokenizer, FastTokenizer):
        vocabulary = tokenizer.vocabulary.of_words(words)
        return TokenNames(
            path,
            vocabulary.sha256,
            list(vocabulary.tokens) * (2 if vocabulary.has_words else 1),
            word_bits=vocabulary.word_bits,
            num_plain=vocabulary.size if vocabulary.has_words else None,
        )
    return TokenNames(
        path,
        tokenizer.sha256,
        tokenizer.tokens,
        word_bits=tokenizer.word_bits,
        special_ids={*tokenizer.special_ids, tokenizer.unk_id},
        mask_token=tokenizer.special_tokens.get("mask", MASK),
        special_tokens=special_tokens,
    )


class WordSearch:
    """Finds words in ids.

    A word is tokenized as texts are, so that it is found whatever its pieces; [UNK] and other
    special tokens are found as such.
    """

    def __init__(self, word: str, words: TokenNames, *, do_lower_case: bool | None) -> None:
        if words.path is None:
            raise ValueError(f"`word={word}` needs `vocab_file`, which has the ids of words")
        tokenizer = read_tokenizer(
            words.path, do_lower_case=do_lower_case, special_tokens=words.special_tokens
        )
        self._words = words
        self._needles: set[tuple[int, ...]] = set()
        if word in tokenizer.ids and words.is_special(tokenizer.ids[word]):
            self._needles.add((tokenizer.ids[word],))
            return
        self._needles |= {tuple(tokenizer.encode(text)) for text in (word, f" {word}")}
        if not all(self._needles) or any(tokenizer.unk_id in needle for needle in self._needles):
            raise ValueError(f"`word={word}` is unknown to {words.path}, so no record contains it")

    def find(self, ids: NDArray[np.integer]) -> set[int]:
        """Return the places of all pieces of the word, among those of whole words only."""
        places: set[int] = set()
        plain = self._words.plain(ids)
        for needle in self._needles:
            size = len(needle)
            for at in np.flatnonzero(plain[: ids.size - size + 1] == needle[0]).tolist():
                end = at + size
                is_whole = end == ids.size or not self._words.continues(
                    int(ids[end - 1]), int(ids[end])
                )
                if is_whole and tuple(plain[at:end].tolist()) == needle:
                    places |= set(range(at, end))
        return places


def _decode_byte_tokens(match: re.Match[str]) -> str:
    """Decode the tokens by which SentencePiece stands for bytes: <0xC3><0xA9>."""
    return bytes.fromhex(re.sub("<0x|>", "", match[0])).decode(errors="replace")


def _decode_bytes(text: str) -> str:
    """Decode the letters by which byte-level BPE (GPT-2's) stands for bytes."""
    letters = {letter: byte for byte, letter in enumerate(byte_letters())}
    if not all(letter in letters for letter in text):  # an added token
        return text
    return bytes(letters[letter] for letter in text).decode(errors="replace")
