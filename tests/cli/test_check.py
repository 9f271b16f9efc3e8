"""The commands check and plan: their exit status, JSON and pages, and mistakes in one sentence."""

import json

import pytest

from tests.inspection.making import make_records, write_set
from tests.recipes.stores import write_recipe

COVERS = ("cli/plan",)

pytestmark = pytest.mark.process

READS = ("--input_file=train@2", "--vocab_file=vocab.txt")


@pytest.fixture
def folder(tmp_path):
    write_set(tmp_path, make_records(100, 0))
    return tmp_path


def test_the_status_says_whether_a_set_is_good(folder, commands):
    assert commands.well("check", *READS).stdout.startswith("100 records of ")
    shard = folder / "train-00001-of-00002"
    shard.write_bytes(shard.read_bytes()[:-1])
    report = json.loads(commands.well("check", *READS, "--json", status=1).stdout)
    assert {finding["severity"] for finding in report["findings"]} == {"damaged"}


def test_a_folder_stands_for_its_files(tmp_path, commands):
    (tmp_path / "data").mkdir()
    write_set(tmp_path / "data", make_records(100, 0))
    (tmp_path / "data" / "vocab.txt").unlink()
    for name in ("data", "data/"):
        done = commands.well("check", f"--input_file={name}")
        assert done.stdout.startswith("100 records of ")


def test_what_cannot_be_checked_has_status_two(folder, commands):
    (folder / "empty").touch()
    for flags, sentence in (
        (["--input_file=absent", "--html=a.html"], "no file matches 'absent'"),
        (["--input_file=empty", "--html=vocab.txt"], "vocab.txt: exists already"),
        *(
            ([*READS, f"--html={name}", "--overwrite"], f"output '{name}' is an input too")
            for name in ("train-00000-of-00002", "vocab.txt")
        ),
    ):
        assert commands.error("check", *flags, status=2).startswith(sentence)


def test_a_plan_of_a_recipe(tmp_path, commands):
    write_recipe(tmp_path, "  - {steps: 20, batch_size: 8}\n")
    plan = json.loads(commands.well("plan", "--recipe=r.yaml", "--json").stdout)
    assert plan["stages"][0]["num_batches"] == 20
    assert commands.well("plan", "--recipe=r.yaml").stdout.startswith("stage  until ")
    onto_a_store = ("--html=wiki.idx", "--overwrite")
    sentence = "output 'wiki.idx' is an input too"
    assert commands.error("plan", "--recipe=r.yaml", *onto_a_store) == sentence
