"""Ids to words: WordPiece, byte-level BPE, SentencePiece, none; and words to ids in records."""

import json
from pathlib import Path

import numpy as np
import pytest

import bert_data
from bert_data.inspection.readable_ids import TokenNames, WordSearch, load_words
from bert_data.tokens.word_bits import words_by_mark
from tests.inspection.looking import TOKENS, ids, open_path
from tests.tokens.json_files import byte_pairs


def texts(words: TokenNames, numbers: list[int]) -> list[str]:
    return [words.join(numbers[begin:end]) for begin, end in words.divide(numbers)]


def test_pieces_are_joined_and_special_tokens_are_not(words: TokenNames) -> None:
    numbers = list(ids("[CLS] un ##believ ##able [SEP] ##able [PAD] the"))
    assert texts(words, numbers) == ["[CLS]", "unbelievable", "[SEP]", "##able", "[PAD]", "the"]
    assert words.mask_id == 4
    assert words.divide([]) == []


def test_without_a_vocabulary_ids_stay_numbers() -> None:
    words = load_words(None)
    assert texts(words, [101, 7, -1]) == ["101", "7", "-1"]
    assert not words.is_outside(10**9)
    assert words.mask_id is None


def test_an_id_outside_the_vocabulary(words: TokenNames) -> None:
    assert words.is_outside(len(TOKENS))
    assert words.is_outside(-1)
    assert not words.is_outside(0)
    assert words.token(999) == "999"


def test_byte_level_bpe(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    pieces = {"\u0120caf": 0, "\u00c3\u00a9": 1, "\u0120the": 2, "\u010a": 3, "<|end|>": 4}
    pieces |= {c: 5 + i for i, c in enumerate("caf\u0120\u00c3\u00a9the") if c not in pieces}
    model = models.BPE(vocab=pieces, merges=[], unk_token=None)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    words = load_words(str(path))
    assert texts(words, [0, 1, 2, 4, 0]) == ["caf\u00e9", "the", "<|end|>", "caf"]


def test_sentencepiece() -> None:
    tokens = ["<unk>", "\u2581the", "\u2581un", "able", "\u2581", "<0xC3>", "<0xA9>"]
    words = TokenNames("x", "y", tokens, word_bits=words_by_mark(tokens, [0], "\u2581"))
    assert texts(words, [1, 2, 3, 4]) == ["the", "unable", "\u2581"]
    assert texts(words, [1, 5, 6]) == ["the\u00e9"]


def test_a_tokenizer_json_of_bert_has_the_digest_of_its_vocabulary(
    words: TokenNames, tmp_path: Path
) -> None:
    from bert_data.tokens.hugging_face_files import tokenizer_json

    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json(TOKENS, do_lower_case=True))
    assert json.loads(path.read_text())["model"]["type"] == "WordPiece"
    loaded = load_words(str(path))
    assert (loaded.sha256, list(loaded.tokens)) == (words.sha256, TOKENS)


def test_a_word_is_found_whole_and_whatever_its_pieces(words: TokenNames) -> None:
    numbers = np.array(ids("the un ##believ ##able cat un ##believ cat ##able the cat"))
    places = {
        word: WordSearch(word, words, do_lower_case=True).find(numbers)
        for word in ("Unbelievable", "unbeliev", "cat", "the cat", "un", "home")
    }
    assert places == {
        "Unbelievable": {1, 2, 3},
        "unbeliev": {5, 6},
        "cat": {4, 10},
        "the cat": {9, 10},
        "un": set(),
        "home": set(),
    }


def test_special_tokens_are_found_as_such(words: TokenNames) -> None:
    search = WordSearch("[UNK]", words, do_lower_case=True)
    assert search.find(np.array(ids("the [UNK] cat [UNK]"))) == {1, 3}


def test_words_that_cannot_be_searched(words: TokenNames) -> None:
    with pytest.raises(ValueError, match=r"`word=zebra` is unknown to .*vocab.txt"):
        WordSearch("zebra", words, do_lower_case=True)
    with pytest.raises(ValueError, match="`word=The` is unknown to"):
        WordSearch("The", words, do_lower_case=False)
    with pytest.raises(ValueError, match="`word=cat` needs `vocab_file`"):
        WordSearch("cat", load_words(None), do_lower_case=True)


def test_an_empty_array_has_no_word(words: TokenNames) -> None:
    search = WordSearch("the cat", words, do_lower_case=True)
    assert search.find(np.empty(0, np.int64)) == set()
    assert search.find(np.array(ids("the"))) == set()


def test_special_tokens_are_those_that_the_records_were_made_with(tmp_path: Path) -> None:
    """A tokenizer's file may not say which they are; the manifest does, if a user named them."""
    path = byte_pairs(tmp_path / "t.json", ("@c", "@s", "@m"))
    named = {"cls": "@c", "sep": "@s", "mask": "@m"}
    (tmp_path / "text.txt").write_text("".join(f"a cat {n}\na dog {n}\n\n" for n in range(9)))
    records = tmp_path / "records"
    bert_data.create_records(
        tmp_path / "text.txt", records, tokenizer_file=path, special_tokens=named, num_workers=1
    )
    description = open_path(records).description
    assert description.special_tokens == named
    assert load_words(path).mask_id is None
    words = load_words(path, description.special_tokens)
    assert words.mask_id == words.tokens.index("@m") == 2
    search = WordSearch("@m", words, do_lower_case=True)
    assert search.find(np.array([0, 2, 1])) == {1}
