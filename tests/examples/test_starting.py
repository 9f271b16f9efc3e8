"""The examples start with their flags, in the right folder, before anything is removed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.process, pytest.mark.parametrize("example", ["demo", "corpus"])]


def start(
    example: str, folder: Path, checkout: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"examples.{example}", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_says_where_it_must_run(example: str, tmp_path: Path, checkout: Path) -> None:
    result = start(example, tmp_path, checkout)
    assert result.returncode == 1
    assert result.stderr == f"{example}: run it from the project's top folder\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("argument", "status", "says"),
    [
        ("--help", 0, "usage: python -m examples.{} "),
        ("--halp", 2, "{}: unrecognized arguments: --halp (see --help)\n"),
    ],
)
def test_flags_are_read_before_anything_is_removed(
    example: str, tmp_path: Path, checkout: Path, argument: str, status: int, says: str
) -> None:
    kept = tmp_path / f"{example}_output" / "kept"
    kept.parent.mkdir()
    kept.touch()
    for name in ("examples", "run_pretraining.py"):
        (tmp_path / name).symlink_to(checkout / name)
    result = start(example, tmp_path, checkout, argument)
    assert result.returncode == status
    assert (result.stdout + result.stderr).startswith(says.format(example))
    assert "Traceback" not in result.stderr
    assert kept.exists()
