"""Where documents of stores come from: rows of files, fields of the input, and what is refused."""

import dataclasses
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import compute, parquet

from bert_data.errors import CorruptDataError
from bert_data.tokens import provenance
from bert_data.tokens.merging import merge_stores
from bert_data.tokens.provenance import COLUMNS, ENDING, Provenance
from bert_data.tokens.store_making import make_stores
from bert_data.tokens.verifying import verify_store

ROWS = [
    {"text": "ba ba", "id": "a1", "url": "http://a/é", "source": "web", "license": "CC0"},
    {"text": "", "id": 7, "meta": {"when": "2024-05-01"}},
    {"text": "ki", "id": "a1", "url": None},
    {"text": "do ki", "id": ["x", 1], "url": ""},
]


def rows_of(prefix: str | Path) -> list[tuple]:
    """The rows of all documents of a store, but for their numbers; last and first ones in turn."""
    opened = Provenance(f"{prefix}.{ENDING}")
    size = opened.num_documents
    turns = [number for pair in zip(range(size)[::-1], range(size), strict=True) for number in pair]
    rows = {number: opened.row(number) for number in turns}
    assert [rows[number]["document"] for number in range(size)] == list(range(size))
    return [tuple(rows[number].values())[1:] for number in range(size)]


@pytest.fixture
def rows(tmp_path, config):
    """A configuration for rows of JSON."""
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    return dataclasses.replace(config, input_file=str(path), level="document")


def test_fields_of_rows(rows):
    make_stores(dataclasses.replace(rows, date_field="meta.when"))
    nothing = (None,) * 5
    assert rows_of(rows.output_prefix) == [
        ("rows.jsonl", 1, "a1", "http://a/é", "web", "CC0", None),
        ("rows.jsonl", 2, "7", None, None, None, "2024-05-01"),
        ("rows.jsonl", 3, "a1", *nothing[:4]),
        ("rows.jsonl", 4, '["x", 1]', *nothing[:4]),
    ]


def test_a_field_that_no_document_has_is_named(rows, caplog):
    make_stores(dataclasses.replace(rows, id_field="meta.when", url_field="link", source_field=""))
    warned = [each for each in caplog.messages if "no document has" in each]
    assert [each.partition(": ")[2] for each in warned] == [
        "no document has the field 'link' (`url_field`)"
    ]


def test_parquet_reads_only_the_columns(tmp_path, rows):
    table = pa.table(
        {"text": ["ba", "ki"], "id": [5, None], "meta": [{"when": "2020"}, None], "big": [1, 2]}
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    config = dataclasses.replace(
        rows, input_file=f"{tmp_path}/a.parquet", date_field="meta.when", url_field="none"
    )
    make_stores(config)
    assert rows_of(config.output_prefix) == [
        ("a.parquet", 1, "5", None, None, None, "2020"),
        ("a.parquet", 2, *(None,) * 5),
    ]


def test_parts_are_merged_to_the_whole(tmp_path, rows, monkeypatch):
    monkeypatch.setattr(provenance, "GROUP_ROWS", 7)
    text = "".join(json.dumps({"text": "ba ki", "id": f"d{n}"}) + "\n" for n in range(40))
    Path(rows.input_file).write_text(text)
    make_stores(rows)
    parts = dataclasses.replace(rows, output_prefix=f"{tmp_path}/p", num_partitions=3)
    merge_stores([store.prefix for store in make_stores(parts)], f"{tmp_path}/m")
    for ending in ("bin", "idx", ENDING):
        whole = Path(f"{rows.output_prefix}.{ending}").read_bytes()
        assert Path(f"{tmp_path}/m.{ending}").read_bytes() == whole
    assert verify_store(f"{tmp_path}/m").has_provenance
    groups = parquet.ParquetFile(f"{tmp_path}/m.{ENDING}").metadata
    assert [groups.row_group(n).num_rows for n in range(6)] == [7, 7, 7, 7, 7, 5]
    assert groups.row_group(1).column(0).statistics.min == 7
    assert [row[2] for row in rows_of(f"{tmp_path}/m")] == [f"d{n}" for n in range(40)]


def test_the_questions_of_the_guide(tmp_path, rows):
    """Where an id went, which documents are of a domain, which licences; and what is left out."""
    licences = ("CC0", "CC-BY", None)
    texts = [
        {
            "text": "ba ki",
            "id": f"d{n}",
            "url": f"https://{'www.' * (n % 2)}{'ab'[n % 4 // 2]}.org/{n}",
            "license": licences[n % 3],
        }
        for n in range(40)
    ]
    Path(rows.input_file).write_text("".join(f"{json.dumps(row)}\n" for row in texts))
    rows = dataclasses.replace(rows, num_partitions=2)
    parts = [parquet.read_table(f"{store.prefix}.{ENDING}") for store in make_stores(rows)]
    (part,) = (part for part in parts if "d31" in part.column("id").to_pylist())
    found = part.filter(compute.equal(part.column("id"), "d31")).to_pylist()
    number = part.column("id").to_pylist().index("d31")
    assert [(row["document"], row["file"], row["row"]) for row in found] == [
        (number, "rows.jsonl", 32)
    ]
    whole = pa.concat_tables(parts)
    is_of_a = compute.match_substring_regex(whole.column("url"), r"^https?://([^/]+\.)?a\.org[/:]")
    expected = [row["id"] for row in texts if "a.org" in row["url"]]
    assert whole.filter(is_of_a).column("id").to_pylist() == expected
    counts = whole.group_by("license").aggregate([([], "count_all")]).to_pylist()
    assert {row["license"]: row["count_all"] for row in counts} == {
        "CC0": 14, "CC-BY": 13, None: 13
    }  # fmt: skip
    gone = whole.filter(compute.equal(whole.column("license"), "CC-BY")).column("id").to_pylist()
    (tmp_path / "ids.txt").write_text("\n".join(gone))
    own = {"without_documents": f"{tmp_path}/ids.txt", "output_prefix": f"{tmp_path}/left"}
    stores = make_stores(dataclasses.replace(rows, strict_without=True, **own))
    left = [row for store in stores for row in rows_of(store.prefix)]
    assert [(row[1], row[2]) for row in left] == [
        (n + 1, f"d{n}") for n in range(40) if licences[n % 3] != "CC-BY"
    ]


def test_merged_with_one_that_has_none(tmp_path, rows):
    make_stores(rows)
    other = dataclasses.replace(rows, output_prefix=f"{tmp_path}/o", provenance=False)
    make_stores(other)
    assert not verify_store(other.output_prefix).has_provenance
    merge_stores([other.output_prefix, rows.output_prefix], f"{tmp_path}/m")
    nothing = [(None,) * len(COLUMNS[1:])] * 4
    assert rows_of(f"{tmp_path}/m") == [*nothing, *rows_of(rows.output_prefix)]
    Path(f"{other.output_prefix}.store.json").unlink()
    merge_stores([other.output_prefix, rows.output_prefix], f"{tmp_path}/n")
    assert not verify_store(f"{tmp_path}/n").has_provenance  # nothing would vouch for it


def test_what_comes_again(rows):
    make_stores(rows)
    path = Path(f"{rows.output_prefix}.{ENDING}")
    written = path.read_bytes()
    assert not make_stores(rows)[0].is_new
    with pytest.raises(FileExistsError, match="fields of other names"):
        make_stores(dataclasses.replace(rows, id_field="key"))
    make_stores(dataclasses.replace(rows, provenance=False, overwrite=True))
    assert not path.exists()
    assert not make_stores(rows)[0].is_new  # as it was made before
    assert not path.exists()
    make_stores(dataclasses.replace(rows, overwrite=True))
    assert path.read_bytes() == written


def test_another_stores(tmp_path, rows):
    make_stores(rows)
    rows_of_other = Path(rows.input_file).read_text() + '\n{"text": "ba"}'
    Path(rows.input_file).write_text(rows_of_other)
    make_stores(dataclasses.replace(rows, output_prefix=f"{tmp_path}/o"))
    path = Path(f"{rows.output_prefix}.{ENDING}")
    shutil.copy(f"{tmp_path}/o.{ENDING}", path)
    with pytest.raises(CorruptDataError, match=r"s\.provenance\.parquet: .* has \d+ bytes"):
        verify_store(rows.output_prefix)
    Path(f"{rows.output_prefix}.store.json").unlink()
    with pytest.raises(CorruptDataError, match="has 5 documents, and its store 4"):
        verify_store(rows.output_prefix)


def test_what_is_not_its_file(rows):
    """Rows in another order, and other columns, are refused, also where nothing vouches for it."""
    make_stores(rows)
    Path(f"{rows.output_prefix}.store.json").unlink()
    path = Path(f"{rows.output_prefix}.{ENDING}")
    table = parquet.read_table(path)
    for other, reason in (
        (table.take(pa.array([1, 0, 2, 3])), "its documents are not in order"),
        (table.drop_columns("url"), "its columns are not document, file, row, id, url"),
    ):
        parquet.write_table(other, path)
        with pytest.raises(CorruptDataError, match=reason):
            verify_store(rows.output_prefix)


@pytest.mark.parametrize("size", [0, 3, 100, -4, -1])
def test_cut_short(rows, size):
    make_stores(rows)
    path = Path(f"{rows.output_prefix}.{ENDING}")
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(CorruptDataError, match=r"s\.provenance\.parquet: .*not a readable file"):
        Provenance(str(path))
    with pytest.raises(FileExistsError, match="is damaged"):
        make_stores(rows)
