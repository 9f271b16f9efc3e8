"""Many texts at once, and bytes: the ids that each text has by itself."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.tokens.definition import BasicTokenizer, WordpieceTokenizer, convert_to_unicode
from bert_data.tokens.token_block import tokenize_sentences
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.vocabulary import load_vocabulary
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


ALPHABET = st.sampled_from(
    [*"badokilu .?#[]", "\n", "\r", "\t", "\0", "\u2028", "é", "世", "\u0300"]
)


@pytest.fixture(scope="module")
def tokenizer(small_vocabulary) -> FastTokenizer:
    return FastTokenizer(load_vocabulary(small_vocabulary))


@given(sentences=st.lists(st.text(ALPHABET, max_size=20), max_size=6))
def test_words_and_pieces(tokenizer: FastTokenizer, sentences: list[str]) -> None:
    vocabulary = tokenizer.vocabulary
    basic, pieces_of = BasicTokenizer(True), WordpieceTokenizer(vocabulary.ids)
    expected = [
        [[vocabulary.ids[piece] for piece in pieces_of.tokenize(word)]
         for word in basic.tokenize(sentence)]
        for sentence in sentences
    ]  # fmt: skip
    tokenized = tokenize_sentences(tokenizer, sentences)
    words = np.split(tokenized.ids, tokenized.word_splits[1:-1]) if tokenized.ids.size else []
    bounds = tokenized.sentence_splits
    assert [
        [words[i].tolist() for i in range(*bounds[row : row + 2])] for row in range(len(sentences))
    ] == expected
    assert tokenized.word_splits[0] == 0
    assert tokenized.word_splits[-1] == tokenized.ids.size
