"""Texts and vocabularies that come to every corner of tokenizing, and what their ids must be."""

import functools
import unicodedata
from collections.abc import Iterable, Sequence

from hypothesis import strategies as st

import tokenization
from bert_data.tokens import vocabulary as vocabularies
from bert_data.tokens.definition import strip_accents
from bert_data.tokens.vocabulary import TokenTable

# Characters that each step of the definition treats in a way of its own.
ODD = [
    *"aA'.!:-^$_#0 \t\n\r",
    *"ΣσςßİıÅǅﬁⅣªʰ",
    *"\x00\x01\x0b\x0c\x1c\x1f\x7f\x85\xa0\xad",
    *"\u0300\u0301\u0323\u0334\u0345\u034f\u0903\u093e\u0488",  # marks of all kinds
    *"\u302e\u302f\u1b44\ua9c0\U00016ff0\U0001d165\U0001d166\U0001d16d\U0001d15f\U0001d1be",
    *"\u1680\u2003\u200b\u200d\u200e\u2028\u2029\u2060\u3000\ufeff\ufffd",
    *"각한\u1100\u1161\u11a8\u3131",
    *"東京\u3400\uf900\ufa0e\U00020000\U0002f800\U0002f81a々ー",
    *"\u037e\u0387\u1fef\u1fc1\u1f82\u212b\u2126\u0958\u0929\u0dde\ufb1d\ufb2c",
    *"\U00010400\U0001f600\U000e0001\ue000\uffff\U0010ffff",
    "a" * 199,
    "각" * 67,
]
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

odd_texts = st.lists(st.sampled_from(ODD), max_size=24).map("".join)
any_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
texts = st.one_of(odd_texts, any_texts, st.tuples(odd_texts, any_texts).map(" ".join))


@functools.cache
def code_points(step: int) -> list[str]:
    """All code points, or every so many of those of which thousands are alike."""
    return [
        point
        for number, point in enumerate(map(chr, range(0x110000)))
        if (category := unicodedata.category(point)) != "Cs"
        and (
            category not in {"Cn", "Co", "Lo", "So"}
            or number % step == 0
            or unicodedata.decomposition(point)
        )
    ]


def make_vocabulary(pieces: Iterable[str], first: Iterable[str] = ()) -> TokenTable:
    """A vocabulary as a file with lines before and after the special tokens would give it.

    It may have capitals, and says itself that text is lower-cased by default.
    """
    tokens = [*first, *SPECIAL, *pieces]
    ids = {token: number for number, token in enumerate(tokens)}
    return vocabularies.make_vocabulary("vocab.txt", "", tokens, ids, do_lower_case=True)


def defined_ids(vocabulary: TokenTable, do_lower_case: bool, text: str) -> list[int]:
    basic = tokenization.BasicTokenizer(do_lower_case)
    pieces = tokenization.WordpieceTokenizer(vocabulary.ids)
    return [vocabulary.ids[p] for word in basic.tokenize(text) for p in pieces.tokenize(word)]


def letters_of(characters: Sequence[str]) -> list[str]:
    """The results of the characters in either casing, of which a vocabulary's pieces are made."""
    cased = "".join(characters)
    lower = strip_accents(cased.lower())
    return sorted({char for char in cased + lower if not char.isspace()})


LETTERS = letters_of(ODD)
few_letters = st.text("abcd東 ", max_size=40)  # so that pieces are found, and longer ones
pieces_of_odd = st.lists(
    st.tuples(
        st.sampled_from(["", "##"]), st.text(LETTERS, max_size=4) | st.text("abc東", max_size=6)
    ).map("".join),
    max_size=40,
)
EVERY_LETTER = make_vocabulary([*LETTERS, *(f"##{letter}" for letter in LETTERS), "a" * 150])
