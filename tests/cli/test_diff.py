"""The command's exit status, and its mistakes in one sentence."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.inspection.looking import instance
from tests.reader.making import write_shard

pytestmark = pytest.mark.process

INSTANCES = [instance("[CLS] the [MASK]=cat [SEP]")] * 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_shard(tmp_path / "a", INSTANCES)
    write_shard(tmp_path / "padded", INSTANCES, "reference")
    write_shard(tmp_path / "other", [*INSTANCES[:2], instance("[CLS] dog [SEP]")])
    return tmp_path


def run(folder: Path, checkout: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bert_data.cli.diff", "--input_file=a", *flags],
        cwd=folder,
        env={"PYTHONPATH": str(checkout), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_exit_status_says_whether_they_differ(folder: Path, checkout: Path) -> None:
    done = run(folder, checkout, "--other_file=padded")
    assert done.returncode == 0, done.stderr
    assert "The two are equal\n3 of 3 records are equal in order (100.0%)" in done.stdout
    done = run(folder, checkout, "--other_file=other", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["first_difference"]["number"] == 2
    done = run(folder, checkout, "--other_file=other", "--html=a.html")
    assert (done.returncode, done.stdout) == (1, "")
    assert "record 2 is the first that differs" in (folder / "a.html").read_text()


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--other_file=none"], "no file matches 'none'"),
        (["--other_file="], "--other_file is ''; it must name files"),
        ([], "missing: --other_file (see --help)"),
        (
            ["--other_file=padded", "--html=padded", "--overwrite"],
            "output 'padded' is an input too",
        ),
    ],
)
def test_errors_have_status_two(
    folder: Path, checkout: Path, flags: list[str], sentence: str
) -> None:
    done = run(folder, checkout, *flags)
    assert done.returncode == 2
    assert f"diff: error: {sentence}\n" in done.stderr or f"diff: {sentence}\n" in done.stderr
