"""Text that is not what its format says is noticed, and good text is not."""

import gzip
import json
import textwrap
from collections import Counter
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from bert_data.text.formats import read_documents
from bert_data.text.input_warnings import (
    SAMPLE_BYTES,
    add_left_out,
    describe_empty,
    ends_sentence,
    find_empty,
    noting_text,
    odd_lines,
    odd_rows,
    sample_files,
    warnings_of,
)
from bert_data.text.text_config import TextConfig

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


WRAPPED = textwrap.fill(" ".join(SENTENCES), 40)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (WRAPPED.encode(), "lines end without punctuation, as in wrapped prose"),
        ("\r".join(SENTENCES).encode(), "carriage returns where other files end lines"),
        ("\r\n".join(SENTENCES).encode(), None),
        (WRAPPED.encode("utf-16"), None),  # who reads it says so
        (b"<!doctype html>\n<title>A</title>\n" + b"<p>One.\n" * 100, "a.txt looks like HTML: its"),
        (
            b"\n = A title = \n\n A line of text . \n" * 40,
            "40 of the first 80 lines look like headings",
        ),
    ],
)
def test_what_one_file_looks_like(tmp_path: Path, content: bytes, told: str | None) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    sentences = look(path)
    assert len(sentences) == (told is not None)
    assert (told or "") in "".join(sentences)
    if content == WRAPPED.encode():
        assert look(path, are_sentences=False) == []


@pytest.mark.parametrize("line", ['{"text": "One. Two."}', '  {"a": 1}'])
def test_json(line: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(f"{line}\n".encode() * 3))
    (sentence,) = look(path, are_sentences=False)
    expected = f"3 of the first 3 lines look like JSON, as in {path}; `input_format=jsonl` reads it"
    assert sentence == expected


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
    ("lines", "are_ends"),
    [
        (["It ends.", 'He said "yes." ', "Really?)", "真的。", "и это всё…", ""], True),
        (["it goes on", "it goes on,", "chapter 7"], False),
    ],
)
def test_ends_of_sentences(lines: list[str], are_ends: bool) -> None:
    assert {ends_sentence(line) for line in lines} == {are_ends}


def test_rows_that_look_like_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    def look_at_rows(texts: list[str], **settings: str) -> list[str]:
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        return list(odd_rows([str(path)], TextConfig(**settings)))

    (sentence,) = look_at_rows(["", " = A title = \n", "", " A line . \n", " One more . \n"] * 20)
    assert sentence.startswith("of the first 100 rows 40 are blank and 20 are headings")
    assert sentence.endswith("`rows=wikitext` reads rows as lines")
    (sentence,) = look_at_rows(["", "A sentence.", "One more."] * 20)
    assert sentence.endswith("`rows=lines` reads rows as lines")
    assert look_at_rows(["A sentence.", "One more."] * 20) == []
    assert look_at_rows(["", "A text\nof lines.", "One more."] * 20) == []
    assert look_at_rows(["", " "] * 50) == []
    path.write_text("no JSON")
    assert list(odd_rows([str(path)], TextConfig())) == []


def test_each_format_is_looked_at_in_its_way(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text('{"text": "One."}\n' * 50)
    for input_format in ("lines", "prose"):
        config = TextConfig(input_format=input_format)
        (sentence,) = warnings_of([str(path)], config)
        assert "look like JSON" in sentence
    path.write_text('{"text": ""}\n{"text": "One."}\n' * 50)
    (sentence,) = warnings_of([str(path)], TextConfig(input_format="jsonl"))
    assert "50 are blank" in sentence
    for rows in ("documents", "lines"):
        assert not list(warnings_of([str(path)], TextConfig(input_format="jsonl", rows=rows)))
    assert not list(warnings_of([str(path)], TextConfig(input_format="html")))


def test_rare_names_of_what_was_left_out_are_joined() -> None:
    total = Counter[str]()
    for number in range(2001):
        add_left_out(total, Counter({"common": 2, f"rare {number}": 1}))
    assert total["common"] == 4002 and len(total) < 2000
    assert total.total() == 3 * 2001 and total["other names"] > 900


def test_few_of_many_empty_files_are_named() -> None:
    names = list("abcdefg")
    assert find_empty([*names, "a"], {"c"}) == ["a", "b", "d", "e", "f", "g"]
    assert [*describe_empty([], 3)] == []
    assert [*describe_empty(["b"], 1000)] == ["1 of 1,000 files gave no document: b"]
    assert [*describe_empty(names * 200, 2000)] == [
        "1,400 of 2,000 files gave no document: a, b, c, d, e and 1,395 more"
    ]


@pytest.mark.parametrize("input_format", ["jsonl", "parquet", "lines", "wikitext", "prose", "html"])
def test_files_with_text(input_format: str, tmp_path: Path) -> None:
    texts = {"a": "One.", "b": "", "c": "\u3000 \t\n \n", "d": "\n\nOne.", "e": " \n"}
    for name, text in texts.items():
        path = tmp_path / name
        if input_format == "parquet":
            parquet.write_table(pyarrow.table({"text": [text, ""]}), path)
        elif input_format == "jsonl":
            path.write_text(json.dumps({"text": ["", text]}) + '\n\n{"text": ""}\n')
        else:
            path.write_text(text)
    config, with_text = TextConfig(input_format=input_format), set[str]()
    paths = [str(tmp_path / name) for name in texts]
    list(noting_text(read_documents(paths, config), with_text))
    assert find_empty(paths, with_text) == [paths[1], paths[2], paths[4]]


def test_many_files_without_a_blank_line_are_no_document_each(tmp_path):
    paths = [str(tmp_path / f"{number}.txt") for number in range(20)]
    for path in paths:
        Path(path).write_text("The only line.\n")
    (sentence,) = warnings_of(paths, TextConfig())
    assert sentence.startswith("7 of 7 files looked into, of 20, have no blank line; the end of a")
    assert not list(warnings_of(paths, TextConfig(files_end_documents=True)))
    assert not list(warnings_of(paths[:9], TextConfig()))
    for path in paths:
        Path(path).write_text("The only line.\n\n")
    assert not list(warnings_of(paths, TextConfig()))
