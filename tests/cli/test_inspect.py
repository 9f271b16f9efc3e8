"""The command: its ways out, its mistakes in one sentence, and readers that close the pipe."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.inspection.looking import instance, write_vocabulary
from tests.reader.making import write_shard
from tests.recipes.stores import write_recipe

pytestmark = pytest.mark.process


@pytest.fixture
def folder(tmp_path):
    write_vocabulary(tmp_path)
    write_shard(tmp_path / "part", [instance("[CLS] the [MASK]=cat [SEP]")] * 3000)
    return tmp_path


def run(folder, checkout, command):
    """Runs a shell's line in which `inspect` is the command; pipes fail if any part does."""
    program = f"{sys.executable} -m bert_data.cli.inspect --input_file=part"
    line = command.replace("inspect", program, 1)
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        cwd=folder,
        env={"PYTHONPATH": str(checkout), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_words_json_and_a_page(folder, commands):
    part = ("inspect", "--input_file=part")
    words = commands.well(*part, "--vocab_file=vocab.txt", "--record=2999").stdout
    assert words.endswith(
        "\nrecord 2999  part:2999\n"
        "  A              [CLS] the [MASK](cat) [SEP]\n"
        "  next sentence  B follows A\n"
        "                 4 tokens, 1 to predict\n"
    )
    assert "\x1b" not in words
    rows = commands.well(*part, "--json", "--num_records=2").stdout.splitlines()
    assert [json.loads(row)["record"] for row in rows] == [0, 1]
    page = commands.well(*part, "--vocab_file=vocab.txt", "--html=a.html", "--word=cat")
    assert page.stdout == "" and "wrote a.html\n" in page.stderr
    assert (folder / "a.html").read_text().count("(cat)") == 8  # three in the legend
    (folder / "part").write_bytes((folder / "part").read_bytes()[:-1])
    assert "  damaged  part: record 2999," in commands.well(*part, status=1).stdout


def test_a_batch_of_a_recipe(tmp_path, commands):
    write_recipe(tmp_path, "  - {steps: 20, batch_size: 8}\n")
    shown = commands.well("inspect", "--recipe=r.yaml", "--step=19", "--record=7").stdout
    assert shown.startswith("step 19, in stage 1, of r.yaml\n")
    assert "\nsequence 7  r.yaml:7\n" in shown
    rows = commands.well("inspect", "--recipe=r.yaml", "--json", "--num_records=9").stdout
    assert [json.loads(row)["place"] for row in rows.splitlines()] == list(range(8))
    sentence = "--step is 20; r.yaml has the 20 steps from 0 to 19"
    assert commands.error("inspect", "--recipe=r.yaml", "--step=20") == sentence
    sentence = "output 'books.bin' is an input too"
    assert (
        commands.error("inspect", "--recipe=r.yaml", "--html=books.bin", "--overwrite") == sentence
    )
    assert commands.error("inspect") == "set one of --input_file and --recipe"
    sentence = "--vocab_file is set, and so is --recipe, which says it itself"
    assert commands.error("inspect", "--recipe=r.yaml", "--vocab_file=a") == sentence


def test_a_reader_that_closes_the_pipe_is_no_error(folder, checkout):
    for flags in ("--json", "--max_tokens=9"):
        done = run(folder, checkout, f"inspect {flags} --num_records=3000 | head -n 1")
        assert done.returncode == 141
        assert "rror" not in done.stderr
        assert len(done.stdout.splitlines()) == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ("--record=3000", "there is no record 3000: records are numbered from 0 to 2999"),
        ("--word=home --vocab_file=vocab.txt", "--input_file=part holds no record with 'home'"),
        ("--word=cat", "--word=cat needs --vocab_file, which has the ids of words"),
        ("--html=vocab.txt", "vocab.txt: exists already (--overwrite replaces it)"),
        ("--html=part --overwrite", "output 'part' is an input too"),
        ("--weights=1", "--weights needs --seq_length"),
        ("--step=1", "--step needs --recipe"),
        ("--overwrite", "--overwrite needs --html"),
        (
            "--input_format=jsonl --text_template={",
            "--text_template has '{' at character 1; it takes text and names of fields in braces,"
            r" such as {meta.title}, {{ and }} for braces, and \n, \t and \\",
        ),
    ],
)
def test_mistakes(commands, flags, sentence):
    assert commands.error("inspect", "--input_file=part", *flags.split()) == sentence


@pytest.mark.usefixtures("folder")
def test_ways_out_that_exclude_each_other(commands):
    sentence = commands.error("inspect", "--input_file=part", "--json", "--html=x", status=2)
    assert "--json and --html are both set; choose one" in sentence


def test_a_terminal_without_utf_8(folder, checkout):
    (folder / "part").write_text('{"text": "caf\u00e9"}\n', encoding="utf-8")
    done = run(folder, checkout, "PYTHONIOENCODING=ascii inspect --input_format=jsonl")
    assert done.returncode == 0, done.stderr
    assert r"text  caf\xe9" in done.stdout


def test_a_full_disk_is_one_sentence(folder, checkout):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    for command in ("inspect --json", "inspect --help", f"{sys.executable} -m bert_data --help"):
        done = run(folder, checkout, f"{command} > /dev/full")
        assert done.returncode == 1
        assert "error: standard output: No space left on device\n" in done.stderr
        assert "Exception ignored" not in done.stderr
