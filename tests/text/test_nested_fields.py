"""Texts in fields of objects (JSON) and of structs (Parquet)."""

import dataclasses
import json
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from bert_data.text.documents import TextConfig
from bert_data.text.formats import find_plain_format, read_documents


def texts(path: Path, **settings: str) -> list[object]:
    blocks = read_documents([str(path)], TextConfig(**settings))
    return [document.text for block in blocks for document in block.documents]


META = [{"meta": {"text": f"text {n}", "by": {"name": f"name {n}"}}, "id": n} for n in range(5)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_field_within_an_object(tmp_path, name):
    path = tmp_path / name
    if name == "a.jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in META))
    else:
        parquet.write_table(pyarrow.Table.from_pylist(META), path, row_group_size=2)
    assert texts(path, text_field="meta.text") == [f"text {n}" for n in range(5)]
    assert texts(path, text_field="meta.by.name") == [f"name {n}" for n in range(5)]
    config = TextConfig(text_field="meta.text", keep_fields=True)
    documents = [d for block in read_documents([str(path)], config) for d in block.documents]
    assert documents[1].fields == {"meta": {"by": {"name": "name 1"}}, "id": 1}
    for field in ("meta.body", "meta.by.name.first", "id.text", "metatext"):
        with pytest.raises(ValueError, match=rf"no (field|column) '{field}' \(`text_field`\)"):
            texts(path, text_field=field)
    with pytest.raises(ValueError, match=r"must (be a text|hold texts)"):
        texts(path, text_field="meta.by")


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_field_whose_name_has_a_dot(tmp_path, name):
    rows = [{"a.b": "dotted", "a": {"b": "nested", "c.d": "both"}}]
    path = tmp_path / name
    if name == "a.jsonl":
        path.write_text(json.dumps(rows[0]))
        assert texts(path, text_field="a.b") == ["dotted"]
    else:
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
        assert texts(path, text_field="a.b") == ["dotted"]
    assert texts(path, text_field="a.c.d") == ["both"]


def test_an_object_that_is_missing_in_a_row(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([META[0], {"meta": None, "id": 1}]), path)
    with pytest.raises(ValueError, match=r"a\.parquet:2: 'meta.text' is null"):
        texts(path, text_field="meta.text")
    config = TextConfig(text_field="meta.text", keep_fields=True, on_error="skip")
    (block,) = read_documents([str(path)], config)
    assert len(block.documents) == len(block.skipped) == 1


@pytest.mark.parametrize("name", ["lines", "prose", "wikitext", "mediawiki", "epub"])
def test_a_format_without_fields_has_none_to_name(tmp_path, name):
    """Said before a file is read; formats of rows have them, whatever a row is."""
    sentence = f"text_field is 'body', but the format is {name}; `text_field` is for `input_format"
    paths = [str(tmp_path / "a.txt")]
    config = TextConfig(input_format=name, text_field="body")
    with pytest.raises(ValueError, match=f"^{sentence}=jsonl or parquet`$"):
        find_plain_format(paths, config)
    find_plain_format(paths, dataclasses.replace(config, text_field="text"))
    find_plain_format(paths, dataclasses.replace(config, input_format="jsonl", rows="lines"))
