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
        "Chapter 3 The Old Man and the Sea",
        "Chapter 3 - Men at war",
        "Part 2: Who Am I?",
        "Part 2:\u3000",
        "Letter X.",
        "CIV",
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
        "Section 4 The House shall meet",
        "Part 2: It was a dark night and nothing moved in the town.",
        "Part 2: “It was a dark night.”",
        "Letter X. was sent",
        "Lesson one - never lie to your friends.",
        "Libro di Giovanni",
        "第一章 他走了很远的路。",
        "Part 2: 他走了很远的路。",
        "Part 2: John,",
        "D. H. LAWRENCE",
        "C. S. LEWIS",
        "V. S. NAIPAUL",
        "D.",
        "MIX",
        "CD",
    ],
)
def test_what_is_no_heading(paragraph):
    lines = paragraph.split("\n")
    assert count_heading_lines(lines) < len(lines)


@pytest.mark.parametrize(
    "paragraph",
    [
        "Section 1. All legislative Powers herein granted shall be vested in a\nCongress of the"
        " United States, which shall consist of a Senate.",
        "Section 1. All legislative Powers herein granted shall be vested in a\nCongress of",
        "CHAPTER I. Loomings\nCall me Ishmael. Some years ago",
        "Section 1. The President of the United\nStates shall be elected by the people.",
        "Chapter 2\nof this book is about whales.",
        "Part II Germany and\nFrance were at war again.",
    ],
)
def test_the_first_line_of_running_text_is_no_heading(paragraph):
    assert count_heading_lines(paragraph.split("\n")) == 0


def test_the_text_after_a_heading_is_kept():
    lines = ["CHAPTER I", "It was a dark night,", "and the wind blew.", "Nobody was awake."]
    assert count_heading_lines(lines) == 1
    assert count_heading_lines(["CHAPTER I", "It was a dark night."]) == 1
    assert count_heading_lines([]) == 0
