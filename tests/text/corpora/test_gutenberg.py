"""Books of Project Gutenberg: headers and footers of all years, credits, chapters."""

import pytest

from tests.text.corpora.corpus_files import read_blocks

BODY = """
CHAPTER I

It was the best of times, it was the worst
of times, it was the age of wisdom, and so
on.

[Illustration: A river]

CHAPTER II. The Mail

It was the Dover road that lay, on a Friday
night late in November, before the first of
the persons.
"""
HEADERS = {
    "2008": """\ufeffThe Project Gutenberg EBook of Two Cities, by Charles Dickens

Title: Two
  Cities

Author: Charles Dickens

Release Date: June, 1998 [EBook #98]

Language: French

*** START OF THIS PROJECT GUTENBERG EBOOK TWO CITIES ***

Produced by Anonymous
Volunteers
""",
    "2020": """Title: Two Cities
Author: Charles Dickens
Language: French
[eBook #98]
*** START OF THE PROJECT GUTENBERG EBOOK TWO
CITIES ***
This eBook was produced by A. B.
""",
    "1994": """**The Project Gutenberg Etext of Two Cities, by Charles Dickens**

January, 1994  [Etext #98]

***START**THE SMALL PRINT!**FOR PUBLIC DOMAIN ETEXTS**START***
You may charge.
*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*
""",
}
FOOTERS = {
    "2008": "End of the Project Gutenberg EBook of Two Cities\n\n*** END OF THIS PROJECT GUTENBERG",
    "2020": "*** END OF THE PROJECT GUTENBERG EBOOK TWO CITIES ***\nLicence.",
    "1994": "End of Project Gutenberg's Etext of Two Cities",
}


def read(path, data, **settings):
    path.write_bytes(data)
    (block,) = read_blocks(path, input_format="gutenberg", **settings)
    return block


@pytest.mark.parametrize("year", HEADERS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_book(tmp_path, year, newline):
    text = (HEADERS[year] + BODY + "\n" + FOOTERS[year] + "\n").replace("\n", newline)
    block = read(tmp_path / "98.txt", text.encode())
    (book,) = block.documents
    assert book.text.split("\n\n") == [
        "CHAPTER I",
        "It was the best of times, it was the worst of times, it was the age of wisdom, and so on.",
        "CHAPTER II. The Mail",
        "It was the Dover road that lay, on a Friday night late in November, before the first of"
        " the persons.",
    ]
    assert book.fields["title"].rstrip("*") == "Two Cities"
    assert book.fields["author"].rstrip("*") == "Charles Dickens"
    assert book.fields["gutenberg_id"] == "98"
    assert book.fields.get("language") == (None if year == "1994" else "fr")
    assert block.num_file_bytes == len(text.encode())


def test_verse_keeps_its_indentation(tmp_path):
    verse = "     Tyger Tyger, burning bright,\n       In the forests\n\n     What immortal hand"
    text = f"{HEADERS['2020']}\n\n\nCHAPTER I\n\n\n{verse}\n{FOOTERS['2020']}"
    (book,) = read(tmp_path / "1.txt", text.encode()).documents
    assert book.text == f"CHAPTER I\n\n{verse}"
    (chapter,) = read(tmp_path / "1.txt", text.encode(), document_end="heading").documents
    assert chapter.text == verse


def test_chapters(tmp_path):
    text = HEADERS["2008"] + "CHAPTER I\nCHAPTER II\n" + BODY + FOOTERS["2008"]
    block = read(tmp_path / "98.txt", text.encode(), document_end="heading")
    assert [(each.row, each.text[:10], each.fields["chapter"]) for each in block.documents] == [
        (1, "It was the", "CHAPTER I"),
        (2, "It was the", "CHAPTER II. The Mail"),
    ]
    assert all(each.fields["title"] == "Two Cities" for each in block.documents)
    with pytest.raises(ValueError, match="document_end is 'blank_line', but the format is gut"):
        read(tmp_path / "98.txt", text.encode(), document_end="blank_line")


def test_encodings_and_pages(tmp_path):
    latin = (HEADERS["2020"] + "\nA café.\n").encode("cp1252")
    assert read(tmp_path / "a.txt", latin).documents[0].text == "A café."
    pages = f"<html><body><pre>{HEADERS['2020']}</pre><p>A caf&eacute;.</p></body></html>"
    assert read(tmp_path / "a.htm", pages.encode()).documents[0].text == "A café."


def test_other_files(tmp_path):
    listing = b"total 2\n-rw-r--r-- 1 1005 100 247438 Feb  4  2001 07tom10.txt\n"
    with pytest.raises(ValueError, match=r"a\.txt:1: no book of Project Gutenberg"):
        read(tmp_path / "a.txt", listing)
    block = read(tmp_path / "a.txt", listing, on_error="skip")
    assert not block.documents and len(block.skipped) == 1
    long = read(
        tmp_path / "a.txt", (HEADERS["2020"] + "\n" + "long " * 99).encode(), max_row_bytes=99
    )
    assert not long.documents and [row for row, _ in long.too_long] == [1]
