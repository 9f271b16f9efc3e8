"""Where documents of stores come from: rows of files, fields of the input, and what is refused."""

import dataclasses
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from bert_data.errors import CorruptDataError
from bert_data.tokens import origins, provenance
from bert_data.tokens.merging import merge_stores
from bert_data.tokens.origins import DocumentOrigin, open_provenance
from bert_data.tokens.store import open_store
from bert_data.tokens.store_making import make_stores
from bert_data.tokens.verifying import verify_store

COVERS = ("tokens/origins", "tokens/places")
ROWS = [
    {"text": "ba ba", "id": "a1", "url": "http://a/é", "source": "web", "license": "CC0"},
    {"text": "", "id": 7, "meta": {"when": "2024-05-01"}},
    {"text": "ki", "id": "a1", "url": None},
    {"text": "do ki", "id": ["x", 1], "url": ""},
]


def origins_of(prefix: str | Path) -> list[DocumentOrigin]:
    """The origins of all documents of a store."""
    opened = open_provenance(str(prefix))
    assert opened is not None
    return list(opened.origins(range(opened.num_documents)).values())


def set_group_rows(patch: pytest.MonkeyPatch) -> None:
    for module in (origins, provenance):
        patch.setattr(module, "GROUP_ROWS", 2)


@pytest.fixture
def rows(tmp_path, config):
    """A configuration for rows of JSON."""
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    return dataclasses.replace(config, input_file=str(path), level="document")


def test_fields_of_rows(rows):
    make_stores(dataclasses.replace(rows, date_field="meta.when"))
    nothing = (None,) * 5
    assert [tuple(each) for each in origins_of(rows.output_prefix)] == [
        ("rows.jsonl", 1, "a1", "http://a/é", "web", "CC0", None),
        ("rows.jsonl", 2, "7", None, None, None, "2024-05-01"),
        ("rows.jsonl", 3, "a1", *nothing[:4]),
        ("rows.jsonl", 4, '["x", 1]', *nothing[:4]),
    ]
    opened = open_provenance(rows.output_prefix)
    numbers, names = opened.find_ids({"a1", "7", "b"})
    assert (numbers.tolist(), names) == ([0, 1, 2], {"a1", "7"})
    assert (opened.find_row("rows.jsonl", 3), opened.find_row("other", 3)) == ([2], [])
    assert opened.num_repeated == 1


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
    assert [(each.row, each.id, each.date) for each in origins_of(config.output_prefix)] == [
        (1, "5", "2020"),
        (2, None, None),
    ]


def test_parts_are_merged_to_the_whole(tmp_path, rows, monkeypatch):
    set_group_rows(monkeypatch)
    text = "".join(json.dumps({"text": "ba ki", "id": f"d{n}"}) + "\n" for n in range(40))
    Path(rows.input_file).write_text(text)
    make_stores(rows)
    parts = dataclasses.replace(rows, output_prefix=f"{tmp_path}/p", num_partitions=3)
    merge_stores([store.prefix for store in make_stores(parts)], f"{tmp_path}/m")
    for ending in ("bin", "idx", "provenance"):
        whole = Path(f"{rows.output_prefix}.{ending}").read_bytes()
        assert Path(f"{tmp_path}/m.{ending}").read_bytes() == whole
    assert verify_store(f"{tmp_path}/m").has_origins


def test_merged_with_one_that_has_none(tmp_path, rows):
    make_stores(rows)
    other = dataclasses.replace(rows, output_prefix=f"{tmp_path}/o", no_provenance=True)
    make_stores(other)
    assert open_provenance(other.output_prefix) is None
    assert not verify_store(other.output_prefix).has_origins
    merge_stores([other.output_prefix, rows.output_prefix], f"{tmp_path}/m")
    ids = [each.id for each in origins_of(f"{tmp_path}/m")]
    assert ids == [None] * 4 + ["a1", "7", "a1", '["x", 1]']


def test_what_comes_again(rows):
    make_stores(rows)
    path = Path(rows.output_prefix + ".provenance")
    written = path.read_bytes()
    assert not make_stores(rows)[0].is_new
    with pytest.raises(FileExistsError, match="fields of other names"):
        make_stores(dataclasses.replace(rows, id_field="key"))
    make_stores(dataclasses.replace(rows, no_provenance=True, overwrite=True))
    assert not path.exists()
    assert not make_stores(rows)[0].is_new  # as it was made before
    assert not path.exists()
    make_stores(dataclasses.replace(rows, overwrite=True))
    assert path.read_bytes() == written


def test_another_stores(tmp_path, rows):
    make_stores(rows)
    Path(rows.input_file).write_text("\n".join(json.dumps({**r, "text": "ba"}) for r in ROWS))
    other = dataclasses.replace(rows, output_prefix=f"{tmp_path}/o")
    make_stores(other)
    path = Path(rows.output_prefix + ".provenance")
    shutil.copy(f"{tmp_path}/o.provenance", path)
    store = open_store(rows.output_prefix)
    opened = open_provenance(rows.output_prefix)
    index = make_stores(other)[0].notes.files["idx"]
    opened.check_store(store.num_documents, index)
    with pytest.raises(CorruptDataError, match=r"s\.provenance"):
        verify_store(rows.output_prefix)
    with pytest.raises(CorruptDataError, match="is another store's, of 4 documents"):
        opened.check_store(store.num_documents, dataclasses.replace(index, crc32=1))


@pytest.mark.parametrize("size", [0, 3, 100, -4, -1])
def test_cut_short(rows, size):
    make_stores(rows)
    path = Path(rows.output_prefix + ".provenance")
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(CorruptDataError, match=r"s\.provenance: .*(not a readable list)"):
        open_provenance(rows.output_prefix)
    with pytest.raises(FileExistsError, match="is damaged"):
        make_stores(rows)
