r"""Read lists of words and phrases: one entry per line, with or without a weight after a tab.

gronk                          Phrase("gronk", 1.0)
flim flam\t2.5         ->      Phrase("flim flam", 2.5)
坏话                           Phrase("坏话", 1.0)
"""

import math
from collections.abc import Iterator, Sequence

from bert_data.curation.quality.phrases import MAX_CHARACTERS, Phrase, normal_form
from bert_data.errors import named_in_errors
from bert_data.text.lines import read_numbered_lines


def read_phrases(files: Sequence[str]) -> Iterator[Phrase]:
    """Yield the phrases of files (UTF-8; plain, .gz or .zst); blank lines do not count.

    Raises:
      ValueError: a line is not a phrase, or a file has none; with file and line.
    """
    for path in files:
        is_empty = True
        for number, data in read_numbered_lines(path):
            line = _decode(f"{path}:{number}", data)
            if line.strip():
                is_empty = False
                yield _phrase(f"{path}:{number}", line)
        if is_empty:
            raise ValueError(f"{path}: the list has no entry")


def check_phrase(text: str) -> None:
    """Refuse what cannot be found.

    Raises:
      ValueError: nothing of it is visible, or it is too long.
    """
    form = normal_form(text)
    if not form:
        raise ValueError(f"{text!r:.60} has no visible character")
    if len(form) > MAX_CHARACTERS:
        raise ValueError(f"{text!r:.60} has {len(form)} characters; at most {MAX_CHARACTERS}")


def _decode(place: str, data: bytes) -> str:
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise ValueError(f"{place}: the line is not UTF-8") from None


def _phrase(place: str, line: str) -> Phrase:
    text, tab, weight = line.strip().partition("\t")
    with named_in_errors(place):
        check_phrase(text)
        return Phrase(text, _weight(weight) if tab else 1.0)


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise ValueError(f"the weight is {text!r:.60}; it must be a number > 0")
    return weight
