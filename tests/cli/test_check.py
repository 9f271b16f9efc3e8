"""The commands check and plan: their exit status, JSON and pages, and mistakes in one sentence."""

import json

import pytest

from tests.inspection.making import make_records, write_set

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
