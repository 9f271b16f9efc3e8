"""Texts in fields of objects (JSON) and of structs (Parquet)."""

import dataclasses
import datetime
import json
from decimal import Decimal
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from bert_data.text.documents import DocumentBlock, Span
from bert_data.text.formats import find_plain_format, find_text_format, read_documents
from bert_data.text.text_config import TextConfig
from bert_data.tokens.filling import fill_store
from bert_data.tokens.tokenizer_file import load_tokenizer
from tests.hypotheses import examples
from tests.text.test_formats import read, texts
from tests.text.test_partitions import check, check_shards

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


WIKITEXT = ["", " = Robert = \n", "", " Robert is an actor . \n", " He sings\ntoo . \n", "",
            " = = Career = = \n", " He had a role . \n"]  # fmt: skip


def write(folder: Path, rows: list[str]) -> dict[str, str]:
    (folder / "a.txt").write_text("".join(f"{' '.join(row.split())}\n" for row in rows))
    lines = [json.dumps({"id": n, "text": row}) for n, row in enumerate(rows)]
    (folder / "a.jsonl").write_text("".join(f"{line}\n" for line in lines))
    table = pyarrow.table({"text": pyarrow.array(rows, pyarrow.string())})
    parquet.write_table(table, folder / "a.parquet", row_group_size=2)
    return {name: str(folder / name) for name in ("a.txt", "a.jsonl", "a.parquet")}


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_wikitext_as_the_hub_has_it(tmp_path, name):
    path = write(tmp_path, WIKITEXT)[name]
    robert = ("Robert is an actor .", "He sings too .")
    assert read(path, rows="wikitext") == [(4, robert), (8, ("He had a role .",))]
    assert read(path, rows="lines")[0] == (2, ("= Robert =",))
    assert len(read(path)) == len(read(path, rows="documents")) == len(WIKITEXT)


ROWS = st.lists(st.sampled_from(["ba", "= A =", "", " \n", "do\nki", "\u3000lu"]), max_size=12)


@pytest.mark.slow
@examples(30)
@given(ROWS, ROWS, st.integers(1, 4), st.sampled_from(["lines", "wikitext"]))
def test_rows_are_the_lines_of_a_file(tmp_path_factory, first, second, num_partitions, rows):
    folders = [tmp_path_factory.mktemp("rows") for _ in range(2)]
    files = [write(folder, each) for folder, each in zip(folders, (first, second), strict=True)]
    as_lines = read_documents([each["a.txt"] for each in files], TextConfig(input_format=rows))
    expected = [(d.row, d.text) for block in as_lines for d in block.documents]
    for name in ("a.jsonl", "a.parquet"):
        paths = [each[name] for each in files]
        blocks = read_documents(paths, TextConfig(rows=rows))
        assert [(d.row, d.text) for block in blocks for d in block.documents] == expected
        check(paths, name.removeprefix("a."), num_partitions, rows=rows)
        check_shards(paths, name.removeprefix("a."), 60, rows=rows)


def test_rows_without_a_text_and_rows_that_are_too_long(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = ["one", None, "two", "x" * 500, "", "three"]
    path.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    with pytest.raises(ValueError, match=r"a\.jsonl:2: 'text' is null"):
        read(str(path), rows="lines")
    config = TextConfig(rows="lines", on_error="skip", max_row_bytes=200)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bert_data.text.lines.DEFAULT_BLOCK_BYTES", 32)
        blocks = list(read_documents([str(path)], config))
    assert [(d.row, d.text) for b in blocks for d in b.documents] == [(6, ("three",))]
    assert [place for block in blocks for place in block.too_long] == [(1, 518)]
    assert [sentence for block in blocks for sentence in block.skipped] == [
        f"{path}:2: 'text' is null; it must be a text or a list of sentences"
    ]


def test_a_part_that_begins_with_rows_without_a_text(tmp_path):
    path = tmp_path / "a.parquet"
    rows = ["", *[None] * 600, "one", "", "two"]
    parquet.write_table(pyarrow.table({"text": rows}), path, row_group_size=20)
    config = TextConfig(rows="lines", on_error="skip")
    blocks = list(read_documents([Span(str(path), 1)], config))
    assert [d.text for block in blocks for d in block.documents] == [("one",), ("two",)]
    assert sum(len(block.skipped) for block in blocks) == 581
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\none\ntwo\n")
    filled = fill_store(
        [Span(str(path), 1)], load_tokenizer(str(vocabulary)), str(tmp_path / "s"), text=config
    )
    assert (filled.counts.num_documents, filled.counts.num_skipped) == (2, 581)


def test_rows_are_for_formats_that_have_them():
    with pytest.raises(
        ValueError, match=r"rows is 'lines', but the format is lines; `rows` is for"
    ):
        find_text_format(["a.txt"], TextConfig(rows="lines"))


HALVES = (
    rb'{"text": "half \ud835 \\ud835 \uDCB2.", "b": 1}',
    rb'{"text": "pair \ud83d\ude00.", "\ud835": ["\udcb2", NaN], "n": {"m": -Infinity}}',
)


def read_kept(path: Path, **settings: str) -> list[DocumentBlock]:
    config = TextConfig(keep_fields=True, on_error="skip", **settings)
    return list(read_documents([str(path)], config))


@pytest.mark.parametrize(("errors", "mark"), [("replace", "\ufffd"), ("ignore", "")])
def test_halves_of_surrogate_pairs_are_replaced_and_counted(tmp_path, errors, mark):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join([*HALVES, b""]))
    (block,) = read_kept(path, encoding_errors=errors)
    first, second = block.documents
    assert first.text == f"half {mark} \\ud835 {mark}." and second.text == "pair 😀."
    assert second.fields == {mark: [mark, None], "n": {"m": None}}
    assert block.num_replaced == 4
    assert texts(path, encoding_errors=errors) == [first.text, second.text]


def test_halves_in_a_text_are_errors_and_those_in_other_fields_are_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join([*HALVES, b""]))
    (block,) = read_kept(path)
    (document,) = block.documents
    assert document.fields == {"\ufffd": ["\ufffd", None], "n": {"m": None}}
    assert block.num_replaced == 2
    assert block.left_out == {"numbers NaN": 1, "numbers -Infinity": 1}
    (skipped,) = block.skipped
    assert skipped.endswith(
        "a.jsonl:1: 'text' contains a lone surrogate; `encoding_errors=replace` or ignore reads it"
        " anyway"
    )


def test_types_that_become_texts_are_counted(tmp_path):
    day = datetime.date(2024, 1, 2)
    columns = {
        "number": pyarrow.array([1, None], pyarrow.int64()),
        "score": pyarrow.array([0.5, 2], pyarrow.float32()),
        "words": pyarrow.array([["a"], []], pyarrow.list_(pyarrow.string())),
        "data": pyarrow.array([b"\xff", None], pyarrow.binary()),
        "map": pyarrow.array([[("a", 1)], None], pyarrow.map_(pyarrow.string(), pyarrow.int8())),
        "day": pyarrow.array([day, day], pyarrow.date32()),
        "price": pyarrow.array([Decimal("1.10"), None]),
        "hash": pyarrow.array([2**64 - 1, 1], pyarrow.uint64()),
        "within": pyarrow.array([[{"a": day}], None]),
        "label": pyarrow.array(["a", "b"]).dictionary_encode(),
    }
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"text": ["One.", "Two."], **columns}), path)
    (block,) = read_kept(path)
    counts = {name.rpartition(" of ")[2]: count for name, count in block.left_out.items()}
    assert counts == {"data": 1, "map": 1, "day": 2, "price": 1, "hash": 2, "within": 1}
    assert block.left_out["type uint64 of hash"] == 2
