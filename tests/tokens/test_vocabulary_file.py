"""The tokens and ids of vocabulary files: line ends, white space, duplicates, damage."""

from pathlib import Path

import pytest

from bert_data.tokens.vocabulary_file import load_vocab


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
