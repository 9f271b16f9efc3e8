"""Archives of pages: which records are documents, what they carry, and damage of every kind."""

import gzip
import json
import os
import re
import sys
import tracemalloc
import zlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.text import documents, html
from bert_data.text.documents import DocumentBlock, RowError
from bert_data.text.formats import read_documents
from bert_data.text.http_content import decode_content
from bert_data.text.text_config import TextConfig
from bert_data.text.warc_records import RecordsOfFile
from tests.rows import mostly_slow

COVERS = ("text/http_content", "text/warc_records")


def record(
    number: int,
    body: bytes,
    content_type: str = "text/html; charset=utf-8",
    http: str = "",
    status: str = "200 OK",
    kind: str = "response",
) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{http}\r\n".encode()
    return raw_record(number, head + body, kind, f"application/http; msgtype={kind}")


def raw_record(number: int, content: bytes, kind: str, content_type: str) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{number}>\r\n"
        f"WARC-Target-URI: http://a.example/{number}\r\nWARC-Date: 2024-01-02T03:04:05Z\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content + b"\r\n\r\n"


PAGES = [record(n, f"<p>page {n}</p>".encode() * 20) for n in (1, 2, 3)]


def read(path: Path, data: bytes, **settings) -> list[DocumentBlock]:
    path.write_bytes(data)
    settings = {"keep_fields": True, "on_error": "skip", **settings}
    return list(read_documents([str(path)], TextConfig(**settings)))


def texts(path: Path, data: bytes, **settings) -> list[str]:
    return [d.text for block in read(path, data, **settings) for d in block.documents]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
def test_lines_of_headers_may_end_without_cr(tmp_path, compress):
    """As those of ClueWeb09; a file that begins otherwise is read as the standard has it."""
    ending = {bytes: "", gzip.compress: ".gz", zstandard.compress: ".zst"}[compress]
    records = []
    for number in (1, 2, 3):
        http = f"HTTP/1.1 200 OK\nContent-Type: text/html\n\n<p>page {number}".encode()
        kind = f"application/http; msgtype=response\nX: {'a' * 100}"
        whole = raw_record(number, http, "response", kind).replace(b"\r\n", b"\n")
        records.append(compress(whole.replace(b"WARC/1.0", b"WARC/0.18")))
    found = texts(tmp_path / f"a.warc{ending}", b"".join(records))
    assert found == ["<p>page 1", "<p>page 2", "<p>page 3"]


def test_pages_that_an_index_names(tmp_path, checkout, monkeypatch):
    """The guide's lines write their records into a file; as text an index is refused."""
    parts = [gzip.compress(each) for each in PAGES]
    (tmp_path / "a.warc.gz").write_bytes(b"".join(parts))
    entries = [
        {"filename": "a.warc.gz", "offset": str(sum(map(len, parts[:n]))), "length": str(len(part))}
        for n, part in enumerate(parts)
    ]
    lines = (f"com,a)/{n} 20240101000000 {json.dumps(entries[n])}\n" for n in (2, 0))
    (tmp_path / "chosen.cdxj").write_text("".join(lines))
    guide = (checkout / "docs" / "guides" / "corpora.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code.replace("s3://commoncrawl", f"file://{tmp_path}"), "guide", "exec"), {})
    chosen = (tmp_path / "chosen.warc.gz").read_bytes()
    assert texts(tmp_path / "chosen.warc.gz", chosen) == [f"<p>page {n}</p>" * 20 for n in (3, 1)]
    for name in ("chosen.cdxj", "a.CDX.gz"):
        with pytest.raises(ValueError, match=f"{name}: an index of WARC files has no text; write"):
            list(read_documents([str(tmp_path / name)], TextConfig()))


def test_documents_and_their_fields(tmp_path):
    (block,) = read(tmp_path / "a.warc", b"".join(PAGES))
    assert [document.row for document in block.documents] == [1, 2, 3]
    assert block.documents[1].text == "<p>page 2</p>" * 20
    assert block.documents[1].fields == {
        "url": "http://a.example/2",
        "date": "2024-01-02T03:04:05Z",
        "record_id": "<urn:uuid:2>",
        "content_type": "text/html",
    }
    assert block.num_rows == 3 and block.num_file_bytes == sum(map(len, PAGES))


@pytest.mark.parametrize(
    ("ending", "data"),
    [
        (".warc.gz", b"".join(map(gzip.compress, PAGES))),
        (".warc.gz", gzip.compress(b"".join(PAGES))),
        (".warc.zst", b"".join(map(zstandard.compress, PAGES))),
    ],
)
def test_compressed(tmp_path, ending, data):
    path = tmp_path / f"a{ending}"
    assert texts(path, data) == [f"<p>page {n}</p>" * 20 for n in (1, 2, 3)]
    path.write_bytes(data[:-5])
    blocks, rows = read_documents([str(path)], TextConfig()), []
    with pytest.raises(CorruptDataError, match="the compressed data is damaged"):
        for block in blocks:
            rows += [document.row for document in block.documents]
    assert rows[:2] == [1, 2]


IDENTIFIED = b"WARC-Identified-Payload-Type: %b\r\nWARC-Date"


def identified(record: bytes, payload: bytes) -> bytes:
    return record.replace(b"WARC-Date", IDENTIFIED % payload)


def test_only_pages_and_texts_are_documents(tmp_path):
    data = [
        raw_record(1, b"software: x\r\n", "warcinfo", "application/warc-fields"),
        record(2, b"", kind="request"),
        record(3, b"%PDF", "application/pdf"),
        record(4, b"<p>gone", status="404 Not Found"),
        record(5, b"<p>page", "application/xhtml+xml"),
        raw_record(6, "Text \u4e2d.\n".encode(), "conversion", "text/plain"),
        raw_record(7, b"{}", "metadata", "application/json"),
        record(8, b""),
        record(9, b"%PDF-1.4\n1 0 obj"),
        record(10, b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(range(256))),
        record(11, gzip.compress(b"PK\x03\x04\x14\0"), http="Content-Encoding: gzip\r\n"),
        identified(record(12, b"{}"), b"application/json"),
        identified(record(13, b"<p>served as text", "text/plain"), b"text/html"),
        identified(record(14, b"<html>mistaken", "text/html"), b"text/plain"),
        record(15, b"<!DOCTYPE html>untyped").replace(b"Content-Type: text", b"Content-Kind: text"),
        record(16, b"body").replace(b"Content-Type: text", b"Content-Kind: text"),
        record(17, b"a", "\u00e9\u00e9"),
    ]
    (block,) = read(tmp_path / "a.warc", b"".join(data))
    documents = [(document.row, document.text) for document in block.documents]
    assert documents == [
        *[(5, "<p>page"), (6, "Text 中.\n"), (8, ""), (13, "<p>served as text")],
        *[(14, "<html>mistaken"), (15, "<!DOCTYPE html>untyped")],
    ]
    assert block.left_out == {
        **dict.fromkeys(("warcinfo records", "request records", "metadata records"), 1),
        **dict.fromkeys(("a PDF file", "a JPEG image", "a zip archive", "HTTP status 404"), 1),
        **dict.fromkeys(("application/pdf", "application/json", "answers without a type"), 1),
        "other": 1,
    }
    assert block.documents[1].fields["content_type"] == "text/plain"
    assert block.num_rows == 17 and not block.skipped


def test_encodings_of_answers(tmp_path):
    page = b"<p>zipped \xd6\xd0\xce\xc4</p>"
    chunks = b"5\r\n<p>zi\r\n%x\r\n" % (len(page) - 5) + page[5:] + b"\r\n0\r\n\r\n"
    data = [
        record(1, gzip.compress(page), "text/html; charset=GB2312", "Content-Encoding: gzip\r\n"),
        record(2, zlib.compress(page), "text/html; charset=gbk", "Content-Encoding: deflate\r\n"),
        record(3, chunks, "text/html;charset=gbk", "Transfer-Encoding: chunked\r\n"),
        record(4, b"<meta charset=gbk>" + page, "text/html"),
    ]
    answers = texts(tmp_path / "a.warc", b"".join(data))
    assert [text[-13:] for text in answers] == ["zipped 中文</p>"] * 4


def test_content_without_the_coding_that_its_header_names(tmp_path):
    page = "<p>Café".encode()
    codings = [
        *("Content-Encoding: gzip", "Content-Encoding: br", "Content-Encoding: deflate"),
        *("Transfer-Encoding: chunked", "Content-Encoding: utf-8"),
    ]
    data = [record(n, page, http=f"{coding}\r\n") for n, coding in enumerate(codings)]
    assert texts(tmp_path / "a.warc", b"".join(data)) == ["<p>Café"] * len(codings)


def compressed_by(name: str, data: bytes) -> bytes:
    raw = zlib.compressobj(wbits=-15)
    return {
        "gzip": gzip.compress,
        "x-gzip": gzip.compress,
        "deflate": zlib.compress,
        "zstd": zstandard.compress,
        "br": pytest.importorskip("brotli").compress,
        "Deflate ": lambda data: raw.compress(data) + raw.flush(),
    }[name](data)


@mostly_slow("coding", ["gzip", "x-gzip", "deflate", "Deflate ", "br", "zstd"])
def test_compressed_content_is_decompressed_up_to_the_bound(coding):
    most, page = 1000, b"<p>" * 300
    content = compressed_by(coding, page)
    assert decode_content(content, [coding], most) == page
    assert decode_content(compressed_by("gzip", content), [coding, " gzip"], most) == page
    tracemalloc.start()
    bomb = compressed_by(coding, bytes(8 << 20))
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    assert len(decode_content(bomb, [coding], most)) == most + 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - before < 1 << 20
    with pytest.raises(RowError, match="6 codings"):
        decode_content(bomb, [coding] * 6, most)


def test_a_record_that_is_too_long_is_not_held(tmp_path):
    long = raw_record(1, b"a" * 5000, "conversion", "text/plain")
    (path := tmp_path / "a.warc").write_bytes(long + PAGES[1])
    records = list(RecordsOfFile(str(path), 4999, goes_on=True))
    assert [each.content is None for each in records] == [True, False]


def test_chunks(tmp_path):
    chunks = b"2;name=x\r\n<p\r\n 05 \r\n>abcd\r\n0\r\nTrailer: x\r\n\r\n"
    assert decode_content(chunks, ["Chunked"], 100) == b"<p>abcd"
    assert decode_content(chunks.replace(b"\r\n", b"\n"), ["chunked"], 100) == b"<p>abcd"
    assert decode_content(chunks[:24], ["chunked"], 100) == b"<p>abc"
    with pytest.raises(RowError, match="no size of a chunk at byte 5"):
        decode_content(b"1\r\nab\r\n", ["chunked"], 100)


@mostly_slow("where", [3, 15, 0.5, -4, "missing"])
@mostly_slow(("ending", "num_letters"), [("gz", 9000), ("zst", 9000), ("zst", 200_000)])
def test_reading_goes_on_with_the_member_after_a_damaged_one(tmp_path, where, ending, num_letters):
    summed = zstandard.ZstdCompressor(write_checksum=True)
    compress = gzip.compress if ending == "gz" else summed.compress
    letters = [os.urandom(num_letters).hex().encode() for n in range(20)]
    members = [compress(record(n, b"<p>%d " % n + each)) for n, each in enumerate(letters)]
    path = tmp_path / f"a.warc.{ending}"
    whole = texts(path, b"".join(members))
    assert len(whole) == 20
    start = sum(map(len, members[:7]))
    middle = bytearray(members[7])
    if where == "missing":
        del middle[100:200]
    else:
        place = int(where * len(middle)) if isinstance(where, float) else where
        middle[place] ^= 0xFF
    members[7] = bytes(middle)
    data = b"".join(members)
    blocks = read(path, data)
    (skipped,) = [sentence for block in blocks for sentence in block.skipped]
    assert f"at byte {start:,}: the compressed data is damaged" in skipped
    read_texts = [document.text for block in blocks for document in block.documents]
    assert [text for text in read_texts if text in whole] == read_texts
    assert set(whole) - set(read_texts) <= {whole[7]}
    assert sum(block.num_file_bytes for block in blocks) == len(data)
    with pytest.raises(CorruptDataError, match="the compressed data is damaged"):
        read(path, data, on_error="strict")
    with pytest.raises(CorruptDataError, match="the compressed data is damaged"):
        read(path, data[:-10])


@pytest.mark.parametrize("ending", ["gz", "zst"])
@pytest.mark.parametrize(
    ("length", "reason"),
    [
        (b"", "has no Content-Length"),
        (b"Content-Length: many\r\n", "has no Content-Length"),
        (b"Content-Length: 3\r\nContent-Length: 90000\r\n", "has two lines of Content-Length"),
        (b"Content-Length: 120\r\n", "not WARC from here on"),  # ends too early
        (b"Content-Length: %d\r\n", "has a wrong Content-Length"),  # in the next record
        (b"Content-Length: 90000\r\n", "the file ends within a WARC record"),
    ],
)
def test_reading_goes_on_with_the_member_after_a_record_of_wrong_length(
    tmp_path, length, reason, ending
):
    compress = gzip.compress if ending == "gz" else zstandard.compress
    size = len(PAGES[1])
    length = length.replace(b"%d", b"%d" % (size + 20))
    wrong = re.sub(rb"Content-Length: \d+\r\n", length, PAGES[1], count=1)
    members = [*map(compress, (PAGES[0], wrong, PAGES[2], PAGES[0]))]
    path = tmp_path / f"a.warc.{ending}"
    blocks = read(path, b"".join(members))
    read_texts = [document.text for block in blocks for document in block.documents]
    assert read_texts == [f"<p>page {n}</p>" * 20 for n in (1, 3, 1)]
    first = len(members[0])
    (skipped,) = [sentence for block in blocks for sentence in block.skipped]
    assert f"a.warc.{ending}:2: at byte {first:,}: " in skipped and reason in skipped
    assert skipped.endswith(f"; skipped to byte {first + len(members[1]):,}")
    with pytest.raises(CorruptDataError, match=reason):
        read(path, b"".join(members), on_error="strict")


def test_records_may_lie_across_members(tmp_path):
    whole = b"".join(PAGES)
    blocks = [gzip.compress(whole[place : place + 100]) for place in range(0, len(whole), 100)]
    assert texts(tmp_path / "a.warc.gz", b"".join(blocks)) == [
        f"<p>page {n}</p>" * 20 for n in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("body", "http", "reason"),
    [
        (b"not gzip", "Content-Encoding: gzip\r\n", "unreadable HTTP response"),
        (b"not br", "Content-Encoding: br\r\n", "unreadable HTTP response"),
        (b"no chunks", "Transfer-Encoding: chunked\r\n", "unreadable HTTP response"),
        (b"\xff\xfe\x81\xff bad <", "", "no text in any encoding"),
    ],
)
def test_a_bad_answer_is_told_and_the_next_is_read(tmp_path, body, http, reason):
    data = record(1, b"\x81\xff" + body, http=http) + PAGES[1]
    (block,) = read(tmp_path / "a.warc", data)
    assert [document.row for document in block.documents] == [2]
    assert len(block.skipped) == 1 and f"a.warc:1: {reason}" in block.skipped[0]
    with pytest.raises(ValueError, match=rf"a\.warc:1: {reason}"):
        read(tmp_path / "a.warc", data, on_error="strict")


def test_damage_is_told_with_its_place(tmp_path):
    path = tmp_path / "a.warc"
    first, second, third = PAGES
    size = len(first)
    for data, offset, reason in [
        (first + second[:-50], size, "the file ends within a WARC record"),
        (first + second[:100], size, "has no Content-Length"),
        (
            first + second.replace(b"Content-Length: 3", b"Content-Length: -3"),
            size,
            "has no Content-Length",
        ),
        (first + second.replace(b"Content-Length: 3", b"Content-Length: 1"), size, "not WARC from"),
        (first + b"hello\r\n\r\n" + third, 0, "not WARC from here on"),
        (b"<html>no archive</html>\n", 0, "not WARC from here on"),
    ]:
        with pytest.raises(CorruptDataError, match=reason) as caught:
            read(path, data)
        assert caught.value.offset == offset
    assert texts(path, b"") == []


def test_long_pages_are_passed_over(tmp_path, monkeypatch):
    bomb = record(1, gzip.compress(b"x" * 5000), http="Content-Encoding: gzip\r\n")
    data = bomb + record(2, b"y" * 900) + PAGES[1]
    (block,) = read(tmp_path / "a.warc", data, max_row_bytes=800)
    assert [document.row for document in block.documents] == [3]
    assert [row for row, _ in block.too_long] == [1, 2]
    monkeypatch.setattr(html, "MAX_PAGE_BYTES", 800)
    (block,) = read(tmp_path / "a.warc", data)
    assert len(block.skipped) == 2 and "a.warc:2: a page has more than 800" in block.skipped[1]


def test_blocks_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "BLOCK_CHARACTERS", 300)
    blocks = read(tmp_path / "a.warc.gz", b"".join(map(gzip.compress, PAGES)))
    assert [[d.row for d in block.documents] for block in blocks] == [[1, 2], [3]]
    size = (tmp_path / "a.warc.gz").stat().st_size
    assert sum(block.num_file_bytes for block in blocks) == size


@given(st.data())
def test_changed_bytes_never_surprise(tmp_path_factory, data):
    content = bytearray(b"".join(PAGES))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = tmp_path_factory.getbasetemp() / "changed.warc"
    try:
        read(path, bytes(content))
    except CorruptDataError as error:
        assert str(path) in str(error)


def test_a_missing_package_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastwarc.warc", None)
    with pytest.raises(ValueError, match=r"a\.warc: .* fastwarc, .*pip install"):
        read(tmp_path / "a.warc", PAGES[0])
