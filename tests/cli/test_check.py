"""The commands check and plan: their exit status, JSON and pages, and mistakes in one sentence."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.inspection.making import make_records, write_set

COVERS = ("cli/plan",)

pytestmark = pytest.mark.process


def run(folder: Path, checkout: Path, command: str, *flags: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", f"bert_data.cli.{command}", *flags],
        cwd=folder,
        env={"PYTHONPATH": str(checkout), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_status_says_whether_a_set_is_good(tmp_path: Path, checkout: Path) -> None:
    write_set(tmp_path, make_records(100, 0))
    flags = ("--input_file=train@2", "--vocab_file=vocab.txt")
    status, out, err = run(tmp_path, checkout, "check", *flags)
    assert status == 0, err
    assert out.startswith("100 records of ")
    shard = tmp_path / "train-00001-of-00002"
    shard.write_bytes(shard.read_bytes()[:-1])
    status, out, err = run(tmp_path, checkout, "check", *flags, "--json")
    assert status == 1, err
    assert {finding["severity"] for finding in json.loads(out)["findings"]} == {"damaged"}
    status, out, err = run(tmp_path, checkout, "check", "--input_file=absent", "--html=a.html")
    assert (status, out) == (2, "")
    assert err == "check: error: no file matches 'absent'\n"
    assert not (tmp_path / "a.html").exists()
    (tmp_path / "empty").touch()
    page = ("--input_file=empty", "--html=vocab.txt")
    assert "vocab.txt: exists already" in run(tmp_path, checkout, "check", *page)[2]
    for name in ("train-00000-of-00002", "vocab.txt"):
        before = (tmp_path / name).read_bytes()
        page = (f"--html={name}", "--overwrite")
        status, out, err = run(tmp_path, checkout, "check", *flags, *page)
        assert (status, err) == (2, f"check: error: output '{name}' is an input too\n")
        assert (tmp_path / name).read_bytes() == before


def test_a_plan_on_a_page(tmp_path: Path, checkout: Path) -> None:
    write_set(tmp_path, make_records(100, 0))
    flags = ("--input_file=train@2", "--batch_size=8")
    status, out, err = run(tmp_path, checkout, "plan", *flags, "--json")
    assert status == 0, err
    assert json.loads(out)["batchings"][2]["flags"] == "--batching=pools --pool_batches=64"
    status, out, err = run(tmp_path, checkout, "plan", *flags, "--html=plan.html")
    assert (status, out) == (0, ""), err
    assert "<svg" in (tmp_path / "plan.html").read_text()
    status, _, err = run(tmp_path, checkout, "plan", "--input_file=train@2")
    assert status == 1
    assert err == "plan: error: set one of --batch_size and --max_tokens_per_batch\n"


def test_a_full_disk_behind_standard_output(tmp_path: Path, checkout: Path) -> None:
    write_set(tmp_path, make_records(20, 0))
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "bert_data.cli.plan", "--input_file=train@2", "--batch_size=8"],
            cwd=tmp_path,
            env={"PYTHONPATH": str(checkout), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.endswith("plan: error: standard output: No space left on device\n")
