"""A document and those that are made of it."""

import math
import pickle

import pytest

from bert_data.curation.document import Document, Measured, Verdict, in_groups, measure
from tests.curation.texts import make_document


def test_another_text_forgets_what_was_counted() -> None:
    document = make_document("One two.", url="u")
    assert (len(document.words), document.num_bytes) == (3, 8)
    other = document.with_text("Drei für é")
    assert (len(other.words), other.num_bytes) == (3, 12)
    assert (other.id, other.source, other.fields) == (document.id, document.source, {"url": "u"})
    assert document.with_text("One two.") is document


def test_other_fields_keep_what_was_counted() -> None:
    document = make_document("One two.", url="u", language="de")
    words = document.words
    other = document.with_fields(language="en", score=0.5)
    assert other.words is words
    assert other.fields == {"url": "u", "language": "en", "score": 0.5}
    assert document.fields == {"url": "u", "language": "de"}
    without = document.without_field("url")
    assert without.words is words
    assert without.fields == {"language": "de"}
    assert without.without_field("url") == without


def test_what_is_counted_is_no_part_of_it() -> None:
    counted, fresh = make_document("a b"), make_document("a b")
    assert counted.num_bytes == 3
    assert counted == fresh
    assert pickle.loads(pickle.dumps(counted)) == fresh
    assert Document(id="a/2", source="a", text="a b") != fresh


def test_groups_end_with_their_size_or_number() -> None:
    texts = ["a", "b", "c", "d" * 20, "e", "f" * 9, "g"]
    groups = [["a", "b", "c"], ["d" * 20], ["e", "f" * 9], ["g"]]
    assert list(in_groups(texts, len, max_size=10, max_items=3)) == groups
    assert list(in_groups([], len, max_size=10, max_items=3)) == []


@pytest.mark.parametrize(
    ("rule", "value", "failed"),
    [
        ("min_words", 49, True),
        ("min_words", 50, False),
        ("max_words", 50, False),
        ("max_words", 51, True),
        ("min_words", math.nan, False),
        ("max_words", math.nan, False),
    ],
)
def test_a_threshold_itself_is_allowed(rule, value, failed):
    measured = measure(rule, value, 50)
    assert (measured.rule, measured.threshold, measured.failed) == (rule, 50, failed)


def test_a_rule_of_another_name_has_no_order():
    with pytest.raises(ValueError, match="'words' begins with neither 'min_' nor 'max_'"):
        measure("words", 1, 2)


def test_one_failed_rule_rejects():
    document = Document("0", "web", "One.")
    passed, failed = Measured("min_words", 2, 1), Measured("max_words", 2, 1, failed=True)
    assert Verdict(document, (passed,)).kept and Verdict(document).kept
    assert not Verdict(document, (passed, failed)).kept
