"""Sources of numbered items, which commands show.

An item is a record, a document, a sample or an entry of a ledger. Its fields are its content:
equal content has equal fields, whatever file holds it.
"""

import abc
import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.inspection.readable_ids import TokenNames
from bert_data.inspection.terminal import ShownText, StyledText
from bert_data.tokens.tokenizer_config import PIECES

_LETTERS_A_TOKEN = 6


@dataclasses.dataclass(frozen=True, kw_only=True)
class Item:
    """One thing to look at.

    Attributes:
      number: in its source, from 0.
      path: the file that it is from.
      place: its number in that file, from 0.
      fields: its content by name.
      padding: positions of padding that are stored with it, which are not content.
    """

    number: int
    path: str
    place: int
    fields: Mapping[str, Any]
    padding: int = 0


Line = tuple[str, ShownText]
"""A line to show: its label, and its text."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class View:
    """Settings of how items are shown.

    Attributes:
      max_tokens: at most so many tokens (or words) of a line.
      marked: places of tokens to highlight, by the name of their field.
    """

    words: TokenNames
    max_tokens: int = 1 << 62
    marked: Mapping[str, set[int]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Description:
    """Description of a source, known without reading its items; None for what is unknown.

    Attributes:
      kind: what it is, such as "masked LM records".
      unit: an item, such as "record".
      settings: what made it, by name, for people.
      special_tokens: role -> token, as named when it was made.
      words: what a word is by the ids of its items, see `tokens.segmenting`.
    """

    kind: str
    unit: str
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    vocab_sha256: str | None = None
    vocab_size: int | None = None
    do_lower_case: bool | None = None
    special_tokens: Mapping[str, str] = dataclasses.field(default_factory=dict)
    words: str = PIECES


class Source(abc.ABC):
    """Items of one kind.

    Attributes:
      description: what is known of them all.
      names: what they are read from, as the user names it: files, or prefixes of stores.
      paths: all files that are read.
    """

    def __init__(
        self, description: Description, names: Sequence[str], paths: Sequence[str] | None = None
    ) -> None:
        self.description, self.names = description, list(names)
        self.paths = self.names if paths is None else list(paths)

    def count(self) -> int:
        """Return how many there are; this may read the files."""
        return sum(1 for _ in self.stream())

    @abc.abstractmethod
    def stream(self) -> Iterator[Item]:
        """Yield all items in order."""

    def read(self, numbers: Sequence[int]) -> Iterator[Item]:
        """Yield items by ascending number; those beyond the last item give nothing."""
        chosen = set(numbers)
        for item in itertools.islice(self.stream(), max(chosen, default=-1) + 1):
            if item.number in chosen:
                yield item

    @abc.abstractmethod
    def lines(self, item: Item, view: View) -> list[Line]:
        """Return an item as lines to show."""

    def row(self, item: Item, words: TokenNames) -> dict[str, Any]:
        """Return an item for programs: values that JSON has."""
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in item.fields.items()
        }

    def ids_of(self, item: Item) -> Mapping[str, NDArray[np.int64]]:
        """Return the ids in which words are searched, by field; masked ones as they were."""
        return {}


def check_one_vocabulary(digests: Iterable[tuple[str, str | None]]) -> str | None:
    """Return the digest that all named parts of a source have, or None if none is known."""
    first: tuple[str, str] | None = None
    for name, digest in digests:
        if digest is None:
            continue
        first = first or (name, digest)
        if first[1] != digest:
            raise ValueError(
                f"{first[0]} and {name} were made with different vocabularies; look at one of them"
                " at a time"
            )
    return first[1] if first else None


def show_text(text: str, view: View) -> list[StyledText]:
    """Return the beginning of a text, about as long as `view.max_tokens` allows."""
    room = _LETTERS_A_TOKEN * view.max_tokens
    if len(text) <= room:
        return [StyledText(text)]
    return [
        StyledText(text[:room]),
        StyledText(f" ... {len(text) - room:,} more characters", "faint"),
    ]


def show_ids(
    ids: Sequence[int],
    view: View,
    *,
    style: str = "",
    marked: frozenset[int] | set[int] = frozenset(),
    first: int = 0,
    predicted: Mapping[int, int] | None = None,
) -> list[StyledText]:
    """Return ids as words, separated by spaces.

    A word with a token to predict is shown piece by piece: what is there now and, in parentheses,
    what it was.

    Args:
      marked: places of tokens to highlight.
      first: the place of the first id.
      predicted: the original id of each place to predict.
    """
    now = list(ids[: view.max_tokens])
    original = dict(predicted or {})
    before = [original.get(first + i, number) for i, number in enumerate(now)]
    spans: list[StyledText] = []
    for begin, end in view.words.divide(before):
        if spans:
            spans.append(StyledText(" ", style))
        places = range(first + begin, first + end)
        if any(place in original for place in places):
            for place in places:
                if place > first + begin:
                    spans.append(StyledText(" ", style))
                spans += _show_piece(place, now[place - first], original, view.words, style)
            continue
        if marked.isdisjoint(places):
            spans.append(_show_word(now[begin:end], view.words, style))
        else:
            spans.append(StyledText(view.words.join(now[begin:end]), "word"))
    if len(ids) > len(now):
        spans.append(StyledText(f" ... {len(ids) - len(now):,} more", "faint"))
    return _merge(spans)


def _merge(spans: Sequence[StyledText]) -> list[StyledText]:
    groups = itertools.groupby(spans, key=lambda span: span.style)
    return [StyledText("".join(span.text for span in group), style) for style, group in groups]


def _show_word(ids: Sequence[int], words: TokenNames, style: str) -> StyledText:
    if words.is_outside(ids[0]):
        return StyledText(f"<{ids[0]}>", "bad")
    if words.is_special(ids[0]):
        return StyledText(words.token(ids[0]), "special")
    return StyledText(words.join(ids), style)


def _show_piece(
    place: int, now: int, original: Mapping[int, int], words: TokenNames, style: str
) -> list[StyledText]:
    if place not in original:
        return [StyledText(words.token(now), style)]
    was = original[place]
    how = "kept" if now == was else "masked" if now == words.mask_id else "replaced"
    if words.mask_id is None and how == "replaced":
        how = "masked"
    return [StyledText(words.token(now), how), StyledText(f"({words.token(was)})", "original")]
