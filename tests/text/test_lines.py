"""Blocks of whole lines: nothing lost, nothing cut inside a line, damage told."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.running.data_sets import DataSet, plan_all_shards
from bert_data.errors import CorruptDataError
from bert_data.text.compression import open_bytes
from bert_data.text.formats import input_files
from bert_data.text.lines import read_line_blocks
from bert_data.text.text_config import TextConfig

COVERS = ("text/compression",)


TEXT = b"".join(
    b"line %d of some text that does not compress to nothing\n" % i for i in range(5000)
)
LINES = st.lists(st.sampled_from([b"", b"\n", b"\r", b"a", b"\xfe", b"bc\n", b"\0", b"long " * 9]))


def read(path: Path | str, **options) -> bytes:
    return b"".join(block.data for block in read_line_blocks([str(path)], **options))


def zstd(data: bytes, *, checksum: bool = False) -> bytes:
    """A frame without its size in its header, as a pipe writes it."""
    out = io.BytesIO()
    compressor = zstandard.ZstdCompressor(write_checksum=checksum)
    with compressor.stream_writer(out, closefd=False) as writer:
        writer.write(data)
    return out.getvalue()


@given(st.lists(LINES.map(b"".join), min_size=1, max_size=3), st.integers(1, 40))
def test_blocks_are_whole_lines_and_all_of_the_files(tmp_path_factory, contents, block_bytes):
    folder = tmp_path_factory.mktemp("lines")
    paths = []
    for number, content in enumerate(contents):
        paths.append(str(folder / f"{number}.txt"))
        Path(paths[-1]).write_bytes(content)
    blocks = list(read_line_blocks(paths, block_bytes=block_bytes))
    for number, content in enumerate(contents):
        of_file = [block for block in blocks if block.file == number]
        assert b"".join(block.data for block in of_file) == content
        assert all(block.path == paths[number] for block in of_file)
        assert all(block.data.endswith(b"\n") for block in of_file[:-1])
    assert all(block.data for block in blocks)
    assert [block.file for block in blocks] == sorted(block.file for block in blocks)


def test_a_line_longer_than_a_block_is_one_block(tmp_path):
    path = tmp_path / "long.txt"
    path.write_bytes(b"a" * 1000 + b"\nshort\n" + b"b" * 1000)
    blocks = [block.data for block in read_line_blocks([str(path)], block_bytes=64)]
    assert blocks[0] == b"a" * 1000 + b"\nshort\n" or blocks[0] == b"a" * 1000 + b"\n"
    assert b"".join(blocks) == path.read_bytes()


@pytest.mark.parametrize("block_bytes", [100, 4096, 1 << 20])
@pytest.mark.parametrize(
    ("ending", "compress"),
    [
        (".gz", gzip.compress),
        (".zst", zstd),
        (".zst", zstandard.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
    ],
    ids=["gz", "zst", "zst_with_size", "bz2", "xz"],
)
class TestCompressed:
    @pytest.fixture
    def path(self, tmp_path, ending):
        return tmp_path / f"text{ending}"

    def test_equals_the_plain_text(self, path, compress, block_bytes):
        path.write_bytes(compress(TEXT))
        assert read(path, block_bytes=block_bytes) == TEXT

    def test_many_members_or_frames_are_read_on(self, path, compress, block_bytes):
        parts = [TEXT[:1000], b"", TEXT[1000:1001], TEXT[1001:]]
        path.write_bytes(b"".join(compress(part) for part in parts))
        assert read(path, block_bytes=block_bytes) == TEXT

    def test_a_file_that_ends_too_early_is_an_error(self, path, compress, block_bytes):
        whole = compress(TEXT[:5000]) + compress(TEXT)
        first = len(compress(TEXT[:5000]))
        for size in (1, 3, 9, first - 9, first - 1, first + 1, first + 2, first + 7, first + 100,
                     len(whole) - 200, len(whole) - 9, len(whole) - 4, len(whole) - 1):  # fmt: skip
            path.write_bytes(whole[:size])
            with pytest.raises(CorruptDataError, match=f"{path.name}: byte offset"):
                read(path, block_bytes=block_bytes)

    def test_all_that_is_before_damage_is_read(self, path, compress, block_bytes):
        path.write_bytes(compress(TEXT[:5000]) + compress(TEXT)[:-9])
        good, blocks = b"", read_line_blocks([str(path)], block_bytes=block_bytes)
        with pytest.raises(CorruptDataError):
            for block in blocks:
                good += block.data
        expected = TEXT[: TEXT.rfind(b"\n", 0, 5000) + 1]
        assert good.startswith(expected) and (TEXT[:5000] + TEXT).startswith(good)

    def test_damage_is_an_error(self, path, compress, block_bytes):
        for damaged in (b"not compressed at all\n" * 9, compress(TEXT) + b"rubbish behind it"):
            path.write_bytes(damaged)
            with pytest.raises(CorruptDataError):
                read(path, block_bytes=block_bytes)

    def test_an_empty_file_has_no_text(self, path, compress, block_bytes):
        for data in (b"", compress(b"")):
            path.write_bytes(data)
            assert read(path, block_bytes=block_bytes) == b""


def test_flipped_bytes_do_not_pass(tmp_path):
    """Checksums see what the format itself does not."""
    for ending, whole in ((".gz", gzip.compress(TEXT)), (".zst", zstd(TEXT, checksum=True))):
        path = tmp_path / f"text{ending}"
        for place in range(len(whole) // 3, len(whole), len(whole) // 7):
            damaged = bytearray(whole)
            damaged[place] ^= 0x10
            path.write_bytes(damaged)
            with pytest.raises(CorruptDataError):
                read(path)


@pytest.mark.process
def test_what_the_gzip_program_writes(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(
        subprocess.run(["gzip", "-c"], input=TEXT, stdout=subprocess.PIPE, check=True).stdout
    )
    assert read(path) == TEXT


def test_a_skippable_frame_holds_no_text(tmp_path):
    path = tmp_path / "text.zst"
    skippable = b"\x50\x2a\x4d\x18" + (7).to_bytes(4, "little") + b"ignored"
    path.write_bytes(skippable + zstd(TEXT) + skippable)
    assert read(path) == TEXT


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        read(tmp_path / "none.gz")
    assert caught.value.filename == str(tmp_path / "none.gz")


def zstd_with_dictionary() -> bytes:
    rows = [b"the row %d of a text that is like the others of it" % i for i in range(2000)]
    dictionary = zstandard.train_dictionary(2000, rows)
    return zstandard.ZstdCompressor(dict_data=dictionary).compress(TEXT)


def zstd_with_window(log: int) -> bytes:
    parameters = zstandard.ZstdCompressionParameters(window_log=log, write_content_size=False)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return stream.compress(TEXT) + stream.flush()


def test_frames_of_zstandard_with_large_windows_are_read_if_memory_allows(tmp_path, monkeypatch):
    path = tmp_path / "text.zst"
    path.write_bytes(zstd(TEXT) + zstd_with_window(28))
    assert read(path) == TEXT * 2
    monkeypatch.setattr("bert_data.text.compression.allowed_memory", lambda: 300 << 20)
    with pytest.raises(
        CorruptDataError, match=r"need 268.4 MB of memory for their windows, and 157.3 MB"
    ):
        read(path)


@pytest.mark.parametrize("name", ["ids", "warc"])
def test_frames_of_zstandard_with_a_dictionary_are_named(tmp_path, name):
    path = tmp_path / "text.zst"
    beginning = b"" if name == "ids" else b"\x5d\x2a\x4d\x18" + bytes(4)
    path.write_bytes(beginning + (zstd_with_dictionary() if name == "ids" else zstd(TEXT)))
    with pytest.raises(CorruptDataError, match=r"frames need a dictionary.* \(zstd -D "):
        read(path)


@pytest.mark.parametrize(("ending", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_zeros_are_padding_behind_a_stream_and_damage_before_the_first(tmp_path, ending, compress):
    path = tmp_path / f"t{ending}"
    path.write_bytes((compress(b"a\n") + bytes(500)) * 2)
    with open_bytes(str(path)) as (file, _):
        assert file.read(10) == b"a\na\n"
    path.write_bytes(bytes(500))
    with pytest.raises(CorruptDataError), open_bytes(str(path)) as (file, _):
        file.read(10)


@contextlib.contextmanager
def piped(data: bytes) -> Iterator[str]:
    """Yield the path of a pipe that gives a few bytes, as of a shell's `<(...)`."""
    ends = os.pipe()
    os.write(ends[1], data)
    os.close(ends[1])
    yield f"/dev/fd/{ends[0]}"
    os.close(ends[0])


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress, zstd])
def test_the_bytes_of_a_pipe_say_how_it_is_compressed(compress):
    text = b"BZh is a word.\nOne.\n"
    with piped(compress(text)) as path:
        assert read(path) == text


def test_a_pipe_that_is_cut_off():
    with (
        piped(gzip.compress(b"One.\n")[:-9]) as path,
        pytest.raises(CorruptDataError, match="the compressed data is damaged"),
    ):
        read(path)


def test_what_cannot_be_read_from_a_pipe_is_refused():
    with piped(b"<mediawiki/>") as path:
        assert input_files(path, TextConfig(input_format="prose")) == [path]
        with pytest.raises(ValueError, match="is a pipe, and mediawiki is read from a file alone"):
            input_files(path, TextConfig(input_format="mediawiki"))
        with pytest.raises(ValueError, match=r"data set a: .* curate reads its inputs more than"):
            plan_all_shards([DataSet(name="a", files=path)], 1)
