"""Ids to words, and texts as BERT's features, by calling the tokenizer."""

import string

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bert_data.tokens.definition import BasicTokenizer
from bert_data.tokens.tokenizer import FastTokenizer, join_words
from tests.tokens.odd_texts import EVERY_LETTER, make_vocabulary, texts

CASED, UNCASED = (FastTokenizer(EVERY_LETTER, lower) for lower in (False, True))


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ("un ##aff ##able ##s , cat", "unaffables , cat"),
        ("##able ##s cat", "##ables cat"),
        ("[CLS] ##a b [SEP] ##c ##d [PAD] [PAD]", "[CLS] ##a b [SEP] ##cd [PAD] [PAD]"),
        ("a [MASK] ##b [UNK] c", "a [MASK] ##b [UNK] c"),
        ("# ## ##", "#"),
        ("", ""),
    ],
)
def test_pieces_are_joined_to_pieces(tokens, words):
    assert " ".join(join_words(tokens.split(), skip_special_tokens=False)) == words


def test_special_tokens_can_be_left_out():
    tokens = ["[CLS]", "a", "[MASK]", "##b", "[UNK]", "c", "##d", "[SEP]", "##e", "[PAD]", "[PAD]"]
    assert join_words(tokens, skip_special_tokens=True) == ["a", "##b", "cd", "##e"]
    assert UNCASED.decode([2, 3, 0], skip_special_tokens=True) == ""


@given(text=texts, lower=st.booleans())
def test_the_words_of_a_text_come_back(text, lower):
    tokenizer = UNCASED if lower else CASED
    ids = tokenizer.encode(text)
    assume(EVERY_LETTER.unk_id not in ids)
    assert tokenizer.decode(ids) == " ".join(BasicTokenizer(lower).tokenize(text))


@given(text=texts)
def test_decoded_ids_are_encoded_as_they_were(text):
    ids = CASED.encode(text)
    assume(EVERY_LETTER.unk_id not in ids)
    assert CASED.encode(CASED.decode(ids)) == ids


@given(text=st.text([*string.printable, *"éÅßΣ東"]))
def test_so_are_lower_cased_ones_in_ordinary_text(text):
    alphabet = [*string.ascii_lowercase, *string.digits, *string.punctuation, *"ßσς東"]
    tokenizer = FastTokenizer(make_vocabulary([*alphabet, *(f"##{char}" for char in alphabet)]))
    ids = tokenizer.encode(text)
    assert tokenizer.encode(tokenizer.decode(ids)) == ids


@pytest.mark.parametrize("ids", [(2, 5), np.array([2, 5], np.uint16), iter([2, 5])])
def test_ids_of_any_kind(ids):
    assert UNCASED.decode(ids) == f"[CLS] {EVERY_LETTER.tokens[5]}"


@pytest.mark.parametrize("number", [-1, EVERY_LETTER.size])
def test_an_id_outside_the_vocabulary(number):
    largest = EVERY_LETTER.size - 1
    sentence = f"^{number} is not an id of the vocabulary, which has 0 to {largest}$"
    with pytest.raises(ValueError, match=sentence):
        UNCASED.decode([2, number])


TOKENIZER = FastTokenizer(make_vocabulary(["a", "b", "##c"]))
A, B, C = 5, 6, 7
CLS, SEP = 2, 3


def test_one_text():
    assert TOKENIZER("a bc") == {
        "input_ids": [CLS, A, B, C, SEP],
        "input_mask": [1, 1, 1, 1, 1],
        "segment_ids": [0, 0, 0, 0, 0],
    }
    assert TOKENIZER(b"a bc") == TOKENIZER("a bc")
    assert TOKENIZER("")["input_ids"] == [CLS, SEP]


def test_a_pair():
    assert TOKENIZER("a", "bc") == {
        "input_ids": [CLS, A, SEP, B, C, SEP],
        "input_mask": [1, 1, 1, 1, 1, 1],
        "segment_ids": [0, 0, 0, 1, 1, 1],
    }
    assert TOKENIZER("a", "")["segment_ids"] == [0, 0, 0, 1]


def test_many():
    assert TOKENIZER(["a", b""]) == {
        "input_ids": [[CLS, A, SEP], [CLS, SEP]],
        "input_mask": [[1, 1, 1], [1, 1]],
        "segment_ids": [[0, 0, 0], [0, 0]],
    }
    pairs = TOKENIZER(("a", "b"), ("b", "a"))
    assert pairs["input_ids"] == [[CLS, A, SEP, B, SEP], [CLS, B, SEP, A, SEP]]
    assert TOKENIZER([]) == {"input_ids": [], "input_mask": [], "segment_ids": []}


@pytest.mark.parametrize(
    ("text", "text_pair", "sentence"),
    [
        (["a", "b"], ["a"], "there are 2 texts and 1 pairs"),
        (["a"], "a", "texts is a single text; use encode"),
        ("a", ["a"], "Unsupported string type: <class 'list'>"),
        (["a", None], None, "Unsupported string type: <class 'NoneType'>"),
    ],
)
def test_what_does_not_fit_together(text, text_pair, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        TOKENIZER(text, text_pair)
