"""Names of indexes and manifests, and the index as NumPy reads it."""

import gzip
import io
import subprocess
import zlib

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.records.formats.tfrecord import (
    INDEX_DTYPE,
    GzipStream,
    IndexWriter,
    deflate_chunk,
    index_path,
    read_index_file,
)
from bert_data.records.sets.manifest import is_sidecar, manifest_path


def test_names():
    assert index_path("d/t-00000-of-00002") == "d/index.t-00000-of-00002.npy"
    assert index_path("t") == "index.t.npy"
    assert manifest_path("d/t") == "d/manifest.t.json"


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("d/index.t.npy", True),
        ("manifest.t.json", True),
        ("d/t", False),
        ("index.t", False),
        ("d/manifest.t.npy", False),
        ("index.d/t.npy", False),
    ],
)
def test_what_is_a_sidecar(path, answer):
    assert is_sidecar(path) is answer


@given(st.lists(st.lists(st.integers(16, 2**33), min_size=1), max_size=4))
def test_numpy_reads_the_index(batches):
    file = io.BytesIO()
    sizes = [size for batch in batches for size in batch]
    writer = IndexWriter(file, len(sizes))
    for batch in batches:
        writer.add(np.cumsum(batch, dtype=np.int64), np.array(batch, np.int64).astype(np.uint32))
    writer.finish()
    file.seek(0)
    index = np.load(file)
    assert index.dtype == INDEX_DTYPE == np.dtype([("offset", "<u8"), ("num_tokens", "<u4")])
    assert index["offset"].tolist() == [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    assert index["num_tokens"].tolist() == [size & 0xFFFFFFFF for size in sizes] + [0]
    assert file.read() == b""


@pytest.mark.parametrize(
    ("offsets", "tokens"),
    [
        ([0, 2**62, 2**63, 3 * 2**62, 100], [1, 1, 1, 1, 0]),  # wraps around twice
        ([0, 2**63, 100], [1, 1, 0]),
        ([0, 2**64 - 40, 100], [1, 1, 0]),
        ([0, 2**63], [1, 0]),
        ([0, 100, 60], [1, 1, 0]),
        ([0, 50, 65], [1, 1, 0]),
        ([0, 50, 50], [1, 1, 0]),
        ([8, 50], [1, 0]),
        ([0, 2**31 + 16], [1, 0]),
        ([0, 50], [35, 0]),
        ([0, 50], [2**32 - 1, 0]),
        ([], []),
    ],
)
def test_numbers_that_are_not_those_of_records(tmp_path, offsets, tokens):
    path = str(tmp_path / "index.t.npy")
    np.save(path, np.array([*zip(offsets, tokens, strict=True)], INDEX_DTYPE))
    with pytest.raises(CorruptDataError, match=r"index\.t\.npy: byte offset 0: "):
        read_index_file(path)


def test_the_largest_records(tmp_path):
    path = str(tmp_path / "index.t.npy")
    index = np.array([(0, 34), (50, 2**31 - 1), (2**31 + 65, 0)], INDEX_DTYPE)
    np.save(path, index)
    assert read_index_file(path).tolist() == index.tolist()


def test_an_array_of_something_else(tmp_path):
    path = str(tmp_path / "index.t.npy")
    for array in (np.zeros(3), np.zeros((2, 2), INDEX_DTYPE), np.array((0, 0), INDEX_DTYPE)):
        np.save(path, array)
        with pytest.raises(CorruptDataError, match="is not an index of records"):
            read_index_file(path)


def compress(chunks: list[bytes]) -> bytes:
    written: list[bytes] = []
    stream = GzipStream(lambda data: written.append(bytes(data)))
    for chunk in chunks:
        stream.add(memoryview(chunk), deflate_chunk(memoryview(chunk)))
    stream.finish()
    return b"".join(written)


@given(st.lists(st.one_of(st.binary(max_size=100), st.sampled_from([b"", b"same " * 5000]))))
@example([])
@example([b""])
def test_python_reads_it(chunks):
    data = compress(chunks)
    assert gzip.decompress(data) == b"".join(chunks)
    decompressor = zlib.decompressobj(zlib.MAX_WBITS | 16)  # one member, to its last byte
    assert decompressor.decompress(data) == b"".join(chunks)
    assert decompressor.eof
    assert decompressor.unused_data == b""


@pytest.mark.process
def test_the_gzip_program_reads_it():
    chunks = [bytes(range(256)) * 300, b"", b"text " * 20_000]
    for data in (compress(chunks), compress([])):
        subprocess.run(["gzip", "-t"], input=data, check=True)
    done = subprocess.run(["gzip", "-dc"], input=compress(chunks), capture_output=True, check=True)
    assert done.stdout == b"".join(chunks)


def test_it_compresses():
    assert len(compress([b"text " * 20_000] * 3)) < 3000


def test_the_header_tells_nothing_of_the_machine():
    """No time, no name, no system: the same records are the same bytes everywhere."""
    assert compress([])[:10] == bytes.fromhex("1f8b 08 00 00000000 00 ff")
