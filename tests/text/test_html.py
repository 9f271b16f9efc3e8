"""Pages in files: encodings that are declared, detected or wrong; sizes; who may read them."""

import gzip
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.text import html
from bert_data.text.documents import DocumentBlock
from bert_data.text.formats import find_plain_format, find_text_format, read_documents
from bert_data.text.html import HTML, XHTML, decode_page, measure_tags, visible_text
from bert_data.text.text_config import TextConfig
from tests.curation.growth import assert_linear

CHINESE = "中文网页，没有问题。我们今天去学校上学，明天在家里看书。" * 4


@pytest.mark.parametrize("meta", ["<meta charset=utf-8>", "<?xml version='1.0' encoding='UTF-8'?>"])
def test_utf8_pages_of_servers_that_name_latin1_for_all(meta):
    page = f"{meta}<p>café 中文"
    assert decode_page(page.encode(), "ISO-8859-1", "strict") == (page, 0)
    latin = f"{meta}<p>café"
    assert decode_page(latin.encode("latin-1"), "ISO-8859-1", "strict") == (latin, 0)


def read_block(path: Path, **settings) -> DocumentBlock:
    (block,) = read_documents([str(path)], TextConfig(**settings))
    return block


def test_a_page_is_a_document_with_its_tags(tmp_path):
    page = "<!doctype html>\n<p>One.\r\n<p>\u00e9\u4e2d"
    (tmp_path / "a.html").write_bytes(page.encode())
    (tmp_path / "b.HTM.gz").write_bytes(gzip.compress(page.encode()))
    (tmp_path / "c.XHTML.gz").write_bytes(gzip.compress(page.encode()))
    types = {"a.html": HTML, "b.HTM.gz": HTML, "c.XHTML.gz": XHTML}
    for name, content_type in types.items():
        block = read_block(tmp_path / name, keep_fields=True)
        (document,) = block.documents
        assert (document.row, document.text) == (1, page)
        assert document.fields == {"content_type": content_type}
        assert block.num_file_bytes == (tmp_path / name).stat().st_size
    (tmp_path / "b.htm.gz").write_bytes(gzip.compress(page.encode())[:-9])
    with pytest.raises(CorruptDataError, match=r"b\.htm\.gz"):
        read_block(tmp_path / "b.htm.gz")


@pytest.mark.parametrize(
    ("data", "declared"),
    [
        (CHINESE.encode(), None),
        (CHINESE.encode("gb18030"), "GB2312"),
        (b"<meta charset='gbk'>" + CHINESE.encode("gbk"), None),
        (b"<?xml version='1.0' encoding='big5'?>" + CHINESE.encode("big5", "ignore"), None),
        (
            b'<meta http-equiv="Content-Type" content="text/html; charset=shift_jis">'
            + "日本語のページ".encode("cp932"),
            None,
        ),
        (CHINESE.encode("gb18030"), None),  # detected
        (CHINESE.encode("gb18030"), "utf-8"),  # a lie, and detected
        (CHINESE.encode(), "no-such-encoding"),
        (b"\xff\xfe" + CHINESE.encode("utf-16-le"), "utf-8"),
        (b"\xfe\xff" + CHINESE.encode("utf-16-be"), None),
        (b"\xef\xbb\xbf" + CHINESE.encode(), "gbk"),
    ],
)
def test_encodings(data, declared):
    text, num_replaced = decode_page(data, declared, "strict")
    assert text.endswith(("。", "ページ", "書。", "里看。")) and num_replaced == 0
    assert "\ufffd" not in text and not text.startswith("\ufeff")


def test_latin_1_means_windows_1252_on_the_web():
    assert decode_page(b"\x93caf\xe9\x94", "ISO-8859-1", "strict") == ("“café”", 0)


@pytest.mark.parametrize("label", ["unicode_escape", "utf-7", "rot13", "hex", "idna", "a\0b"])
def test_labels_that_are_no_encodings_of_pages(label):
    assert decode_page("é\\u0041 +AGE-".encode(), label, "strict") == ("é\\u0041 +AGE-", 0)


def test_bytes_in_no_encoding_are_counted(tmp_path):
    path = tmp_path / "a.html"
    path.write_bytes(b"<meta charset=utf-8><p>One \xff\xfe\x81\xff two")
    with pytest.raises(ValueError, match=r"a\.html:1: no text in any encoding .tried utf-8"):
        read_block(path)
    block = read_block(path, on_error="skip")
    assert not block.documents and "a.html:1: no text in any encoding" in block.skipped[0]
    block = read_block(path, encoding_errors="replace")
    assert block.documents[0].text.endswith("One \ufffd\ufffd\ufffd\ufffd two")
    assert block.num_replaced == 4
    assert read_block(path, encoding_errors="ignore").documents[0].text.endswith("One  two")


def test_pages_that_are_too_long(tmp_path, monkeypatch):
    path = tmp_path / "a.html"
    path.write_bytes(b"x" * 2000)
    block = read_block(path, max_row_bytes=1000)
    assert (block.documents, list(block.too_long)) == ([], [(1, 1001)])
    assert len(read_block(path, max_row_bytes=2000).documents) == 1
    monkeypatch.setattr(html, "MAX_PAGE_BYTES", 1000)
    with pytest.raises(ValueError, match=r"a\.html:1: a page has more than 1,000 bytes"):
        read_block(path)


def test_tags_are_not_tokenized():
    assert find_text_format(["a.html"]).name == "html"
    with pytest.raises(ValueError, match=r"^a\.html: html files hold pages with tags; extract"):
        find_plain_format(["a.html"], TextConfig())
    assert find_plain_format(["a.html"], TextConfig(input_format="lines")).name == "lines"


def test_a_missing_package_is_told_where_an_encoding_must_be_found_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "resiliparse.parse.encoding", None)
    assert decode_page(CHINESE.encode(), None, "strict") == (CHINESE, 0)
    with pytest.raises(ValueError, match=r"resiliparse, .* pip install '\.\[curation\]'"):
        decode_page(CHINESE.encode("gbk"), None, "strict")


@pytest.mark.parametrize(
    ("page", "depth", "num_attributes"),
    [
        ("", 0, 0),
        ("a < b > c <3 </>", 0, 0),
        ("<ul><li a=1 b=2>One<li>Two</ul><p><p><p>", 1, 2),
        ("<div><p>a</p></div><div><span></span></div>", 2, 0),
        ("<DIV><SpaN></sPAN></dIv><div>", 2, 0),
        ("<div></b></b></b><div></i><div>", 3, 0),  # ends of what is not open change nothing
        ("<div/><div/><div/>", 3, 0),  # "/>" means nothing in HTML
        ("<svg><path/><path/><g><path/></g></svg><b>", 2, 0),
        ("<svg><div/><path/><path/><path/>", 5, 0),  # div ends the drawing
        ("<svg><style><g><g>", 4, 0),  # no raw text in drawings
        ("<div title = 'a>b<i><i>' x>", 1, 2),
        ("<p a==><div><div>", 2, 1),
        ('<p ="><div><div>', 2, 1),
        ("<p a=b'><div><div>'", 2, 1),
        ("<!-- <b><b> -- <b> --><i>", 1, 0),
        ("<!--><b><b>", 2, 0),
        ("<!-- <b> --!><b>", 1, 0),
        ("<script>if(a<b)x='<b><b><b>'</script x><i>", 1, 1),
        ("<script>if(a<b)x='</script><i><b>", 2, 0),
        ("<textarea><b></title><b></textarea>", 0, 0),
        ("<scripts><b>", 2, 0),
        ('<a b="', 0, 1),
        ("<a" + " c" * 50, 0, 50),
        ("<ruby>a<rp>(<rt>b<rp>)<ruby>c<rt>d</ruby>", 2, 0),
        ("<rt><RT><rp>", 3, 0),  # without a ruby they do not close each other
        ("<ruby><table><td><rt><rt>", 4, 0),
    ],
)
def test_measures(page, depth, num_attributes):
    assert measure_tags(page) == (depth, num_attributes)


@given(st.integers(0, 50), st.sampled_from(["div", "b", "x-y", "font", "section"]))
def test_nested_elements_are_counted(depth, name):
    assert measure_tags(f"<{name} a=1>" * depth + f"</{name}>" * depth).depth == depth


@given(st.text("<>!-/='\" absvgscript\n"))
def test_any_text_is_measured(text):
    depth, num_attributes = measure_tags(text)
    assert 0 <= depth <= text.count("<") and 0 <= num_attributes <= len(text)


@pytest.mark.parametrize(
    "part",
    [
        *("<a b='", '<a "', "<!-", "<!--", "<script>", "<script></script ", "</", "<a =\"'", "<"),
        *("<a b= ", '<div ">', "<svg>", "<p a='\"' ", "<a\n\n", "<a ==", "-->", "<title", "<a/"),
    ],
)
def test_measuring_takes_time_linear_in_the_length(part):
    assert_linear(measure_tags, part)


def test_short_tags_need_no_count_of_attributes():
    page = "<p a b c><p" + " d=e" * 30 + ">"
    assert measure_tags(page, few_attributes=10).num_attributes == 30
    assert measure_tags(page, few_attributes=200).num_attributes == 0


@pytest.mark.parametrize("part", ["<ul>x</ul>", "<b>不</b>", ">&#", "> ", "<ruby>a<rt>b"])
def test_the_text_of_a_page_is_found_in_linear_time(part):
    assert_linear(lambda text: visible_text(text, "a test", main_content=True), part)
