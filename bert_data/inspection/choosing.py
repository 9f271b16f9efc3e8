"""Which items to show: by number, at random, or those that contain a word.

Choice(numbers="17,40-42")      items 17, 40, 41, 42
Choice(num_items=3, seed=1)     3 items drawn from all
Choice(num_items=3, word="cat") the first 3 that contain the word
Choice(num_items=3)             the first 3
"""

import dataclasses
import itertools
import random
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from bert_data.bounds import check_bounds
from bert_data.inspection.sources.items import Item, Source
from bert_data.inspection.words import Words, WordSearch

_MAX_NUMBERS = 1_000_000
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MAX_DIGITS = 15


@dataclasses.dataclass(frozen=True, kw_only=True)
class Choice:
    """Which items.

    Attributes:
      numbers: numbers and ranges of them, the end included: "17,40-42"; None: see the others.
      num_items: how many, >= 1, if no numbers are named.
      seed: to draw them at random; None: they are not.
      word: that they contain.
      do_lower_case: how the word is tokenized; None: as the source's text was, or True.
    """

    numbers: str | None = None
    num_items: int = 5
    seed: int | None = None
    word: str | None = None
    do_lower_case: bool | None = None

    def __post_init__(self) -> None:
        check_bounds("num_records", self.num_items, 1, _MAX_NUMBERS)
        if self.word is not None and not self.word.strip():
            raise ValueError("word is empty; name a word")
        chosen = {"record": self.numbers, "seed": self.seed, "word": self.word}
        names = [name for name, value in chosen.items() if value is not None]
        if len(names) > 1:
            raise ValueError(f"{' and '.join(names)} are set; records are chosen by one of them")
        if self.numbers is not None:
            parse_numbers(self.numbers)


class Chosen(NamedTuple):
    """An item, and places of tokens to highlight by the name of their field."""

    item: Item
    marked: Mapping[str, set[int]]


def parse_numbers(text: str) -> list[int]:
    """Return the numbers of a list of numbers and ranges, ascending, each once.

    Raises:
      ValueError: it is not one, or names more than a million.
    """
    numbers: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None or len(part) > 2 * _MAX_DIGITS:
            raise ValueError(f"record is {text!r}; numbers and ranges such as 17,40-42 are allowed")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"record is {text!r}; the range {part} must ascend")
        if last - first + len(numbers) >= _MAX_NUMBERS:
            raise ValueError(f"record is {text!r}; at most {_MAX_NUMBERS:,} numbers are allowed")
        numbers |= set(range(first, last + 1))
    return sorted(numbers)


def choose(source: Source, choice: Choice, words: Words) -> Iterator[Chosen]:
    """Yield the chosen items, in order.

    Raises:
      ValueError: there is no such item.
    """
    if choice.word is not None:
        yield from itertools.islice(_with_word(source, choice, words), choice.num_items)
        return
    if choice.numbers is not None:
        numbers = parse_numbers(choice.numbers)
    elif choice.seed is not None:
        count = source.count()
        drawn = random.Random(choice.seed).sample(range(count), min(choice.num_items, count))
        numbers = sorted(drawn)
    else:
        numbers = list(range(choice.num_items))
    num_found = 0
    for item in source.read(numbers):
        num_found += 1
        yield Chosen(item, {})
    if choice.numbers is not None and num_found < len(numbers):
        unit, count = source.description.unit, source.count()
        raise ValueError(f"there is no {unit} {numbers[num_found]}: {_say_count(count, unit)}")


def _say_count(count: int, unit: str) -> str:
    if not count:
        return f"there are no {plural(unit)} at all"
    return f"{plural(unit)} are numbered from 0 to {count - 1}"


def plural(unit: str) -> str:
    """Return the plural of a unit."""
    return f"{unit[:-1]}ies" if unit.endswith("y") else f"{unit}s"


def _with_word(source: Source, choice: Choice, words: Words) -> Iterator[Chosen]:
    assert choice.word is not None
    search: WordSearch | None = None
    matches = _text_search(choice.word)
    for item in source.stream():
        arrays = source.ids_of(item)
        if arrays and search is None:
            lower = choice.do_lower_case
            if lower is None:
                lower = source.description.do_lower_case
            search = WordSearch(choice.word, words, do_lower_case=lower is not False)
        if arrays and search is not None:
            marked = {name: search.find(ids) for name, ids in arrays.items()}
            if any(marked.values()):
                yield Chosen(item, marked)
        elif not arrays and any(isinstance(v, str) and matches(v) for v in item.fields.values()):
            yield Chosen(item, {})


def _text_search(word: str) -> Callable[[str], object]:
    """Return a function that says whether a text contains a word, in any case."""
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    return pattern.search
