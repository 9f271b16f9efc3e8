"""The definition of tokenization, by hand-made examples and by digests of the reference's ids."""

from pathlib import Path

import pytest

from bert_data.tokens import definition
from bert_data.tokens.definition import (
    BasicTokenizer,
    FullTokenizer,
    WordpieceTokenizer,
    load_vocab,
    validate_case_matches_checkpoint,
)
from tests.goldens.subclasses import SUBCLASSES

PIECES = ["[UNK]", "[CLS]", "want", "##want", "##ed", "un", "runn", "##ing", ",", "!", "##!", "東"]


@pytest.fixture
def vocabulary(tmp_path: Path) -> Path:
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{piece}\n" for piece in PIECES), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" \tHeLLo!how  \n Are yoU?  ", ["hello", "!", "how", "are", "you", "?"]),
        ("Ångström naïve E\u0301LAN", ["angstrom", "naive", "elan"]),
        ("ah\u535a\u63a8zz", ["ah", "\u535a", "\u63a8", "zz"]),
        ("a\u200bb\x00c\ufffdd\xade", ["abcde"]),
        ("a\u00a0b\u2028c\u3000d\x0be", ["a", "b", "c", "de"]),
        ("ΣΟΦΟΣ ΣΟΦΟΣ. Σ", ["σοφος", "σοφος", ".", "σ"]),
        ("한국어", ["\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165"]),
        ("x^2+y=$5…", ["x", "^", "2", "+", "y", "=", "$", "5", "…"]),
        ("\u0301 \u0301\u0302", []),
        ("\u2f00\uf900", ["\u2f00", "\u8c48"]),
        ("[CLS]", ["[", "cls", "]"]),
    ],
)
def test_words_lower_cased(text: str, words: list[str]) -> None:
    assert BasicTokenizer(do_lower_case=True).tokenize(text) == words
    assert BasicTokenizer().tokenize(text.encode()) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("HeLLo!\x85Ångström", ["HeLLo", "!", "Ångström"]),
        ("e\u0301\u00ad\u0302", ["e\u0301\u0302"]),
        ("\u0301", ["\u0301"]),
        ("\uf900 한", ["\uf900", "한"]),
    ],
)
def test_words_cased(text: str, words: list[str]) -> None:
    assert BasicTokenizer(do_lower_case=False).tokenize(text) == words


def test_pieces(vocabulary: Path) -> None:
    pieces = WordpieceTokenizer(vocab=load_vocab(vocabulary))
    assert pieces.tokenize("") == []
    assert pieces.tokenize("unwanted running") == ["un", "##want", "##ed", "runn", "##ing"]
    assert pieces.tokenize("unwantedX running") == ["[UNK]", "runn", "##ing"]
    assert pieces.tokenize("wanted!") == ["want", "##ed", "##!"]


def test_a_word_of_more_than_the_limit_is_unknown() -> None:
    pieces = WordpieceTokenizer({"a": 0, "##a": 1}, unk_token="?")
    assert pieces.tokenize("a" * 200) == ["a"] + ["##a"] * 199
    assert pieces.tokenize("a" * 201) == ["?"]
    short = WordpieceTokenizer({"a": 0, "##a": 1}, max_input_chars_per_word=2)
    assert short.tokenize("aa aaa") == ["a", "##a", "[UNK]"]


def test_text_to_ids_and_back(vocabulary: Path) -> None:
    tokenizer = FullTokenizer(vocabulary)
    tokens = tokenizer.tokenize("UNwant\u00e9d,running 東 [CLS]")
    assert tokens == ["un", "##want", "##ed", ",", "runn", "##ing", "東", "[UNK]", "[UNK]", "[UNK]"]
    ids = tokenizer.convert_tokens_to_ids(tokens)
    assert ids == [5, 3, 4, 8, 6, 7, 11, 0, 0, 0]
    assert tokenizer.convert_ids_to_tokens(ids) == tokens
    assert definition.convert_tokens_to_ids(tokenizer.vocab, tokens) == ids
    assert definition.convert_ids_to_tokens(tokenizer.inv_vocab, ids) == tokens
    with pytest.raises(KeyError):
        tokenizer.convert_tokens_to_ids(["missing"])


def test_upper_case_is_kept_when_told(vocabulary: Path) -> None:
    tokenizer = FullTokenizer(vocabulary, do_lower_case=False)
    assert tokenizer.tokenize("Want want") == ["[UNK]", "want"]


@pytest.mark.parametrize("function", [definition.convert_to_unicode, definition.printable_text])
def test_text_of_either_type_becomes_str(function) -> None:
    assert function("é") == "é"
    assert function(b"\xc3\xa9\xff!") == "é!"
    with pytest.raises(ValueError, match="int"):
        function(5)


def test_an_overridden_step_serves_the_full_tokenizer(vocabulary: Path) -> None:
    tokenizer = FullTokenizer(vocabulary)
    tokenizer.basic_tokenizer = SUBCLASSES["ideographs_in_words"](BasicTokenizer)()
    assert tokenizer.tokenize("東 東東") == ["東", "[UNK]"]


def test_casing_is_compared_with_the_released_models_name() -> None:
    check = validate_case_matches_checkpoint
    check(True, None)
    check(False, "")
    check(False, "/models/my_uncased/bert_model.ckpt")
    check(False, "uncased_L-12_H-768_A-12")
    check(True, "gs://b/uncased_L-12_H-768_A-12/bert_model.ckpt")
    check(False, "/models/multi_cased_L-12_H-768_A-12/bert_model.ckpt")
    with pytest.raises(ValueError, match="`do_lower_case=True`"):
        check(False, "/models/chinese_L-12_H-768_A-12/bert_model.ckpt")
    with pytest.raises(ValueError, match="`do_lower_case=False`"):
        check(True, "/models/cased_L-24_H-1024_A-16/bert_model.ckpt")
