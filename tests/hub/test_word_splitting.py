"""Words in a graph against `tokenization.BasicTokenizer`: any text, any bytes."""

import re
import unicodedata
from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tokenizers import normalizers, pre_tokenizers

import tokenization
from bert_data.hub import word_splitting
from bert_data.hub.word_splitting import (
    BARRIER,
    COUNT_MASK,
    COUNT_SHIFT,
    LETTER_MASK,
    WordSplitter,
    code_point_arrays,
)
from bert_data.tokens.bert_rules import Action, CodePoint, PointRules, library_points
from bert_data.tokens.vocabulary import SPECIAL
from tests.hypotheses import examples
from tests.rows import mostly_slow
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


def make_split(lower: bool, added: tuple[str, ...] | None = None) -> Split:
    splitter = WordSplitter(lower, added=added)
    function = tf.function(splitter.__call__, input_signature=[tf.TensorSpec([None], tf.string)])

    def run(batch: list[bytes]) -> list[list[str]]:
        words = function(tf.constant(batch, tf.string, [len(batch)])).to_list()
        return [[word.decode() for word in of_text] for of_text in words]

    return run


@pytest.fixture(scope="module")
def split() -> dict[bool, Split]:
    return {lower: make_split(lower) for lower in (False, True)}


def defined_words(lower: bool, text: bytes | str) -> list[str]:
    words = tokenization.BasicTokenizer(lower).tokenize(text)
    return [word if len(word) <= 200 else " " for word in words]


@pytest.mark.slow
@examples(160)
@given(batch=st.lists(texts | odd_bytes, max_size=4), lower=st.booleans())
@example(batch=["ΑΣ\u0345Σ' Σ'ς AΣ\u00ad\u0345a\u2028Σ aΣ東Σ Σ\xa0Σa"], lower=True)
@example(batch=["a\U0001d165\u0301\u302ea", "\u302e\U0001d165 a\u302e\u0488\U0001d165"], lower=True)
@example(batch=["\U0001d15f\u0301\U0001d16d\U0001d165"], lower=True)
@example(batch=["a\u302f\u0eb1\U00016ff0", "a\u302f\x00\U00016ff0", "\u302f"], lower=True)
@example(batch=["AΣ", "", "Σ", "a", " Σ"], lower=True)
@example(batch=["e\x00\u0301\u00ad\u0323x"], lower=False)
def test_words_of_any_text(split: dict[bool, Split], batch: list[str | bytes], lower: bool) -> None:
    words = split[lower]([text.encode() if isinstance(text, str) else text for text in batch])
    assert words == [defined_words(lower, text) for text in batch]


@pytest.fixture(scope="module")
def library_split() -> dict[bool, Split]:
    """The words of a tokenizer.json."""
    return {lower: make_split(lower, SPECIAL) for lower in (False, True)}


def library_words(lower: bool, text: str) -> list[str]:
    normalizer = normalizers.BertNormalizer(lowercase=lower)
    found = []
    for part in re.split(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])", text):
        if part in SPECIAL:
            found.append(part)
            continue
        normal = normalizer.normalize_str(part)
        found += [word for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normal)]
    return [word if len(word) <= 200 else " " for word in found]


@pytest.mark.slow
@examples(60)
@given(
    batch=st.lists(st.lists(st.one_of(texts, st.sampled_from(SPECIAL))).map("".join), max_size=3),
    lower=st.booleans(),
)
@example(batch=["a [SEP] b[MASK][MASK]c[[CLS]]", "[SE", "P] [sep]"], lower=True)
@example(batch=["ΑΣ ΣΑΣ", "\ue000a\uf900 \U000f0000", "e\u0323\u0301 \u0301\u0323"], lower=True)
@example(batch=["ΑΣ [MASK]\ue000", "É\uf900"], lower=False)
@example(batch=["\u302e\U00016ff0", "a\u302f\U0001d165\U00016ff1"], lower=True)  # not moved
def test_words_of_a_tokenizer_file(
    library_split: dict[bool, Split], batch: list[str], lower: bool
) -> None:
    batch = [text.encode(errors="replace").decode() for text in batch]
    assume(not any(unicodedata.category(char) == "Cn" for text in batch for char in text))
    words = library_split[lower]([text.encode() for text in batch])
    assert words == [library_words(lower, text) for text in batch]


@mostly_slow("lower", [False, True])
def test_pages_of_a_tokenizer_file_are_as_their_code_points(lower: bool) -> None:
    points, arrays = library_points(lower, SPECIAL), code_point_arrays(lower, SPECIAL)
    for code in [0x9FFF, 0xE000, 0xE0F0, 0xFFFFE, 0xFFFFF, 0x10FFFD, 0x10FFFF, 0x50000, 0xEFFFF]:
        entry = int(arrays.entries[code])
        letters = points.describe(chr(code)).letters
        assert entry >> COUNT_SHIFT & COUNT_MASK == len(letters)
        assert not letters or entry & LETTER_MASK == ord(letters)


@pytest.mark.slow
@pytest.mark.parametrize("length", [199, 200, 201])
def test_the_limit_counts_letters_after_decomposition(
    split: dict[bool, Split], length: int
) -> None:
    for text in ("a" * length, "á" * length + "!", "가" * (length // 2) + "a" * (length % 2)):
        words = split[True]([text.encode(), b"b"])
        assert words == [defined_words(True, text), ["b"]]
        assert (words[0][0] == " ") == (length > 200)


def test_marks_are_apart_from_barriers() -> None:
    # The graph counts the barriers before a code point; one amid its own letters it would not see.
    arrays = code_point_arrays(True)
    counts = arrays.entries >> COUNT_SHIFT & COUNT_MASK
    assert not (arrays.entries & BARRIER != 0)[counts > 0].any()
    assert set(arrays.mark_classes.tolist()) <= set(range(1, 255))
    assert len(arrays.mark_letters) == len(arrays.mark_classes) > 10
    assert (np.diff(arrays.mark_letters) > 0).all()


def test_what_cannot_be_expressed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unusual(char: str) -> CodePoint:
        return CodePoint(Action.UNUSUAL)

    rules = PointRules(unusual, lambda text: False)
    monkeypatch.setattr(word_splitting, "google_points", lambda _: rules)
    with pytest.raises(ValueError, match=r"U\+0000 is tokenized in a way that tables cannot"):
        code_point_arrays.__wrapped__(True)
