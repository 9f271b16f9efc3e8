"""The demo as a newcomer runs it: it must learn from context on this machine, too."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process


@pytest.mark.slow
def test_the_demo_beats_the_unigrams(checkout: Path, tmp_path: Path) -> None:
    """In three quarters of its steps, to save time; in all of them it learns more."""
    for name in ("bert_data", "examples", "create_pretraining_data.py", "run_pretraining.py",
                 "tokenization.py"):  # fmt: skip
        (tmp_path / name).symlink_to(checkout / name)
    result = subprocess.run(
        [sys.executable, "-m", "examples.demo", "1500"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "it has learned from context" in result.stdout
    assert "unigrams" in result.stdout
    # True, False and None are what a function returns "if the object is a string, False otherwise".
    answer = re.search(r"Return \[MASK\] if the object .*\n +(\w+) (\d+)%", result.stdout)
    assert answer is not None
    assert answer[1] == "true"
    assert int(answer[2]) > 20
    assert result.stderr == ""


def test_says_where_it_must_run(tmp_path: Path, checkout: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "examples.demo"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert result.stderr == "demo: run it from the project's top folder\n"
    assert not (tmp_path / "demo_output").exists()


@pytest.mark.parametrize(
    ("argument", "status", "says"),
    [
        ("--help", 0, "usage: python -m examples.demo "),
        ("--halp", 2, "demo: unrecognized arguments: --halp (--help tells what there is)\n"),
    ],
)
def test_flags_are_read_before_anything_is_removed(
    tmp_path: Path, checkout: Path, argument: str, status: int, says: str
) -> None:
    kept = tmp_path / "demo_output" / "kept"
    kept.parent.mkdir()
    kept.touch()
    for name in ("examples", "run_pretraining.py"):
        (tmp_path / name).symlink_to(checkout / name)
    result = subprocess.run(
        [sys.executable, "-m", "examples.demo", argument],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == status
    assert (result.stdout + result.stderr).startswith(says)
    assert "Traceback" not in result.stderr
    assert kept.exists()
