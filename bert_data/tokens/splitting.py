"""Splits texts into the words that the pieces of a model are made of, and counts them.

texts --count_chunks--> different chunks --a kernel (wordpiece), the library--> words, with counts

    "Low, lower."   wordpiece  low , lower .       BERT's basic tokenizer
                    bpe        Low , Ġlower .      bytes; a word begins with the space before it
                    unigram    ▁Low, ▁lower.       SentencePiece's

The words are those of the library `tokenizers`. A kernel finds WordPiece's by a table of what the
library does at each code point; it leaves to the library what the table cannot express.
"""

import collections
import functools
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import inner, kernel
from bert_data.tokens.bert_rules import Action, CodePoint, PointRules, library_points
from bert_data.tokens.block_run import PointTable
from bert_data.tokens.chunks import COUNT, END, START
from bert_data.tokens.vocabulary_config import BPE, UNIGRAM, WORDPIECE
from bert_data.tokens.word_bits import byte_letters
from bert_data.tokens.wordpiece import (
    ACTION_MASK,
    DONE,
    FIRST_SYMBOL,
    SYMBOL_BITS,
    SYMBOL_MASK,
    UNKNOWN_CODE_POINT,
    UNUSUAL_CHUNK,
    decode,
)

if TYPE_CHECKING:
    from tokenizers import normalizers, pre_tokenizers

MAX_WORD_CHARACTERS = 500
"""Characters of the longest word; longer ones, such as lines without spaces, are cut."""

LIBRARY_CHARACTERS = 1_000_000
"""Characters that the library gets at a time; it takes a second for them."""

_SENTENCES = re.compile(r"[^.!?。！？｡।]*+[.!?。！？｡।]++|[^.!?。！？｡।]++")
_ASCII_RULES = {  # for words of ASCII, and what the models write for its characters
    BPE: (
        re.compile(
            r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", re.ASCII
        ),
        dict(enumerate(byte_letters())),
    ),
    UNIGRAM: (re.compile(" [^ ]*"), {ord(" "): "\u2581"}),
}
KERNEL_BYTES = 1 << 22  # of chunks that the kernel gets at a time
_SPACE = ord(" ")
_LETTERS, _MARK, _DELETE = int(Action.LETTERS), int(Action.MARK), int(Action.DELETE)
_BLANK, _PUNCTUATION = int(Action.SPACE), int(Action.PUNCTUATION)
_IDEOGRAPH = int(Action.IDEOGRAPH)


def open_rules(
    model: str, *, do_lower_case: bool
) -> "tuple[normalizers.Normalizer, pre_tokenizers.PreTokenizer]":
    """Return what normalizes and what splits the text of a model."""
    from tokenizers import normalizers, pre_tokenizers

    if model == WORDPIECE:
        bert = normalizers.BertNormalizer(lowercase=do_lower_case)
        return bert, pre_tokenizers.BertPreTokenizer()
    lower = [normalizers.Lowercase()] if do_lower_case else []
    if model == BPE:
        form = normalizers.Sequence([normalizers.NFC(), *lower])
        return form, pre_tokenizers.ByteLevel(add_prefix_space=False)
    return normalizers.Sequence([normalizers.NFKC(), *lower]), pre_tokenizers.Metaspace()


def chunk_texts(data: bytes, chunks: NDArray[np.int64]) -> dict[str, int]:
    """Return the chunks of a text as `count_chunks` finds them, and how often each occurs."""
    return {data[start:end].decode(): count for start, end, count in chunks.tolist()}


def count_by_library(
    chunks: Mapping[str, int], model: str, *, do_lower_case: bool
) -> collections.Counter[str]:
    """Return how often words occur in chunks, which occur so often."""
    normalizer, splitter = open_rules(model, do_lower_case=do_lower_case)
    words = collections.Counter[str]()
    for chunk, count in chunks.items():
        for part in _parts(chunk):
            for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(part)):
                words[word] += count
    return words


def count_with_spaces(
    chunks: Mapping[str, int], model: str, *, do_lower_case: bool
) -> collections.Counter[str]:
    """Return what `count_by_library` does for BPE and Unigram, for chunks of ASCII sooner."""
    pattern, letters = _ASCII_RULES[model]
    found, others = collections.Counter[str](), dict[str, int]()
    for chunk, count in chunks.items():
        if not chunk.isascii():
            others[chunk] = count
            continue
        text = chunk.lower() if do_lower_case else chunk
        if model == UNIGRAM and text[0] != " ":
            text = f" {text}"
        for word in pattern.findall(text):
            found[word] += count
    words = count_by_library(others, model, do_lower_case=do_lower_case)
    for word, count in found.items():
        words[word.translate(letters)] += count
    return words


def _parts(chunk: str) -> Iterator[str]:
    """Cut a chunk for the library, before spaces if it has any."""
    start = 0
    while len(chunk) - start > LIBRARY_CHARACTERS:
        end = start + LIBRARY_CHARACTERS
        space = chunk.rfind(" ", start + 1, end)
        yield chunk[start : end if space < 0 else space]
        start = end if space < 0 else space
    yield chunk[start:]


def count_for_wordpiece(
    data: bytes, chunks: NDArray[np.int64], *, do_lower_case: bool
) -> collections.Counter[str]:
    """Return how often words occur in chunks of a text; see `count_chunks` for the arguments."""
    points = _points(do_lower_case)
    is_long = chunks[:, END] - chunks[:, START] > KERNEL_BYTES  # a line without spaces
    left = chunk_texts(data, chunks[is_long])
    words = count_by_library(left, WORDPIECE, do_lower_case=do_lower_case)
    chunks = chunks[~is_long]
    ends = np.cumsum(chunks[:, END] - chunks[:, START])
    for some in np.split(chunks, np.flatnonzero(np.diff(ends // KERNEL_BYTES)) + 1):
        # A byte gives at most one letter, and a word has a space behind it.
        letters = np.empty(2 * int((some[:, END] - some[:, START]).sum()), np.int32)
        num_words = np.zeros(len(some), np.int64)
        chunk = num_letters = 0
        status = UNKNOWN_CODE_POINT
        while status != DONE:
            status, chunk, num_letters, code = append_words(
                np.frombuffer(data, np.uint8), some, chunk, points.entries, letters, num_letters,
                num_words,
            )  # fmt: skip
            if status == UNKNOWN_CODE_POINT:
                points.fill_page(code)
            elif status == UNUSUAL_CHUNK:
                left = chunk_texts(data, some[chunk : chunk + 1])
                words.update(count_by_library(left, WORDPIECE, do_lower_case=do_lower_case))
                chunk += 1
        split = letters[:num_letters].tobytes().decode("utf-32-le").split(" ")[:-1]
        for word, count in zip(split, np.repeat(some[:, COUNT], num_words).tolist(), strict=True):
            words[word] += count
    return words


@functools.cache
def _points(do_lower_case: bool) -> PointTable:
    """Return the table of what the library does at each code point, which is a letter's symbol."""
    rules = library_points(do_lower_case, ())

    def describe(char: str) -> CodePoint:
        point = rules.describe(char)
        has_room = all(ord(letter) <= SYMBOL_MASK for letter in point.letters)
        return point if has_room else CodePoint(Action.UNUSUAL)

    return PointTable(PointRules(describe, rules.are_plain_ideographs), ord)


@inner
def _end_word(letters: NDArray[np.int32], num: int) -> int:
    """Append a space to letters[:num] if they end in a word; return the new num."""
    if num == 0 or letters[num - 1] == _SPACE:
        return num
    letters[num] = _SPACE
    return num + 1


@inner
def _append_words(
    data: NDArray[np.uint8],
    position: int,
    end: int,
    entries: NDArray[np.int64],
    letters: NDArray[np.int32],
    num: int,
) -> tuple[int, int]:
    """Append the words of data[position:end]; return (status, num or code point to fill in)."""
    is_after_mark = False
    while position < end:
        code, position = decode(data, position)
        entry = entries[code]
        action = entry & ACTION_MASK
        if entry == 0:
            return UNKNOWN_CODE_POINT, code
        if action == _DELETE:
            continue
        is_apart = action in (_BLANK, _PUNCTUATION, _IDEOGRAPH)
        is_mark = action == _MARK
        if not (is_apart or is_mark or action == _LETTERS) or (is_mark and is_after_mark):
            return UNUSUAL_CHUNK, code
        is_after_mark = is_mark
        if is_apart:
            num = _end_word(letters, num)
        symbols = entry >> FIRST_SYMBOL
        while symbols != 0:
            letters[num] = symbols & SYMBOL_MASK
            num += 1
            symbols >>= SYMBOL_BITS
        if is_apart:
            num = _end_word(letters, num)
    return DONE, _end_word(letters, num)


@kernel
def append_words(
    data: NDArray[np.uint8],
    chunks: NDArray[np.int64],
    chunk: int,
    entries: NDArray[np.int64],
    letters: NDArray[np.int32],
    num: int,
    num_words: NDArray[np.int64],
) -> tuple[int, int, int, int]:
    """Append the words of chunks, from one of them on, to letters[:num].

    Args:
      data: uint8 [n], valid UTF-8 between the bounds of chunks.
      chunks: int64 [chunks, 3], of `count_chunks`.
      entries: int64 [0x110000], of code points; their symbols are code points.
      letters: int32 [two for each byte of all chunks]; gets the words, each with a space after it.
      num_words: int64 [chunks], gets the number of words of each chunk.

    Returns:
      (status, chunk, num, code point). DONE; UNKNOWN_CODE_POINT: an entry must be filled in, then
      call again; UNUSUAL_CHUNK: the library must split this chunk. Letters up to num are of the
      chunks before.
    """
    while chunk < len(chunks):
        start, end = chunks[chunk, START], chunks[chunk, END]
        status, after = _append_words(data, start, end, entries, letters, num)
        if status != DONE:
            return status, chunk, num, after
        for k in range(num, after):
            num_words[chunk] += letters[k] == _SPACE
        num = after
        chunk += 1
    return DONE, chunk, num, 0


def cut_long_words(words: collections.Counter[str]) -> int:
    """Cut words of more than `MAX_WORD_CHARACTERS`; return how often there were such words."""
    long = [word for word in words if len(word) > MAX_WORD_CHARACTERS]
    num_cut = 0
    for word in long:
        count = words.pop(word)
        num_cut += count
        for piece in _cut(word):
            words[piece] += count
    return num_cut


def _cut(word: str) -> Iterator[str]:
    """Cut a word at the ends of sentences if it has any, then anywhere."""
    for sentence in _SENTENCES.findall(word):
        for start in range(0, len(sentence), MAX_WORD_CHARACTERS):
            yield sentence[start : start + MAX_WORD_CHARACTERS]
