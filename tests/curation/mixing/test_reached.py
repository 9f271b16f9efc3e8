"""The counts of a mixture, and the table and the sentences made of them."""

from collections import Counter

import pytest

from bert_data.curation.document import Document
from bert_data.curation.mixing.plan import Plan
from bert_data.curation.mixing.reached import (
    count_document,
    describe_misses,
    make_table,
    read_counts,
    shares,
)

PLAN = Plan(
    epochs={"web/head": 2.0, "web/x of y": 0.5, "wiki": 1.0},
    wanted={"web/head": 4.0, "web/x of y": 1.0, "wiki": 2.0},
    portions={"web/head": ["web/head"], "web": ["web/x of y"], "wiki": ["wiki"]},
)


def document(words, **sizes):
    made = Document(id="1", source="web", text="word " * words)
    made.__dict__.update(sizes)
    return made


def counts(*taken):
    """Counts of (cell, words, copies); a document has a token more than words."""
    total = Counter()
    for cell, words, copies in taken:
        total.update(count_document(document(words, num_tokens=words + 1), cell, copies, "words"))
    return total


def test_counts_are_told_by_what_there_was_and_what_passes():
    counted = counts(("web/head", 10, 2), ("web/x of y", 5, 0), ("web/x of y", 6, 1))
    reached = read_counts(counted)
    assert reached.before["words"] == {"web/head": 10, "web/x of y": 11}
    assert reached.after["words"] == {"web/head": 20, "web/x of y": 6}
    assert reached.after["tokens"] == {"web/head": 22, "web/x of y": 7}
    assert reached.before["documents"] == {"web/head": 1, "web/x of y": 2}
    assert reached.after["bytes"] == {"web/head": 100, "web/x of y": 30}


def test_only_sizes_that_are_known_are_counted_beside_the_unit():
    assert set(count_document(document(3), "a", 1, "bytes")) == {
        "all documents of a", "documents of a", "all bytes of a", "bytes of a",
    }  # fmt: skip
    assert count_document(document(3), "a", 2, "words")["words of a"] == 6


def test_the_table_has_every_cell_and_all():
    counted = counts(
        ("web/head", 10, 2), ("web/x of y", 10, 0), ("web/x of y", 10, 1), ("wiki", 20, 1)
    )
    (head, rest, wiki, total) = make_table(read_counts(counted), "words", PLAN).as_json()
    assert [row["part"] for row in (head, rest, wiki, total)] == [*PLAN.epochs, "all"]
    assert head["epochs"] == {"wanted": 2, "reached": 2}
    assert rest["epochs"] == {"wanted": 0.5, "reached": 0.5}
    assert wiki["words"] == pytest.approx({"reached": 20, "share": 20 / 50, "wanted": 40 / 100})
    assert rest["documents"] == pytest.approx({"reached": 1, "share": 1 / 4, "wanted": 2 / 8})
    assert head["tokens"] == pytest.approx({"reached": 22, "share": 22 / 54, "wanted": 44 / 108})
    assert total["epochs"] == {"wanted": 1.0, "reached": 1.0}
    assert total["bytes"] == pytest.approx({"reached": 250, "share": 1, "wanted": 1})


def test_words_are_left_out_where_tokens_are_known():
    counted = counts(*((cell, 4, 1) for cell in PLAN.epochs))
    assert "words" not in make_table(read_counts(counted), "bytes", PLAN).as_json()[0]
    without = {name: n for name, n in counted.items() if "tokens" not in name}
    assert "words" in make_table(read_counts(without), "bytes", PLAN).as_json()[0]


def test_counts_that_are_missing_are_none():
    """Counters that are added drop a count of 0."""
    counted = counts(("web/head", 10, 2), ("web/x of y", 5, 0), ("wiki", 0, 1))
    without = {name: number for name, number in counted.items() if number}
    assert without.keys() < counted.keys()
    assert read_counts(without) == read_counts(counted)
    assert read_counts(without).after["words"] == {"web/head": 20, "web/x of y": 0, "wiki": 0}
    assert make_table(read_counts(without), "words", PLAN).as_json()[1]["bytes"]["reached"] == 0
    assert "web has 0 instead of" in str(describe_misses(read_counts(without), "words", PLAN, None))


def test_misses_are_told_with_their_reason():
    reached = read_counts(counts(("web/head", 10, 2), ("web/x of y", 20, 0), ("wiki", 20, 1)))
    assert describe_misses(reached, "words", PLAN, None) == (
        "too few documents to reach these shares of words: web/head has 0.5 instead of 0.4, web has"
        " 0 instead of 0.2, wiki has 0.5 instead of 0.4"
    )
    capped = Plan({**PLAN.epochs, "web/head": 0.5}, PLAN.wanted, PLAN.portions)
    reached = read_counts(counts(("web/head", 10, 1), ("web/x of y", 20, 1), ("wiki", 20, 2)))
    assert describe_misses(reached, "words", capped, 50).endswith(
        "; the result has 70 words instead of 50"
    )
    assert "most_epochs holds down these shares of words: web/head has" in str(
        describe_misses(reached, "words", capped, None)
    )


def test_nothing_has_no_shares():
    assert shares({"a": 0, "b": 0}) == {"a": 0, "b": 0}
