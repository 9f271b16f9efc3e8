"""Find numbers that countries give to persons, whose check digits python-stdnum knows.

    find_national_ids("DNI 12345678Z", ())              ->  [(4, 13)]
    find_national_ids("Ana, 12345678Z", ("ES",))        ->  [(5, 14)]     no word is needed there
    find_national_ids("CPF: 111.444.777-35", ())        ->  [(5, 19)]

`national_ids.toml` has the numbers. python-stdnum is LGPL, hence in an extra of its own.
"""

import functools
import re
from collections.abc import Collection
from typing import Any, NamedTuple

from bert_data.curation.quality.languages import read_lists
from bert_data.curation.web.personal_addresses import Spans
from bert_data.packages import load_package

_BEFORE = 40
_SEPARATORS = re.compile("[^0-9A-Za-z]")
_SPACE = "[ \u00a0]"


class _Number(NamedTuple):
    """A kind of number: its module, its form, that without a word, its country, and its words."""

    module: Any
    form: re.Pattern[str]
    alone: re.Pattern[str]
    country: str
    words: re.Pattern[str]

    def is_valid(self, written: str) -> bool:
        return bool(self.module.is_valid(_SEPARATORS.sub("", written).upper()))

    def needs_word(self, written: str, countries: Collection[str]) -> bool:
        is_alone = self.alone.fullmatch(written) is not None
        return not is_alone or bool(self.country and self.country not in countries)


@functools.cache
def load_numbers() -> tuple[_Number, ...]:
    """Return the kinds of numbers.

    Raises:
      ValueError: python-stdnum is not installed.
    """
    numbers = []
    for name, entry in read_lists(__file__).items():
        module = load_package(f"stdnum.{name}", "national_id", extra="ids")
        form, alone = (entry[key].replace("[ ]", _SPACE) for key in ("form", "alone"))
        bounded = rf"(?<![0-9A-Za-z_])(?<![0-9][-.,/])(?:{form})(?![0-9A-Za-z_])(?![-.,/][0-9])"
        words = rf"(?<![^\W\d_])(?:{entry['words']})(?![^\W\d_])"
        pattern = re.compile(bounded), re.compile(alone), entry["country"], re.compile(words)
        numbers.append(_Number(module, *pattern))
    return tuple(numbers)


def find_national_ids(text: str, countries: Collection[str]) -> Spans:
    """Return the positions of numbers of persons with valid check digits.

    Args:
      countries: of the document (ISO 3166); some of their numbers need no word before them.
    """
    spans = set()
    for number in load_numbers():
        for match in number.form.finditer(text):
            if number.needs_word(match[0], countries):
                before = text[max(0, match.start() - _BEFORE) : match.start()].lower()
                if number.words.search(before) is None:
                    continue
            if number.is_valid(match[0]):
                spans.add(match.span())
    return sorted(spans)


def is_national_id(written: str) -> bool:
    """Whether a text is such a number, however it is separated."""
    return any(number.is_valid(written) for number in load_numbers())
