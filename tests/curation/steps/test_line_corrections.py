"""Corrected lines: the labelled set, each rule, the share of words, hostile texts."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.characters import LOWER, NUMBER, SPACE, UNSPACED, UPPER, class_of
from bert_data.curation.document import Document, Verdict
from bert_data.curation.steps.line_corrections import LineCorrections, measure_lines
from bert_data.curation.words import split_words
from tests.curation.growth import assert_linear
from tests.curation.labels import marked_lines

PROSE = "The miller went down to the river at noon, and nobody that we know of saw him come back. "


def judge(text: str, **parameters) -> Verdict:
    return LineCorrections(**parameters).judge(Document("a/1", "a", text))


def corrected(text: str, **parameters) -> str:
    verdict = judge(text, **{"max_corrected_fraction": 1, **parameters})
    assert verdict.kept
    return verdict.document.text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_labelled_set(language):
    """Precision and recall of corrected lines stay where they are, of all and of unseen ones."""
    rows = [row for row in marked_lines() if row.language == language]
    assert len(rows) >= 150
    counts = Counter()
    for row in rows:
        is_corrected, is_furniture = corrected(row.line) != row.line, row.corrected != row.line
        counts[row.written, is_corrected, is_furniture] += 1
        counts["exact"] += corrected(row.line) == row.corrected
    for written, least in (("before", 0.98), ("after", 0.6)):
        right, missed = counts[written, True, True], counts[written, False, True]
        assert right >= least * (right + missed)
        assert counts[written, True, False] == 0
    assert counts["exact"] >= 0.93 * len(rows)


@pytest.mark.parametrize(
    ("line", "rest", "rule"),
    [
        ("BREAKING NEWS TODAY", "", "uppercase"),
        ("12:30 | 2024", "", "numeric"),
        ("3 likes", "", "counter"),
        ("Tuesday", "", "one_word"),
        ("Sign in | Register", "", "navigation"),
        ("The mill is closed. Read more...", "The mill is closed.", "navigation"),
        ("Red wool hat Add to cart", "Red wool hat", "navigation"),
        ("磨坊关门了。阅读全文>>", "磨坊关门了。", "navigation"),
    ],
)
def test_rules_and_counts(line, rest, rule):
    verdict = judge(f"{PROSE}\n{line}\n{PROSE}", max_corrected_fraction=1)
    expected = f"{PROSE}\n{rest}\n{PROSE}" if rest else f"{PROSE}\n{PROSE}"
    assert (verdict.document.text, verdict.edits) == (expected, {rule: 1})


def test_switches():
    lines = {
        "numeric": "12:30",
        "counters": "3 likes",
        "one_word": "Tuesday",
        "navigation": "a | b",
    }
    lines["navigation"] = "Sign in | Register now, all of you"
    for switch, line in lines.items():
        assert corrected(line) != line
        off = {**dict.fromkeys(lines, False)}
        assert corrected(line, **off) == line
        assert corrected(line, **{**off, switch: True}) != line
    assert corrected("NASA HAS a plan", uppercase_fraction=0.7) == "NASA HAS a plan"
    long = "We all went home, and nobody of us could say who had. Read more"
    assert corrected(long) == long
    assert corrected(long, short_line_words=14).endswith("who had.")


def test_the_share_of_words_decides():
    text = PROSE * 2 + "\nSign in | Register"
    verdict = judge(text)
    assert verdict.measured == (("max_corrected_fraction", 3 / 41, 0.05, True),)
    assert verdict.document.text == text and not verdict.kept
    assert not verdict.edits
    verdict = judge(PROSE * 4 + "\nSign in | Register")
    assert verdict.measured == (("max_corrected_fraction", 3 / 79, 0.05, False),)
    assert verdict.kept and verdict.document.text == PROSE * 4


def test_blank_lines_stay_but_do_not_pile_up():
    text = f"Home\n\n{PROSE}\n\n12 comments\n\n{PROSE}\n\n\nShare this:\n"
    assert corrected(text) == f"{PROSE}\n\n{PROSE}"
    untouched = f"{PROSE}\n\n\n\n{PROSE}\n"
    document = Document("a/1", "a", untouched)
    assert LineCorrections().judge(document).document is document


def test_texts_of_nothing():
    for text in ("", "\n", " \n\t", "***\n---"):
        verdict = judge(text)
        assert verdict.kept and verdict.document.text == text
        assert verdict.measured[0].value == 0


LINES = st.sampled_from(
    ["Home", "3 likes", "", " ", PROSE, "12", "查看更多", "中文网页。", "A B", "\r"]
)


@given(st.lists(LINES, max_size=12).map("\n".join))
def test_only_whole_lines_and_phrases_go(text):
    rest = corrected(text)
    assert set(rest.split("\n")) <= {*text.split("\n"), ""}
    assert "\n\n\n" not in rest or rest == text


@pytest.mark.parametrize(
    "part", ["A\n", "a", "3 likes\n", "\n", " ", "Read more\n", "home > ", "中", "1"]
)
def test_time_grows_with_the_length(part):
    assert_linear(lambda text: judge(text), part, 1_000)


TEXTS = st.text(st.sampled_from("aB1 é中カ.\n\r\t\u200b\u2028'-ก一É\0\ud800"), max_size=40)


def oracle(text: str) -> list[tuple[int, ...]]:
    rows, place = [], 0
    for line in text.split("\n"):
        kinds = [class_of(char) for char in line]
        spaced, in_word = 0, False
        for char, kind in zip(line, kinds, strict=True):
            if LOWER <= kind <= NUMBER:
                spaced += not in_word
                in_word = True
            elif kind == UNSPACED or (kind == SPACE and char != "\u200b"):
                in_word = False
        unspaced = kinds.count(UNSPACED)
        words = spaced + (max(1, round(unspaced / 1.8)) if unspaced else 0)
        letters = sum(LOWER <= kind < NUMBER for kind in kinds) + unspaced
        numbers = kinds.count(NUMBER)
        end = place + len(line)
        rows.append((place, end, words, letters, kinds.count(UPPER), unspaced, numbers))
        place = end + 1
    return rows


@given(TEXTS)
def test_measures_are_the_oracles(text):
    columns = [column.tolist() for column in measure_lines(split_words(text))]
    assert list(zip(*columns, strict=True)) == oracle(text)
