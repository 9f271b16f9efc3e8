"""Text that is not what its format says is noticed, and good text is not."""

import gzip
import textwrap
from pathlib import Path

import pytest

from bert_data.text.oddities import SAMPLE_BYTES, ends_sentence, odd_lines, sample_files

SENTENCES = [f"this is sentence {i} of a text that goes on , and ends here ." for i in range(200)]


def look(path: Path, *, are_sentences: bool = True) -> list[str]:
    return list(odd_lines([str(path)], are_sentences=are_sentences))


def test_good_text_is_not_noticed(tmp_path: Path, small_text: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\n".join(SENTENCES))
    assert look(path) == look(small_text) == []
    path.write_text("a heading\n\n" * 10)  # too little to say
    assert look(path) == []
    path.write_text("")
    assert look(path) == []
    path.write_bytes(b"PAR1" + bytes(range(256)) * 100)  # refused when it is read
    assert look(path) == []
    chinese = "今天天气很好。\n他说：“我们走吧。”\n真的吗？\n"
    path.write_text(chinese * 100)
    assert look(path) == []


def test_wrapped_prose(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(textwrap.fill(" ".join(SENTENCES), 40))
    (sentence,) = look(path)
    assert "lines end without punctuation, as in wrapped prose" in sentence
    assert look(path, are_sentences=False) == []


@pytest.mark.parametrize(
    "line", ['{"text": "One. Two."}', '  {"a": 1}', '["One.", "Two."],', '[{"text": "a"}]']
)
def test_json(line: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(f"{line}\n".encode() * 3))
    (sentence,) = look(path, are_sentences=False)
    expected = f"3 of the first 3 lines look like JSON, as in {path}; --input_format=jsonl reads it"
    assert sentence == expected


def test_pages_with_tags(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("<!doctype html>\n<title>A page</title>\n" + "<p>One.\n" * 100)
    (sentence,) = look(path)
    assert sentence.startswith(f"{path} looks like HTML: its tags are read as text")


def test_damage_is_left_to_the_reading_of_all(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress("\n".join(SENTENCES).encode())[:100])
    assert look(path) == []


def test_a_little_of_some_files_is_read(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i:02d}" for i in range(30)]
    for path in paths:
        path.write_text("x")
    assert sample_files(list(map(str, paths))) == [str(path) for path in paths[::4]]
    assert sample_files([str(tmp_path), "s3://bucket/a"]) == []
    long = tmp_path / "long"
    long.write_text("words " * SAMPLE_BYTES)  # a line without an end
    assert look(long) == []


@pytest.mark.parametrize(
    ("line", "is_end"),
    [
        ("It ends.", True),
        ('He said "yes." ', True),
        ("Really?)", True),
        ("真的。", True),
        ("и это всё…", True),
        ("it goes on", False),
        ("it goes on,", False),
        ("chapter 7", False),
        ("", True),
    ],
)
def test_ends_of_sentences(line: str, is_end: bool) -> None:
    assert ends_sentence(line) == is_end
