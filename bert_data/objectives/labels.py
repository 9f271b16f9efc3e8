"""Labels in, whole numbers out: whole numbers as they are, words by their place among the classes.

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
_NUM_TOLD = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelConfig:
    """What labels are.

    Attributes:
      kind: "integer": whole numbers, stored as they are. "class": words, stored as their number
        among the classes, from 0. "auto": integers if all of them are, else classes.
      classes: the classes in order, each once; () takes all that occur, sorted by code point.
    """

    kind: str = AUTO
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in LABEL_KINDS:
            raise ValueError(f"kind is {self.kind!r}; one of {', '.join(LABEL_KINDS)} is allowed")
        if self.classes and self.kind == INTEGER:
            raise ValueError(f"classes is {self.classes!r}; () is allowed where labels are integer")
        if len(set(self.classes)) < len(self.classes) or not all(self.classes):
            raise ValueError(f"classes is {self.classes!r}; different names are needed")

    @property
    def needs_look(self) -> bool:
        """Whether all labels must be seen before one can be told its number."""
        return self.kind != INTEGER and not self.classes


def find_classes(rows: Iterable[LabelledText], config: LabelConfig) -> tuple[str, ...]:
    """The classes of all labels; () where they are integers.

    Raises:
      ValueError: there are more than `MAX_CLASSES`.
    """
    if not config.needs_look:
        return config.classes
    found: set[str] = set()
    all_integers = config.kind == AUTO
    for row in rows:
        label = str(row.label)
        all_integers = all_integers and _INTEGER.fullmatch(label) is not None
        if all_integers and len(found) == MAX_CLASSES:
            continue
        found.add(label)
        if len(found) > MAX_CLASSES:
            raise row.error(
                f"the label {label[:40]!r} is one class too many; {MAX_CLASSES:,} are allowed"
            )
    return () if all_integers else tuple(sorted(found))


class LabelNumbers:
    """Gives each label its number, and counts them.

    Attributes:
      classes: the classes in order; () where labels are integers.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = tuple(classes)
        self._numbers = {name: number for number, name in enumerate(classes)}
        self._counts: collections.Counter[int] = collections.Counter()

    def number_of(self, row: LabelledText) -> int:
        """The number of a row's label.

        Raises:
          ValueError: it is no class, or no whole number of 64 bits.
        """
        label = str(row.label)
        if not self.classes:
            number = int(label) if _INTEGER.fullmatch(label) else None
            if number is None or number not in _INT64:
                raise row.error(f"the label is {label[:40]!r}; a whole number of 64 bits is needed")
        else:
            number = self._numbers.get(label)
            if number is None:
                told = ", ".join(self.classes[:_NUM_TOLD])
                more = ", ..." if len(self.classes) > _NUM_TOLD else ""
                raise row.error(
                    f"the label {label[:40]!r} is no class; the classes are {told}{more}"
                )
        assert number is not None
        if number in self._counts or len(self._counts) < MAX_CLASSES:
            self._counts[number] += 1
        return number

    def counts(self) -> dict[str, int]:
        """How often each label occurred, by its name; of the first `MAX_CLASSES` ones."""
        if self.classes:
            return {name: self._counts[number] for number, name in enumerate(self.classes)}
        return {str(number): count for number, count in sorted(self._counts.items())}
