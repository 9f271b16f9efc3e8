"""Merges that are learned from counted words, against the library's trainers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from bert_data.tokens import learning_merges
from bert_data.tokens.learning_merges import learn_merges
from tests.hypotheses import examples

ALPHABETS = ["ab", "abc", "abcdefgh", "aéß", "дом", "日本語", "कखगा", "אבג", "a😀𝔸é", "01.-"]


def words_of(letters: str) -> st.SearchStrategy[dict[str, int]]:
    words = st.text(letters, min_size=1, max_size=8) | st.text(letters[:2], min_size=1, max_size=40)
    return st.dictionaries(words, st.integers(1, 6) | st.integers(1, 5000), min_size=1, max_size=40)


def library(
    words: dict[str, int],
    kept: list[str],
    tokens: list[str],
    continuation: str,
    vocab_size: int,
    min_frequency: int,
) -> tuple[list[str], list[tuple[str, str]]]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.CharDelimiterSplit(" ")
    prefix = {"continuing_subword_prefix": continuation} if continuation else {}
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=tokens,
        initial_alphabet=kept,
        limit_alphabet=len(kept),
        show_progress=False,
        **prefix,
    )
    tokenizer.train_from_iterator((f"{word} " * count for word, count in words.items()), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return [*model["vocab"]], [*map(tuple, model["merges"])]


@examples(100)
@given(
    st.sampled_from(ALPHABETS).flatmap(words_of),
    st.integers(0, 3),
    st.sampled_from(["", "##"]),
    st.integers(0, 8) | st.integers(0, 1000),
    st.integers(1, 4) | st.integers(1, 5000),
    st.sampled_from([(1, 2, 1), (7, 16, 3), (1 << 18, 2, 2), (1 << 18, 1 << 16, 1 << 12)]),
)
def test_merges_are_the_librarys(words, num_dropped, continuation, more, min_frequency, sizes):
    """Characters may be left out, work interrupted anywhere, and tables grow."""
    kept = sorted(set("".join(words)))[num_dropped:] or ["x"]
    others = [continuation + character for character in kept] if continuation else []
    tokens = ["[PAD]", *kept, *others]
    expected = library(words, kept, tokens, continuation, len(tokens) + more, min_frequency)
    settings = {"continuation": continuation, "vocab_size": len(tokens) + more}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning_merges, "STEPS", sizes[0])
        patch.setattr(learning_merges, "FIRST_ROWS", sizes[1])
        patch.setattr(learning_merges, "MERGES", sizes[2])
        assert learn_merges(words, tokens, **settings, min_frequency=min_frequency) == expected
    # The library counts pairs by 32 bits.
    many = {word: count << 40 for word, count in words.items()}
    assert learn_merges(many, tokens, **settings, min_frequency=min_frequency << 40) == expected
