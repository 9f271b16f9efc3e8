"""Text of pages: what counts as a page, what is left of it, and pages that would stop a parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.step import make_step
from bert_data.curation.steps.extract import Extract, measure_tags
from bert_data.curation.verdict import Verdict
from tests.curation.growth import assert_linear

PAGE = (
    "<!doctype html><html><head><title>Bread</title><script>var a = '<p>no';</script></head><body>"
    "<nav><ul><li><a href=/>Home</a></li><li><a href=/b>News</a></li></ul></nav>"
    "<article><h1>Bread</h1><p>Flour &amp; water,\nand <b>time</b>.</p>"
    "<img src=a.png alt='A loaf'><p>See <a href='http://a.example/b'>this</a>.</article>"
    "<ul><li>One<li>Two</ul><footer>All rights reserved</footer></body></html>"
)


def judge(text: str, fields: dict[str, object] | None = None, **parameters) -> Verdict:
    document = Document("a/1", "a", text, fields or {})
    return Extract(**parameters).judge(document)


def test_the_main_content_of_a_page():
    verdict = judge(PAGE, {"content_type": "text/html", "url": "http://b"})
    text = verdict.document.text
    assert text == "Bread\n\nFlour & water, and time.\n\nSee this."
    assert verdict.document.fields == {"content_type": "text/plain", "url": "http://b"}
    assert verdict.kept and verdict.edits == {"pages": 1}


def test_parameters():
    assert "Home" in judge(PAGE, main_content=False).document.text
    assert "A loaf" in judge(PAGE, alt_texts=True).document.text
    assert "http://a.example/b" in judge(PAGE, links=True).document.text
    assert "• One" in judge(PAGE, main_content=False).document.text
    assert "•" not in judge(PAGE, main_content=False, list_bullets=False).document.text
    with pytest.raises(
        ValueError, match=r"step extract: max_depth is 0; it must be a whole number >= 1"
    ):
        make_step("extract", {"max_depth": 0})


@pytest.mark.parametrize(
    ("text", "content_type", "is_page"),
    [
        ("<p>One", "text/html", True),
        ("<p>One", "Text/HTML; charset=utf-8", True),
        ("<p>One", "application/xhtml+xml", True),
        ("<p>One", None, False),
        ("\ufeff <HTML lang=en><p>One", None, True),
        ("<!DOCTYPE html>\n<p>One", None, True),
        ("<html><p>How to write <html>", "text/plain", False),
        ("The tag <body is written so", None, True),
        ("x" * 1000 + "<html>", None, False),
        ("<p>One", 7, False),
        ("", None, False),
    ],
)
def test_what_is_a_page(text, content_type, is_page):
    verdict = judge(text, {} if content_type is None else {"content_type": content_type})
    assert verdict.edits == ({"pages": 1} if is_page else {})
    assert is_page or verdict.document.text == text


def test_extracted_text_is_not_extracted_again():
    document = judge("<html><p>Write &lt;html&gt; first.").document
    assert document.text == "Write <html> first."
    again = Extract().judge(document)
    assert again.document is document and again.kept


@pytest.mark.parametrize(
    ("page", "rule"),
    [
        ("<div>" * 100_000 + "deep" + "</div>" * 100_000, "max_depth"),
        ("<b><p>deep " * 100_000, "max_depth"),
        ("<svg>" + "<g>" * 100_000, "max_depth"),
        ("<p " + " ".join(f"a{n}=b" for n in range(100_000)) + ">x", "max_attributes"),
    ],
)
def test_pages_that_no_parser_should_read_are_rejected(page, rule):
    verdict = judge(f"<html>{page}")
    assert not verdict.kept
    assert [each.rule for each in verdict.measured if each.failed] == [rule]
    assert verdict.document.text == f"<html>{page}"


@pytest.mark.parametrize(
    "page",
    [
        "<p>unclosed " * 100_000,
        "<table><tr><td>x" * 200,
        "<div" * 1000,
        "<" * 100_000,
        "<!--" * 100_000,
        "&" * 100_000 + "&#0;&#xD800;&#99999999999;&nosuch;",
        "<p>a\0b\x01c</p>" * 1000,
        "<p>" + "word " * 1_000_000,
        "</div>" * 100_000 + "<p>end",
        "<p>half \ud800 of a pair, \udc00 and \U0001f600",
        "<script>" * 10_000,
        "<template>" * 200 + "x",
    ],
    ids=lambda page: page[:12],
)
def test_broken_pages_become_some_text(page):
    verdict = judge(f"<html><body>{page}")
    assert verdict.kept
    verdict.document.text.encode()
    assert "\0" not in verdict.document.text


@given(st.text("<>/!-=&;#x0aphtmldivb \"'\0\ud800é\n"))
def test_any_page(text):
    verdict = judge(f"<html>{text}")
    assert verdict.kept
    verdict.document.text.encode()


def test_time_grows_with_the_length():
    deep = "<html><body>" + "<div>" * 200

    def work(text: str) -> Verdict:
        return judge(deep + text)

    for part in (
        "<p>Some words of a paragraph, <b>bold</b>",
        "<div>x</div>",
        "<p a=1 b=2>",
        "&lt;",
    ):
        assert_linear(work, part, 500)


def test_it_tells_when_there_was_no_page():
    assert "no document was HTML" in (Extract().describe_use({}) or "")
    assert Extract().describe_use({"pages": 1}) is None


def test_a_missing_package_is_told(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "resiliparse.extract.html2text", None)
    with pytest.raises(ValueError, match=r"the step extract needs the package resiliparse.*pip"):
        judge(PAGE)


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
