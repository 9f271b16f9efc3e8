"""Examples of what rules reject and keep: the same ones however the documents are divided."""

from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.running.examples import add_example, list_examples, merge_examples
from bert_data.curation.verdict import Measured, measure

VALUES = st.lists(st.integers(0, 20), min_size=1, max_size=30)


def add(examples, number, value):
    document = Document(f"a/{number}", "a", f"text {number} " * 100)
    language = Measured("languages", "de", "en", failed=value == 0)
    measured = (measure("min_words", value, 10), language)
    kept = not any(each.failed for each in measured)
    add_example(examples, document, measured, kept=kept)


@given(VALUES, st.integers(0, 30))
def test_shards_do_not_matter(values, cut):
    whole, first, second = {}, {}, {}
    for number, value in enumerate(values):
        add(whole, number, value)
        add(first if number < cut else second, number, value)
    merge_examples(first, second)
    assert first == whole


@given(VALUES)
def test_the_closest_ones_are_shown(values):
    examples = {}
    for number, value in enumerate(values):
        add(examples, number, value)
    rows = [row for row in list_examples(examples) if row[0] == "min_words"]
    kept = sorted(value for rule, is_kept, _, value, _, _ in rows if is_kept)
    assert kept == sorted(value for value in values if value >= 10)[:3]
    rejected = [value for rule, is_kept, _, value, _, _ in rows if not is_kept]
    closest = sorted((value for value in values if value < 10), reverse=True)
    assert sorted(rejected, reverse=True)[: min(3, len(rejected))] == closest[:3]
    assert min(3, len(closest)) <= len(rejected) <= 6
    assert len({row[2] for row in rows}) == len(rows)
    assert all(row[5].startswith(f"text {row[2][2:]} ") and len(row[5]) == 400 for row in rows)


def test_rules_of_texts_have_rejected_examples_only():
    examples = {}
    for number, value in enumerate([0, 0, 5, 15]):
        add(examples, number, value)
    rows = [row[1:5] for row in list_examples(examples) if row[0] == "languages"]
    assert sorted(rows) == [(False, "a/0", "de", "en"), (False, "a/1", "de", "en")]
