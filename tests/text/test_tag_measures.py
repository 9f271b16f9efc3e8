"""Measures of tags: like the HTML standard's, never too low, in linear time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.text.tag_measures import measure_tags
from tests.curation.growth import assert_linear


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
