"""Rows that are lines give the documents of the file of lines with the same text."""

import json
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from bert_data.text.documents import Span, TextConfig
from bert_data.text.formats import find_format, read_documents
from bert_data.tokens.filling import fill_store
from bert_data.tokens.tokenizer_file import load_tokenizer
from tests.text.test_partitions import check, check_shards

WIKITEXT = ["", " = Robert = \n", "", " Robert is an actor . \n", " He sings\ntoo . \n", "",
            " = = Career = = \n", " He had a role . \n"]  # fmt: skip


def write(folder: Path, rows: list[str]) -> dict[str, str]:
    (folder / "a.txt").write_text("".join(f"{' '.join(row.split())}\n" for row in rows))
    lines = [json.dumps({"id": n, "text": row}) for n, row in enumerate(rows)]
    (folder / "a.jsonl").write_text("".join(f"{line}\n" for line in lines))
    table = pyarrow.table({"text": pyarrow.array(rows, pyarrow.string())})
    parquet.write_table(table, folder / "a.parquet", row_group_size=2)
    return {name: str(folder / name) for name in ("a.txt", "a.jsonl", "a.parquet")}


def read(path: str, **settings) -> list[tuple[int, object]]:
    blocks = read_documents([path], TextConfig(**settings))
    return [(document.row, document.text) for block in blocks for document in block.documents]


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_wikitext_as_the_hub_has_it(tmp_path, name):
    path = write(tmp_path, WIKITEXT)[name]
    robert = ("Robert is an actor .", "He sings too .")
    assert read(path, rows="wikitext") == [(4, robert), (8, ("He had a role .",))]
    assert read(path, rows="lines")[0] == (2, ("= Robert =",))
    assert len(read(path)) == len(read(path, rows="documents")) == len(WIKITEXT)


ROWS = st.lists(st.sampled_from(["ba", "= A =", "", " \n", "do\nki", "\u3000lu"]), max_size=12)


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
        find_format(["a.txt"], TextConfig(rows="lines"))
    with pytest.raises(ValueError, match="rows is 'row'; it must be one of documents, lines, wiki"):
        TextConfig(rows="row")
