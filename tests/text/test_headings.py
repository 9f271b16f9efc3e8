"""Headings of books are found, and sentences that look a little like them are not."""

import pytest

from bert_data.text.headings import count_heading_lines


@pytest.mark.parametrize(
    "heading",
    [
        "CHAPTER I",
        "CHAPTER I.",
        "Chapter 1.",
        "Chapter 1. Loomings",
        "  CHAPTER XLII. The Whiteness of the Whale.",
        "Chapter Twenty-one",
        "Chapter 12: A Long-expected Party",
        "CHAPTER THE FIRST",
        "BOOK TWO",
        "Part III",
        "Chapter V\nIn Which Nothing Happens",
        "ADVENTURE I. A SCANDAL IN BOHEMIA",
        "IV",
        "XII.",
        "I. A SCANDAL IN BOHEMIA",
        "Kapitel 3",
        "CHAPITRE PREMIER\n=======",
        "Глава 2. Дорога",
        "第一章 开始",
        "第12回",
        "# A title",
        "### Third level",
        "= Title =",
        " = = Career = = ",
        "A title\n=======",
        "Another title\n---",
        "=====\nTitle\n=====",
        "PREFACE",
        "Table of Contents",
        "CHAPTER I. Down the Hole\nCHAPTER II. The Pool\nCHAPTER III. A Race\nCHAPTER IV. The End",
    ],
)
def test_headings(heading):
    lines = heading.split("\n")
    assert count_heading_lines(lines) == len(lines)


@pytest.mark.parametrize(
    "paragraph",
    [
        "Chapter 2 of this book is about whales.",
        "Part of the problem was the weather.",
        "Act one's age, she said.",
        "I am a rather elderly man.",
        "I. said nothing, and went home.",
        "Index finger and thumb",
        "#hashtag",
        "= 5 and more",
        "A sentence.\nAnd another one that follows it.",
        "Civil war",
        "MIXED letters",
        "-----\ntext",
        "***",
        "---",
        "Section 2 Applies to everybody.",
    ],
)
def test_what_is_no_heading(paragraph):
    lines = paragraph.split("\n")
    assert count_heading_lines(lines) < len(lines)


def test_the_text_after_a_heading_is_kept():
    lines = ["CHAPTER I", "It was a dark night,", "and the wind blew.", "Nobody was awake."]
    assert count_heading_lines(lines) == 1
    assert count_heading_lines(["CHAPTER I", "It was a dark night."]) == 1
    assert count_heading_lines([]) == 0
