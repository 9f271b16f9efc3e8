"""Phrases of web pages: what is cut stays within the line, and keys leave out no phrase."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.curation.web import web_phrases
from bert_data.curation.web.web_phrases import cut_phrases, is_counter, is_menu
from tests.curation.growth import assert_linear
from tests.curation.labels import marked_lines

WORDS = [
    "Read more", "home", "|", ">", "Sign in", "查看更多", "版权所有", "3 likes", "评论", "river.",
    "add to cart", "cookies", "...", "[", "]", "首页", "：", "分享到微信", "Reply", "share this",
    "见",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join))
@example("Read more | add to cart Read more | home")  # a menu is left
def test_cutting_again_changes_nothing(line):
    rest = cut_phrases(line)
    assert len(rest) <= len(line)
    assert cut_phrases(rest) == rest


def test_keys_leave_out_no_phrase(monkeypatch):
    lines = [row.line for row in marked_lines()] + [
        f"{word} {other}" for word in WORDS for other in WORDS
    ]
    by_keys = list(map(cut_phrases, lines))
    monkeypatch.setattr(web_phrases, "KEYS_OF_ENDS", [""])
    monkeypatch.setattr(web_phrases, "KEYS_OF_ANYWHERE", [""])
    assert list(map(cut_phrases, lines)) == by_keys


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Home | News | Contact", True),
        ("关于本站 | 版权声明 | 联系站长", True),
        ("Shoes » Men’s » Boots", True),
        ("Home | News", False),
        ("He came | He saw the city | He won a long war there", False),
        ("1 | 2 | 3", False),
        ("one-two-three", False),
        ("well - known - fact.", False),
        ("", False),
        ("|||", False),
    ],
)
def test_menus(line, expected):
    assert is_menu(line) == expected


def test_a_line_without_phrases_is_the_same_object():
    line = "The council met on Monday."
    assert cut_phrases(line) is line


PARTS = [
    *("a", "1 ", "1", "3 likes ", "3 likes, ", "Read more ", ". ", ">", "home > ", "home", "|"),
    *("查看更多", "评论1", "点", "[", "...", "cookies ", "we use cookies", "sign in to ", "分享到"),
]


@pytest.mark.parametrize("part", PARTS)
def test_time_grows_with_the_length(part):
    # Lines are not this long where they are looked through, but nothing depends on that.
    assert_linear(lambda text: (is_counter(text), web_phrases.BEGINS.match(text)), part, 200)
    assert_linear(web_phrases.ANYWHERE.search, part, 200)
