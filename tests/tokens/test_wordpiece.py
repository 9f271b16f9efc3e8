"""The trie against the definition, without the steps that come before it."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tokenization
from bert_data.kernels import kernel
from bert_data.tokens import wordpiece
from bert_data.tokens.wordpiece import UNKNOWN, append_pieces, build_trie, number_characters

UNK_ID = 9999


@kernel
def pieces_of(word, num_letters, trie, ids):
    return append_pieces(word, num_letters, trie, UNK_ID, ids, 0)


tokens = st.lists(
    st.tuples(st.sampled_from(["", "##"]), st.text("abc東", max_size=6)).map("".join),
    unique=True,
    max_size=30,
)


@given(pieces=tokens, words=st.lists(st.text("abcd東", min_size=1, max_size=12), max_size=8))
@example(pieces=[], words=["a"])
@example(pieces=["##", ""], words=["a", "aa"])
@example(pieces=["a", "##a", "##aab", "aaaa"], words=["aaaab", "aaaaa", "aaa"])
def test_pieces_equal_the_definition(pieces: list[str], words: list[str]) -> None:
    vocabulary = {piece: 7 * number for number, piece in enumerate(pieces)}
    symbols = number_characters(vocabulary)
    trie = build_trie(vocabulary, symbols)
    definition = tokenization.WordpieceTokenizer(vocabulary)
    for word in words:
        letters = np.array([symbols.get(char, UNKNOWN) for char in word], np.int32)
        ids = np.zeros(len(word), np.int32)
        num = pieces_of(letters, len(word), trie, ids)
        expected = [vocabulary.get(piece, UNK_ID) for piece in definition.tokenize(word)]
        assert ids[:num].tolist() == expected


def test_a_trie_of_tokens_that_share_nothing_has_room() -> None:
    vocabulary = {chr(0x4E00 + i) + "x" * 50 + chr(0x4E00 + i): i for i in range(50)}
    trie = build_trie(vocabulary, number_characters(vocabulary))
    assert 50 * 51 == np.count_nonzero(trie.keys) < len(trie.keys)


def test_too_many_characters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordpiece, "SYMBOL_BITS", 3)
    assert len(number_characters(dict.fromkeys("abcdef", 0))) == 6
    with pytest.raises(ValueError, match="7 different characters; it may have at most 6"):
        number_characters(dict.fromkeys("abcdefg", 0))
