"""Books as EPUB: pages in reading order, what is left out, fields, damage."""

import zipfile

import pytest

from bert_data.errors import CorruptDataError
from bert_data.text.corpora import epub
from bert_data.text.formats import find_text_format
from tests.curation.growth import assert_linear
from tests.text.corpora.corpus_files import read_blocks

CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OPS/package.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>"""
PACKAGE = """<?xml version="1.0"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>Rivers
 and Lakes</dc:title><dc:creator>A. Author</dc:creator><dc:creator>B.</dc:creator>
<dc:language>ja</dc:language></metadata>
<manifest>
<item id="a" href="text/one%20page.xhtml" media-type="application/xhtml+xml"/>
<item id="b" href="two.xhtml#x" media-type="application/xhtml+xml"/>
<item id="c" href="notes.xhtml" media-type="application/xhtml+xml"/>
<item id="d" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="e" href="cover.svg" media-type="image/svg+xml"/>
<item id="f" href="cover.xhtml" media-type="application/xhtml+xml"/>
</manifest>
<spine><itemref idref="f"/><itemref idref="e"/><itemref idref="d"/><itemref idref="b"/>
<itemref idref="a"/><itemref idref="c" linear="no"/><itemref idref="z"/></spine>
</package>"""
PAGE = "<?xml version='1.0'?><html><head><title>T</title></head><body>{}</body></html>"
FILES = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OPS/package.opf": PACKAGE,
    "OPS/text/one page.xhtml": PAGE.format(
        "<h1>Rivers</h1><p>They <ruby>川<rp>(</rp><rt>かわ</rt><rp>)</rp></ruby> flow &amp;"
        '<span epub:type="pagebreak" id="p9">9</span> end.</p>'
    ),
    "OPS/two.xhtml": PAGE.format("<p>This page comes first.</p>"),
    "OPS/notes.xhtml": PAGE.format("<p>Notes at the end.</p>"),
    "OPS/nav.xhtml": PAGE.format("<nav>one two three four</nav>"),
    "OPS/cover.xhtml": PAGE.format("<p>Cover</p>"),
}


def write(path, **changed):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in (FILES | changed).items():
            if text is not None:
                book.writestr(name, text)
    return path


def read(path, **settings):
    (block,) = read_blocks(path, **settings)
    return block


TEXTS = ["Cover", "This page comes first.", "Rivers\n\nThey 川 flow & end."]


def test_a_book(tmp_path):
    path = write(tmp_path / "a.epub")
    assert find_text_format([str(path)]).name == "epub"
    block = read(path)
    (document,) = block.documents
    assert document.text == "\n\n".join(TEXTS)
    assert document.fields == {"title": "Rivers and Lakes", "author": "A. Author", "language": "ja"}
    assert (block.num_rows, block.num_file_bytes) == (1, path.stat().st_size)
    assert read(path, keep_fields=False).documents[0].fields is None


def test_verse_keeps_its_indentation(tmp_path):
    path = write(tmp_path / "a.epub", **{"OPS/two.xhtml": PAGE.format("<pre>  a\n    b\n</pre>")})
    texts = [page.text for page in read(path, document_end="heading").documents]
    assert "  a\n    b" in texts


def test_pages_are_chapters(tmp_path):
    block = read(write(tmp_path / "a.epub"), document_end="heading")
    assert [(each.row, each.text) for each in block.documents] == list(enumerate(TEXTS, 1))


def test_short_pages_and_pages_without_spaces_are_kept(tmp_path):
    texts = {"two": "<p>川は流れる。</p>", "cover": " "}
    pages = {f"OPS/{name}.xhtml": PAGE.format(text) for name, text in texts.items()}
    (document,) = read(write(tmp_path / "a.epub", **pages)).documents
    assert document.text == f"川は流れる。\n\n{TEXTS[2]}"


def test_a_book_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(epub, "MAX_EPUB_BYTES", 600)
    twice = PACKAGE.replace('<itemref idref="b"/>', '<itemref idref="b"/>' * 9)
    path = write(tmp_path / "a.epub", **{"OPS/package.opf": twice})
    assert len(read(path).documents) == 1
    monkeypatch.setattr(epub, "MAX_EPUB_BYTES", 300)
    with pytest.raises(ValueError, match="its pages have more than 300 bytes"):
        read(path)


@pytest.mark.parametrize("body", ["<rt>" * 100_000, f"<p {'pagebreak ' * 100_000}> One."])
def test_pages_that_would_stop_a_parser(tmp_path, body):
    path = write(tmp_path / "a.epub", **{"OPS/two.xhtml": PAGE.format(body)})
    with pytest.raises(ValueError, match=r"two\.xhtml has too many nested elements"):
        read(path)


@pytest.mark.parametrize("page", ["<html xmlns='http://www.w3.org/1999/xhtml'>{}</html>", "{}<p>"])
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<head><title/></head><p>One.</p>", "One."),
        ('<script src="x.js"/><style type="a" /><textarea/><p>One.</p>', "One."),
        ("<p><![CDATA[Is 1 < 2 & 3?]]> Yes.</p>", "Is 1 < 2 & 3? Yes."),
        ("<p>Caf&eacute;<br/>&#233;&nbsp;&lt;<hr id='1'/>and <a href='b'/>more.</p>",
         "Café\né\xa0<\n\nand more."),
        ("<script><![CDATA[ a = b < c ]]></script><p>One.</p>", "One."),
    ],
)  # fmt: skip
def test_xhtml_is_xml_and_what_is_nearly_xml_is_read_alike(tmp_path, page, body, text):
    pages = {"OPS/two.xhtml": page.format(body)}
    (document,) = read(write(tmp_path / "a.epub", **pages), document_end="heading").documents[1:2]
    assert document.text == text


@pytest.mark.parametrize("part", ["<a pagebreak pagebreak", "<rt pagebreak ", "<rt>a", "<a></"])
def test_page_numbers_are_found_in_linear_time(part):
    assert_linear(epub.drop_page_numbers, part)


def test_damage(tmp_path):
    path = write(tmp_path / "a.epub")
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    with pytest.raises(CorruptDataError, match="not an EPUB, or damaged"):
        read(path)
    middle = whole.index(b"OPS/two.xhtml") + 20
    path.write_bytes(whole[:middle] + b"\xff" * 20 + whole[middle + 20 :])
    with pytest.raises(CorruptDataError, match="not an EPUB, or damaged"):
        read(path)
    for name, text in [("META-INF/container.xml", None), ("OPS/two.xhtml", None)]:
        with pytest.raises(CorruptDataError, match="not an EPUB, or damaged"):
            read(write(path, **{name: text}))
    with pytest.raises(CorruptDataError, match="the description of the book is damaged"):
        read(write(path, **{"OPS/package.opf": "<package>"}))


def test_books_without_text(tmp_path, monkeypatch):
    path = write(tmp_path / "a.epub", **{"META-INF/rights.xml": "<rights/>"})
    with pytest.raises(ValueError, match=r"a\.epub:1: the book is encrypted"):
        read(path)
    empty = {"OPS/text/one page.xhtml": PAGE.format(""), "OPS/two.xhtml": PAGE.format("")}
    empty["OPS/cover.xhtml"] = PAGE.format("*")
    assert read(write(path, **empty), on_error="skip").skipped == [
        f"{path}:1: the book has no text"
    ]
    monkeypatch.setattr(epub, "MAX_EPUB_PAGE_BYTES", 100)
    with pytest.raises(ValueError, match=r"META-INF/container\.xml has more than 100 bytes"):
        read(write(path))
