"""A document on its way through curation, and the verdict of a step on it.

Document(id="crawl/00017", source="crawl", text="One. Two.", fields={"url": "http://..."})
    .words            the words of the text, split once and shared by all steps
    .with_text("One.")  another document with the same id

Verdict(document, (Measured("min_words", 312, 50),))                kept
Verdict(document, (Measured("min_words", 7, 50, failed=True),))     rejected: 7 words, 50 needed

A rule is named after the parameter that holds its threshold: a value fails `min_x` if it is below
the threshold, and `max_x` if it is above. Rules with other names ("languages") compare in their own
way, and their values may be strings.
"""

import dataclasses
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from bert_data.curation.words import Words, count_words_in, split_words
from bert_data.text.html import CONTENT_TYPES, HTML

Item = TypeVar("Item")

_LOOKS_LIKE_HTML = re.compile(r"<(?:!doctype\s{1,9}html|html|head|body)[\s>]", re.IGNORECASE)
_NUM_LOOKED_AT = 1_000  # characters


RENAMED = "input_"
"""Prefix of fields of rows whose names outputs have for something else."""

OWN_ID = f"{RENAMED}id"
"""Field with the `id` that a document's row had, which the output calls `id` again."""

PLACE = f"{RENAMED}row"
"""Field of outputs with the run's own id of a document whose row had one."""

RESERVED_FIELDS = ("id", "source", "text", OWN_ID, PLACE)
"""Fields of outputs with a meaning; neither a row nor a step gives others these names."""

SIZES = ("num_bytes", "num_words", "num_tokens")
"""Sizes of a text that a document keeps once they are known."""


class FieldError(ValueError):
    """A document has no field that a step needs, or one with a value that the step cannot use.

    As it is as a rule a mistake in the pipeline, it stops the run, whatever `on_error` is.
    """


class StepFieldError(ValueError):
    """A `FieldError` with the name of the step, in which the same run would end again."""


@dataclasses.dataclass(frozen=True)
class Document:
    """A text and its metadata.

    Attributes:
      id: identifies the document in every run: its file and row, or a field of its own.
      source: name of its data set.
      fields: the other columns of its row, and results of steps ("language"); JSON values.
        Steps never modify it; they make another document (`with_fields`).
    """

    id: str
    source: str
    text: str
    fields: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    # Words and sizes of the text, once known; documents with the same text may share them.
    _known: dict[str, Any] = dataclasses.field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def words(self) -> Words:
        """Words of the text; split on first use."""
        return self._once("words", split_words)

    @property
    def num_words(self) -> int:
        """Number of words of the text."""
        if "words" in self._known:
            return len(self.words)
        return self._once("num_words", count_words_in)

    @property
    def num_bytes(self) -> int:
        """Size of the text in UTF-8."""
        return self._once("num_bytes", _count_bytes)

    def count_tokens(self, count: Callable[[str], int]) -> int:
        """Return the number of tokens of the text, which is counted once."""
        return self._once("num_tokens", count)

    def _once(self, name: str, find: Callable[[str], Any]) -> Any:
        if name not in self._known:
            self._known[name] = find(self.text)
        return self._known[name]

    def known_sizes(self) -> dict[str, int]:
        """Return the sizes that are known, by their names in `SIZES`."""
        return {name: self._known[name] for name in SIZES if name in self._known}

    def note_sizes(self, sizes: Mapping[str, int]) -> None:
        """Keep sizes that are known from elsewhere."""
        self._known.update(sizes)

    def with_text(self, text: str) -> "Document":
        """Return the document with another text (itself if the text is the same)."""
        return self if text == self.text else Document(self.id, self.source, text, self.fields)

    def with_fields(self, **fields: Any) -> "Document":
        """Return the document with more or other fields; its words stay split."""
        return self._with({**self.fields, **fields})

    def without_field(self, name: str) -> "Document":
        """Return the document without a field; its words stay split."""
        return self._with({key: value for key, value in self.fields.items() if key != name})

    def _with(self, fields: Mapping[str, Any]) -> "Document":
        other = Document(self.id, self.source, self.text, fields)
        other.__dict__["_known"] = self._known
        return other


def _count_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def page_type(document: Document) -> str | None:
    """Return the type of a page of HTML, by its field `content_type` or its first tags."""
    content_type = document.fields.get("content_type")
    if isinstance(content_type, str) and content_type.strip():
        named = content_type.partition(";")[0].strip().lower()
        return named if named in CONTENT_TYPES else None
    return HTML if _LOOKS_LIKE_HTML.search(document.text, 0, _NUM_LOOKED_AT) else None


def in_groups(
    items: Iterable[Item],
    size_of: Callable[[Item], int],
    max_size: int,
    max_items: int = sys.maxsize,
) -> Iterator[list[Item]]:
    """Yield items in lists of up to `max_items`, each of which ends once it has `max_size`."""
    group: list[Item] = []
    size = 0
    for item in items:
        group.append(item)
        size += size_of(item)
        if size >= max_size or len(group) >= max_items:
            yield group
            group, size = [], 0
    if group:
        yield group


MIN, MAX = "min_", "max_"


class Measured(NamedTuple):
    """A rule's measure of a document.

    Attributes:
      rule: the parameter of the step that holds the threshold.
      value: the measured value.
      threshold: the value it was compared with.
      failed: whether the rule rejects the document.
    """

    rule: str
    value: float | str
    threshold: float | str
    failed: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """A step's decision on a document.

    Attributes:
      document: as the step leaves it; unchanged if it is rejected.
      measured: all that the step's rules measured; a failed one rejects the document.
      edits: changes to the text and their number: {"emails": 2}.
      counted: other counts over all documents, kept or not, by name: {"en": 1}.
      num_copies: how often the document passes; 0 only if it is rejected.
    """

    document: Document
    measured: tuple[Measured, ...] = ()
    edits: Mapping[str, int] = dataclasses.field(default_factory=dict)
    counted: Mapping[str, int] = dataclasses.field(default_factory=dict)
    num_copies: int = 1

    @property
    def kept(self) -> bool:
        """Whether the document passes."""
        return not any(each.failed for each in self.measured)


def is_number(value: object) -> bool:
    """Whether a measured value or a threshold is a number that can be compared."""
    if type(value) is float:  # nearly all are: the rest of this takes several times as long
        return value == value
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def fails(rule: str, value: float, threshold: float) -> bool:
    """Whether a value fails a rule named `min_...` or `max_...`; NaN fails none."""
    if rule.startswith(MIN):
        return value < threshold
    if rule.startswith(MAX):
        return value > threshold
    raise ValueError(f"rule {rule!r} begins with neither {MIN!r} nor {MAX!r}")


def measure(rule: str, value: float, threshold: float) -> Measured:
    """Compare a value with the threshold of a rule named `min_...` or `max_...`."""
    return Measured(rule, value, threshold, fails(rule, value, threshold))
