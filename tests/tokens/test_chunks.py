"""Chunks: counted as a plain definition cuts them."""

import collections
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.tokens import chunks
from bert_data.tokens.splitting import chunk_texts

# White space of all kinds, marks that join what is before them, and what decomposes into spaces.
texts = st.text("ab1'!. \t\n\x00\x1c\x85\xa0\u3000\u2003é\u0301´ﬁÉ中文か䷀㐀", max_size=14)
repeated = st.lists(
    st.sampled_from(
        ["low", "lower", "a", "é", "a\xa0", "か", "中文", "", "x" * 16, "x" * 17, "a\t"]
    )
).map(" ".join)


def counted(lines: list[str], *, drops_spaces: bool) -> collections.Counter[str]:
    data = b"".join(line.encode() + chunks.TEXT_END for line in lines)
    found = collections.Counter[str]()
    for portion in chunks.count_chunks(data, drops_spaces=drops_spaces):
        found.update(chunk_texts(data, portion))
    return found


def plainly_cut(line: str, *, drops_spaces: bool) -> list[str]:
    if drops_spaces:
        return re.findall(r"[\u3400-\u4dbf\u4e00-\u9fff]|[^ \u3400-\u4dbf\u4e00-\u9fff]+", line)
    is_cut = r"(?<=[^\x00-\x20\x80-\xbf\u1000-\u3fff])(?= )"
    return [chunk for chunk in re.split(is_cut, line) if chunk]


@pytest.mark.parametrize("drops_spaces", [False, True])
@given(lines=st.lists(texts | repeated, max_size=9))
def test_equals_plain_cutting_in_portions_of_any_size(drops_spaces, lines):
    expected = collections.Counter(
        chunk for line in lines for chunk in plainly_cut(line, drops_spaces=drops_spaces)
    )
    assert counted(lines, drops_spaces=drops_spaces) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "PLACES", 16)
        patch.setattr(chunks, "SHORT_PLACES", 2)
        assert counted(lines, drops_spaces=drops_spaces) == expected
