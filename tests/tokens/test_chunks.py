"""Chunks: counted as a plain definition cuts them, and no word of a model crosses one."""

import collections
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.tokens import chunks
from bert_data.tokens.word_counts import MODELS, WORDPIECE, open_rules

# White space of all kinds, marks that join what is before them, and what decomposes into spaces.
texts = st.text("ab1'!. \t\n\x00\x1c\x85\xa0\u3000\u2003é\u0301´ﬁÉ中文か䷀㐀", max_size=14)


def counted(lines: list[str], *, drops_spaces: bool) -> collections.Counter[str]:
    found = collections.Counter[str]()
    for portion in chunks.count_chunks(
        [line.encode() for line in lines], drops_spaces=drops_spaces
    ):
        found.update(portion)
    return found


def plainly_cut(line: str, *, drops_spaces: bool) -> list[str]:
    if drops_spaces:
        return re.findall(r"[\u3400-\u4dbf\u4e00-\u9fff]|[^ \u3400-\u4dbf\u4e00-\u9fff]+", line)
    is_cut = r"(?<=[^\x00-\x20\x80-\xbf\u1000-\u3fff])(?= )"
    return [chunk for chunk in re.split(is_cut, line) if chunk]


@pytest.mark.parametrize("drops_spaces", [False, True])
@given(lines=st.lists(texts | st.sampled_from(["low lower low", "low", "a b a"]), max_size=9))
def test_equals_plain_cutting_in_portions_of_any_size(drops_spaces, lines):
    expected = collections.Counter(
        chunk for line in lines for chunk in plainly_cut(line, drops_spaces=drops_spaces)
    )
    assert counted(lines, drops_spaces=drops_spaces) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "PLACES", 4)
        assert counted(lines, drops_spaces=drops_spaces) == expected


@pytest.mark.parametrize("do_lower_case", [False, True])
@pytest.mark.parametrize("model", MODELS)
@given(line=texts)
def test_chunks_have_the_words_of_their_line(model, do_lower_case, line):
    normalizer, splitter = open_rules(model, do_lower_case=do_lower_case)

    def words(text: str) -> list[str]:
        return [w for w, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)) if w]

    found = counted([line], drops_spaces=model == WORDPIECE)
    of_chunks = collections.Counter(word for chunk in found.elements() for word in words(chunk))
    assert of_chunks == collections.Counter(words(line))
