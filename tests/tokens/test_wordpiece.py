"""The size of the trie; `test_tokenizer.py` compares its pieces with the definition."""

import numpy as np
import pytest

from bert_data.tokens import wordpiece
from bert_data.tokens.wordpiece import build_trie, number_characters


def test_a_trie_of_tokens_that_share_nothing_has_room() -> None:
    vocabulary = {chr(0x4E00 + i) + "x" * 50 + chr(0x4E00 + i): i for i in range(50)}
    trie = build_trie(vocabulary, number_characters(vocabulary))
    assert 50 * 51 == np.count_nonzero(trie.keys) < len(trie.keys)


def test_too_many_characters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordpiece, "SYMBOL_BITS", 3)
    assert len(number_characters(dict.fromkeys("abcdef", 0))) == 6
    with pytest.raises(ValueError, match="7 different characters; it may have at most 6"):
        number_characters(dict.fromkeys("abcdefg", 0))
