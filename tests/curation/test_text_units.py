"""Units of texts: runs of words, against splitting the text itself."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.text_units import unit_bounds, with_whole_sentences
from bert_data.curation.words import split_words
from bert_data.text.sentences import split_sentences
from tests.curation.duplicates.test_units_in_rounds import WRAPPED
from tests.hypotheses import examples

PIECES = st.sampled_from(
    [
        *("One", "two.", "Mr. X", "Why?", "!", "e.g.", "end.next", "他去了。", "他说：“好！”", "…"),
        *("\ud800", "\n", "\n\n", "\n \n", "\r\n", "\r", " ", " ", "\u2028", "\u200b", "\t"),
    ]
)


def units_of(text: str, unit: str) -> list[str]:
    words = split_words(text)
    bounds = unit_bounds(words, unit, "en")
    assert bounds[0] == 0 and bounds[-1] == len(words) and (np.diff(bounds) > 0).all()
    strings = words.strings()
    return [" ".join(strings[a:b]) for a, b in itertools.pairwise(bounds)]


def words_of(part: str) -> str:
    return " ".join(split_words(part).strings())


@examples(200)
@given(st.lists(PIECES, max_size=16).map("".join))
@example("")
@example("\n\n!\n")
def test_units_are_the_parts_of_the_text(text):
    for unit, parts in (
        ("document", [text]),
        ("line", text.split("\n")),
        ("paragraph", re.split(r"\n(?:[^\S\n]*\n)+", text)),
    ):
        assert units_of(text, unit) == list(filter(None, map(words_of, parts)))


@examples(200)
@given(st.lists(PIECES, max_size=16).map(" ".join))
def test_sentences_begin_where_the_splitter_begins_them(text):
    encodable = text.encode(errors="replace").decode()
    sentences = split_sentences(encodable, "en", joins_lines=False)
    found = units_of(text, "sentence")
    assert "".join(found).replace(" ", "") == "".join(split_words(text).strings())
    firsts = [words_of(sentence)[:1] for sentence in sentences if words_of(sentence)]
    assert [unit[:1].replace("\ud800", "?") for unit in found] == firsts


def test_wrapped_sentences_are_whole():
    document = Document("a/1", "a", WRAPPED)
    joined = with_whole_sentences(document, "sentence")
    assert units_of(joined.text, "sentence")[1].startswith("His daughter asked")
    assert len(units_of(joined.text, "sentence")) == 3
    for unit in ("document", "line", "paragraph"):
        assert with_whole_sentences(document, unit) is document


@pytest.mark.parametrize("language", ["zh", "en", "?!", ""])
def test_any_language_is_taken(language):
    assert len(unit_bounds(split_words("他去了河边。没人看见他。"), "sentence", language)) == 3
