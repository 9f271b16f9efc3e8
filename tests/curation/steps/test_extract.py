"""Text of pages: what counts as a page, what is left of it, and pages that would stop a parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document, Verdict
from bert_data.curation.steps.extract import Extract
from tests.curation.growth import assert_linear
from tests.rows import mostly_slow

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


def test_the_declarations_of_a_document_type_are_no_text():
    page = '<!DOCTYPE html [<!ENTITY a "b">\n<!ATTLIST p x CDATA #IMPLIED>]><html><p>Flour.</html>'
    assert judge(page).document.text == "Flour."


XHTML = (
    "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title/>"
    "<script src='a.js'/></head><body>{}<p>Is <![CDATA[1 < 2]]>? Yes.</p></body></html>"
)


@pytest.mark.parametrize("body", ["", "<p class=a>And.</p>", "<br>", "<div/>"])
@pytest.mark.parametrize("main_content", [True, False])
def test_xhtml_is_parsed_as_xml(body, main_content):
    page = XHTML.format(body)
    plain = page.partition("?>")[2]
    for text, content_type in [(page, "text/html"), (page, None), (plain, "application/xhtml+xml")]:
        fields = {"content_type": content_type} if content_type else {}
        shown = judge(text, fields, main_content=main_content).document.text
        assert shown.endswith("Is 1 < 2? Yes.") and ("And" in shown) == ("And" in body)
    deep = XHTML.format("<div>" * 100_000 + body + "</div>" * 100_000)
    assert not judge(deep, main_content=main_content).kept


def test_the_main_content_of_a_page():
    verdict = judge(PAGE, {"content_type": "text/html", "url": "http://b"})
    text = verdict.document.text
    assert text == "Bread\n\nFlour & water, and time.\n\nSee this.\n\n  • One\n  • Two"
    assert verdict.document.fields == {"content_type": "text/plain", "url": "http://b"}
    assert verdict.kept and verdict.edits == {"pages": 1}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>他<strong>不</strong>是我们的朋友</p>", "他不是我们的朋友"),
        ("<p>他<b> 不 </b>是<i>我<!-- b -->们</i>", "他 不 是我们"),
        ("<p>A<b>—</b>B &mdash; C<b>&#8212;</b>D<b>&#x2014;</b>", "A—B — C—D—"),
        ("<p><em>où</em> il est <b>n&eacute;</b>, <i>là</i>", "où il est né, là"),
        ("<p>क<b>ि</b>ताब <b>न</b> <b>ก</b><b>한</b>", "किताब न ก한"),
        ("<p>一<p>二<p>–<p>end", "一\n\n二\n\n–\n\nend"),
        ("<div>一", "一"),
        ("<p>A<b>\ue001</b>B<a href=#a>¶</a><i>\uf015 </i>C", "ABC"),
        ("<p>x\ufdd0y", "xy"),
        ("<p><ruby>漢<rp>(</rp><rt><b>kan</b></rt><rp>)</rp>字<rt>ji</rt></ruby>です", "漢字です"),
        ("<ul><li>a b<ul><li>c</ul><li>d</ul>e", "  • a b\n    • c\n  • d\ne"),
        ("<main><ul><li>one</ul></main><ol><li>two</ol>", "  • one\n  1. two"),
        ("<ul><li><a href=a>Home</a><li><a href=b>News</a></ul><p>One", "One"),
        ("<ul class=nav><li>Home</ul><p>One", "One"),
        ("<pre>\n  if a:\n\n\n\n    b  c\n\n</pre>", "  if a:\n\n    b  c"),
    ],
)
def test_short_texts_and_lists_near_the_root_are_content(body, text):
    assert judge(f"<html><body>{body}").document.text == text


@given(st.lists(st.text("abé他—不 ", max_size=4), min_size=1, max_size=9))
def test_no_text_is_lost_in_the_main_content(texts):
    texts = [text.strip() for text in texts]
    page = "<html><body><p>" + "".join(f"{text}<b>{text}</b> " for text in texts)
    shown = "".join(text * 2 for text in texts)
    assert "".join(judge(page).document.text.split()) == "".join(shown.split())


@pytest.mark.parametrize("name", ["class", "id"])
def test_a_page_within_what_is_called_navigation_is_no_menu(name):
    around = f"<html><body class='shows-navigation'><div {name}='navigation-container'>"
    menu = "<div class='nav menu'><a href=a>Home</a> <a href=b>News</a></div>"
    article = "<article><h1>Bread</h1><p>Flour and water, and time.</p></article>"
    assert judge(f"{around}{menu}{article}</div>").document.text == (
        "Bread\n\nFlour and water, and time."
    )
    assert judge(f"{around}{menu}</div>").document.text == ""


def test_parameters():
    assert "Home" in judge(PAGE, main_content=False).document.text
    assert "A loaf" in judge(PAGE, alt_texts=True).document.text
    assert "http://a.example/b" in judge(PAGE, links=True).document.text
    assert "• One" in judge(PAGE, main_content=False).document.text
    assert "•" not in judge(PAGE, main_content=False, list_bullets=False).document.text


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


@mostly_slow(
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


@mostly_slow(
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
    with pytest.raises(ValueError, match=r"^it needs the package resiliparse.*pip"):
        judge(PAGE)
