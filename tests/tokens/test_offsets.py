"""Places of tokens in the text: those that the library `tokenizers` gives."""

import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.tokens.bert_rules import google_points, library_points, library_rules
from bert_data.tokens.tokenizer import FastTokenizer
from tests.tokens.odd_texts import EVERY_LETTER, code_points, make_vocabulary, odd_texts, texts

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def test_places_are_characters_of_the_text():
    vocabulary = make_vocabulary(["na", "##ive", "東", "!", "##\u1161", "\u1100"])
    tokenizer = FastTokenizer(vocabulary, True)
    text = "  Nai\u0308ve\x00 東? 가!"
    ids, offsets = tokenizer.encode_with_offsets(text)
    found = [(vocabulary.tokens[n], text[a:b]) for n, (a, b) in zip(ids, offsets, strict=True)]
    assert found == [
        ("na", "Na"), ("##ive", "i\u0308ve"), ("東", "東"), ("[UNK]", "?"),
        ("\u1100", "가"), ("##\u1161", "가"), ("!", "!"),
    ]  # fmt: skip


@given(st.one_of(odd_texts, texts), st.booleans())
def test_ids_are_those_of_encode(text, lower):
    tokenizer = FastTokenizer(EVERY_LETTER, lower)
    ids, offsets = tokenizer.encode_with_offsets(text)
    assert ids == tokenizer.encode(text)
    assert all(0 <= begin < end <= len(text) for begin, end in offsets)
    assert len(offsets) == len(ids)


def random_strings(number: int, lower: bool) -> list[str]:
    """Strings of neighbouring code points, of all scripts, with spaces, marks and punctuation.

    Code points that the library knows by another version of Unicode are left out.
    """
    drawn = random.Random(3)
    ours, its = google_points(lower).describe, library_points(lower, ()).describe
    points = [
        char
        for char in code_points(1)
        if unicodedata.category(char) not in ("Cn", "Co") and ours(char)[:2] == its(char)[:2]
    ]
    common = [*" .,'-aeÉß\u0301\u0308", "\u3000"]
    strings = []
    for _ in range(number):
        at = drawn.randrange(len(points))
        near = points[at : at + 40]
        chars = drawn.choices(near, k=drawn.randrange(1, 20)) + drawn.choices(common, k=6)
        drawn.shuffle(chars)
        strings.append("".join(chars))
    return strings


@pytest.mark.parametrize("lower", [False, True])
def test_places_are_those_of_tokenizers(lower):
    strings = random_strings(5000, lower)
    letters = sorted({char for text in strings for char in unicodedata.normalize("NFD", text)})
    pieces = [char for char in {*letters, *"".join(letters).lower()} if not char.isspace()]
    vocabulary = make_vocabulary([*pieces, *(f"##{char}" for char in pieces[::2])])
    tokenizer = FastTokenizer(vocabulary, lower)
    library = library_rules(vocabulary, lower, 200, SPECIAL)
    for text in strings:
        expected = library.encode_with_offsets(text)
        assert tokenizer.encode_with_offsets(text) == expected, ascii(text)


def test_a_tokenizer_file_has_the_places_of_its_library():
    tokenizer = FastTokenizer(EVERY_LETTER, True, 100, SPECIAL)
    ids, offsets = tokenizer.encode_with_offsets("a [SEP]\ud800 É")
    assert ids == tokenizer.encode("a [SEP]\ud800 É")
    assert offsets == [(0, 1), (2, 7), (9, 10)]
