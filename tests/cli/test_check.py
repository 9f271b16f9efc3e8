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


def test_a_plan_on_a_page(folder, commands):
    flags = ("--input_file=train@2", "--batch_size=8")
    plan = json.loads(commands.well("plan", *flags, "--json").stdout)
    assert plan["batchings"][2]["flags"] == "--batching=pools --pool_batches=64"
    assert commands.well("plan", *flags, "--html=plan.html").stdout == ""
    assert "<svg" in (folder / "plan.html").read_text()
    sentence = "set one of --batch_size and --max_tokens_per_batch"
    assert commands.error("plan", "--input_file=train@2") == sentence


def test_a_plan_of_a_recipe(tmp_path, commands):
    write_recipe(tmp_path, "  - {steps: 20, batch_size: 8}\n")
    plan = json.loads(commands.well("plan", "--recipe=r.yaml", "--json").stdout)
    assert plan["stages"][0]["num_batches"] == 20
    assert commands.well("plan", "--recipe=r.yaml").stdout.startswith("stage  until ")
    onto_a_store = ("--html=wiki.idx", "--overwrite")
    sentence = "output 'wiki.idx' is an input too"
    assert commands.error("plan", "--recipe=r.yaml", *onto_a_store) == sentence
    one = "set one of --input_file and --recipe"
    assert commands.error("plan") == commands.error("plan", "--recipe=a", "--input_file=b") == one
    sentence = "--batch_size is set, and so is --recipe, which says it itself"
    assert commands.error("plan", "--recipe=r.yaml", "--batch_size=8") == sentence
