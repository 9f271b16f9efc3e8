"""XHTML: which pages it is, and that it becomes HTML in linear time."""

import pytest

from bert_data.text.xhtml import as_html, is_xhtml
from tests.curation.growth import assert_linear

DECLARATION = "<?xml version='1.0' encoding='utf-8'?>\n"
HTML = "<html lang='en' xmlns='http://www.w3.org/1999/xhtml'>"


@pytest.mark.parametrize(
    ("page", "is_one"),
    [
        (DECLARATION + HTML, True),
        ("\ufeff\n" + DECLARATION + "<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML'>\n" + HTML, True),
        (HTML, False),
        (DECLARATION + "<html>", False),
        ("<p>" + DECLARATION + HTML, False),
        (DECLARATION + "<body>" * 500 + HTML, False),
    ],
)
def test_what_is_xhtml(page, is_one):
    assert is_xhtml(page) == is_one


def test_the_declaration_may_follow_white_space():
    page = f"\ufeff \n{DECLARATION}{HTML}<body><p>1<![CDATA[<]]>2<br/></p></body></html>"
    assert as_html(page).endswith("<body><p>1&lt;2<br></p></body></html>")


@pytest.mark.parametrize("part", ["<![CDATA[", "<a '", "<title", "&amp", "<a '/", "]]>"])
def test_pages_become_html_in_linear_time(part):
    assert_linear(as_html, part)


@pytest.mark.parametrize("part", ["<html ", "<?xml ", " "])
def test_xhtml_is_known_in_linear_time(part):
    assert_linear(lambda page: is_xhtml(f"<?xml {page}"), part)
