"""Converts labels to integers: integers are kept, and names become the number of their class.

"neg" "pos" "neg"   ->  classes ("neg", "pos"), labels 0 1 0
"3" "5"             ->  no classes, labels 3 5
"""

import collections
import dataclasses
import re
from collections.abc import Iterable, Sequence

from bert_data.text.labelled import LabelledText

AUTO, INTEGER, CLASS = LABEL_KINDS = ("auto", "integer", "class")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_INT64 = range(-(2**63), 2**63)
MAX_CLASSES = 10_000
_NUM_NAMED = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelConfig:
    """How labels are stored.

    Attributes:
      kind: "integer": integers, stored unchanged. "class": names, stored as the number of their
        class, from 0. "auto": "integer" if every label is an integer, otherwise "class".
      classes: the classes in order, each once; () for all that occur, sorted by code point.
    """

    kind: str = AUTO
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in LABEL_KINDS:
            raise ValueError(f"kind is {self.kind!r}; it must be one of {', '.join(LABEL_KINDS)}")
        if self.classes and self.kind == INTEGER:
            raise ValueError(f"classes is {self.classes!r}; () is allowed where labels are integer")
        if len(set(self.classes)) < len(self.classes) or not all(self.classes):
            raise ValueError(f"classes is {self.classes!r}; different names are needed")

    @property
    def needs_look(self) -> bool:
        """Whether all labels must be read before any can be numbered."""
        return self.kind != INTEGER and not self.classes


def find_classes(rows: Iterable[LabelledText], config: LabelConfig) -> tuple[str, ...]:
    """Return the classes of all labels; () if they are integers.

    Raises:
      ValueError: there are more than `MAX_CLASSES`.
    """
    if not config.needs_look:
        return config.classes
    names: set[str] = set()
    all_integers = config.kind == AUTO
    for row in rows:
        label = str(row.label)
        all_integers = all_integers and _INTEGER.fullmatch(label) is not None
        if all_integers and len(names) == MAX_CLASSES:
            continue
        names.add(label)
        if len(names) > MAX_CLASSES:
            raise row.error(
                f"the label {label[:40]!r} is one class too many; {MAX_CLASSES:,} are allowed"
            )
    return () if all_integers else tuple(sorted(names))


class LabelNumbers:
    """Converts labels to numbers, and counts them.

    Attributes:
      classes: the classes in order; () if labels are integers.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = tuple(classes)
        self._numbers = {name: number for number, name in enumerate(classes)}
        self._counts: collections.Counter[int] = collections.Counter()

    def number_of(self, row: LabelledText) -> int:
        """Return the number of a row's label.

        Raises:
          ValueError: it is not a class, or not a 64-bit integer.
        """
        label = str(row.label)
        if not self.classes:
            number = int(label) if _INTEGER.fullmatch(label) else None
            if number is None or number not in _INT64:
                raise row.error(f"the label is {label[:40]!r}; it must be a 64-bit integer")
        else:
            number = self._numbers.get(label)
            if number is None:
                named = ", ".join(self.classes[:_NUM_NAMED])
                more = ", ..." if len(self.classes) > _NUM_NAMED else ""
                raise row.error(
                    f"the label {label[:40]!r} is not a class; the classes are {named}{more}"
                )
        assert number is not None
        if number in self._counts or len(self._counts) < MAX_CLASSES:
            self._counts[number] += 1
        return number

    def counts(self) -> dict[str, int]:
        """Return how often each label occurred, by name, for the first `MAX_CLASSES` of them."""
        if self.classes:
            return {name: self._counts[number] for number, name in enumerate(self.classes)}
        return {str(number): count for number, count in sorted(self._counts.items())}
