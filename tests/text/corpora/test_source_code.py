"""Source code: which files are documents, their languages and licences, folders, damage."""

import bz2
import functools
import gzip
import io
import random
import subprocess
import sys
import tarfile
import tracemalloc
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from bert_data.errors import CorruptDataError
from bert_data.text.corpora import archives, source_code
from bert_data.text.corpora.code_languages import code_language
from bert_data.text.corpora.licence_texts import PRINTS, find_licence, licence_print
from bert_data.text.formats import input_files, read_documents
from bert_data.text.text_config import TextConfig
from tests.rows import mostly_slow
from tests.text.corpora import corpus_files
from tests.text.corpora.corpus_files import tar

COVERS = ("text/corpora/code_languages", "text/corpora/licence_texts")

# The project's own licence, whose text is at hand.
APACHE = (Path(__file__).parents[3] / "LICENSE").read_text()
FILES = {
    "project-1/src/f.py": "def f():\r\n    return 'é'\n".encode(),
    "project-1/src/g.c": b"// SPDX-License-Identifier: MIT OR GPL-2.0-only\nint g;\n",
    "project-1/third/h.js": b"h();\n",
    "project-1/gnu.c": b"/* Released under the GPL. */\nint h;\n",
    "project-1/closed.c": b"/* Proprietary and confidential */\nint h;\n",
    "project-1/third/COPYING": b"All rights reserved.",
    "project-1/LICENSE": APACHE.encode(),
    "project-1/license_check.sh": b"check\n",
    "project-1/logo.png": b"\x89PNG",
    "project-1/data.json": b'{"a":\0}',
    "project-1/empty.py": b"\n",
    "project-1/latin.java": "// caf\xe9\n".encode("latin-1"),
    "project-1/Makefile": b"all:\n\techo\n",
    "other/k.go": b"package k\n",
}


def write(path: Path, files: dict[str, bytes]) -> Path:
    if path.suffix == ".zip":
        path.write_bytes(zipped(files))
        return path
    path.write_bytes(gzip.compress(tar(files)))
    return path


read = functools.partial(corpus_files.read, input_format="code")


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tgz", "A.TGZ", "a.zip"])
def test_an_archive(tmp_path, name):
    documents = read(write(tmp_path / name, FILES))
    described = [
        (each.row, each.fields["path"], each.fields["code_language"], each.fields.get("licence"))
        for each in documents
    ]
    assert described == [
        (1, "project-1/src/f.py", "Python", "Apache-2.0"),
        (2, "project-1/src/g.c", "C", "MIT OR GPL-2.0-only"),
        (3, "project-1/third/h.js", "JavaScript", "unknown"),
        (4, "project-1/gnu.c", "C", "GPL"),
        (5, "project-1/closed.c", "C", "proprietary"),
        (8, "project-1/license_check.sh", "Shell", "Apache-2.0"),
        (12, "project-1/latin.java", "Java", "Apache-2.0"),
        (13, "project-1/Makefile", "Makefile", "Apache-2.0"),
        (14, "other/k.go", "Go", None),
    ]
    assert documents[0].text == "def f():\n    return 'é'\n"
    assert documents[6].text == "// café\n"
    assert {each.fields["repository"] for each in documents} == {"project-1", "other"}
    (first, *_) = read(write(tmp_path / name, {"f.py": b"f()\n"}))
    assert first.fields["repository"] == name


def test_files_by_name(tmp_path):
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "other" / ".git").mkdir()
    (tmp_path / "LICENSE").write_text(APACHE)
    names = ("project-1/src/f.py", "project-1/third/h.js", "other/k.go")
    documents = read(*(tmp_path / name for name in names))
    (tmp_path / "data.csv").write_text("a,b\n")
    assert not read(tmp_path / "data.csv")
    licences = [each.fields.get("licence") for each in documents]
    assert licences == ["Apache-2.0", "unknown", None]


@pytest.mark.parametrize("name", ["a.tar.gz", "a.zip"])
def test_absolute_names_in_an_archive(tmp_path, name):
    path = write(tmp_path / name, {"/a/LICENSE": b"?", "/a/f.py": b"f\n", "/g.py": b"g\n"})
    assert [each.fields.get("licence") for each in read(path)] == ["unknown", None]


def test_nothing_outside_the_folder_is_read(tmp_path, caplog):
    (tmp_path / "secret.py").write_text("secret\n")
    repository = tmp_path / "repository"
    (repository / "src").mkdir(parents=True)
    (repository / "src" / "a.py").write_text("a\n")
    (repository / "b.py").symlink_to(repository / "src" / "a.py")
    (repository / "passwd.py").symlink_to(tmp_path / "secret.py")
    (repository / "folder").symlink_to(tmp_path)
    config = TextConfig(input_format="code")
    caplog.set_level("WARNING", "absl")
    paths = input_files(str(repository), config)
    assert [Path(path).name for path in paths] == ["b.py", "a.py"]
    (line,) = {record.message for record in caplog.records}
    assert line.startswith("left out 1 link to files outside the folder") and "passwd.py" in line
    assert input_files(str(repository), config) == paths and len(caplog.records) == 1
    # Patterns name links, too; a repository shows what is outside.
    (repository / ".git").mkdir()
    blocks = list(read_documents([str(path) for path in repository.glob("*.py")], config))
    assert [each.text for block in blocks for each in block.documents] == ["a\n"]
    (skipped,) = [sentence for block in blocks for sentence in block.skipped]
    assert "passwd.py:1: left out: a link to a file outside its repository" in skipped


@mostly_slow("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED])
def test_members_are_decompressed_up_to_the_bound(tmp_path, monkeypatch, method):
    monkeypatch.setattr(source_code, "MAX_LICENCE_BYTES", 1000)
    monkeypatch.setattr(archives, "MEMBER_PART_BYTES", 256)
    monkeypatch.setattr(zipfile.ZipExtFile, "MIN_READ_SIZE", 256)  # of what is compressed
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
        archive.writestr("LICENSE", bytes(64 << 20))
        archive.writestr("a.py", "a\n")
    tracemalloc.start()
    assert [each.text for each in read(tmp_path / "a.zip")] == ["a\n"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32 << 20


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["a.tar", "a.tgz", "a.zip"])
def test_files_before_damage_are_kept(tmp_path, name):
    files = {f"p/{n}.py": bytes([65 + n]) * 40_000 for n in range(4)}
    data = bytearray((zipped if name == "a.zip" else tar)({"p/LICENSE": APACHE.encode(), **files}))
    header = data.index(b"p/2.py")
    data[header - 30 * (name == "a.zip") : header + 2] = b"\xaa" * (32 if name == "a.zip" else 2)
    (tmp_path / name).write_bytes(gzip.compress(data) if name == "a.tgz" else data)
    blocks = read_documents([str(tmp_path / name)], TextConfig(input_format="code"))
    documents = []
    with pytest.raises(CorruptDataError, match=name):
        for block in blocks:
            documents += block.documents
    assert [each.row for each in documents] == [2, 3]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress])
def test_an_archive_that_is_cut_off(tmp_path, compress):
    files = {f"{n}.py": random.Random(n).randbytes(400_000).hex().encode() for n in range(3)}
    data = compress(tar(files))
    ending = {bytes: "tar", gzip.compress: "tgz", bz2.compress: "tbz2"}[compress]
    (tmp_path / f"a.{ending}").write_bytes(data[: len(data) // 2])
    documents = []
    with pytest.raises(CorruptDataError):
        for block in read_documents(
            [str(tmp_path / f"a.{ending}")], TextConfig(input_format="code")
        ):
            documents += block.documents
    assert [each.row for each in documents] == [1]


def test_long_files_and_damage(tmp_path):
    path = write(tmp_path / "a.tar.gz", FILES)
    config = TextConfig(input_format="code", max_row_bytes=20)
    (block,) = read_documents([str(path)], config)
    assert [row for row, _ in block.too_long] == [1, 2, 4, 5]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(CorruptDataError, match="damaged"):
        read(path)


@pytest.mark.parametrize(
    ("name", "language"),
    [("a/B.PY", "Python"), ("Dockerfile", "Dockerfile"), ("a.tar.hpp", "C++"), ("py", None)],
)
def test_languages(name, language):
    assert code_language(name) == language


def test_licences():
    assert find_licence(APACHE) == "Apache-2.0"
    assert (
        find_licence("Copyright 2020 A. B.\r\n\r\n" + APACHE.replace("\n", "\r\n")) == "Apache-2.0"
    )
    assert find_licence("# " + APACHE.upper()) == "Apache-2.0"
    clause = "The Work shall be used for Good, not Evil. "
    for place in ("END OF TERMS", "2. Grant of Copyright", "9. Accepting Warranty"):
        assert find_licence(APACHE.replace(place, clause + place)) is None
    assert find_licence(APACHE[:3000]) is None
    assert find_licence(APACHE.replace(" copyright owner", "\ncopyright owner")) == "Apache-2.0"
    assert find_licence("") is None and find_licence("Use it as you like.") is None


def test_fingerprints_are_of_the_text():
    lines = (line.split() for line in Path(PRINTS).read_text().splitlines())
    hexadecimal = {name: digits for name, *digits in lines}["Apache-2.0"]
    assert hexadecimal == sorted(hexadecimal)
    known = {bytes.fromhex(each) for each in hexadecimal}
    assert len(known & licence_print(APACHE)) > 0.99 * len(known)


def test_a_folder_stands_for_its_source_files(tmp_path):
    for name, data in {**FILES, ".hidden/a.py": b"a", "other/.git/config.py": b"a"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "project-1" / "round").symlink_to(tmp_path)
    config = TextConfig(input_format="code")
    paths = input_files(f"{tmp_path}/other,{tmp_path}/project-1/", config)
    assert [path.removeprefix(f"{tmp_path}/") for path in paths] == [
        "other/k.go",
        "project-1/Makefile",
        "project-1/closed.c",
        "project-1/data.json",
        "project-1/empty.py",
        "project-1/gnu.c",
        "project-1/latin.java",
        "project-1/license_check.sh",
        "project-1/src/f.py",
        "project-1/src/g.c",
        "project-1/third/h.js",
    ]
    fields = [document.fields for document in read(*map(Path, paths))]
    assert (fields[0]["repository"], fields[0].get("licence")) == ("other", None)
    assert "repository" not in fields[1] and fields[1]["licence"] == "Apache-2.0"
    assert input_files(f"file://{tmp_path}/other", config) == [f"file://{tmp_path}/other/k.go"]


def test_folders_that_are_refused(tmp_path, monkeypatch):
    (tmp_path / "a.txt").touch()
    config = TextConfig(input_format="code")
    with pytest.raises(ValueError, match="has no source files, nor archives of them"):
        input_files(str(tmp_path), config)
    with pytest.raises(IsADirectoryError, match=r"a file .*; `input_format=code` takes folders"):
        input_files(str(tmp_path), TextConfig())
    for name in ("a.py", "b.py"):
        (tmp_path / name).touch()
    monkeypatch.setattr(source_code, "MAX_SOURCE_FILES", 1)
    with pytest.raises(ValueError, match="has more than 1 source files; pack each repository"):
        input_files(str(tmp_path), config)


def test_what_is_left_out_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(source_code, "MAX_FILE_BYTES", 1 << 20)
    files = {
        "a.py": b"a\n",
        "b.py": b"b" * (1 << 20),
        "c.py": b"c" * (1 << 20) + b"\n",
        "d.c": b"\0",
    }
    for name in ("a.tar.gz", "a.zip"):
        write(tmp_path / name, files)
        blocks = list(read_documents([str(tmp_path / name)], TextConfig(input_format="code")))
        assert sum(len(block.documents) for block in blocks) == 2
        left_out = sum((block.left_out for block in blocks), Counter())
        assert left_out == {"files above 1 MiB": 1, "files that are not text": 1}


def header(kind: bytes, num_bytes: int) -> bytes:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = kind, num_bytes
    return info.tobuf(tarfile.GNU_FORMAT)


_LIMITED = """
import resource, sys
from pathlib import Path
from bert_data.errors import CorruptDataError
from bert_data.text.corpora.archives import read_members
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (96 << 20),) * 2)
try:
    print(sum(1 for member in read_members(sys.argv[1])))
except CorruptDataError as error:
    print(error.reason)
"""


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells its memory")
@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE, None])
def test_headers_that_decompress_to_much_take_no_memory(tmp_path, kind):
    num_bytes = 200 << 20
    with gzip.open(tmp_path / "a.tar.gz", "wb", 1) as file:
        if kind is None:  # many files without bytes
            file.write(header(tarfile.REGTYPE, 0) * 100_000 + bytes(1024))
        else:
            start = b"" if kind == tarfile.GNUTYPE_LONGNAME else b"%d comment=" % num_bytes
            file.write(header(kind, num_bytes) + start)
            for _ in range(num_bytes >> 20):
                file.write(b"a" * (1 << 20))
    command = [sys.executable, "-c", _LIMITED, str(tmp_path / "a.tar.gz")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    expected = "100000" if kind is None else "headers of more than 1,048,576 bytes"
    assert expected in told


@pytest.mark.parametrize("is_pax", [True, False])
def test_maps_of_sparse_files_are_bounded(tmp_path, is_pax):
    """GNU tar writes a map into the file behind a note of pax, or into blocks behind the header."""
    if is_pax:
        notes = b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"
        sparse = header(tarfile.XHDTYPE, len(notes)) + notes.ljust(512, b"\0")
        sparse += header(tarfile.REGTYPE, 4 << 20) + b"1000000\n" + b"0\n0\n" * 1_000_000
    else:
        block = bytearray(header(tarfile.GNUTYPE_SPARSE, 0))
        block[482] = 1  # a block of the map follows
        block[148:156] = b"%06o\0 " % (sum(block[:148]) + 8 * 32 + sum(block[156:]))
        sparse = bytes(block) + (bytes(504) + b"\1" + bytes(7)) * 4_000
    (tmp_path / "a.tar").write_bytes(sparse)
    with pytest.raises(CorruptDataError, match="headers of more than 1,048,576 bytes"):
        read(tmp_path / "a.tar")


def test_nested_headers_are_damage(tmp_path):
    nested = header(tarfile.GNUTYPE_LONGNAME, 1) + b"a" + bytes(511)
    (tmp_path / "a.tar").write_bytes(nested * 3_000)
    with pytest.raises(CorruptDataError, match="not a tar archive, or damaged"):
        read(tmp_path / "a.tar")
