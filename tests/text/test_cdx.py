"""Indexes of web archives: the records that they name, where files are, and wrong lines."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.text.documents import TextConfig
from bert_data.text.formats import find_format, read_documents
from bert_data.text.partitions import count_rows, plan_shards
from bert_data.work.executor import InProcess
from tests.text.test_warc import PAGES, record

BROKEN = record(9, b"<p>lost</p>", status="404 Not Found")


def write_crawl(folder: Path, *, compress: bool = True) -> list[dict]:
    """Write an archive of pages, and return the entries of an index of it."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [gzip.compress(each) if compress else each for each in (*PAGES, BROKEN)]
    name = "a.warc.gz" if compress else "a.warc"
    (folder / name).write_bytes(b"".join(parts))
    offsets = [sum(map(len, parts[:n])) for n in range(len(parts))]
    return [
        {"url": f"http://a.example/{n}", "status": "200", "mime": "text/html",
         "length": str(len(part)), "offset": str(offset), "filename": f"crawl/{name}"}
        for n, (part, offset) in enumerate(zip(parts, offsets, strict=True), 1)
    ]  # fmt: skip


def write_index(path: Path, entries: list[dict]) -> Path:
    lines = (f"com,a)/ 20240101000000 {json.dumps(entry)}\n" for entry in entries)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    return path


def read(path: Path, **settings):
    config = TextConfig(**{"keep_fields": True, "on_error": "skip", **settings})
    return list(read_documents([str(path)], config))


def texts(path: Path, **settings) -> list[str]:
    return [d.text for block in read(path, **settings) for d in block.documents]


@pytest.mark.parametrize("compress", [True, False])
def test_records_in_the_order_of_the_index(tmp_path, compress):
    entries = write_crawl(tmp_path / "crawl", compress=compress)
    chosen = [{**entries[2], "languages": "eng,deu"}, entries[0], {**entries[1], "status": "301"}]
    path = write_index(tmp_path / "index" / "2024" / "a.cdxj", chosen)
    assert find_format([str(path)]).name == "cdx" and find_format([str(path)]).is_markup
    blocks = read(path)
    documents = [document for block in blocks for document in block.documents]
    assert [(each.row, each.text) for each in documents] == [
        (1, "<p>page 3</p>" * 20),
        (2, "<p>page 1</p>" * 20),
    ]
    assert documents[0].fields == {
        "url": "http://a.example/3",
        "date": "2024-01-02T03:04:05Z",
        "record_id": "<urn:uuid:3>",
        "content_type": "text/html",
        "languages": "eng,deu",
    }
    assert "languages" not in documents[1].fields
    assert sum(block.num_rows for block in blocks) == 3
    assert sum(block.num_file_bytes for block in blocks) == path.stat().st_size
    assert not any(block.skipped for block in blocks)


def test_columns_of_older_indexes(tmp_path):
    entries = write_crawl(tmp_path / "crawl")
    head = " CDX N b a m s k r M S V g\n"
    row = "com,a)/ 20240101 {url} {mime} {status} ABC - - {length} {offset} {filename}\n"
    path = tmp_path / "a.cdx"
    path.write_text(head + "".join(row.format(**entry) for entry in entries[:3]) + "too few\n")
    assert texts(path) == [f"<p>page {n}</p>" * 20 for n in (1, 2, 3)]
    skipped = [sentence for block in read(path) for sentence in block.skipped]
    assert skipped == [f"{path}:5: 2 columns; there must be 11"]
    path.write_text(" CDX N b a V g\n")
    with pytest.raises(ValueError, match=r"has no length \(column S\); its columns are N b a V g"):
        read(path)


@pytest.mark.slow
@given(st.lists(st.integers(0, 2), min_size=1, max_size=200), st.integers(1, 3000))
def test_parts_of_an_index_have_its_pages(tmp_path_factory, numbers, size):
    folder = tmp_path_factory.mktemp("index")
    entries = write_crawl(folder / "crawl")
    path = write_index(folder / "a.cdxj", [entries[number] for number in numbers])
    text_format = find_format([str(path)])
    spans = count_rows(plan_shards([str(path)], text_format, size), text_format, InProcess())
    documents = [
        document
        for part in spans
        for block in read_documents(part, TextConfig())
        for document in block.documents
    ]
    assert [document.row for document in documents] == list(range(1, len(numbers) + 1))
    assert [document.text[8] for document in documents] == [f"{n + 1}" for n in numbers]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"offset": "-1"}, "offset is '-1'; it must be a number of bytes"),
        ({"length": None}, "length is 'None'; it must be a number of bytes"),
        ({"filename": ""}, "no filename"),
        ({"filename": "crawl/b.warc.gz"}, "no file crawl/b.warc.gz in"),
        ({"offset": "3"}, "crawl/a.warc.gz: no WARC record at byte 3; is the offset right?"),
        ({"length": "99"}, "the compressed record is cut off; is its length right?"),
        ({"offset": "99999"}, "crawl/a.warc.gz: the archive ends before bytes 99,999 to 1"),
    ],
)
def test_wrong_entries(tmp_path, change, reason):
    first, second, *_ = write_crawl(tmp_path / "crawl")
    path = write_index(tmp_path / "a.cdxj", [{**first, **change}, second])
    blocks = read(path)
    assert [d.row for block in blocks for d in block.documents] == [2]
    (skipped,) = [each for block in blocks for each in block.skipped]
    assert skipped.startswith(f"{path}:1: ") and reason in skipped
    with pytest.raises(ValueError, match=r"a\.cdxj:1: "):
        read(path, on_error="strict")


def test_lines_that_are_no_entries(tmp_path):
    entries = write_crawl(tmp_path / "crawl")
    path = write_index(tmp_path / "a.cdxj", [entries[0]])
    path.write_text(f"\nno json\ncom,a)/ 2024 [1]\ncom,a)/ 2024 {{1}}\n{path.read_text()}")
    blocks = read(path)
    assert [document.row for block in blocks for document in block.documents] == [5]
    reasons = [each.partition(": ")[2] for block in blocks for each in block.skipped]
    assert reasons == ["not CDXJ: a key, a time and an object of JSON"] * 3
    assert not texts(write_index(tmp_path / "b.cdxj", [entries[3]]))  # the page itself says 404


def test_damage(tmp_path):
    entries = write_crawl(tmp_path / "crawl")
    path = write_index(tmp_path / "a.cdxj", entries)
    packed = tmp_path / "a.cdxj.gz"
    packed.write_bytes(gzip.compress(path.read_bytes())[:-8])
    with pytest.raises(CorruptDataError, match="the compressed data is damaged"):
        read(packed)
    assert len(texts(path)) == 3
    assert not texts(path, max_row_bytes=30)


def test_an_index_of_a_bucket(tmp_path, object_store):
    entries = write_crawl(tmp_path / "crawl")
    write_index(tmp_path / "cc-index" / "a.cdxj", [entries[2], entries[0]])
    for name in ("crawl/a.warc.gz", "cc-index/a.cdxj"):
        object_store.put(name, (tmp_path / name).read_bytes())
    uri = object_store.uri("cc-index/a.cdxj")
    documents = [d for b in read_documents([uri], TextConfig()) for d in b.documents]
    assert [document.text[8] for document in documents] == ["3", "1"]
    ranges = {
        each.range for each in object_store.requests
        if each.method == "GET" and each.key.endswith("a.warc.gz")
    }  # fmt: skip
    starts = [(int(entry["offset"]), int(entry["length"])) for entry in (entries[2], entries[0])]
    assert ranges == {f"bytes={start}-{start + length - 1}" for start, length in starts}
