"""A rule's name says how its value is compared."""

import math

import pytest

from bert_data.curation.document import Document
from bert_data.curation.verdict import Measured, Verdict, measure


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
