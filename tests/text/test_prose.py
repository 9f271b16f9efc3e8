"""Prose becomes documents at files, blank lines or headings, with its wrapped lines joined."""

import gzip
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.text import lines, prose
from bert_data.text.documents import SENTENCE, TextConfig, block_lines
from bert_data.text.formats import find_format, read_documents
from bert_data.text.spans import Span
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
        find_format(["a.txt"], TextConfig(document_end="file"))
    with pytest.raises(ValueError, match="document_end is 'page'; it must be one of file, blank"):
        TextConfig(document_end="page")


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
    monkeypatch.setattr(prose, "_MOST_LINES", 3)
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
