"""The tokenize command as a user types it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tokens.json_files import byte_pairs

pytestmark = pytest.mark.process


@pytest.fixture
def tokenize(commands, tmp_path, small_text, small_vocabulary):
    (tmp_path / "text.txt").write_bytes(small_text.read_bytes())
    (tmp_path / "vocab.txt").write_bytes(small_vocabulary.read_bytes())
    rows = [{"text": text} for text in small_text.read_text().split("\n\n")]
    (tmp_path / "text.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return lambda *flags: commands.well("tokenize", *flags).stderr


def files(prefix: Path) -> list[bytes]:
    return [Path(f"{prefix}{ending}").read_bytes() for ending in (".bin", ".idx")]


def test_partitions_merge_and_verify(tokenize, commands, tmp_path):
    flags = ("--input_file=text.txt", "--vocab_file=vocab.txt")
    output = tokenize(*flags, "--output_prefix=out/whole")
    for part in (
        "1 token store of documents, uint16", "documents      40 (0 empty)", "MB/s",
        "out/whole.bin, .idx  40 documents, ",
    ):  # fmt: skip
        assert part in output
    tokenize(*flags, "--output_prefix=out/p", "--num_partitions=3", "--num_workers=1")
    output = tokenize(*flags, "--output_prefix=out/p", "--num_partitions=3")
    assert "3 token stores of documents, uint16, 3 of them there before" in output
    output = tokenize("--merge=out/p@3", "--output_prefix=out/m")
    assert "3 stores merged; out/m: 40 documents (0 empty), 40 sequences, " in output
    assert "3 stores merged" in tokenize("--merge=out/p-*-of-*", "--output_prefix=out/by_pattern")
    for ending in ("bin", "idx"):
        merged = (tmp_path / f"out/m.{ending}").read_bytes()
        assert (tmp_path / f"out/by_pattern.{ending}").read_bytes() == merged
    assert files(tmp_path / "out/m") == files(tmp_path / "out/whole")
    for stores, number in (("m.idx", 1), ("p@3", 3)):
        assert tokenize(f"--verify=out/{stores}").count("checksums are right") == number
    with open(tmp_path / "out/m.bin", "ab") as file:
        file.write(b"\0\0")
    assert commands.error("tokenize", "--verify=out/m").startswith("out/m.bin: byte offset ")


def test_flags_without_effect_are_refused(commands):
    for flags, sentence in (
        (("--verify=a", "--output_prefix=b"), "--output_prefix has no effect with --verify"),
        (("--merge=a,b", "--append_eod"), "--append_eod has no effect with --merge"),
    ):
        assert commands.error("tokenize", *flags) == f"{sentence}; leave it out"


def test_bpe_by_curators_rules(tokenize, tmp_path):
    byte_pairs(tmp_path / "t.json")
    flags = ("--input_file=text.jsonl", "--tokenizer_file=t.json", "--append_eod")
    tokenize(*flags, "--store_rules=curator", "--output_prefix=out/")
    (index,) = (tmp_path / "out").glob("*.idx")
    assert len(index.stem) == 12
    output = tokenize(*flags, "--store_rules=curator", "--output_prefix=out")
    assert "1 token store of documents, uint16, 1 of them there before" in output
    tokenize(*flags, "--output_prefix=one", "--num_workers=1")
    tokenize(*flags, "--output_prefix=two", "--num_workers=3")
    assert files(tmp_path / "one") == files(tmp_path / "two") == files(index.with_suffix(""))


@pytest.mark.usefixtures("tokenize")
@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ((), "one of --input_file, --merge and --verify is needed; none is set"),
        (("--input_file=text.txt", "--verify=x"), "one of --input_file, --merge and --verify is"),
        (("--input_file=text.txt",), "--output_prefix is missing: name the store to"),
        (
            ("--input_file=text.txt", "--output_prefix=x", "--vocab_file=vocab.txt",
             "--store_rules=curator"),
            "--store_rules is 'curator', which makes stores of whole files, but documents of the",
        ),
        (("--input_file=text.txt", "--output_prefix=x"), "set one of --vocab_file and --token"),
        (("--merge", "--input_file=x,y"), "--merge needs stores, such as --merge=a,b; '--input"),
        (("--merge=a,b",), "--output_prefix is missing: name the store that --merge makes"),
        (("--merge=a,b", "--output_prefix=x"), "a.idx: No such file or directory"),
        (("--verify", "--input_file=x"), "--verify needs a store, such as --verify=a; '--input"),
        (("--verify=vocab",), "vocab.idx: No such file or directory"),
        (
            ("--input_file=text.*", "--output_prefix=x", "--vocab_file=vocab.txt"),
            "the inputs have several formats (text.jsonl is jsonl, text.txt is lines); they must",
        ),
        (
            ("--input_file=text.txt", "--output_prefix=x", "--vocab_file=vocab.txt",
             "--num_partitions=1000"),
            "1000 partitions are requested, but the 1 file, 'text.txt' first,",
        ),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_one_line(commands, flags, sentence):
    assert commands.error("tokenize", *flags).startswith(sentence)


def test_little_text_loads_no_large_module(tokenize, tmp_path, checkout):
    unused = {"numpy.ma", "numpy.random", "pyarrow.compute", "importlib.metadata", "numba"}
    program = (
        "import runpy, sys, atexit\n"
        f"atexit.register(lambda: print('loaded', {unused!r} & set(sys.modules)))\n"
        "runpy.run_module('bert_data.cli.tokenize', run_name='__main__', alter_sys=True)\n"
    )
    flags = ["--input_file=text.txt", "--vocab_file=vocab.txt", "--output_prefix=store"]
    tokenize(*flags)  # compiles
    done = subprocess.run(
        [sys.executable, "-c", program, *flags, "--overwrite"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(checkout)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "loaded set()\n"
