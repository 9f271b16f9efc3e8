"""The URLs that the markup of a page cites."""

import pytest

from bert_data.text.corpora.wiki_references import find_references


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
