"""Words in a graph against `tokenization.BasicTokenizer`: any text, any bytes."""

from collections.abc import Callable

import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tokenization
from bert_data.hub.words import WordSplitter
from tests.tokens.odd_texts import texts

Split = Callable[[list[bytes]], list[list[str]]]

pieces_of_bytes = st.sampled_from(
    [
        *(char.encode() for char in "aΣé東각\u0301\ufeff\ufffd\uffff\x00 \U0001f600"),
        b"\xed\xa0\x80",  # a surrogate
        b"\xc0\x80",  # NUL in two bytes
        b"\xf4\x90\x80\x80",  # beyond the last code point
        *(b"\xe2\x82", b"\xf0\x9f\x98", b"\xc3", b"\xe0\x80", b"\x80", b"\xf5", b"\xff"),
    ]
)
odd_bytes = st.lists(st.one_of(pieces_of_bytes, st.binary(max_size=3)), max_size=12).map(b"".join)


@pytest.fixture(scope="module")
def split() -> dict[bool, Split]:
    def make(lower: bool) -> Split:
        splitter = WordSplitter(lower)
        function = tf.function(
            splitter.__call__, input_signature=[tf.TensorSpec([None], tf.string)]
        )

        def run(batch: list[bytes]) -> list[list[str]]:
            words = function(tf.constant(batch, tf.string, [len(batch)])).to_list()
            return [[word.decode() for word in of_text] for of_text in words]

        return run

    return {lower: make(lower) for lower in (False, True)}


def defined_words(lower: bool, text: bytes | str) -> list[str]:
    words = tokenization.BasicTokenizer(lower).tokenize(text)
    return [word if len(word) <= 200 else " " for word in words]


@pytest.mark.slow
@settings(max_examples=1500)
@given(batch=st.lists(texts, max_size=4), lower=st.booleans())
@example(batch=["ΑΣ\u0345Σ' Σ'ς AΣ\u00ad\u0345a\u2028Σ aΣ東Σ Σ\xa0Σa"], lower=True)
@example(batch=["a\U0001d165\u0301\u302ea", "\u302e\U0001d165 a\u302e\u0488\U0001d165"], lower=True)
@example(batch=["\U0001d15f\u0301\U0001d16d\U0001d165"], lower=True)
@example(batch=["a\u302f\u0eb1\U00016ff0", "a\u302f\x00\U00016ff0", "\u302f"], lower=True)
@example(batch=["AΣ", "", "Σ", "a", " Σ"], lower=True)
@example(batch=["e\x00\u0301\u00ad\u0323x"], lower=False)
def test_words_of_any_text(split: dict[bool, Split], batch: list[str], lower: bool) -> None:
    words = split[lower]([text.encode() for text in batch])
    assert words == [defined_words(lower, text) for text in batch]


@pytest.mark.slow
@settings(max_examples=600)
@given(batch=st.lists(odd_bytes, max_size=4), lower=st.booleans())
def test_words_of_any_bytes(split: dict[bool, Split], batch: list[bytes], lower: bool) -> None:
    assert split[lower](batch) == [defined_words(lower, text) for text in batch]


@pytest.mark.parametrize("length", [199, 200, 201])
def test_the_limit_counts_letters_after_decomposition(
    split: dict[bool, Split], length: int
) -> None:
    for text in ("a" * length, "á" * length + "!", "가" * (length // 2) + "a" * (length % 2)):
        words = split[True]([text.encode(), b"b"])
        assert words == [defined_words(True, text), ["b"]]
        assert (words[0][0] == " ") == (length > 200)
