"""Texts as BERT's features, by calling the tokenizer."""

import pytest

from bert_data.tokens.tokenizer import FastTokenizer
from tests.tokens.odd_texts import make_vocabulary

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
