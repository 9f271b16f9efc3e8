"""Mistakes and full disks: one clear sentence, and nothing left behind."""

import contextlib
import gzip
import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.program_folder import Folder, contents, only_error

pytestmark = pytest.mark.process


@pytest.fixture
def folder(tmp_path, checkout, small_text, small_vocabulary, programs) -> Folder:
    return Folder(tmp_path, checkout, small_text, small_vocabulary, programs)


MISTAKES: dict[str, tuple[dict[str, object], str]] = {
    "no match": ({"input_file": "none*.txt"}, "no file matches 'none*.txt'"),
    "a match is a folder": ({"input_file": "s*b"}, "sub: is a directory"),
    "input cannot be read": (
        {"input_file": "/proc/self/mem"},
        "/proc/self/mem: Input/output error",
    ),
    "undecodable": ({"input_file": "text.txt,bad.txt"}, "bad.txt:3: not UTF-8 ("),
    "empty text": ({"input_file": "empty.txt"}, "no sentences in empty.txt"),
    "gz cut off": ({"input_file": "cut.gz"}, "cut.gz: byte offset "),
    "no vocabulary": ({"vocab_file": "none.txt"}, "none.txt: No such file or directory"),
    "vocabulary is a folder": ({"vocab_file": "sub"}, "sub: Is a directory"),
    "blank vocabulary": ({"vocab_file": "blank.txt"}, "vocabulary blank.txt is empty"),
    "binary vocabulary": ({"vocab_file": "binary.txt"}, "vocabulary binary.txt is not text"),
    "undecodable vocabulary": (
        {"vocab_file": "bad.txt"},
        "vocabulary bad.txt is not UTF-8: line 3",
    ),
    "vocabulary without [MASK]": ({"vocab_file": "nomask.txt"}, "nomask.txt has no [MASK]"),
    "vocabulary is text": ({"vocab_file": "text.txt"}, "has no [UNK], [CLS], [SEP], [MASK]"),
    "compression": ({"compression": "zip"}, "--compression is 'zip'; it must be one of none, gzip"),
    "an end of documents for lines": (
        {"document_end": "heading"},
        "document_end is 'heading', but the format is lines; --document_end is for --input_format=",
    ),
    "a name of parquet": (
        {"output_file": "x.parquet@2"},
        "output 'x.parquet@2' would not be parquet, as its ending says; set --output_format=",
    ),
    "memory for parquet": (
        {"output_format": "parquet", "max_memory_mb": 479},
        "max_memory_mb is 479; 480 to 1,000,000,000 is",
    ),
    "mistyped": ({"max_seq_lenght": 128}, "; did you mean --max_seq_length? (see --help)"),
    "missing": ({"vocab_file": None}, "--vocab_file"),
    "index is a folder": ({"output_file": "a", "overwrite": True}, "index.a.npy: is a directory"),
    "output in a file": ({"output_file": "text.txt/out"}, "text.txt: is not a folder"),
    "output in /proc": ({"output_file": "/proc/new/out"}, "/proc/new: "),
    "exists": ({"output_file": "old"}, "old: exists already (--overwrite replaces it)"),
    "manifest exists": ({"output_file": "x"}, "manifest.x.json: exists already"),
    "work_dir in /proc": ({"work_dir": "/proc/new"}, "/proc/new: "),
    "local and remote outputs": (
        {"output_file": "out,s3://bucket/a"},
        "is local, but other outputs are remote",
    ),
}


@pytest.fixture
def strewn(folder) -> Folder:
    """A folder with files that mistakes need."""
    (folder.path / "sub").mkdir()
    (folder.path / "index.a.npy").mkdir()
    vocabulary = (folder.path / "vocab.txt").read_bytes()
    for name, content in {
        "bad.txt": b"ba do\n\nki \xff\n",
        "empty.txt": b"",
        "blank.txt": b"\n \n\n",
        "binary.txt": b"[UNK]\0\x01\n",
        "nomask.txt": vocabulary.replace(b"[MASK]\n", b""),
        "cut.gz": gzip.compress(b"ba do\n" * 999)[:-5],
        "old": b"old",
        "manifest.x.json": b"{}",
    }.items():
        folder.write(name, content)
    return folder


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_and_leaves_nothing(strewn, mistake):
    flags, sentence = MISTAKES[mistake]
    assert sentence in strewn.fail(**flags)


def test_files_without_their_flag(folder):
    """The arguments that a shell makes of --input_file *.txt."""
    before = contents(folder.path)
    done = subprocess.run(
        [*folder.command(), "text2.txt"],
        cwd=folder.path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "text2.txt" in only_error(done.stderr)
    assert contents(folder.path) == before


@pytest.mark.parametrize(
    "flags",
    [{}, {"work_dir": "work", "compression": "gzip"}, {"output_format": "parquet"}],
    ids=["plain", "gzip", "parquet"],
)
def test_a_full_disk(folder, flags):
    """No file may be larger than so many bytes: one after the other cannot be written."""
    whole = max(len(data or b"") for data in folder.make(output_file="whole/out").values())
    failed = 0
    for max_bytes in (0, 100, 300, 1000, 3000, 7000, 15_000, whole - 1):
        before = contents(folder.path)
        done = folder.run(max_file_bytes=max_bytes, **flags)
        if done.returncode == 0:  # gzip's largest file is a smaller one
            break
        failed += 1
        sentence = only_error(done.stderr)
        assert sentence.endswith(": File too large"), max_bytes
        assert "/" in sentence or sentence.startswith((".", "out", "index", "manifest"))
        assert contents(folder.path) == before
    assert failed >= 5


@contextlib.contextmanager
def disk(folder: Folder, options: str) -> Iterator[None]:
    """A small disk of its own in a folder; without the right to mount one, the test is skipped."""
    path = folder.path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
    if os.getuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a disk")
    try:
        yield
    finally:
        subprocess.run(["umount", str(path)], check=True)


@pytest.mark.parametrize("num_kilobytes", [16, 32, 48, 64])
@pytest.mark.parametrize("flags", [{"output_file": "disk/out"}, {"work_dir": "disk"}], ids=str)
def test_a_full_disk_that_is_one(folder, num_kilobytes, flags):
    with disk(folder, f"size={num_kilobytes}k"):
        sentence = folder.fail(dupe_factor=20, **flags)
        assert "disk/" in sentence
        assert sentence.endswith(": No space left on device")


def test_a_disk_that_is_read_only(folder):
    with disk(folder, "ro,size=64k"):
        assert "disk: Read-only file system" in folder.fail(output_file="disk/out")
        assert "disk/new: Read-only file system" in folder.fail(output_file="disk/new/out")


def test_a_folder_without_the_right_to_write(folder):
    if os.getuid() == 0:
        pytest.skip("root may write everywhere")
    (folder.path / "closed").mkdir(mode=0o500)
    assert "closed: no permission to write" in folder.fail(output_file="closed/out")


def test_the_input_is_not_replaced_by_the_output(folder):
    for flag, name in (("input_file", "text"), ("vocab_file", "vocab")):
        folder.write(name, (folder.path / f"{name}.txt").read_bytes())
        sentence = folder.fail(overwrite=True, output_file=name, **{flag: name})
        assert sentence == f"output '{name}' is an input too"
