"""From labels to numbers."""

import pytest

from bert_data.labelled.columns import LabelNumbers, find_classes
from bert_data.labelled.label_config import LabelConfig
from bert_data.labelled.texts import LabelledText


def rows(*values: str | int) -> list[LabelledText]:
    return [
        LabelledText(path="f.csv", line=number, texts=(f"text {number}",), label=value)
        for number, value in enumerate(values, 2)
    ]


def numbers(values: tuple, **options) -> list[int]:
    classes = find_classes(rows(*values), LabelConfig(**options))
    labels = LabelNumbers(classes)
    return [labels.number_of(row) for row in rows(*values)]


def test_kinds_of_labels() -> None:
    assert numbers(("pos", "neg", "pos")) == [1, 0, 1]
    assert numbers(("10", 9, "-3")) == [10, 9, -3]  # integers are what they say
    assert numbers(("10", 9, "-3"), label_kind="class") == [1, 2, 0]
    assert numbers(("10", "9", "x")) == [0, 1, 2]
    assert numbers(("b", "a"), classes=("b", "a")) == [0, 1]


def test_counts() -> None:
    labels = LabelNumbers(("neg", "neutral", "pos"))
    for row in rows("pos", "neg", "pos"):
        labels.number_of(row)
    assert labels.counts() == {"neg": 1, "neutral": 0, "pos": 2}


@pytest.mark.parametrize(
    ("values", "options", "reason"),
    [
        (("a", "c"), {"classes": ("a", "b")}, "f.csv:3: the label 'c' is not a class; the classes"),
        (("a", "a"), {}, "f.csv:3: every label up to this last one is 'a'; two or more classes"),
        (("1", "x"), {"label_kind": "integer"}, "f.csv:3: the label is 'x'; it must be a 64-bit"),
        (("1", 2**63), {"label_kind": "integer"}, "f.csv:3: the label is '9223372036854775808'"),
        (("1", "1.0"), {"label_kind": "integer"}, "f.csv:3: the label is '1.0'"),
        ((), {"label_kind": "x"}, "label_kind is 'x'"),
        ((), {"max_classes": 0}, "max_classes is 0; 1 to 10,000 is allowed"),
        ((), {"max_classes": 2**63}, "max_classes is 9223372036854775808; 1 to 10,000 is allowed"),
        ((), {"label_kind": "integer", "classes": ("a",)}, "classes is ('a',)"),
        ((), {"classes": ("a", "a")}, "classes is ('a', 'a')"),
    ],
)
def test_mistakes(values: tuple, options: dict, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        numbers(values, **options)
    assert reason in str(caught.value)


def test_texts_taken_for_labels_are_noticed() -> None:
    assert numbers(tuple("abcabc"), max_classes=3) == [0, 1, 2] * 2
    with pytest.raises(ValueError, match=r"f\.csv:5: the label 'd' is one class too many: 3 are"):
        numbers(tuple("abcd"), max_classes=3)
    with pytest.raises(ValueError, match=r"f\.csv:6: the label 'e' is one class too many: 3 are"):
        numbers(("1", "2", "3", "4", "e"), max_classes=3)
    assert numbers(tuple("1234"), max_classes=3) == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="100 are allowed"):
        numbers(tuple(f"review {number}" for number in range(101)))


BIG = "9" * 20


def test_a_number_among_integers_is_no_class_of_its_own() -> None:
    for values in (("1", "2", "3.0", "3"), ("3.0", "1"), ("1", "nan"), ("0.5", "1.5"), ("1", BIG)):
        with pytest.raises(ValueError, match=r"f\.csv:\d: the label .* but not a 64-bit integer"):
            numbers(values)
    assert numbers(("1", "2", "3.0", "3"), label_kind="class") == [0, 1, 3, 2]


def test_swapped_columns_of_few_texts_are_noticed() -> None:
    swapped = [
        LabelledText(path="f.csv", line=2 + i, texts=(str(i % 2),), label=f"review {i}")
        for i in range(9)
    ]
    with pytest.raises(ValueError, match=r"f\.csv:2: there are 9 different labels, but only 2 "):
        find_classes(swapped, LabelConfig())
    assert len(find_classes(swapped, LabelConfig(label_kind="class"))) == 9
