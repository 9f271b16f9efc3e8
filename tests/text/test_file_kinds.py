"""Files that are not text are named for what they are, and text never is."""

import bz2
import contextlib
import gzip
import io
import json
import lzma
import pickle
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet

from bert_data.errors import CorruptDataError
from bert_data.text.file_kinds import HEAD_BYTES, JSON_BYTES, binary_kind, json_kind, markup_kind
from bert_data.text.formats import read_documents
from bert_data.text.text_config import TextConfig
from tests.hypotheses import examples
from tests.inspection.making import frame

TABLE = pyarrow.table({"text": ["One sentence.", "Two."] * 100})


def packed(write) -> bytes:
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def zipped(*names: str) -> bytes:
    def write(stream):
        with zipfile.ZipFile(stream, "w") as archive:
            for name in names:
                content = "application/epub+zip" if name == "mimetype" else "<a/>"
                archive.writestr(name, content)

    return packed(write)


def tarred() -> bytes:
    def write(stream):
        with tarfile.open(fileobj=stream, mode="w") as archive:
            archive.addfile(tarfile.TarInfo("a.txt"))

    return packed(write)


def database(folder: Path) -> bytes:
    with contextlib.closing(sqlite3.connect(folder / "a.db")) as connection:
        connection.execute("create table texts (text)")
    return (folder / "a.db").read_bytes()


SAMPLES = {
    "a Parquet file; `input_format=parquet`": packed(lambda s: parquet.write_table(TABLE, s)),
    "an Arrow file": packed(lambda s: feather.write_feather(TABLE, s)),
    "gzip data; add .gz to its name": gzip.compress(b"One sentence.\n"),
    "zstd data; add .zst to its name": zstandard.compress(b"One sentence.\n"),
    "bzip2 data; add .bz2 to its name": bz2.compress(b"One sentence.\n" * 9),
    "xz data; add .xz to its name": lzma.compress(b"One sentence.\n"),
    "a zip archive; unpack it first": zipped("a.txt"),
    "an EPUB book; `input_format=epub`": zipped("mimetype"),
    "an Office document; extract": zipped("[Content_Types].xml"),
    "a tar archive; unpack it first": tarred(),
    "a NumPy array": packed(lambda s: np.save(s, np.arange(9))),
    "a NumPy archive (.npz)": packed(lambda s: np.savez(s, a=np.arange(9))),
    "a pickle of Python": pickle.dumps(list(range(999)), protocol=4),
    "a safetensors file": (33).to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[1]}}\0',
    "the index of a token store": b"MMIDIDX\0\0\1" + bytes(40),
    "a PDF file; extract its text first": b"%PDF-1.4\n1 0 obj\n",
    "a WARC archive; curate reads it": b"WARC/1.0\r\nWARC-Type: warcinfo\r\n",
    "a PNG image": b"\x89PNG\r\n\x1a\n" + bytes(20),
    "a JPEG image": b"\xff\xd8\xff\xe0" + bytes(20),
    "a TFRecord file; name the text": None,
    "an SQLite database": None,
    "a binary file of unknown kind": np.arange(1996, 3996, dtype=np.uint16).tobytes(),
}  # fmt: skip


def sample(name: str, folder: Path) -> bytes:
    if name.startswith("an SQLite"):
        return database(folder)
    if name.startswith("a TFRecord"):
        return frame(b"an example" * 9)
    return SAMPLES[name]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("input_format", ["lines", "wikitext", "jsonl"])
def test_every_format_says_what_a_file_is(name, input_format, tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(sample(name, tmp_path))
    config = TextConfig(input_format=input_format, encoding_errors="ignore", on_error="skip")
    with pytest.raises(CorruptDataError) as caught:
        list(read_documents([str(path)], config))
    what, _, advice = name.partition("; ")
    assert f"it is {what}" in str(caught.value) and "not text" in str(caught.value)
    assert advice in str(caught.value)


@pytest.mark.parametrize("input_format", ["parquet", "html", "warc"])
def test_other_formats_say_it_too(input_format, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(SAMPLES["a PNG image"])
    with pytest.raises((CorruptDataError, ValueError), match=r"not .*: it is a PNG image"):
        list(read_documents([str(path)], TextConfig(input_format=input_format)))


def test_what_is_inside_a_compressed_file(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(tarred()))
    with pytest.raises(CorruptDataError, match="it holds a tar archive, not text; unpack it first"):
        list(read_documents([str(path)]))
    path.write_bytes(SAMPLES["xz data; add .xz to its name"])
    with pytest.raises(CorruptDataError, match=r"its name ends with \.gz, but it is xz data"):
        list(read_documents([str(path)]))
    path.write_text("One sentence.\n")
    with pytest.raises(CorruptDataError, match="but it is text that is not compressed"):
        list(read_documents([str(path)]))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16le", "utf-16be"])
def test_text_in_another_encoding(encoding, tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(("One sentence.\n" * 30).encode(encoding))
    with pytest.raises(CorruptDataError, match=rf"text in {encoding.upper()}; convert it to UTF-8"):
        list(read_documents([str(path)], TextConfig(encoding_errors="ignore")))


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=2000))
def test_text_is_never_taken_for_a_binary_file(text):
    head = text.encode()[:HEAD_BYTES]
    if not head.startswith((b"%PDF-", b"%!PS", b"{\\rtf", b"WARC/1.")):
        assert binary_kind(head) == ""


@pytest.mark.parametrize(
    "text",
    [b"PAR1 is how Parquet begins.", b"BM, MZ, ID3 and GIF89a are marks.", b"caf\xe9 " * 200, b""],
)
def test_text_that_begins_like_a_binary_file(text):
    assert binary_kind(text) == ""


@pytest.mark.parametrize("start", ["BM", "ORC", "MZ", "ID3", "GGUF", "BZh", "fLaC", "GIF8"])
def test_text_in_latin_1_that_begins_like_a_binary_file(start):
    assert binary_kind(f"{start}W fährt für Österreich.\n".encode("latin-1") * 20) == ""
    assert binary_kind(f"Ein {start}".encode() + b"\xfc") == ""
    assert binary_kind(b"Das ftyp WAVE\xfc") == binary_kind(b"Ein AkteWAVE \xfc") == ""
    assert binary_kind(start.encode() + bytes(20)) != ""


def test_damage_of_a_few_bytes_leaves_text(tmp_path):
    damaged = bytearray(b"One sentence of some words.\n" * 100)
    damaged[50:55] = b"\0\xff\x01\xfe\x00"
    assert binary_kind(bytes(damaged)) == ""


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"  <!DOCTYPE html>\n<html>", "HTML"),
        (b"<!-- saved -->\n<html lang=en>", "HTML"),
        (b'<?xml version="1.0"?>', "XML"),
        (b"<mediawiki xmlns=", "XML"),
        (b"<unk> is a token .", ""),
    ],
)
def test_markup(head, kind):
    assert markup_kind(head) == kind


ROWS = st.lists(
    st.dictionaries(
        st.text(),
        st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=4),
        min_size=1,
    ),
    min_size=1,
    max_size=9,
)


@pytest.mark.parametrize("literal", ["-4.5e-59", "-Infinity", "NaN", "true", "false", '"a\\u00e4"'])
def test_json_is_recognized_wherever_it_is_cut(literal):
    row = f'{{"a": [{literal}]}}\n'
    for shift in range(len(row)):
        text = f'{{"{"b" * shift}": 1}}\n' + row * (JSON_BYTES // len(row))
        assert json_kind(text.encode()[:JSON_BYTES]) == "JSON Lines"


@examples(40)
@given(ROWS, st.booleans(), st.sampled_from([1, 70_000]), st.sampled_from([b"", b"\xef\xbb\xbf\n"]))
def test_json_is_recognized(rows, is_ascii, times, before):
    def kind_of(text):
        return json_kind((before + text.encode())[:JSON_BYTES])

    def write(value, indent=None):
        return json.dumps(value, ensure_ascii=is_ascii, indent=indent)

    rows = rows * (1 + times // len(write(rows)))
    assert kind_of("\n".join(map(write, rows))) == "JSON Lines"
    assert kind_of(write(rows)) == kind_of(write(rows, indent=2)) == "a JSON array"
    assert kind_of(write({"data": rows}, indent=2)) == "a JSON object of several lines"
    assert kind_of(write(rows[0]) + "\n\nProse follows.") == ""
    assert kind_of(write(rows[:1]) + "\nif (a[0] == b) { return; }") == ""


@pytest.mark.parametrize(
    "text",
    [
        "[Chorus]\n\"Oh\", he said.\n", "{", "[]", "[1, 2]\n", '["I never said that', "",
        '{\n  "a": 1,  // a comment\n}', "{% if a %}\n", '{"a" => 1}', "[[A link]]", '"a", "b"',
        '{"text": "a row that is cut\n{"text": "b"}', "a,b\n1,2\n3,4\n" * 99,
    ],
)  # fmt: skip
def test_prose_and_code_are_no_json(text):
    assert json_kind(text.encode()) == ""


@pytest.mark.parametrize("name", ["a.txt", "a", "a.jsonl", "a.json", "a.json.gz", "a.txt.zst"])
def test_json_is_never_one_document(name, tmp_path):
    path = tmp_path / name
    pack = {".gz": gzip.compress, ".zst": zstandard.compress}.get(path.suffix, bytes)

    def read(text, **settings):
        path.write_bytes(pack(text.encode()))
        blocks = list(read_documents([str(path)], TextConfig(**settings)))
        return [document.text for block in blocks for document in block.documents]

    rows = [{"text": "One."}, {"text": "Two."}]
    lines = "\n".join(map(json.dumps, rows))
    if ".json" in name:
        assert read(lines) == ["One.", "Two."]
    else:
        with pytest.raises(CorruptDataError, match="it is JSON Lines, not text; `input_format=js"):
            read(lines)
    assert read(lines, input_format="jsonl") == ["One.", "Two."]
    assert read(lines, input_format="lines") == [tuple(lines.splitlines())]
    array = lines.replace("\n", ",\n")
    for text in (json.dumps(rows), json.dumps(rows, indent=2), f"[{array}]", f"[\n{array}\n]\n"):
        with pytest.raises(CorruptDataError, match=r"is a JSON array, not JSON Lines; .*'\.\[\]'"):
            read(text, on_error="skip")
    with pytest.raises(CorruptDataError, match=r"object of several lines, not .*jq -c '\.' FILE"):
        read("\n".join(json.dumps(row, indent=1) for row in rows), on_error="skip")


@pytest.mark.parametrize(
    "first", ['{"text": "trailing comma",}', "[1, 2]", '{"text": "a", "b":', '{"a": 1e', "["]
)
def test_a_damaged_first_row_costs_only_itself(first, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(f'{first}\n{{"text": "One."}}\nno JSON\n')
    (block,) = read_documents([str(path)], TextConfig(on_error="skip"))
    assert [document.text for document in block.documents] == ["One."]
