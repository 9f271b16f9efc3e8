"""Dumps of Stack Exchange: questions with their answers by score, fields, and damage."""

import gzip
import sys
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.running.presets import preset_steps
from bert_data.errors import CorruptDataError
from bert_data.text.corpora import xml_events
from bert_data.text.corpora.archives import feed_member
from bert_data.text.corpora.xml_events import XmlEvents
from bert_data.text.formats import find_text_format, read_documents
from bert_data.text.text_config import TextConfig
from tests.text.corpora.corpus_files import read

COVERS = ("text/corpora/archives",)
QUESTION, ANSWER, WIKI = 1, 2, 4


def row(number: int, kind: int, body: str, **attributes) -> str:
    attributes = {"Id": number, "PostTypeId": kind, "Body": body, **attributes}
    text = " ".join(f"{name}={quoteattr(str(value))}" for name, value in attributes.items())
    return f"  <row {text} />\r\n"


ROWS = [
    row(1, QUESTION, "<p>How &amp; <em>where</em>?</p>", Title="Storing &lt;beans&gt;", Score=20,
        Tags="<beans><cold-brew>", CreationDate="2015-01-27T20:09:32.720",
        ContentLicense="CC BY-SA 3.0"),
    row(2, ANSWER, "<p>Airtight.</p>", ParentId=1, Score=9),
    row(3, WIKI, "<p>A wiki.</p>", Score=1),
    row(4, QUESTION, "<p>Why?</p><pre><code>a = 1\n  b</code></pre>", Score=-2, Title="Why"),
    row(5, ANSWER, "<p>Frozen.</p>", ParentId=1, Score=10),
    row(6, ANSWER, "<p>Cool.</p>", ParentId=1, Score=9),
    row(7, ANSWER, "<p>Lost.</p>", ParentId=99, Score=9),
    row(8, ANSWER, "<p>Bad.</p>", ParentId=1, Score=99, DeletionDate="2015-01-28T20:09:32.720"),
]  # fmt: skip


def write(path: Path, rows: list[str]) -> Path:
    path.parent.mkdir(exist_ok=True)
    text = f'\ufeff<?xml version="1.0" encoding="utf-8"?>\r\n<posts>\r\n{"".join(rows)}</posts>'
    path.write_bytes(text.encode())
    return path


def test_a_question_with_its_answers_is_a_document(tmp_path):
    path = write(tmp_path / "coffee.stackexchange.com" / "Posts.xml", ROWS)
    assert find_text_format([str(path)]).name == "stackexchange"
    first, second = read(path)
    assert first.row == 1 and second.row == 4
    assert first.text == (
        "Q: Storing <beans>\n\nHow & where?\n\nA: Frozen.\n\nA: Airtight.\n\nA: Cool."
    )
    assert second.text == "Q: Why\n\nWhy?\n\na = 1\n  b"
    assert first.fields == {
        "site": "coffee.stackexchange.com",
        "title": "Storing <beans>",
        "tags": ["beans", "cold-brew"],
        "date": "2015-01-27T20:09:32.720",
        "licence": "CC BY-SA 3.0",
        "url": "https://coffee.stackexchange.com/questions/1",
        "score": 20,
        "num_answers": 3,
    }
    assert second.fields["score"] == -2 and second.fields["num_answers"] == 0
    (block,) = read_documents([str(path)], TextConfig())
    assert (block.num_rows, block.num_file_bytes) == (8, path.stat().st_size)


def test_code_keeps_its_white_space(tmp_path):
    """A question and its answer may differ in nothing else."""
    code = "def f(x):\n  if x:\n\treturn 'a  b'  # c"
    flat = "\n".join(line.strip() for line in code.split("\n"))
    body = "<p>Why?</p><pre><code>{}\n</code></pre>"
    rows = [
        row(1, QUESTION, body.format(flat), Title="IndentationError"),
        row(2, ANSWER, body.format(code), ParentId=1, Score=2),
        row(3, ANSWER, f"<pre><code>  {code}</code></pre>", ParentId=1, Score=1),
    ]
    (document,) = read(write(tmp_path / "s" / "Posts.xml", rows))
    text = f"Q: IndentationError\n\nWhy?\n\n{flat}\n\nA: Why?\n\n{code}\n\nA:\n  {code}"
    assert document.text == text
    repair, *_ = preset_steps("stackexchange")
    assert repair.judge(Document("1", "s", text)).document.text == text


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("beer.stackexchange.com-Posts.xml", "beer.stackexchange.com"),
        ("beer.stackexchange.Posts.xml", "beer.stackexchange.com"),
        ("stackoverflow.com-Posts.xml", "stackoverflow.com"),
    ],
)
def test_sites_of_file_names(tmp_path, name, site):
    assert read(write(tmp_path / name, ROWS))[0].fields["site"] == site


@given(st.permutations(ROWS))
def test_the_order_of_rows_does_not_matter(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("dump") / "Posts.xml"
    texts = [document.text for document in read(write(path, rows))]
    assert texts == [document.text for document in read(write(path, ROWS))]


def test_what_precedes_damage_is_read(tmp_path):
    path = write(tmp_path / "Posts.xml", ROWS)
    data = path.read_bytes()
    for damaged in (data[:-60], data.replace(b"Lost", b"L\x00st"), data[:-8]):
        path.write_bytes(damaged)
        documents = []
        with pytest.raises(CorruptDataError, match="the XML is damaged or cut off"):
            for block in read_documents([str(path)], TextConfig()):
                documents += block.documents
        assert documents[0].text.startswith("Q: Storing <beans>\n\nHow & where?\n\nA: Frozen.")
    packed = tmp_path / "Posts.xml.gz"
    packed.write_bytes(gzip.compress(data)[:-9])
    with pytest.raises(CorruptDataError, match="the compressed data is damaged"):
        read(packed)


@pytest.mark.parametrize("damage", ["\x01", "&#1;", "&nbsp;", "& ", "<a", '" Id="'])
@pytest.mark.parametrize("read_bytes", [7, 1 << 18])
def test_reading_goes_on_with_the_row_after_damage(tmp_path, monkeypatch, damage, read_bytes):
    monkeypatch.setattr(xml_events, "READ_BYTES", read_bytes)
    path = write(tmp_path / "Posts.xml", ROWS)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"Cool", damage.encode()).replace(b"Lost", damage.encode()))
    (block,) = read_documents([str(path)], TextConfig(on_error="skip"))
    assert [document.row for document in block.documents] == [1, 4]
    assert block.documents[0].text.endswith("A: Frozen.\n\nA: Airtight.")
    assert block.num_rows == 8 and len(block.skipped) == 2
    place = block.skipped[0].partition("Posts.xml:6: at byte ")[2]
    assert abs(whole.index(b"Cool") - int(place.partition(":")[0].replace(",", ""))) < 200
    assert all(each.endswith("; skipped to the next <row>") for each in block.skipped)
    with pytest.raises(CorruptDataError, match="the XML is damaged or cut off"):
        read(path)


def test_answers_of_a_damaged_question_are_counted(tmp_path):
    path = write(tmp_path / "Posts.xml", ROWS)
    path.write_bytes(path.read_bytes().replace(b"How &amp;", b"How \x02"))
    (block,) = read_documents([str(path)], TextConfig(on_error="skip"))
    assert [document.row for document in block.documents] == [4]
    assert block.left_out == {"answers without a question": 4}


def test_a_long_attribute_is_parsed_a_few_times_only(tmp_path):
    path = write(tmp_path / "Posts.xml", [row(1, QUESTION, "a" * (8 << 20))])
    assert [len(document.text) for document in read(path)] == [(8 << 20) + 3]
    sizes: list[int] = []

    class Counting(XmlEvents):
        def _parsed(self, data, *, is_last=False):
            sizes.append(len(data))
            return super()._parsed(data, is_last=is_last)

    xml = Counting(str(path), root="posts", unit="row", kind="posts", goes_on=False)
    data, events = path.read_bytes(), []
    for start in range(0, len(data), 1 << 12):
        events += xml.feed(data[start : start + (1 << 12)])
    events += xml.close()
    assert [each.name for each in events] == ["posts", "row", "row", "posts"]
    assert len(sizes) < 20 and sum(sizes) == len(data)


def test_another_table_of_the_dump(tmp_path):
    path = tmp_path / "Posts.xml"
    path.write_text('<users>\n  <row Id="1" />\n</users>')
    with pytest.raises(CorruptDataError, match="its first element is <users>"):
        read(path)


def test_long_and_strange_rows(tmp_path):
    rows = [
        row(1, QUESTION, "long " * 100, Title="a"),
        row(2, QUESTION, "x", Score="many"),
        row("9" * 30, QUESTION, "x"),
        '  <row PostTypeId="1" />\r\n',
        '  <row Id="7" PostTypeId="1" />\r\n',
    ]
    path = write(tmp_path / "Posts.xml", rows)
    (block,) = read_documents([str(path)], TextConfig(max_row_bytes=100, keep_fields=True))
    assert [document.text for document in block.documents] == ["Q: x"]
    assert block.documents[0].fields["score"] == 0
    assert [number for number, _ in block.too_long] == [1]


def pack(path: Path, password: str | None = None, **files: bytes) -> Path:
    py7zr = pytest.importorskip("py7zr", reason="the extra sevenzip is not installed")
    with py7zr.SevenZipFile(path, "w", password=password) as archive:
        for name, data in files.items():
            archive.writestr(data, f"{name}.xml")
    return path


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("beer.stackexchange.com.7z", "beer.stackexchange.com"),
        ("stackoverflow.com-Posts.7z", "stackoverflow.com"),
    ],
)
def test_an_archive_is_what_is_in_it(tmp_path, name, site):
    data = write(tmp_path / "Posts.xml", ROWS).read_bytes()
    path = pack(tmp_path / name, Badges=b"b" * 200_000, Posts=data, Votes=b"<votes/>")
    assert find_text_format([str(path)]).name == "stackexchange"
    first, second = read(path)
    assert (first.text, first.fields["site"]) == (read(tmp_path / "Posts.xml")[0].text, site)
    assert second.row == 4


def test_damaged_archives(tmp_path):
    data = write(tmp_path / "Posts.xml", ROWS * 40).read_bytes()
    path = pack(tmp_path / "a.7z", Posts=data)
    whole = path.read_bytes()
    for damaged in (whole[:-9], whole[:40] + b"xx" + whole[42:], data):
        path.write_bytes(damaged)
        with pytest.raises(CorruptDataError, match="not a 7-Zip archive, or damaged"):
            read(path)
    with pytest.raises(CorruptDataError, match="its first element is <users>"):
        read(pack(tmp_path / "a.7z", Posts=b"<users></users>"))
    with pytest.raises(CorruptDataError, match=r"the archive has no posts\.xml; it has Votes\.xml"):
        read(pack(tmp_path / "a.7z", Votes=b"<votes/>"))


def test_an_archive_with_a_password(tmp_path):
    path = pack(tmp_path / "a.7z", password="secret", Posts=b"<posts></posts>")
    with pytest.raises(CorruptDataError, match=r": the archive needs a password; unpack it first$"):
        read(path)


def test_archives_need_a_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "py7zr", None)
    (tmp_path / "a.7z").touch()
    with pytest.raises(ValueError, match=r"a\.7z: 7-Zip needs the package py7zr.*\[sevenzip\]"):
        feed_member(str(tmp_path / "a.7z"), "posts.xml", print)
