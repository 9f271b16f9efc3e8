"""Dumps of wikis: which pages are documents, what they carry, cuts, and damage."""

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from bert_data.errors import CorruptDataError
from bert_data.text.corpora import xml_events
from bert_data.text.corpora.mediawiki import find_references
from bert_data.text.formats import find_text_format, read_documents
from bert_data.text.partitions import plan_partitions
from bert_data.text.text_config import TextConfig
from tests.rows import mostly_slow
from tests.text.corpora.corpus_files import read

COVERS = ("text/documents", "text/corpora/xml_events")

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="de">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <base>https://de.wikipedia.org/wiki/Wikipedia:Hauptseite</base>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="6" case="first-letter">Datei</namespace>
      <namespace key="14" case="first-letter">Kategorie</namespace>
    </namespaces>
  </siteinfo>
"""
TAIL = "</mediawiki>\n"


def page(
    number: int, text: str, namespace: int = 0, model: str = "wikitext", more: str = ""
) -> str:
    return f"""  <page>
    <title>Fluss {number}</title>
    <ns>{namespace}</ns>
    <id>{number}</id>{more}
    <revision>
      <id>{number + 1000}</id>
      <timestamp>2024-01-02T03:04:05Z</timestamp>
      <model>{model}</model>
      <text xml:space="preserve">{text}</text>
    </revision>
  </page>
"""


PAGES = [
    page(n, f"Der '''Fluss''' [[Nummer|Nr.]] {n}. [[Datei:a.jpg|mini|b]]") for n in range(1, 41)
]
OTHERS = [
    page(50, "#WEITERLEITUNG [[Fluss 1]]"),
    page(55, "#転送 [[Fluss 1]]"),
    page(56, "#đổi[[Fluss 1]]"),
    page(57, "#تحويل : [[Fluss 1]]"),
    page(51, "x", more='\n    <redirect title="Fluss 1" />'),
    page(52, "Diskussion.", namespace=1),
    page(53, "{}", model="json"),
    page(54, "{{nur Vorlage}}"),
]


def write_multistream(path: Path, pages: list[str]) -> None:
    streams = [HEAD, *("".join(pages[i : i + 5]) for i in range(0, len(pages), 5)), TAIL]
    path.write_bytes(b"".join(bz2.compress(stream.encode()) for stream in streams))


def test_cited_pages_are_a_field_if_it_is_needed(tmp_path):
    path = tmp_path / "dewiki-pages-articles.xml"
    path.write_text(HEAD + page(1, "Fluss.&lt;ref>[http://a.org/1 A]&lt;/ref>") + TAIL)
    (document,) = read(path)
    assert document.text == "# Fluss 1\n\nFluss."
    assert document.fields["references"] == ["http://a.org/1"]
    ids = TextConfig(keep_fields=True, needed_fields=("id",))
    ((document,),) = (block.documents for block in read_documents([str(path)], ids))
    assert "references" not in document.fields


def test_articles_and_their_fields(tmp_path):
    path = tmp_path / "dewiki-pages-articles.xml"
    path.write_text(HEAD + "".join([*PAGES[:2], *OTHERS]) + TAIL)
    first, second = read(path)
    assert first.row == 1 and second.row == 2
    assert second.text == "# Fluss 2\n\nDer Fluss Nr. 2."
    assert second.fields == {
        "title": "Fluss 2",
        "language": "de",
        "date": "2024-01-02T03:04:05Z",
        "url": "https://de.wikipedia.org/wiki/Fluss_2",
    }
    (block,) = read_documents([str(path)], TextConfig())
    assert block.num_rows == 10 and block.num_file_bytes == path.stat().st_size
    assert block.documents[0].fields is None


@pytest.mark.parametrize("damage", ["\x01", "&#1;", "& ", "</b>", "<a"])
@pytest.mark.parametrize("read_bytes", [7, 1000, 1 << 20])
def test_reading_goes_on_with_the_page_after_damage(tmp_path, monkeypatch, damage, read_bytes):
    monkeypatch.setattr(xml_events, "READ_BYTES", read_bytes)
    pages = [*PAGES[:5], page(77, f"Kaputt {damage} hier."), *PAGES[5:]]
    path = tmp_path / "a.xml"
    path.write_text(HEAD + "".join(pages) + TAIL)
    blocks = [*read_documents([str(path)], TextConfig(on_error="skip"))]
    assert [d.row for block in blocks for d in block.documents] == [*range(1, 41)]
    (skipped,) = [sentence for block in blocks for sentence in block.skipped]
    assert "a.xml:6: at byte" in skipped and skipped.endswith("; skipped to the next <page>")
    with pytest.raises(CorruptDataError, match="the XML is damaged or cut off"):
        read(path)


def test_templates_that_are_left_out_are_counted(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(HEAD + page(1, "Der {{Odd|x}} Fluss {{nts|3}}.{{Odd}}") + TAIL)
    (block,) = read_documents([str(path)], TextConfig())
    assert block.documents[0].text.endswith("Der Fluss 3.")
    assert block.left_out == {"template odd": 2}
    (tmp_path / "more.txt").write_text("# Ours.\nodd -> ({1}!)\n")
    config = TextConfig(templates_file=str(tmp_path / "more.txt"))
    (block,) = read_documents([str(path)], config)
    assert block.documents[0].text.endswith("Der (x!) Fluss 3.(!)") and not block.left_out
    assert len(config.settings()["templates_file"]) == 64
    with pytest.raises(ValueError, match="`templates_file` is for `input_format=mediawiki`"):
        find_text_format(["a.txt"], config)


def test_the_last_revision_counts(tmp_path):
    first = page(1, "Alt.")
    start = first.index("    <revision>")
    newer = first[start:].replace("Alt.", "Neu.").replace("1001", "1002").replace("2024", "2025")
    path = tmp_path / "history.xml"
    path.write_text(HEAD + first[:start] + first[start:].replace("  </page>\n", "") + newer + TAIL)
    (document,) = read(path)
    assert (document.row, document.text) == (1, "# Fluss 1\n\nNeu.")
    assert document.fields["date"] == "2025-01-02T03:04:05Z"


@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("a.xml", bytes),
        ("a.xml.gz", gzip.compress),
        ("a.xml.bz2", bz2.compress),
        ("a.xml.xz", lzma.compress),
        ("dewiki-20240101-pages-articles1.xml-p1p40.bz2", bz2.compress),
    ],
)
def test_compressed(tmp_path, name, compress):
    path = tmp_path / name
    whole = (HEAD + "".join(PAGES) + TAIL).encode()
    path.write_bytes(compress(whole))
    assert find_text_format([str(path)]).name == "mediawiki"
    assert [document.row for document in read(path)] == list(range(1, 41))
    # What can be read of a file that is cut off comes before the error.
    path.write_bytes(compress(whole)[:-20])
    rows = []
    with pytest.raises(CorruptDataError, match="damaged"):
        for block in read_documents([str(path)], TextConfig()):
            rows += [document.row for document in block.documents]
    assert rows == list(range(1, len(rows) + 1))


def test_utf_16(tmp_path):
    path = tmp_path / "a.xml"
    path.write_bytes((HEAD + PAGES[0] + TAIL).replace("\n", "\r\n").encode("utf-16"))
    assert [document.text for document in read(path)] == ["# Fluss 1\n\nDer Fluss Nr. 1."]


@mostly_slow("num_partitions", [2, 3, 7])
@mostly_slow("name", ["a.xml", "a.xml.bz2"])
def test_parts_hold_every_page_once(tmp_path, name, num_partitions):
    path = tmp_path / name
    if name.endswith(".bz2"):
        write_multistream(path, PAGES)
    else:
        path.write_text(HEAD + "".join(PAGES) + TAIL)
    whole = read(path)
    assert len(whole) == 40
    parts = plan_partitions([str(path)], find_text_format([str(path)]), num_partitions)
    config = TextConfig(keep_fields=True)
    documents = [
        document
        for spans in parts
        for block in read_documents(spans, config)
        for document in block.documents
    ]
    assert documents == whole
    assert all(parts)


def test_parts_hold_pages_that_are_read_in_pieces(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(HEAD + "".join(page(n, "Ein langer Satz. " * 40_000) for n in range(5)) + TAIL)
    parts = plan_partitions([str(path)], find_text_format([str(path)]), 3)
    blocks = [block for spans in parts for block in read_documents(spans, TextConfig())]
    titles = [d.whole_text.split("\n")[0] for block in blocks for d in block.documents]
    assert titles == [f"# Fluss {n}" for n in range(5)]


def test_a_dump_of_one_stream_is_not_cut(tmp_path):
    path = tmp_path / "a.xml.bz2"
    path.write_bytes(bz2.compress((HEAD + "".join(PAGES) + TAIL).encode()))
    with pytest.raises(ValueError, match="can only be cut into 1"):
        plan_partitions([str(path)], find_text_format([str(path)]), 2)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<feed><entry/></feed>", "not a dump of MediaWiki: its first element is <feed>"),
        ("Just text.\n", "byte offset 0: not a dump of MediaWiki: it is not XML .syntax error"),
        (HEAD + PAGES[0], "the XML is damaged or cut off"),
        (HEAD + PAGES[0] + "<page><title>a & b</title></page>" + TAIL, "not well-formed"),
        ("", "it is not XML"),
    ],
)
def test_no_dump(tmp_path, content, reason):
    path = tmp_path / "a.xml"
    path.write_text(content)
    with pytest.raises(CorruptDataError, match=reason):
        read(path)


def test_long_pages(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(HEAD + PAGES[0] + page(2, "lang " * 100) + PAGES[2] + TAIL)
    (block,) = read_documents([str(path)], TextConfig(max_row_bytes=300))
    assert [document.row for document in block.documents] == [1, 3]
    assert block.too_long == [(2, 500)]


@pytest.mark.parametrize(
    ("markup", "urls"),
    [
        ("<ref>[http://a.org/1 A], see https://b.org/x.</ref>", ["http://a.org/1", "https://b.org/x"]),
        ('<ref name="a/b">HTTP://a.org/?x=1&amp;y=2</ref>', ["HTTP://a.org/?x=1&y=2"]),
        ("<ref>{{cite web|title=T|url=http://a.org/1|access-date=2}}</ref>", ["http://a.org/1"]),
        ("{{Internetquelle |url = http://a.org/1}} {{Literatur |Url=http://b.org }}",
         ["http://a.org/1", "http://b.org"]),
        ("{{Infobox|website=http://a.org}} [http://b.org B] http://c.org", []),
        ('<ref name="x" /> http://a.org <ref>http://b.org</ref>', ["http://b.org"]),
        ("<!-- <ref>http://a.org</ref> --><references/>", []),
        ("<ref>http://a.org (http://b.org/c) http://en.wiki/A_(b)</ref>",
         ["http://a.org", "http://b.org/c", "http://en.wiki/A_(b)"]),
        ("<ref>http://a.org</ref> x <ref>http://a.org</ref> <ref>http://b.org",
         ["http://a.org", "http://b.org"]),
        ("<ref>ftp://a.org, a.org, isbn 3</ref>", []),
    ],
)  # fmt: skip
def test_what_is_cited(markup, urls):
    assert find_references(markup) == urls


@pytest.mark.parametrize(
    "part", ["<ref>", "<ref ", "<!--", "|url=", "| " * 9, "http://", "http://a("]
)
def test_long_pages_take_no_longer(part):
    find_references(part * 100_000)
