"""Many texts at once, and bytes: the ids that each text has by itself."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.tokens.definition import convert_to_unicode
from bert_data.tokens.tokenizer import FastTokenizer
from tests.tokens.odd_texts import EVERY_LETTER, defined_ids, odd_texts, texts

TOKENIZERS = {lower: FastTokenizer(EVERY_LETTER, lower) for lower in (False, True)}
ANY = st.one_of(
    texts,
    st.text(max_size=10),  # with surrogates
    st.lists(st.one_of(odd_texts.map(str.encode), st.binary(max_size=4))).map(b"".join),
)


@given(batch=st.lists(ANY, max_size=6), lower=st.booleans())
@example(batch=["", "\n", "\u200b", "a\r\nb", "Σ", "ΑΣ", ".", "", " . "], lower=True)
@example(batch=["a", "b\ud800", b"\xffa\xe4\xb8"], lower=False)
def test_each_text_has_the_ids_of_the_definition(batch, lower):
    expected = [defined_ids(EVERY_LETTER, lower, convert_to_unicode(text)) for text in batch]
    assert TOKENIZERS[lower].encode_batch(iter(batch)) == expected
    assert [TOKENIZERS[lower].encode(text) for text in batch] == expected


def test_a_single_text_is_no_batch():
    for text in ("ab", b"ab"):
        with pytest.raises(ValueError, match="texts is a single text; use encode"):
            TOKENIZERS[True].encode_batch(text)


def test_what_is_no_text():
    for call in (TOKENIZERS[True].encode, lambda text: TOKENIZERS[True].encode_batch([text])):
        with pytest.raises(ValueError, match="Unsupported string type: <class 'int'>"):
            call(7)
