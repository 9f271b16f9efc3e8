"""Repaired texts: each kind of damage, what must stay, and ftfy itself as the oracle."""

import unicodedata

import ftfy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.steps.repair import Repair, fix_mojibake
from tests.curation.growth import assert_linear

# The settings of ftfy that repair's own order of work stands for.
CONFIG = ftfy.TextFixerConfig(
    unescape_html=False,
    fix_latin_ligatures=False,
    fix_character_width=False,
    uncurl_quotes=False,
    fix_line_breaks=False,
    explain=False,
)


def repair(text: str, **parameters) -> tuple[str, dict[str, int]]:
    verdict = Repair(**parameters).judge(Document("a/1", "a", text))
    assert verdict.kept
    return verdict.document.text, dict(verdict.edits)


@pytest.mark.parametrize(
    ("text", "repaired", "edits"),
    [
        ("lâ€™Ã©tÃ©\nplain\nÃ¼ber", "l’été\nplain\nüber", {"mojibake": 2}),
        ("ä¸­æ–‡ç½‘é¡µ", "中文网页", {"mojibake": 1}),
        ("Ð¿Ñ€Ð¸Ð²ÐµÑ‚", "привет", {"mojibake": 1}),
        ("вЂ©", "", {"mojibake": 1, "line_ends": 1, "whitespace": 1}),
        ("\x93quoted\x94 caf\xe9", "“quoted” café", {"c1_controls": 2}),
        ("a &lt; b &amp;&#x4e2d;", "a < b &中", {"entities": 3}),
        ("<b>a &lt; b", "<b>a &lt; b", {}),
        ("AT&T; &; &#; &amp", "AT&T; &; &#; &amp", {}),
        ("one\r\ntwo\rthree\u2028four\x0cfive", "one\ntwo\nthree\nfour\nfive", {"line_ends": 4}),
        ("a\x00b\x07\x1b[31mred\x1b[0m\ufeff", "abred", {"controls": 5}),
        ("\ud83d\ude00 half \ud83d end", "😀 half \ufffd end", {"surrogates": 2}),
        ("cafe\u0301", "café", {"normalized": 1}),
        (" a \t b\u00a0\u3000c \n \n\n\n\td \t", " a \t b c\n\n\td", {"whitespace": 1}),
        ("\n\t\n  a:\n    b  # c\t\n \n \n  d", "a:\n  b  # c\n\nd", {"whitespace": 1}),
        ("a:\n\u00a0\u00a0b\n\u3000\u3000c", "a:\n  b\nc", {"whitespace": 1}),
        (" One line. ", "One line.", {"whitespace": 1}),
        ("def f():\n\tx  =  1\n    y\n\n  Verse", "def f():\n\tx  =  1\n    y\n\n  Verse", {}),
        ("全角ＡＢＣ，文本。ﬁ ½ “引号”…", "全角ＡＢＣ，文本。ﬁ ½ “引号”…", {}),
        ("", "", {}),
    ],
)
def test_repairs(text, repaired, edits):
    assert repair(text) == (repaired, edits)


def test_parameters():
    damaged = "cafe\u0301 &amp; Ã©tÃ©\r\n  x\x00 "
    off = {"encoding": False, "entities": False, "controls": False, "whitespace": False}
    assert repair(damaged, normalization="", **off) == (damaged, {})
    assert repair("ＡＢＣ", normalization="NFKC")[0] == "ABC"


def test_a_clean_text_is_the_same_object():
    document = Document("a/1", "a", "Plain text.\n\n“Quoted” – été, 中文，Привет.")
    assert Repair().judge(document).document is document


LETTERS = st.text("aé中вЂÃ©â€™œ \u00a0\x93\n™Šßπ\x9d", max_size=30)
DECODED = st.builds(
    lambda text, codec: text.encode().decode(codec, "ignore"),
    st.text("é中—’üñ🙂ß a\n", max_size=12),
    st.sampled_from(["latin-1", "cp1252", "cp1251", "mac-roman", "cp437", "cp1250", "cp1253"]),
)


# Of these, which windows-1252 does not have, ftfy keeps what repair takes out.
NO_CHARACTERS = set("\x81\x8d\x8f\x90\x9d")
TEXTS = st.lists(st.one_of(LETTERS, DECODED), max_size=4).map("".join)


@given(TEXTS.filter(lambda text: not NO_CHARACTERS & set(text)))
def test_ftfy_would_have_done_the_same(text):
    # ftfy's lines are those of "\n" alone; what it does to spaces is not compared.
    expected = ftfy.fix_text(text, config=CONFIG)
    repaired, _ = repair(text, whitespace=False)
    expected = "".join(c for c in expected if not "\x80" <= c <= "\x9f")
    expected = expected.replace("\u2028", "\n").replace("\u2029", "\n")
    assert repaired == unicodedata.normalize("NFC", expected)


@given(st.text(st.characters(codec=None, categories=None), max_size=60))
def test_any_text_becomes_one_that_stays(text):
    once, _ = repair(text)
    once.encode()
    assert "\0" not in once and "\r" not in once


@given(st.text(" \ta\n\u00a0\u3000\u2007", max_size=14))
def test_white_space_is_repaired_once(text):
    once, _ = repair(text)
    assert repair(once) == (once, {})
    assert once.split() == text.split()
    assert {char for char in once if char.isspace()} <= set(" \t\n")


def test_ftfy_agrees_on_real_text(shared):
    text = (shared / "data/corpora/udhr.txt").read_text(encoding="utf-8")
    for part in text.split("\n\n")[::9]:
        assert repair(part, whitespace=False)[0] == ftfy.fix_text(part, config=CONFIG)


@pytest.mark.parametrize(
    "part",
    [
        *("Ã©", "â€", "Ã ", "&amp;", "&#", "&a", " ", " \n", "\n", "\x00", "\ud83d", "\x1b["),
        *("e\u0301", "\r", "вЂ ", "\u00a0 x", "Â", "a\n\n\n", "\n\t", " \u3000", " a\n  "),
    ],
)
def test_time_grows_with_the_length(part):
    assert_linear(repair, part)


def test_long_lines_are_worked_on_in_parts():
    text = "Ã©tÃ© " * 40_000
    assert fix_mojibake(text)[0] == "été " * 40_000


def test_surrogates_may_stay_when_nothing_is_asked_of_them():
    assert repair("Ã©\ud800", controls=False, whitespace=False)[0].endswith("\ud800")
