"""Words of texts: those that the library splits each line into, whatever is split by kernels."""

import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.tokens import splitting
from bert_data.tokens.chunks import TEXT_END, count_chunks
from bert_data.tokens.splitting import (
    chunk_texts,
    count_for_wordpiece,
    count_with_spaces,
    open_rules,
)
from bert_data.tokens.vocabulary_config import MODELS, WORDPIECE

# White space, marks that join or swap places, letters that become several, and rare planes.
odd = st.text(
    "ab1'!. \t\n\r\x00\x1c\x7f\x85\xa0\u3000\u2003é\u0301\u0323´ﬁÉİΣ각\u1100中文か䷀㐀[]"
    "\ua9c0\u302e\ufffd\ue000\U0002f800\U000e0041\U00100000",
    max_size=14,
)
ascii = st.lists(
    st.text("aB's1 .\t\n\v\x1c\x00_", max_size=9) | st.text(st.characters(max_codepoint=127))
)
texts = odd | ascii.map(" ".join) | st.text(max_size=14) | st.lists(odd, max_size=9).map(" ".join)


@pytest.mark.parametrize("do_lower_case", [False, True])
@pytest.mark.parametrize("model", MODELS)
@given(lines=st.lists(texts, max_size=5), num_bytes=st.sampled_from([8, 1 << 22]))
def test_equals_the_library_on_each_line(model, do_lower_case, lines, num_bytes):
    normalizer, splitter = open_rules(model, do_lower_case=do_lower_case)
    expected = collections.Counter(
        word
        for line in lines
        for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(line))
        if word
    )
    data = b"".join(line.encode() + TEXT_END for line in lines)
    found = collections.Counter[str]()
    for chunks in count_chunks(data, drops_spaces=model == WORDPIECE):
        if model == WORDPIECE:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(splitting, "KERNEL_BYTES", num_bytes)
                found += count_for_wordpiece(data, chunks, do_lower_case=do_lower_case)
        else:
            found += count_with_spaces(
                chunk_texts(data, chunks), model, do_lower_case=do_lower_case
            )
    found.pop("", None)
    assert found == expected
