"""One gzip file made of chunks, read by other programs."""

import gzip
import subprocess
import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.formats.tfrecord import GzipStream, deflate_chunk


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
