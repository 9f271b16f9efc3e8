"""Vocabulary files are read; some are refused, and mistakes are warned of."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from absl import logging

import tokenization
from bert_data.tokens.definition import load_vocab
from bert_data.tokens.vocabulary import load_vocabulary

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@pytest.fixture
def warnings_told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    told: list[str] = []
    monkeypatch.setattr(logging, "warning", lambda text, *args: told.append(text % args))
    return told


def write(folder: Path, *tokens: str) -> Path:
    path = folder / "vocab.txt"
    path.write_bytes("".join(f"{token}\n" for token in tokens).encode())
    return path


def test_a_plain_vocabulary(tmp_path: Path, warnings_told: list[str]) -> None:
    path = write(tmp_path, *SPECIAL, "walk", "##ing", "##", "#")
    vocabulary = load_vocabulary(path)
    assert vocabulary.ids == tokenization.load_vocab(path)
    assert (vocabulary.size, vocabulary.path) == (9, str(path))
    special = [getattr(vocabulary, f"{name}_id") for name in ("pad", "unk", "cls", "sep", "mask")]
    assert special == [0, 1, 2, 3, 4]
    assert vocabulary.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert list(vocabulary.tokens[5:]) == ["walk", "##ing", "##", "#"]
    assert vocabulary.continuation.dtype == np.bool_
    assert vocabulary.continuation.tolist() == [False] * 6 + [True, True, False]
    assert vocabulary.word_ids.dtype == np.int32
    assert vocabulary.word_ids.tolist() == list(range(9))
    assert not warnings_told
    assert "size=9" in repr(vocabulary)


def test_duplicates_and_empty_lines_are_told_and_kept(tmp_path, warnings_told):
    path = write(tmp_path, *SPECIAL, "a", "", "b", "a", "", "c", "a")
    vocabulary = load_vocabulary(path)
    assert vocabulary.ids == tokenization.load_vocab(path)
    assert vocabulary.size == 12
    # The keys in order: the five special ones, "a" (last on id 11), "" (last on id 9), "b", "c".
    assert vocabulary.word_ids.tolist() == [0, 1, 2, 3, 4, 11, 9, 7, 10]
    assert len(warnings_told) == 1
    assert "lines 7, 10 are empty" in warnings_told[0]
    assert "lines 6, 9 are repeated" in warnings_told[0]


def test_many_duplicates_are_counted(tmp_path: Path, warnings_told: list[str]) -> None:
    load_vocabulary(write(tmp_path, *SPECIAL, *"xxxxxxxxx"))
    assert "lines 6, 7, 8, 9, 10 and 3 more are repeated" in warnings_told[0]


@pytest.mark.parametrize(
    ("tokens", "pad_id", "told"),
    [
        (SPECIAL[1:], 0, "[PAD] is missing"),
        (("\ufeff[PAD]", *SPECIAL[1:]), 0, "the byte order mark (BOM) before line 1 is part of"),
        ((*SPECIAL[1:], "[PAD]"), 4, "[PAD] is on line 5"),
    ],
)
def test_padding_that_is_not_first_is_told(tmp_path, warnings_told, tokens, pad_id, told):
    assert load_vocabulary(write(tmp_path, *tokens)).pad_id == pad_id
    assert told in warnings_told[0]


def test_a_tokenizer_file_in_place_of_a_vocabulary_is_told(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text('{\n  "version": "1.0"\n}\n')
    with pytest.raises(ValueError, match=r"in its 3 lines.* use `tokenizer_file`"):
        load_vocabulary(path)


def test_missing_special_tokens_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, "[PAD]", "[UNK]", "[SEP]", "a")
    with pytest.raises(ValueError, match=r"vocab\.txt has no \[CLS\], \[MASK\] in its 4 lines"):
        load_vocabulary(path)
    path = write(tmp_path, "\ufeff[UNK]", *SPECIAL[2:])
    with pytest.raises(ValueError, match=r"no \[UNK\] in its .*\(the byte order mark \(BOM\)"):
        load_vocabulary(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"[PAD]\nabc\0\n", "line 2 has a NUL byte"),
        (b"[PAD]\r\n[UNK]\r\n\xff\xfe\r\n", "not UTF-8: line 3 has an invalid start byte"),
    ],
)
def test_what_is_no_vocabulary_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=reason) as caught:
        load_vocabulary(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_vocabulary(tmp_path / "none.txt")
    with pytest.raises(IsADirectoryError):
        load_vocabulary(tmp_path)


@pytest.mark.parametrize("name", ["bert-base-uncased.txt", "bert-base-chinese.txt"])
def test_released_vocabularies(shared: Path, name: str, warnings_told: list[str]) -> None:
    path = shared / "data/vocab" / name
    vocabulary = load_vocabulary(path)
    assert list(vocabulary.ids.items()) == list(tokenization.load_vocab(path).items())
    assert max(vocabulary.ids.values()) == vocabulary.size - 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a\nb\n", {"a": 0, "b": 1}),
        (b"a\nb", {"a": 0, "b": 1}),
        (b"a\r\n\r\n b \n", {"a": 0, "": 1, "b": 2}),
        (b"a\nb\na\n", {"a": 2, "b": 1}),
        (b"a\rb\n\r", {"ab": 0}),
        (b"\xe2\x80\xa8a\x0b\nb\xc2\xa0c", {"a": 0, "b\u00a0c": 1}),
        (b"", {}),
    ],
)
def test_lines_of_a_vocabulary(tmp_path: Path, content: bytes, expected: dict[str, int]) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    vocabulary = load_vocab(path)
    assert list(vocabulary.items()) == list(expected.items())


def test_a_vocabulary_is_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"a\n\xff\n")
    with pytest.raises(UnicodeDecodeError):
        load_vocab(path)
