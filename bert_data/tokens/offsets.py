"""Where the tokens of a text are in it, by the definition in plain Python.

    "Naïve 東京!"  ->  naive 0-5    東 6-7    京 7-8    ! 8-9

Each letter of a word keeps the place of the character that it comes from. So a character that
becomes several letters, such as a Hangul syllable, may be in several tokens, and one that becomes
none, such as an accent after its letter, counts only inside a token.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator

from bert_data.tokens.definition import (
    CONTINUATION,
    WordpieceTokenizer,
    is_deleted,
    is_ideograph,
    is_punctuation,
    is_whitespace,
)

Letter = tuple[str, int]
"""A character of a word, and its place in the text."""


def words_with_places(text: str, *, do_lower_case: bool) -> Iterator[list[Letter]]:
    """Yield the words that `definition.BasicTokenizer` finds."""
    kept = [(char, place) for place, char in enumerate(text) if not is_deleted(char)]
    for part in _split(kept, lambda char: char.isspace() or is_whitespace(char), is_ideograph):
        letters = _without_accents(_lowered(part)) if do_lower_case else part
        yield from _split(letters, str.isspace, is_punctuation)


def pieces_with_places(
    word: list[Letter], wordpiece: WordpieceTokenizer
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the pieces of a word, and where each begins and ends in the text."""
    pieces = wordpiece.tokenize("".join(char for char, _ in word))
    if pieces == [wordpiece.unk_token]:
        yield wordpiece.unk_token, (word[0][1], word[-1][1] + 1)
        return
    begin = 0
    for piece in pieces:
        end = begin + len(piece.removeprefix(CONTINUATION) if begin else piece)
        yield piece, (word[begin][1], word[end - 1][1] + 1)
        begin = end


def _split(
    letters: Iterable[Letter], is_space: Callable[[str], bool], stands_apart: Callable[[str], bool]
) -> Iterator[list[Letter]]:
    """Yield the letters between spaces, and each that stands apart by itself."""
    part: list[Letter] = []
    for letter in letters:
        is_apart = stands_apart(letter[0])
        if part and (is_apart or is_space(letter[0])):
            yield part
            part = []
        if is_apart:
            yield [letter]
        elif not is_space(letter[0]):
            part.append(letter)
    if part:
        yield part


def _lowered(word: list[Letter]) -> Iterator[Letter]:
    """Lower-case a word; only a capital sigma depends on its neighbours."""
    lower = iter("".join(char for char, _ in word).lower())
    for char, place in word:
        for _ in char.lower():
            yield next(lower), place


def _without_accents(word: Iterable[Letter]) -> Iterator[Letter]:
    """Decompose letters, put their marks in the order of NFD, and leave out nonspacing ones."""
    marks: list[Letter] = []
    for char, place in word:
        for letter in unicodedata.normalize("NFD", char):
            if not unicodedata.combining(letter):
                yield from _in_order(marks)
                marks = []
            marks.append((letter, place))
    yield from _in_order(marks)


def _in_order(marks: list[Letter]) -> list[Letter]:
    """Return a letter and its marks by their classes, without those that BERT drops.

    The first one has the first place and so on, as in `tokenizers`, also where marks are swapped.
    """
    ordered = sorted((char for char, _ in marks), key=unicodedata.combining)
    placed = zip(ordered, (place for _, place in marks), strict=True)
    return [mark for mark in placed if unicodedata.category(mark[0]) != "Mn"]
