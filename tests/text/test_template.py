"""Rows with several fields become texts by a template, the same from every format."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import bert_data
from bert_data.text.documents import RowError, TextDocument
from bert_data.text.formats import read_documents
from bert_data.text.template import fill_template, parse_template
from bert_data.text.text_config import TextConfig
from bert_data.tokens.store_files import read_notes

ROWS: list[dict[str, Any]] = [
    {
        "id": 7,
        "instruction": "Add them.",
        "input": ["2", "3"],
        "meta": {"source": {"name": "sums é"}, "is_good": True, "score": 0.5},
        "messages": [{"role": "user", "content": "Hi {x}."}, {"role": "bot", "content": "Ho."}],
    },
    {
        "id": 8,
        "instruction": "",
        "input": [],
        "meta": {"source": {"name": ""}, "is_good": False, "score": 1.0},
        "messages": [],
    },
]
TEMPLATES = {
    "{instruction}": ["Add them.", ""],
    r"{id}:\t{instruction}\n{input}.": ["7:\tAdd them.\n2\n3.", "8:\t\n."],
    "{id}\n\n{id}": ["7\n\n7", "8\n\n8"],
    "{meta.source.name} {meta.is_good} {meta.score}": ["sums é true 0.5", " false 1.0"],
    r"{{{messages.content}}} \\n": ["{Hi {x}.\nHo.} \\n", "{} \\n"],
    "{messages.role}": ["user\nbot", ""],
}


def write_rows(folder: Path, rows: list[dict[str, Any]]) -> list[str]:
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    parquet.write_table(pa.Table.from_pylist(rows), folder / "a.parquet")
    return [str(folder / "a.jsonl"), str(folder / "a.parquet")]


def read(path: str, template: str, **settings: Any) -> list[TextDocument]:
    config = TextConfig(text_template=template, **settings)
    return [document for block in read_documents([path], config) for document in block.documents]


@pytest.mark.parametrize("template", TEMPLATES)
def test_both_formats_give_the_texts_of_a_template(template: str, tmp_path: Path) -> None:
    for path in write_rows(tmp_path, ROWS):
        documents = read(path, template)
        assert [document.text for document in documents] == TEMPLATES[template]
        assert [document.row for document in documents] == [1, 2]


def test_the_fields_of_the_text_are_not_kept_beside_it(tmp_path: Path) -> None:
    others = {"id": 7, "input": ["2", "3"]}
    for path in write_rows(tmp_path, ROWS):
        kept = read(path, "{instruction} {meta.score} {messages.role}", keep_fields=True)
        assert kept[0].fields == others
        needed = read(path, "{instruction}", keep_fields=True, needed_fields=("id",))
        assert needed[0].fields is not None and needed[0].fields["id"] == 7
        assert "instruction" not in needed[0].fields


def test_a_key_with_dots_comes_before_fields_within_fields() -> None:
    row = {"a.b": "whole", "a": {"b": "nested", "b.c": "last"}}
    assert fill_template("{a.b} {a.b.c}", row) == "whole last"


@pytest.mark.parametrize(
    ("template", "row", "reason"),
    [
        (
            "{output}",
            {"input": 1, "id": 2},
            r"no field 'output' \(`text_template`\); .* 'input', '",
        ),
        ("{m.b}", {"m": [{"b": "x"}, {"c": "y"}]}, "no field 'm.b' .* the fields are 'c'"),
        ("{m.b}", {"m": "text"}, "no field 'm.b' .*: 'm' is str, not an object"),
        ("{m.b.c}", {"m": {"b": None}}, "no field 'm.b.c' .*: 'm.b' is null, not an object"),
        ("{m}", {"m": None}, "'m' is null"),
        ("{m}", {"m": ["a", None]}, "'m' is null"),
        ("{m}", {"m": float("nan")}, "'m' is float"),
        ("{m}", {"m": {}}, "'m' is dict"),
        ("{m}", {"m": [{"role": "a"}]}, r"'m' is an object .* as in \{m.role\}"),
        ("{m}", {"m": "\ud800"}, "'m' contains a lone surrogate"),
    ],
)
def test_rows_that_a_template_cannot_write(template: str, row: dict[str, Any], reason: str) -> None:
    with pytest.raises(RowError, match=f"^{reason}"):
        fill_template(template, row)


@pytest.mark.parametrize("rows", [None, "lines"])
def test_a_missing_field_is_an_error_with_its_row(rows: str | None, tmp_path: Path) -> None:
    values = [{"a": "A.", "b": 1}, {"a": "B."}, {"a": "C.", "b": 3}]
    for path, reason in zip(
        write_rows(tmp_path, values), ("no field 'b' ", "'b' is null"), strict=True
    ):
        with pytest.raises(ValueError, match=f"{path}:2: {reason}"):
            read(path, "{a} {b}", rows=rows)
        texts = [each.whole_text for each in read(path, "{a} {b}", rows=rows, on_error="skip")]
        assert texts == (["A. 1", "C. 3"] if rows is None else ["A. 1\nC. 3"])
    with pytest.raises(ValueError, match=r"a.parquet: no column 'c' \(`text_template`\); the col"):
        read(path, "{a} {c}")


def test_a_template_goes_with_rows_and_without_text_field(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One.\n")
    with pytest.raises(ValueError, match=r"`text_template` is for `input_format=jsonl or parquet`"):
        read(str(tmp_path / "a.txt"), "{a}")
    with pytest.raises(ValueError, match="text_field is 'a', and `text_template` names"):
        read(write_rows(tmp_path, ROWS)[0], "{id}", text_field="a")


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("plain", "text_template is 'plain', which names no field"),
        ("", "text_template is '', which names no field"),
        ("{}", r"text_template has '\{\}' at character 1; "),
        ("a {b", r"text_template has '\{' at character 3; "),
        ("{a}}", r"text_template has '\}' at character 4; "),
        ("{ a}", r"text_template has '\{ a\}'"),
        ("{a.}", r"text_template has '\{a\.\}'"),
        ("{a!r}", r"text_template has '\{a!r\}'"),
        ("{a:>9}", r"text_template has '\{a:>9\}'"),
        ("{a[0]}", r"text_template has '\{a\[0\]\}'"),
        (r"{a}\x", r"text_template has '\\\\x' at character 4"),
        ("{a}\\", r"text_template has '\\\\' at character 4"),
    ],
)
def test_what_is_no_template_is_refused(template: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^{reason}"):
        parse_template(template)
    with pytest.raises(ValueError, match=f"^{reason}"):
        read(write_rows(tmp_path, ROWS)[0], template)


def test_stores_and_sets_are_made_with_one_template(tmp_path: Path, small_vocabulary: Path) -> None:
    """Rows of files and of Python give the same, and another template is another text."""
    files = write_rows(tmp_path, ROWS)
    template = "{instruction} {meta.source.name}"
    options = {"vocab_file": small_vocabulary, "text_template": template}
    texts = [row["instruction"] + " " + row["meta"]["source"]["name"] for row in ROWS]
    bert_data.tokenize(texts, tmp_path / "texts", vocab_file=small_vocabulary)
    for number, documents in enumerate((*files, ROWS, iter(ROWS))):
        prefix = tmp_path / f"store{number}"
        bert_data.tokenize(documents, prefix, **options)
        for ending in (".bin", ".idx"):
            expected = (tmp_path / f"texts{ending}").read_bytes()
            assert Path(f"{prefix}{ending}").read_bytes() == expected
    notes = read_notes(str(prefix))
    assert notes is not None and notes.settings["text_template"] == template
    with pytest.raises(
        FileExistsError, match=r"was made with text_template '\{instr.*', not '\{id"
    ):
        bert_data.tokenize(
            files[0], tmp_path / "store0", vocab_file=small_vocabulary, text_template="{id}"
        )


def test_curated_documents_are_those_of_a_template(tmp_path: Path) -> None:
    for documents in (*write_rows(tmp_path, ROWS), ROWS):
        result = bert_data.curate(
            documents, steps=["length:min_words=2"], text_template="{messages.content}"
        )
        assert result.texts == ["Hi {x}.\nHo."]
        assert result.kept[0].fields["instruction"] == "Add them."
        assert "messages" not in result.kept[0].fields
        assert result.kept[0].index == (0 if documents is ROWS else None)
        assert [each.index for each in result.rejected] == ([1] if documents is ROWS else [None])


@pytest.mark.parametrize(
    ("documents", "reason"),
    [
        (["Add."], "document 0 is str; with `text_template`, each document is a row"),
        ([{"a": "x"}, None], "document 1 is NoneType; with `text_template`, each document is"),
        ([{"a": "x"}, {"b": "y"}], "document 1: no field 'a' "),
        ([{"a": {1, 2}}], "document 0: Object of type set is not JSON serializable"),
        ({"train": [{"a": "x"}]}, r"documents is dict with \['train'\]; pass its rows, as in docu"),
    ],
)
def test_rows_of_python_that_are_refused(
    documents: Any, reason: str, tmp_path: Path, small_vocabulary: Path
) -> None:
    with pytest.raises(ValueError, match=f"^{reason}"):
        bert_data.tokenize(
            documents, tmp_path / "s", vocab_file=small_vocabulary, text_template="{a}"
        )
