r"""Find phrases of a list in a text: the longest at each place, whole words where words are spaced.

    write_phrases(folder, [WeightedPhrase("bad word"), WeightedPhrase("坏话")])            once
    open_phrases(folder).find(split_words("Bad\nWORD? 这是坏话"))            in each worker
      ->  starts 0 12, ends 8 14, entries 0 1

Case does not matter, nor do Unicode's compatibility forms of single characters (full-width letters,
letters in circles or in mathematical type), the number and kind of spaces between words, and
characters that are not visible (Unicode's Default_Ignorable_Code_Point: zero-width spaces and
joiners, soft hyphens, variation selectors). Accents do. A phrase stands alone: no letter, digit,
underscore or combining mark touches it; but letters of scripts without spaces (Chinese, Japanese,
Thai, ...) may touch anything. What is found does not overlap: the search continues after the
longest phrase that begins at a place.

The phrases are a tree of characters, whose edges are in a hash table. Where a phrase may begin, the
search follows the edges as far as they go: its time does not grow with the number of phrases.
"""

import functools
import itertools
import math
import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.characters import (
    IGNORABLE,
    MARK,
    NUMBER,
    SPACE,
    UNDERSCORE,
    UNSPACED,
    character_classes,
)
from bert_data.curation.hash_tables import fill_slots, find_slot, make_slots
from bert_data.curation.words import Words, code_points, split_words
from bert_data.errors import named_in_errors
from bert_data.kernels import Constants, Scalar, inner, kernel
from bert_data.storage import load_array, save_array
from bert_data.text.lines import read_numbered_lines

Entry = TypeVar("Entry")

_MAX_CHARACTERS = 200
"""Of a phrase."""

_INVISIBLE, _SPACE = 0, 32
_CODE_BITS = 21
_BEGINS, _OF_WORD, _ANYWHERE, _UNSEEN = 1, 2, 4, 8
"""Bits of a character: a phrase begins with it; it belongs to a word of a script with spaces; a
phrase may begin or end with it whatever is beside it; it is not visible."""
_FOLDED = (range(0x3400), range(0xA000, 0xAC00), range(0xF900, 0x20000), range(0x2F800, 0x2FB00))
"""Other characters, ideographs and Korean syllables among them, have no other form."""


class WeightedPhrase(NamedTuple):
    """An entry of a list."""

    text: str
    weight: float = 1.0  # > 0


class Occurrences(NamedTuple):
    """Occurrences of phrases, in the order of the text."""

    starts: NDArray[np.int32]  # in characters
    ends: NDArray[np.int32]
    entries: NDArray[np.int32]  # numbers of the phrases


class _Tree(NamedTuple):
    """Phrases, as the kernel reads them."""

    marks: NDArray[np.uint8]  # [code points], what the search must know of a character, in bits
    slots: NDArray[np.uint64]  # hash table (`hash_tables`) of edges: a node and a character
    children: NDArray[np.int32]  # [slots], the node to which an edge leads
    entries: NDArray[np.int32]  # [nodes], the phrase that ends there, or -1


class Phrases:
    """Phrases to find.

    Attributes:
      weights: float64 [phrases].
      num_words: int32 [phrases], words of each but symbols, >= 1.
    """

    def __init__(
        self, tree: _Tree, weights: NDArray[np.float64], num_words: NDArray[np.int32]
    ) -> None:
        self._tree = Constants((_folds(), *tree))
        self.weights, self.num_words = weights, num_words

    def find(self, words: Words) -> Occurrences:
        """Return the places of phrases in a text, in NFC (`composed_words`)."""
        # Unwritten parts of the array take no memory; a phrase has at least one character.
        out = np.empty((3, len(words.codes)), np.int32)
        num_found = _find(words.characters, self._tree, out)
        return Occurrences(*out[:, :num_found])


def composed_words(words: Words) -> Words:
    """Return the words of a text's NFC, in which phrases are found; of most texts, the same."""
    if words.text.isascii() or unicodedata.is_normalized("NFC", words.text):
        return words
    return split_words(unicodedata.normalize("NFC", words.text))


def normal_form(text: str) -> tuple[int, ...]:
    """Return the code points by which a phrase is compared; none if nothing of it is visible."""
    codes = code_points(unicodedata.normalize("NFC", text))
    folded = [code for code in _folds()[codes].tolist() if code != _INVISIBLE]
    runs = [
        (_SPACE,) if is_space else tuple(run)
        for is_space, run in itertools.groupby(folded, lambda code: code == _SPACE)
    ]
    runs = runs[bool(runs) and runs[0] == (_SPACE,) :]
    runs = runs[: len(runs) - bool(runs and runs[-1] == (_SPACE,))]
    return tuple(itertools.chain.from_iterable(runs))


def write_phrases(folder: Path, phrases: Iterable[WeightedPhrase]) -> None:
    """Write phrases to a folder, for `open_phrases`; of equal ones, the greatest weight counts."""
    weights: dict[tuple[int, ...], float] = {}
    num_words = {}
    for phrase in phrases:
        form = normal_form(phrase.text)
        if form:
            weights[form] = max(phrase.weight, weights.get(form, 0.0))
            counts = split_words(phrase.text).counts
            num_words[form] = max(counts.num_words - counts.num_symbols, 1)
    for name, array in _plant(list(weights))._asdict().items():
        save_array(folder / f"{name}.npy", array)
    save_array(folder / "weights.npy", np.array(list(weights.values()), np.float64))
    save_array(folder / "num_words.npy", np.array(list(num_words.values()), np.int32))


def open_phrases(folder: str | Path) -> Phrases:
    """Map the phrases that `write_phrases` wrote to a folder."""
    arrays: dict[str, Any] = {
        name: load_array(os.path.join(folder, f"{name}.npy"))
        for name in (*_Tree._fields, "weights", "num_words")
    }
    weights, num_words = arrays.pop("weights"), arrays.pop("num_words")
    return Phrases(_Tree(**arrays), weights, num_words)


def _plant(forms: list[tuple[int, ...]]) -> _Tree:
    """Make the tree of phrases in their normal form."""
    edges: dict[int, int] = {}
    ends = {}
    for number, form in enumerate(forms):
        node = 0
        for code in form:
            node = edges.setdefault(node << _CODE_BITS | code, len(edges) + 1)
        ends[node] = number
    entries = np.full(len(edges) + 1, -1, np.int32)
    entries[list(ends)] = list(ends.values())
    slots = make_slots(len(edges))
    children = np.zeros(len(slots), np.int32)
    nodes = np.fromiter(edges.values(), np.int32, len(edges))
    fill_slots(np.fromiter(edges, np.uint64, len(edges)), nodes, slots, children)
    firsts = sorted({form[0] for form in forms})
    kinds = character_classes()
    marks = _BEGINS * np.isin(_folds(), np.array(firsts, np.uint32))
    marks += _OF_WORD * ((kinds >= MARK) & (kinds <= NUMBER) | (kinds == UNDERSCORE))
    marks += _ANYWHERE * (kinds == UNSPACED)
    marks[_folds() == _INVISIBLE] = _UNSEEN
    return _Tree(marks.astype(np.uint8), slots, children, entries)


@functools.cache
def _folds() -> NDArray[np.uint32]:
    """Return the character by which each one is compared: uint32 [code points]."""
    folds = np.arange(len(character_classes()), dtype=np.uint32)
    for part in _FOLDED:
        folds[part.start : part.stop] = [_fold(chr(code)) for code in part]
    folds[character_classes() == SPACE] = _SPACE
    for first, last in IGNORABLE:
        folds[first : last + 1] = _INVISIBLE
    folds.flags.writeable = False
    return folds


def _fold(char: str) -> int:
    """Return the small letter of a character's compatible form; itself where that is longer."""
    for form in (unicodedata.normalize("NFKC", char), char):
        for lower in (form.casefold(), form.lower()):
            if len(lower) == 1:
                return ord(lower)
    return ord(char)


@inner
def _may_end(codes: NDArray[np.uint32], marks: NDArray[np.uint8], end: Scalar) -> bool:
    """Whether a phrase may end before a place."""
    if marks[codes[end - 1]] & _ANYWHERE:
        return True
    while end < len(codes) and marks[codes[end]] & _UNSEEN:
        end += 1
    return end == len(codes) or not marks[codes[end]] & _OF_WORD


@inner
def _find_longest(
    codes: NDArray[np.uint32], tree: tuple[Any, ...], place: Scalar
) -> tuple[Scalar, Scalar]:
    """Return the longest phrase that begins at a place, or -1, and its end."""
    folds, marks, slots, children, entries = tree
    found, end, node = -1, place, 0
    while place < len(codes):
        folded = folds[codes[place]]
        place += 1
        if folded == _INVISIBLE:
            continue
        slot = find_slot(slots, np.uint64(node) << np.uint64(_CODE_BITS) | np.uint64(folded))
        if slots[slot] == 0:
            break
        node = children[slot]
        if folded == _SPACE:
            while place < len(codes) and folds[codes[place]] in (_INVISIBLE, _SPACE):
                place += 1
        elif entries[node] >= 0 and _may_end(codes, marks, place):
            found, end = entries[node], place
    return found, end


@kernel
def _find(
    characters: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    tree: tuple[Any, ...],
    out: NDArray[np.int32],
) -> int:
    """Write the rows of `Occurrences`, and return their length.

    Args:
      tree: the form of each character, and the fields of `_Tree`.
      out: [3, characters].
    """
    codes, _ = characters
    _, marks, _, _, _ = tree
    num_found, place = 0, 0
    is_within = False  # a word of a script with spaces
    while place < len(codes):
        mark = marks[codes[place]]
        if mark & _BEGINS and (not is_within or mark & _ANYWHERE):
            found, end = _find_longest(codes, tree, place)
            if found >= 0:
                out[0, num_found], out[1, num_found], out[2, num_found] = place, end, found
                num_found += 1
                place, mark = end - 1, marks[codes[end - 1]]
        if not mark & _UNSEEN:
            is_within = mark & _OF_WORD != 0
        place += 1
    return num_found


def read_phrases(files: Sequence[str]) -> Iterator[WeightedPhrase]:
    """Yield the phrases of files (UTF-8; plain, .gz or .zst); blank lines do not count."""
    for path in files:
        yield from read_entries(path, _parse_phrase)


def read_entries(path: str, parse: Callable[[bytes], Entry | None]) -> Iterator[Entry]:
    """Yield the entries of a list, of which there must be one; None: a line has none."""
    is_empty = True
    for number, line in read_numbered_lines(path):
        with named_in_errors(f"{path}:{number}"):
            entry = parse(line)
        if entry is not None:
            is_empty = False
            yield entry
    if is_empty:
        raise ValueError(f"{path}: the list has no entry")


def _parse_phrase(line: bytes) -> WeightedPhrase | None:
    try:
        text, tab, weight = line.decode().removeprefix("\ufeff").strip().partition("\t")
    except UnicodeDecodeError:
        raise ValueError("the line is not UTF-8") from None
    if not text:
        return None
    check_phrase(text)
    return WeightedPhrase(text, _weight(weight) if tab else 1.0)


def check_phrase(text: str) -> None:
    """Refuse what cannot be found.

    Raises:
      ValueError: nothing of it is visible, or it is too long.
    """
    form = normal_form(text)
    if not form:
        raise ValueError(f"{text!r:.60} has no visible character")
    if len(form) > _MAX_CHARACTERS:
        needed = f"at most {_MAX_CHARACTERS} are allowed"
        raise ValueError(f"{text!r:.60} has {len(form)} characters; {needed}")


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise ValueError(f"the weight is {text!r:.60}; it must be a number > 0")
    return weight
