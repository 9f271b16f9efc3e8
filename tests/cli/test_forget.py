"""The command forget: partitions without some documents, and what else it does not take."""

import json

import pytest

from bert_data.tokens.verifying import verify_store

pytestmark = pytest.mark.process


@pytest.fixture
def folder(tmp_path, commands):
    """Two partitions of 40 documents, the last two with the same id."""
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nba\n")
    rows = [{"text": "ba ba", "key": f"d{min(n, 38)}"} for n in range(40)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "ids.txt").write_text("d38\nd2\nother\n")
    commands.well(
        "tokenize", "--input_file=a.jsonl", "--output_prefix=s", "--num_partitions=2",
        "--id_field=key", "--vocab_file=vocab.txt",
    )  # fmt: skip
    return tmp_path


def test_partitions(folder, commands):
    flags = ["--input_file=s@2", "--documents=ids.txt", "--output_prefix=f"]
    log = commands.well("forget", *flags).stderr
    assert "3 documents of 2 ids taken out of 40 documents" in log
    assert "no document has 1 of the 3 ids of ids.txt: 'other'" in log
    parts = [verify_store(f"{folder}/f-0000{n}-of-00002") for n in range(2)]
    assert sum(part.num_documents for part in parts) == 37
    assert "--overwrite" in commands.error("forget", *flags)
    commands.well("forget", *flags, "--overwrite")


def test_mistakes(folder, commands):
    flags = ["--documents=ids.txt", "--output_prefix=f", "--made_from=s@2"]
    for store, sentence in (
        ("s@2", "--made_from is for records and samples; s@2 is not"),
        ("s@3", "no file matches 's@3', but there is 's@2'"),
        ("x@2", "no file matches 'x@2'"),
    ):
        assert commands.error("forget", f"--input_file={store}", *flags) == sentence


def test_curated_set(folder, commands):
    """The duplicate of a document that is gone comes back, as in a run without that document."""
    rows = [{"id": f"r{n}", "text": f"same words {n // 2}"} for n in range(40)]
    (folder / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "ids.txt").write_text("r8\nr9\nr11\n")
    curate = ["--input_file=b.jsonl", "--steps=exact_duplicates", "--num_workers=1"]
    commands.well("curate", *curate, "--output_file=c.jsonl.gz@2")
    flags = ["--input_file=c.jsonl.gz@2", "--documents=ids.txt", "--output_prefix=new/c.jsonl.gz@2"]
    assert "3 documents of 3 ids taken out of 40" in commands.well("forget", *flags).stderr
    commands.well(
        "curate", *curate, "--output_file=fresh/c.jsonl.gz@2", "--without_documents=ids.txt"
    )
    new, fresh = (
        {path.name: path.read_bytes() for path in (folder / name).iterdir()}
        for name in ("new", "fresh")
    )
    assert new == fresh
    assert "--overwrite" in commands.error("forget", *flags)


def test_records(folder, commands):
    """Records of text are those of the text without the documents."""
    flags = ["--vocab_file=vocab.txt", "--id_field=key", "--dupe_factor=2", "--random_seed=7"]
    commands.well("create", "--input_file=a.jsonl", *flags, "--output_file=r.tfrecord@2")
    forget = ["forget", "--input_file=r.tfrecord@2", "--documents=ids.txt"]
    forget += ["--output_prefix=new/r.tfrecord@2", "--made_from=a.jsonl"]
    assert commands.error(*forget).startswith("set one of --vocab_file and --tokenizer_file")
    log = commands.well(*forget, "--vocab_file=vocab.txt").stderr
    assert "3 documents of 2 ids taken out of 40 documents" in log
    assert "wrote          new/r.tfrecord-00001-of-00002" in log
    rows = (folder / "a.jsonl").read_text().splitlines(keepends=True)
    rows = [row for row in rows if json.loads(row)["key"] not in ("d2", "d38")]
    (folder / "a.jsonl").write_text("".join(rows))
    commands.well("create", "--input_file=a.jsonl", *flags, "--output_file=fresh/r.tfrecord@2")
    new, fresh = (
        {path.name: path.read_bytes() for path in (folder / name).iterdir()}
        for name in ("new", "fresh")
    )
    assert new == fresh
