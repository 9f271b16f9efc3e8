"""Rows of labelled texts as their formats tell them; mistakes with file and line."""

import csv
import gzip
import json
from pathlib import Path

import pytest
import zstandard

from bert_data.errors import CorruptDataError
from bert_data.labelled.label_config import LabelledTextConfig
from bert_data.labelled.texts import read_labelled_texts

TEXTS = ["plain", 'comma, and "quote"', "two\nlines", "tab\there", " ", "", "ünï 世界"]


def rows(path: Path, content: bytes, **options) -> list[tuple[int, tuple, str | int]]:
    path.write_bytes(content)
    texts = read_labelled_texts(str(path), LabelledTextConfig(**options))
    return [(row.line, row.texts, row.label) for row in texts]


def error(path: Path, content: bytes, **options) -> str:
    with pytest.raises(ValueError) as caught:
        rows(path, content, **options)
    assert str(caught.value).startswith(f"{path}:")
    return str(caught.value).removeprefix(f"{path}:")


def test_csv_as_written_by_python(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label", "text"])
        writer.writerows((number, f" c{number} ", text) for number, text in enumerate(TEXTS))
    rows_read = rows(path, path.read_bytes())
    assert [texts for _, texts, _ in rows_read] == [(text,) for text in TEXTS]
    assert [label for _, _, label in rows_read] == [f"c{number}" for number in range(len(TEXTS))]
    assert [line for line, _, _ in rows_read] == [2, 3, 4, 6, 7, 8, 9]  # row 2 has two lines


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_tsv_knows_no_quotes(tmp_path: Path, ending: str) -> None:
    content = b'\xef\xbb\xbftext\tlabel\r\nso "so\t1\r\n\r\n"\t-2\n'
    compress = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[ending]
    rows_read = rows(tmp_path / f"a.tsv{ending}", compress(content))
    assert rows_read == [(2, ('so "so',), "1"), (4, ('"',), "-2")]


def test_json_lines(tmp_path: Path) -> None:
    lines = [{"a": text, "b": [text, "x"], "y": number} for number, text in enumerate(TEXTS)]
    content = "\n\n".join(json.dumps(line) for line in lines).encode()
    for name in ("a.jsonl", "a.json"):
        rows_read = rows(tmp_path / name, content, text_columns=("b", "a"), label_column="y")
        assert rows_read == [
            (1 + 2 * number, ((text, "x"), text), number) for number, text in enumerate(TEXTS)
        ]
    with pytest.raises(CorruptDataError, match="it is a JSON array, not JSON Lines"):
        rows(tmp_path / "a.json", json.dumps(lines, indent=1).encode())


def test_names_of_columns_and_format_by_option(tmp_path: Path) -> None:
    names = {"column_names": ("label", "text"), "input_format": "tsv"}
    assert rows(tmp_path / "a.txt", b"1\tone\n", **names) == [(1, ("one",), "1")]
    reason = error(tmp_path / "a.txt", b"label\ttext\n1\tone\n", **names)
    assert reason == "1: these are the names of the columns; remove the line"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", b"text,label\na,1\nb\n", "3: 1 columns; 2 are named (text, label)"),
        ("a.csv", b"text,label\na,1\n\"b,1\nc,1\n", "3: not CSV (unexpected end of data)"),
        ("a.csv", b"text,label\n\"a\"b,1\n", "2: not CSV ("),
        ("a.csv", b"text,label\na,1\nb, \n", "3: the label is empty"),
        ("a.csv", b"text,class\na,1\n", "1: 0 columns are named 'label'; one is needed"),
        ("a.csv", b"text,label,text\na,1,b\n", "1: 2 columns are named 'text'; one is needed"),
        ("a.csv", b"text,label\na,1\ntext,label\n", "3: these are the names of the columns; re"),
        ("a.csv", b"", " is empty; the first line must name"),
        ("a.tsv", b"text\tlabel\na\t1\n\xff\t1\n", "3: not UTF-8 (invalid start byte); if it is"),
        ("a.tsv", b"text\tlabel\na\tb\t1\n", "2: 3 columns; 2 are named"),
        ("a.jsonl", b'{"text": "a", "label": 1}\n{"text": "a"}\n', "2: no field 'label'; the"),
        ("a.jsonl", b"\n[1]\n", "2: not a JSON object: '[1]'"),
        ("a.jsonl", b"{\n", "1: not JSON ("),
        ("a.jsonl", b"[" * 100_000, "1: unreadable JSON (nested too deeply)"),
        ("a.jsonl", b'{"text": 5, "label": 1}', "1: 'text' is a number; it must be"),
        ("a.jsonl", b'{"text": ["a", null], "label": 1}', "1: 'text' holds null; it must be"),
        ("a.jsonl", b'{"text": "a", "label": true}', "1: the label is true; it must be a text"),
        ("a.jsonl", b'{"text": "a", "label": 0.5}', "1: the label is 0.5; it must be a text"),
        ("a.jsonl", b'{"text": "\\ud800", "label": 1}', "1: 'text' contains a lone surrogate."),
        ("a.jsonl", b'{"text": "a", "label": "\\ud800"}', "1: 'label' contains a lone surrogate."),
        ("a.txt", b"text,label\n", " unknown ending; it must be .csv, .tsv, .jsonl or .j"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_file_and_line(tmp_path, name, content, reason):
    assert f"{error(tmp_path / name, content)}.".startswith(reason)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"input_format": "xml"}, "input_format is 'xml'"),
        ({"text_columns": ()}, "text_columns is ()"),
        ({"text_columns": ("a", "a")}, "the columns are ('a', 'a', 'label')"),
        ({"column_names": ("text", "x")}, "column_names is ('text', 'x'); 'label' is missing"),
        ({"column_names": ("text", "label", "x", "x")}, "column_names is"),
    ],
)
def test_settings_are_checked(options: dict, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        LabelledTextConfig(**options)
    assert reason in str(caught.value)
