"""The same documents in every format; damage of rows; what "auto" takes a file for."""

import datetime
import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from bert_data.errors import CorruptDataError
from bert_data.text import lines
from bert_data.text.documents import Span, TextDocument, block_lines, block_sequences
from bert_data.text.formats import find_text_format, read_documents
from bert_data.text.parquet import find_row_group
from bert_data.text.text_config import DOCUMENT, SENTENCE, TextConfig

COVERS = ("text/documents", "text/parquet", "text/text_config")


def read(*files: Path | Span, **settings: str) -> list[tuple[int, object]]:
    config = TextConfig(**settings)
    blocks = read_documents([f if isinstance(f, Span) else str(f) for f in files], config)
    return [(document.row, document.text) for block in blocks for document in block.documents]


def texts(*files: Path, **settings: str) -> list[object]:
    return [text for _, text in read(*files, **settings)]


def write_jsonl(path: Path, values: Sequence[object], field: str = "text") -> Path:
    rows = [json.dumps({"id": n, field: value}) for n, value in enumerate(values)]
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


def write_parquet(path: Path, values: Sequence[object], field: str = "text", **kind) -> Path:
    table = pyarrow.table({"id": range(len(values)), field: pyarrow.array(values, **kind)})
    parquet.write_table(table, path, row_group_size=3)
    return path


SENTENCES = st.text(st.sampled_from("ab.é東\u2028 \x01"), min_size=1).filter(
    lambda text: text.strip() == text != "" and not text.startswith("=")
)


@given(st.lists(st.lists(SENTENCES, min_size=1, max_size=4), max_size=8), st.integers(1, 40))
def test_formats_hold_the_same_documents(tmp_path_factory, documents, block_bytes):
    folder = tmp_path_factory.mktemp("formats")
    jsonl = write_jsonl(folder / "a.jsonl", documents)
    columns = write_parquet(
        folder / "a.parquet", documents, type=pyarrow.list_(pyarrow.large_string())
    )
    text = "\n\n".join("\n".join(document) for document in documents)
    (folder / "a.txt").write_bytes(text.encode())
    heads = "".join(
        " = A = \n" + "".join(f" {s} \n" for s in document) + "\u3000\t= = B\n \n"
        for document in documents
    )
    (folder / "a.tokens").write_bytes(heads.encode())
    expected = [tuple(document) for document in documents]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "DEFAULT_BLOCK_BYTES", block_bytes)
        assert texts(jsonl) == texts(columns) == texts(folder / "a.txt") == expected
        assert texts(folder / "a.tokens", input_format="wikitext") == expected


def test_rows_are_counted(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\n\nba \n\tdo\r\n \nki\n\nlu")
    assert read(path) == [(3, ("ba", "do")), (6, ("ki",)), (8, ("lu",))]
    assert read(Span(str(path), 11)) == [(6, ("ki",)), (8, ("lu",))]
    path = write_jsonl(tmp_path / "a.jsonl", ["a", "b", "c"])
    size = path.stat().st_size // 3
    assert read(Span(str(path), size, 2 * size)) == [(2, "b")]
    path = write_parquet(tmp_path / "a.parquet", list("abcdefgh"))
    assert read(Span(str(path), 1, 2)) == [(4, "d"), (5, "e"), (6, "f")]


def test_documents_of_lines_go_on_in_the_next_file(tmp_path):
    (tmp_path / "a").write_text("ba\n\ndo")
    (tmp_path / "b").write_text("ki\n\nlu")
    assert texts(tmp_path / "a", tmp_path / "b") == [("ba",), ("do", "ki"), ("lu",)]
    (tmp_path / "b").write_text("\ufeff\nki")  # not a blank line in Google's program
    assert texts(tmp_path / "a", tmp_path / "b") == [("ba",), ("do", "\ufeff", "ki")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lines", "A.\n"),
        ("wikitext", " = A = \n\nA.\n"),
        ("prose", "A.\n"),
        ("jsonl", '{"text": "A."}'),
    ],
)
def test_a_byte_order_mark_is_no_text(tmp_path, name, content):
    path = tmp_path / "a"
    path.write_text("\ufeff" + content, encoding="utf-8")
    assert texts(path, input_format=name) in (["A."], [("A.",)])
    path.write_text("\ufeff", encoding="utf-8")
    assert texts(path, input_format=name) == ([("\ufeff",)] if name == "lines" else [])


def test_compressed_jsonl(tmp_path):
    data = write_jsonl(tmp_path / "a.jsonl", ["one", "two"]).read_bytes()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + data + b"\r\n \n"))
    (tmp_path / "A.JSONL.zst").write_bytes(zstandard.compress(data))
    assert texts(tmp_path / "a.jsonl.gz") == texts(tmp_path / "A.JSONL.zst") == ["one", "two"]
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(data)[:-9])
    with pytest.raises(CorruptDataError, match=r"a\.jsonl\.gz: "):
        texts(tmp_path / "a.jsonl.gz")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": "a"', r"not JSON \([^;]*\)$"),
        (b"A sentence.", r"not JSON \(.*\); `input_format=lines` reads lines of text$"),
        (b"[1, 2]", r"not a JSON object: '\[1, 2\]'"),
        (b'{"body": "a", "id": 1}', r"no field 'text' .*; the fields are 'body', 'id'"),
        (b'{"text": null}', "'text' is null; it must be a text or a list of sentences"),
        (b'{"text": 3.5}', "'text' is a number"),
        (b'{"text": NaN}', "'text' is a number"),
        (b'{"text": true}', "'text' is true"),
        (b'{"text": {"a": 1}}', "'text' is an object"),
        (b'{"text": ["a", null]}', "'text' holds null"),
        (b'{"text": "\\ud800"}', "'text' contains a lone surrogate"),
        (
            b'{"text": "\xff"}',
            "not UTF-8 .*Latin-1: iconv -f LATIN1 -t UTF-8; `encoding_errors=replace",
        ),
        (b'{"text": ' + b"[" * 100_000, "unreadable JSON .nested too deep"),
        (b'{"text": ' + b"[" * 901, "unreadable JSON .nested too deep"),  # Python 3.13 reads it
        (b'{"text": ' + b"[]," * 901 + b'"[[[[', r"not JSON \("),
        (b'{"text": ' + b"9" * 10_000 + b"}", r"not JSON \("),
    ],
    ids=lambda value: None if isinstance(value, str) else value[:20],
)
def test_rows_without_a_text(tmp_path, line, reason):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "one"}\n\n' + line + b'\n{"text": ["two", ""]}\n')
    with pytest.raises(ValueError, match=rf"^\S*a\.jsonl:3: {reason}") as caught:
        texts(path)
    assert len(str(caught.value)) < 400
    blocks = list(read_documents([str(path)], TextConfig(on_error="skip")))
    assert [document.text for document in blocks[0].documents] == ["one", ("two", "")]
    assert len(blocks[0].skipped) == 1 and "a.jsonl:3: " in blocks[0].skipped[0]
    assert blocks[0].num_rows == 4


def test_bytes_that_are_not_utf8_are_replaced_and_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a\xff\xfe \xef\xbf\xbd"}\n')
    (block,) = read_documents([str(path)], TextConfig(encoding_errors="replace"))
    assert (block.documents[0].text, block.num_replaced) == ("a\ufffd\ufffd \ufffd", 2)


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt"])
def test_a_line_that_is_too_long(tmp_path, monkeypatch, name):
    monkeypatch.setattr(lines, "DEFAULT_BLOCK_BYTES", 64)
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1000)
    (tmp_path / name).write_text(json.dumps({"text": "a" * 5000}))
    with pytest.raises(ValueError, match=rf"{name}: a line has more than 1,000 bytes"):
        texts(tmp_path / name)


@pytest.mark.parametrize("block_bytes", [64, 1 << 20])
@pytest.mark.parametrize("name", ["jsonl", "lines", "wikitext"])
def test_what_is_too_long_is_passed_over(tmp_path, monkeypatch, name, block_bytes):
    """Rows before and behind it keep their numbers; so does a part of the file that is cut off."""
    monkeypatch.setattr(lines, "DEFAULT_BLOCK_BYTES", block_bytes)
    parts = ["one", "a" * 5000, "two", "b" * 300, "three", "c" * 5000]
    ending = "\n" if name == "jsonl" else "\n\n"
    rows = [json.dumps({"text": part}) if name == "jsonl" else part for part in parts]
    path = tmp_path / "a"
    path.write_text(ending.join(rows))
    config = TextConfig(input_format=name, max_row_bytes=1000)
    blocks = list(read_documents([str(path)], config))
    texts = {d.row: "".join(d.text) for block in blocks for d in block.documents}
    passed = dict(pair for block in blocks for pair in block.too_long)
    if name == "jsonl" and block_bytes > 5000:  # a row that was in memory anyway is given
        assert texts == dict(enumerate(parts, 1))
        return
    step = 1 if name == "jsonl" else 2
    assert texts == {1: "one", 1 + 2 * step: "two", 1 + 3 * step: "b" * 300, 1 + 4 * step: "three"}
    assert list(passed) == [1 + step, 1 + 5 * step]
    assert all(5000 <= num_bytes <= 5013 for num_bytes in passed.values())


def test_a_document_of_too_many_lines_is_passed_over(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\n\n" + "line\n" * 300 + "\ntwo\n\n" + "line\n" * 250)
    blocks = list(read_documents([str(path)], TextConfig(max_row_bytes=1000)))
    texts = [d.text for block in blocks for d in block.documents]
    assert texts == [("one",), ("two",), ("line",) * 250]
    assert [pair for block in blocks for pair in block.too_long] == [(3, 1200)]


def test_a_row_group_belongs_to_the_part_in_which_it_begins(tmp_path):
    path, table = tmp_path / "a.parquet", pyarrow.table({"text": ["one", "two"] * 50})
    for padding in range(2):  # one of them has an even number of bytes
        noted = table.replace_schema_metadata({"note": "x" * padding})
        parquet.write_table(noted, path, row_group_size=50, use_dictionary=False)
        if path.stat().st_size % 2 == 0:
            break
    half = path.stat().st_size // 2
    groups = [find_row_group(str(path), place) for place in (0, half, half + 1, 2 * half)]
    assert groups == [1, 1, None, None]


def test_a_flipped_bit_in_a_page_with_a_checksum(tmp_path):
    path = tmp_path / "a.parquet"
    table = pyarrow.table({"text": [f"document number {i}" for i in range(100)]})
    plain = {"compression": "none", "use_dictionary": False}
    parquet.write_table(table, path, write_page_checksum=True, **plain)
    data = bytearray(path.read_bytes())
    data[data.index(b"number 50")] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptDataError, match=r"a\.parquet: .*CRC checksum"):
        read(path)


def test_other_fields_of_rows_are_kept_on_demand(tmp_path):
    row = {"text": "one", "id": 7, "meta": {"url": "http://a"}, "tags": ["x", None]}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
    parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.parquet"):
        for keep in (False, True):
            (block,) = read_documents([str(tmp_path / name)], TextConfig(keep_fields=keep))
            (document,) = block.documents
            assert document.text == "one"
            assert document.fields == (
                {"id": 7, "meta": {"url": "http://a"}, "tags": ["x", None]} if keep else None
            )


class TestParquet:
    def test_fields_that_python_has_no_value_for(self, tmp_path):
        times = pyarrow.array([1, None], pyarrow.timestamp("ns"))
        whole = pyarrow.array([1_000, None], pyarrow.timestamp("ns", "UTC"))
        bad = pyarrow.array([b"a\xff", b"b"]).view(pyarrow.string())
        table = pyarrow.table({"text": ["one", "two"], "time": times, "whole": whole, "bad": bad})
        parquet.write_table(table, tmp_path / "a.parquet")
        config = TextConfig(keep_fields=True, encoding_errors="replace")
        (block,) = read_documents([str(tmp_path / "a.parquet")], config)
        moment = datetime.datetime(1970, 1, 1, 0, 0, 0, 1, datetime.UTC)
        assert [document.fields for document in block.documents] == [
            {"time": "1970-01-01 00:00:00.000000001", "whole": moment, "bad": "a\ufffd"},
            {"time": None, "whole": None, "bad": "b"},
        ]
        assert type(block.documents[0].fields["whole"]) is datetime.datetime  # and not pandas' own

    def test_kinds_of_texts(self, tmp_path):
        values = ["one. two.", "", "東"]
        for kind in (
            pyarrow.string(),
            pyarrow.large_string(),
            pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
        ):
            path = write_parquet(tmp_path / "a.parquet", values, field="body", type=kind)
            assert texts(path, text_field="body") == values

    def test_columns_that_cannot_be(self, tmp_path):
        path = write_parquet(tmp_path / "a.parquet", [1, 2], field="body")
        with pytest.raises(ValueError, match=r"a\.parquet: no column 'text' .*'id', 'body'"):
            texts(path)
        with pytest.raises(ValueError, match=r"column 'body' is of type int64; .*'id', 'body'"):
            texts(path, text_field="body")
        columns = [["a"], ["b"], ["c"]]
        table = pyarrow.table([*map(pyarrow.array, columns)], ["title", "text", "text"])
        parquet.write_table(table, path)
        assert texts(path, text_field="title") == texts(path, text_template="{title}") == ["a"]
        for settings in ({}, {"text_field": "title", "keep_fields": True}):
            with pytest.raises(ValueError, match=r"a\.parquet: several columns are called 'text'"):
                texts(path, **settings)

    def test_rows_without_a_text(self, tmp_path):
        path = write_parquet(tmp_path / "a.parquet", ["a", "b", "c", "d", None, "f"])
        with pytest.raises(ValueError, match=r"a\.parquet:5: 'text' is null"):
            texts(path)
        assert texts(path, on_error="skip") == ["a", "b", "c", "d", "f"]
        path = write_parquet(tmp_path / "b.parquet", [["a"], [None], ["b"]])
        assert texts(path, on_error="skip") == [("a",), ("b",)]

    def test_bytes_that_are_not_utf8(self, tmp_path):
        bad = pyarrow.array([b"a", b"\xff", b"c"]).view(pyarrow.string())
        parquet.write_table(pyarrow.table({"text": bad}), tmp_path / "a.parquet")
        with pytest.raises(ValueError, match=r"a\.parquet:2: not UTF-8"):
            texts(tmp_path / "a.parquet")
        assert texts(tmp_path / "a.parquet", on_error="skip") == ["a", "c"]
        assert texts(tmp_path / "a.parquet", encoding_errors="replace") == ["a", "\ufffd", "c"]

    @pytest.mark.parametrize("damage", ["empty", "no Parquet", "cut", "middle"])
    def test_damage(self, tmp_path, damage):
        path = write_parquet(tmp_path / "a.parquet", [f"text {i}" * 50 for i in range(500)])
        data = bytearray(path.read_bytes())
        if damage == "middle":
            data[4:400] = bytes(396)
        else:
            data = {"empty": b"", "no Parquet": b"text\n" * 99, "cut": data[:-20]}[damage]
        path.write_bytes(data)
        reason = "not a readable Parquet" if damage in ("cut", "middle") else "`input_format` names"
        with pytest.raises(CorruptDataError, match=rf"a\.parquet: .*{reason}"):
            texts(path)

    def test_compression_is_inside(self, tmp_path):
        with pytest.raises(ValueError, match=r"a\.parquet\.gz: parquet files are compressed insi"):
            texts(tmp_path / "a.parquet.gz")


class TestNames:
    def test_auto(self):
        for path, name in [
            ("a.txt", "lines"), ("a", "lines"), ("wiki.train.tokens", "lines"), ("a.gz", "lines"),
            ("a.jsonl", "jsonl"), ("b/a.NDJSON.zst", "jsonl"), ("a.parquet", "parquet"),
            ("c4-train.00000-of-01024.json.gz", "jsonl"), ("a.JSON", "jsonl"),
        ]:  # fmt: skip
            assert find_text_format([path]).name == name

    @pytest.mark.parametrize("name", ["a.csv", "a.TSV.gz", "a.csv.zst", "a.tsv.xz", "a.csv.bz2"])
    def test_tables(self, name):
        kind = name.split(".")[1].upper()
        with pytest.raises(ValueError, match=rf"{name}: a table in {kind} is not read; write it"):
            find_text_format([name])
        assert find_text_format([name], TextConfig(input_format="lines")).name == "lines"

    @pytest.mark.parametrize("name", ["a.arc", "IA-1.ARC.gz"])
    def test_arc(self, name):
        with pytest.raises(ValueError, match=rf"{name}: an ARC archive is not read; .* WARC"):
            find_text_format([name])

    def test_several_formats(self):
        with pytest.raises(ValueError, match=r"several formats \(a is lines, b.jsonl is jsonl\)"):
            find_text_format(["a", "b.jsonl", "c"])
        assert find_text_format(["a", "b.jsonl"], TextConfig(input_format="jsonl")).name == "jsonl"

    def test_a_format_that_there_is_not(self):
        with pytest.raises(
            ValueError, match="input_format is 'csv'; it must be one of auto, lines, "
        ):
            find_text_format(["a"], TextConfig(input_format="csv"))

    @pytest.mark.parametrize("settings", [{"text_field": ""}, {"language": "X"}])
    def test_settings_that_are_refused(self, settings):
        with pytest.raises(ValueError, match=f"^{next(iter(settings))} is "):
            TextConfig(**settings)


class TestBlocks:
    DOCUMENTS = (
        TextDocument(1, "One.\r\nTwo. Three"),
        TextDocument(2, " \n"),
        TextDocument(3, ("Four. Five", "\x1c", "six\nseven")),
    )

    def test_lines(self):
        assert block_lines(self.DOCUMENTS, SENTENCE, "en") == (
            b"One.\nTwo.\nThree\n\n\nFour. Five\nsix seven\n\n"
        )
        assert block_lines(self.DOCUMENTS, DOCUMENT, "en") == (
            b"One.  Two. Three\n\n\nFour. Five \x1c six seven\n\n"
        )

    def test_sequences(self):
        assert block_sequences(self.DOCUMENTS, SENTENCE, "en") == (
            ["One.", "Two.", "Three", "Four. Five", "six\nseven"],
            [3, 3, 5],
        )
        assert block_sequences(self.DOCUMENTS, DOCUMENT, "en") == (
            ["One.\r\nTwo. Three", " \n", "Four. Five\n\x1c\nsix\nseven"],
            [1, 2, 3],
        )
