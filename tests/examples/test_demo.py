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
    """Already the small one; the usual one learns more."""
    for name in ("bert_data", "examples", "create_pretraining_data.py", "run_pretraining.py",
                 "tokenization.py"):  # fmt: skip
        (tmp_path / name).symlink_to(checkout / name)
    result = subprocess.run(
        [sys.executable, "-m", "examples.demo", "--small"],
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
