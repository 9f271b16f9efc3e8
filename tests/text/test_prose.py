"""Prose becomes documents at files, blank lines or headings, with its wrapped lines joined."""

import gzip
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.text import lines, prose
from bert_data.text.documents import Span, block_lines
from bert_data.text.formats import find_text_format, read_documents
from bert_data.text.prose import count_heading_lines
from bert_data.text.text_config import SENTENCE, TextConfig
from tests.text.test_partitions import check, check_shards

BOOK = """\ufeffA Book of Examples

CHAPTER I
The Door

The old man closed the door of his shop and walked
slowly along the river. It was late.

"Is it you?" she asked.

CHAPTER II

    Roses are red,
    Violets are blue,
    And so are you.

```
# not a heading
```
"""
DOCUMENTS = {
    None: [(1, "A Book of Examples\n\nCHAPTER I\nThe Door\n\nThe old man closed the door of his"
    ' shop and walked slowly along the river. It was late.\n\n"Is it you?" she asked.\n\nCHAPTER II'
    "\n\n    Roses are red,\n    Violets are blue,\n    And so are you.\n\n```\n# not a heading"
    "\n```")],
    "heading": [(1, "A Book of Examples"), (6, "The old man closed the door of his shop and walked"
    ' slowly along the river. It was late.\n\n"Is it you?" she asked.'), (13, "    Roses are red,\n"
    "    Violets are blue,\n    And so are you.\n\n```\n# not a heading\n```")],
}  # fmt: skip


def read(*files, **settings):
    config = TextConfig(input_format="prose", **settings)
    blocks = read_documents([f if isinstance(f, Span) else str(f) for f in files], config)
    return [(document.row, document.text) for block in blocks for document in block.documents]


@pytest.mark.parametrize("block_bytes", [5, 1 << 20])
@pytest.mark.parametrize("document_end", [None, "heading"])
def test_documents(tmp_path, monkeypatch, block_bytes, document_end):
    monkeypatch.setattr(lines, "DEFAULT_BLOCK_BYTES", block_bytes)
    path = tmp_path / "book.txt"
    path.write_text(BOOK)
    (tmp_path / "book.txt.gz").write_bytes(gzip.compress(BOOK.replace("\n", "\r\n").encode()))
    settings = {} if document_end is None else {"document_end": document_end}
    expected = DOCUMENTS[document_end]
    assert read(path, **settings) == expected
    assert read(path, tmp_path / "book.txt.gz", **settings) == expected * 2


def test_blank_lines_end_documents(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(BOOK)
    texts = [text for _, text in read(path, document_end="blank_line")]
    assert texts[:2] == ["A Book of Examples", "CHAPTER I\nThe Door"]
    assert texts[2].startswith("The old man closed the door of his shop and walked")
    assert texts[3:5] == ['"Is it you?" she asked.', "CHAPTER II"]


def test_sentences(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(BOOK)
    config = TextConfig(input_format="prose", document_end="heading")
    (block, _) = read_documents([str(path)], config)
    assert block.num_rows == BOOK.count("\n")
    assert block_lines(block.documents[:1], SENTENCE, "en") == b"A Book of Examples\n\n"


def test_a_document_that_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(prose, "MAX_DOCUMENT_BYTES", 1000)
    path = tmp_path / "a.txt"
    path.write_text("short\n\n" + "a line of some words\n" * 100)
    with pytest.raises(ValueError, match=r"a\.txt:1: .* more than 1,000 bytes; `document"):
        read(path)
    with pytest.raises(ValueError, match=r"a\.txt:3: .*; `document_end=heading` may"):
        read(path, document_end="blank_line")
    config = TextConfig(input_format="prose", document_end="blank_line", max_row_bytes=500)
    blocks = list(read_documents([str(path)], config))
    assert [d.text for block in blocks for d in block.documents] == ["short"]
    assert [pair for block in blocks for pair in block.too_long] == [(3, 2000)]


def test_settings_of_other_formats():
    with pytest.raises(ValueError, match="document_end is 'file', but the format is lines"):
        find_text_format(["a.txt"], TextConfig(document_end="file"))


def test_line_ends_of_old_computers(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"The old man closed the door and\rwalked along the river.\r\rIt was late.\r")
    expected = "The old man closed the door and walked along the river.\n\nIt was late."
    assert read(path) == [(1, expected)]


def test_what_is_not_utf8_is_named_with_its_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n\ncaf\xe9\n")
    with pytest.raises(ValueError, match=r"a\.txt:3: not UTF-8"):
        read(path)
    assert read(path, encoding_errors="ignore") == [(1, "one\n\ncaf")]


def test_a_long_paragraph_is_not_held_to_find_headings(tmp_path, monkeypatch):
    monkeypatch.setattr(prose, "MOST_LINES", 3)
    path = tmp_path / "a.txt"
    path.write_text("CHAPTER I\n" + "One line.\n" * 9 + "CHAPTER II\n\nCHAPTER III\n\nend\n")
    documents = read(path, document_end="heading")
    assert [row for row, _ in documents] == [2, 15]
    assert documents[0][1].endswith("One line.\nCHAPTER II")


PARTS = st.sampled_from(["CHAPTER I", "# Title", "Title\n===", "text of a line", "", "", "II", " "])


@given(
    st.lists(st.tuples(st.lists(PARTS, max_size=9), st.booleans()), min_size=1, max_size=3),
    st.integers(1, 5),
    st.sampled_from(["file", "blank_line", "heading"]),
)
def test_partitions_hold_the_same_documents(tmp_path_factory, contents, num_partitions, end):
    folder = tmp_path_factory.mktemp("prose")
    paths = []
    for number, (rows, is_compressed) in enumerate(contents):
        data = "\n".join(rows).encode()
        path = folder / f"{number}.txt{'.gz' if is_compressed else ''}"
        path.write_bytes(gzip.compress(data) if is_compressed else data)
        paths.append(str(path))
    check(paths, "prose", num_partitions, document_end=end)
    check_shards(paths, "prose", 20, document_end=end)


def test_one_book_is_cut_at_its_headings(tmp_path):
    path = tmp_path / "a.txt"
    chapter = textwrap.fill("It was a dark night, and nobody was awake in the town. " * 20, 70)
    path.write_text("".join(f"CHAPTER {i}\n\n{chapter}\n\n" for i in range(1, 9)))
    partitions = check([str(path)], "prose", 4, document_end="heading")
    assert partitions is not None
    assert check([str(path)], "prose", 4, document_end="file") is None


@pytest.mark.parametrize(
    "heading",
    [
        "CHAPTER I", "CHAPTER I.", "Chapter 1.", "Chapter 1. Loomings",
        "  CHAPTER XLII. The Whiteness of the Whale.", "Chapter Twenty-one",
        "Chapter 12: A Long-expected Party", "CHAPTER THE FIRST", "BOOK TWO", "Part III",
        "Chapter V\nIn Which Nothing Happens", "ADVENTURE I. A SCANDAL IN BOHEMIA", "IV", "XII.",
        "I. A SCANDAL IN BOHEMIA", "Kapitel 3", "CHAPITRE PREMIER\n=======", "Глава 2. Дорога",
        "第一章 开始", "第12回", "# A title", "### Third level", "= Title =", " = = Career = = ",
        "A title\n=======", "Another title\n---", "=====\nTitle\n=====", "PREFACE",
        "Table of Contents", "Chapter 3 The Old Man and the Sea", "Chapter 3 - Men at war",
        "Part 2: Who Am I?", "Part 2:\u3000", "Letter X.", "CIV",
        "CHAPTER I. Down the Hole\nCHAPTER II. The Pool\nCHAPTER III. A Race\nCHAPTER IV. The End",
    ],
)  # fmt: skip
def test_headings(heading):
    lines = heading.split("\n")
    assert count_heading_lines(lines) == len(lines)


@pytest.mark.parametrize(
    "paragraph",
    [
        "Chapter 2 of this book is about whales.", "Part of the problem was the weather.",
        "Act one's age, she said.", "I am a rather elderly man.", "I. said nothing, and went home.",
        "Index finger and thumb", "#hashtag", "= 5 and more",
        "A sentence.\nAnd another one that follows it.", "Civil war", "MIXED letters",
        "-----\ntext", "***", "---", "Section 2 Applies to everybody.",
        "Section 4 The House shall meet",
        "Part 2: It was a dark night and nothing moved in the town.",
        "Part 2: “It was a dark night.”", "Letter X. was sent",
        "Lesson one - never lie to your friends.", "Libro di Giovanni", "第一章 他走了很远的路。",
        "Part 2: 他走了很远的路。", "Part 2: John,", "D. H. LAWRENCE", "C. S. LEWIS",
        "V. S. NAIPAUL", "D.", "MIX", "CD",
    ],
)  # fmt: skip
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
