"""Commands whose inputs and outputs are objects write the bytes that they write to local files."""

import gzip
import json
import os
from pathlib import Path

import pytest

from tests.forking import Programs
from tests.program_folder import contents

pytestmark = [pytest.mark.process, pytest.mark.slow]

RECORDS = "--max_seq_length=32 --max_predictions_per_seq=5"
RUNS = {
    "create": "--input_file=@in/a.txt.gz,@in/[^av]*.txt --vocab_file=@in/vocab.txt"
    f" {RECORDS} --output_file=@out/t@2",
    "train_vocab": "--input_file=@in/*.gz --vocab_size=60 --output_file=@out/vocab.txt",
    "train_classifier": "--positive_file=@in/b.txt --negative_file=@in/*.jsonl --buckets=20"
    " --dimension=4 --output_file=@out/m.bin",
    "tokenize": "--input_file=@in/b.txt --vocab_file=@in/vocab.txt --output_prefix=@out/s"
    " --num_partitions=2 --num_workers=1",
    "merge": "--merge=@stores/a,@stores/b --output_prefix=@out/s",
    "build_samples": "--input=@stores/a --num_samples=9 --seq_length=16 --cache_dir=@out/cache"
    " --output_file=@out/g@2",
    "curate": "--input_file=web=@in/*.jsonl --steps=length --output_file=@out/c.jsonl.gz@2"
    " --steps=exact_duplicates --rejected_file=@out/no.jsonl@2 --report=@out/r.html"
    " --num_workers=1",
}
PROGRAMS = {"merge": "tokenize"}


@pytest.fixture
def folder(tmp_path, small_text, small_vocabulary):
    text = small_text.read_bytes()
    (tmp_path / "in").mkdir()
    (tmp_path / "tmp").mkdir()
    (tmp_path / "in" / "b.txt").write_bytes(text)
    (tmp_path / "in" / "a.txt.gz").write_bytes(gzip.compress(text, mtime=0))
    (tmp_path / "in" / "vocab.txt").write_bytes(small_vocabulary.read_bytes())
    rows = [{"text": each} for each in [*text.decode().split("\n\n"), "short", "short"]]
    (tmp_path / "in" / "c.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


@pytest.fixture
def stores(folder):
    """Two token stores."""
    from bert_data.tokens.store_making import StoreConfig, make_stores

    for name in "ab":
        make_stores(
            StoreConfig(
                input_file=str(folder / "in" / "c.jsonl"),
                vocab_file=str(folder / "in" / "vocab.txt"),
                output_prefix=str(folder / "stores" / name),
            )
        )


def run(programs: Programs, folder: Path, name: str, flags: str, *, place: str) -> str:
    """Runs a program with flags in which "@" is where its files are; returns its last line."""
    command = ["-m", f"bert_data.cli.{PROGRAMS.get(name, name)}"]
    # "path@2" is not a place.
    flags = flags.replace("=@", f"={place}").replace(",@", f",{place}")
    done = programs.run(
        [*command, *flags.split()], cwd=folder, env={**os.environ, "TMPDIR": str(folder / "tmp")}
    )
    assert done.returncode in (0, 1), done.stderr
    return "" if done.returncode == 0 else done.stderr.splitlines()[-1]


def put_all(store, folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            store.put(path.relative_to(folder).as_posix(), path.read_bytes())


def of_files(outputs: dict[str, bytes | None], place: str) -> dict[str, bytes]:
    """The contents of files, without the names that tell where their inputs are."""
    place = place.rstrip("/")
    return {
        name: data.replace(place.encode(), b"@")
        for name, data in outputs.items()
        if data and not name.endswith(".html") and "cache" not in name
    }


@pytest.mark.parametrize("name", RUNS)
def test_objects_are_what_files_are(programs, folder, stores, object_store, name):
    flags, place = RUNS[name], object_store.uri()
    put_all(object_store, folder)
    assert not run(programs, folder, name, flags, place=f"{folder}/")
    local = of_files(contents(folder / "out"), str(folder))
    assert len(local) >= 2 or name in ("train_vocab", "train_classifier")
    assert not run(programs, folder, name, flags, place=place)
    assert of_files(object_store.contents("out/"), place) == local
    if name != "tokenize":  # which finds that its stores are there
        error = run(programs, folder, name, flags, place=place)
        assert object_store.uri("out/") in error and "exists already" in error
    assert not run(programs, folder, name, f"{flags} --overwrite", place=place)
    assert of_files(object_store.contents("out/"), place) == local
    assert object_store.uploads() == [] and contents(folder / "tmp") == {}


def test_what_a_failed_run_leaves(programs, folder, object_store):
    """An input that is damaged at its end: nothing is published, and nothing stays behind."""
    whole = (folder / "in" / "a.txt.gz").read_bytes()
    (folder / "in" / "a.txt.gz").write_bytes(whole[:-100])
    (folder / "in" / "b").write_bytes((folder / "in" / "b.txt").read_bytes())
    put_all(object_store, folder)
    before = object_store.keys()
    flags = "--input_file=@in/a.txt.gz --vocab_file=@in/vocab.txt --output_file=@out/t"
    error = run(programs, folder, "create", flags, place=object_store.uri())
    assert f"{object_store.uri('in/a.txt.gz')}: byte offset" in error
    flags = "--input_file=@in/b --vocab_file=@in/vocab.txt --output_file=@in/b --overwrite"
    error = run(programs, folder, "create", flags, place=object_store.uri())
    assert "is an input too" in error
    assert object_store.keys() == before and contents(folder / "tmp") == {}


def test_what_an_earlier_set_has_more_goes(programs, folder, object_store):
    put_all(object_store, folder)
    flags = f"--input_file=@in/b.txt --vocab_file=@in/vocab.txt {RECORDS} --overwrite"
    for count in (3, 2):
        more = f"{flags} --output_file=@out/t@{count}"
        name = "create"
        assert not run(programs, folder, name, more, place=object_store.uri())
    names = object_store.keys("out/t-")
    assert names and all("of-00002" in name for name in names)


def test_files_of_tasks_do_not_pass_through_the_command(programs, folder, object_store):
    put_all(object_store, folder)
    object_store.clear()
    place = object_store.uri()
    flags = f"{RUNS['curate']} --work_dir=@work"
    assert not run(programs, folder, "curate", flags, place=place)
    names = ("c-", "ledger.c.jsonl.gz-", "no-")
    assert [len(object_store.keys(f"out/{name}")) for name in names] == [2, 2, 2]
    of_tasks = [each for each in object_store.requests if each.key.endswith("/file")]
    assert len({each.key for each in of_tasks}) == 6
    assert {each.method for each in of_tasks} & {"GET", "PUT"} == {"PUT"}
    assert object_store.keys("work/") == []
