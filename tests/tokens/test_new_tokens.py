"""The right words are chosen for a vocabulary, and get the right places."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.tokens.new_tokens import (
    choose_new_tokens,
    count_split_words,
    extend_tokens,
    join_word,
    read_new_tokens,
)
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.vocabulary import TokenTable, load_vocabulary

SPECIAL = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]"]
PIECES = ["a", "b", "c", "##a", "##b", "##c", "ab", "##bc", "1", "##1", ","]


def vocabulary_of(folder: Path, tokens: list[str]) -> TokenTable:
    path = folder / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in tokens))
    return load_vocabulary(path)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> FastTokenizer:
    return FastTokenizer(vocabulary_of(tmp_path_factory.mktemp("vocabulary"), SPECIAL + PIECES))


def test_counts_words_of_several_pieces(tokenizer: FastTokenizer) -> None:
    lines = ["ABCA b, bca", "", "abca x 11", "a\nbca"]
    words = count_split_words(lines, tokenizer)
    named = {join_word(tokenizer.vocabulary, ids): count for ids, count in words.counts.items()}
    assert named == {"abca": 2, "bca": 2, "11": 1}
    assert words.num_words == 9  # x is [UNK]
    assert words.num_tokens == sum(map(len, tokenizer.encode_batch(lines)))
    assert [len(text) for text in words.samples] == [4, 3, 2]
    with pytest.raises(ValueError, match="the text has no words"):
        count_split_words(["", " "], tokenizer)


def test_chooses_words_that_save_most(tokenizer: FastTokenizer) -> None:
    # aaaa has four pieces, ca two; 11 has no letter.
    words = count_split_words(["ca ca ca aaaa ba ba ba 11 11 11 11 11 cb"], tokenizer)

    def choose(num_tokens: int, min_count: int) -> list[str]:
        return choose_new_tokens(
            words, tokenizer.vocabulary, num_tokens=num_tokens, min_count=min_count
        )

    assert choose(9, 1) == ["aaaa", "ba", "ca", "cb"]
    assert choose(1, 2) == ["ba"]
    with pytest.raises(ValueError, match=r"no word that is split into pieces occurs 4 times"):
        choose(9, 4)


def test_reads_words_as_the_tokenizer_sees_them(tokenizer: FastTokenizer, tmp_path: Path) -> None:
    path = tmp_path / "new.txt"
    path.write_text(" Caba \n\ncába\nab\nbb\n", encoding="utf-8")
    assert read_new_tokens(str(path), tokenizer) == ["caba", "bb"]
    path.write_text("bb\nco-vid\n")
    with pytest.raises(ValueError, match=r"new.txt, line 2: 'co-vid' is not one word but 3 .* - "):
        read_new_tokens(str(path), tokenizer)
    path.write_text("ab\n")
    with pytest.raises(ValueError, match="has no word that the vocabulary lacks"):
        read_new_tokens(str(path), tokenizer)
    path.write_text("b" * 300)
    with pytest.raises(
        ValueError, match="line 1: the word has 300 letters; those of more than 200"
    ):
        read_new_tokens(str(path), tokenizer)
    path.write_bytes(b"ab\xff")
    with pytest.raises(ValueError, match="not UTF-8"):
        read_new_tokens(str(path), tokenizer)


def test_unused_places_come_first(tokenizer: FastTokenizer) -> None:
    old = tokenizer.vocabulary
    tokens, ids = extend_tokens(old, ["x", "y", "z"], use_unused=True)
    assert ids == [1, 6, old.size]
    assert [tokens[number] for number in ids] == ["x", "y", "z"] and len(tokens) == old.size + 1
    tokens, ids = extend_tokens(old, ["x"], use_unused=False)
    assert (tokens, ids) == ([*old.tokens, "x"], [old.size])


@given(new=st.lists(st.text("abc", min_size=2, max_size=4), unique=True, min_size=1, max_size=4),
       text=st.text("abc1 ,", max_size=30))  # fmt: skip
def test_texts_without_new_tokens_keep_their_ids(tokenizer, tmp_path_factory, new, text):
    new = [word for word in new if word not in tokenizer.vocabulary.ids]
    tokens, ids = extend_tokens(tokenizer.vocabulary, new, use_unused=True)
    longer = FastTokenizer(vocabulary_of(tmp_path_factory.mktemp("longer"), tokens))
    assert longer.encode_batch(new) == [[number] for number in ids]
    for word in text.split():
        encoded = longer.encode(word)
        if not set(encoded) & set(ids):
            assert encoded == tokenizer.encode(word)
