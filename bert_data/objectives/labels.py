"""Converts labels to integers: integers are kept, and names become the number of their class.

"neg" "pos" "neg"   ->  classes ("neg", "pos"), labels 0 1 0
"3" "5"             ->  no classes, labels 3 5
"""

import collections
import dataclasses
import re
from collections.abc import Iterable, Sequence

from bert_data.settings import check_choice, check_integer
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
      max_classes: the most that may occur if `classes` does not name them, 1 to `MAX_CLASSES`.
    """

    kind: str = AUTO
    classes: tuple[str, ...] = ()
    max_classes: int = 100

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, LABEL_KINDS)
        if self.classes and self.kind == INTEGER:
            raise ValueError(f"classes is {self.classes!r}; () is allowed where labels are integer")
        check_integer("max_classes", self.max_classes, 1, MAX_CLASSES)
        if len(set(self.classes)) < len(self.classes) or not all(self.classes):
            raise ValueError(f"classes is {self.classes!r}; different names are needed")

    @property
    def needs_look(self) -> bool:
        """Whether all labels must be read before any can be numbered."""
        return self.kind != INTEGER and not self.classes


def find_classes(rows: Iterable[LabelledText], config: LabelConfig) -> tuple[str, ...]:
    """Return the classes of all labels; () if they are integers.

    Raises:
      ValueError: there are more than `config.max_classes`; or, if "auto" is to tell what labels
        are, all are numbers, but not all integers, or they differ more than the texts do.
    """
    if not config.needs_look:
        return config.classes
    names: set[str] = set()
    texts: set[int] = set()
    first_other: LabelledText | None = None
    all_numbers = True
    for row in rows:
        label = str(row.label)
        if len(texts) <= config.max_classes:
            texts.add(hash(tuple(map(str, row.texts))))
        if _INTEGER.fullmatch(label) is None:
            first_other = first_other or row
            all_numbers = all_numbers and _is_number(label)
        if len(names) < config.max_classes or label in names:
            names.add(label)
        elif config.kind == CLASS or first_other is not None:
            raise row.error(
                f"the label {label[:40]!r} is one class too many; {config.max_classes:,} are"
                " allowed (max_classes), so make sure that the column of labels holds labels"
            )
    if config.kind == AUTO and first_other is None:
        return ()
    if config.kind == AUTO and first_other is not None and all_numbers:
        raise first_other.error(
            f"the label {str(first_other.label)[:40]!r} is a number, but not an integer; make all"
            " labels integers, or name their kind, class, to make each different label a class"
        )
    if config.kind == AUTO and first_other is not None and len(texts) < len(names):
        raise first_other.error(
            f"there are {len(names):,} different labels, but only {len(texts):,} different texts;"
            " are their columns swapped? If not, name the kind of the labels, class"
        )
    return tuple(sorted(names))


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


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
