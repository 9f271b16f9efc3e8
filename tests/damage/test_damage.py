"""Every kind of file that the project reads, damaged 40 times each; and the laboratory itself."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.damage import kinds, sandbox
from tests.damage.lab import Kind, Outcome, run_kind

TRIES = 40
KILLS = 2


def run_program(checkout: Path, module: str, *flags: str) -> list[str]:
    """In a process of its own, as it forks, which one with threads should not do."""
    done = subprocess.run(
        [sys.executable, "-m", module, *flags],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("group", kinds.GROUPS)
def test_damage_is_an_error_with_the_file_or_makes_no_difference(checkout: Path, group: str):
    lines = run_program(checkout, "tests.damage", f"--kind={group}", f"--tries={TRIES}")
    assert len(lines) > 1


@pytest.mark.process
@pytest.mark.slow
def test_hostile_numbers_in_flags_are_refused_in_a_sentence(checkout: Path):
    assert run_program(checkout, "tests.damage.hostile_flags") == [""]


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("names", ["create", "tokenize,train_vocab", "curate,build_samples"])
def test_killed_commands_leave_whole_files_and_are_given_again(checkout: Path, names: str):
    assert run_program(checkout, "tests.damage.kills", f"--command={names}", f"--kills={KILLS}")


def die(_: int) -> str:
    os.kill(os.getpid(), signal.SIGTRAP)
    return ""


def loop(_: int) -> str:
    while True:
        time.monotonic()


ENDINGS = {1: die, 3: loop, 4: lambda _: str(bytearray(10**12)), 5: lambda _: sys.exit("x")}


@pytest.mark.process
@pytest.mark.slow
def test_a_try_that_ends_its_process_costs_no_other(monkeypatch):
    monkeypatch.setattr(sandbox, "MAX_CPU_SECONDS", 1)
    tries = sandbox.run(lambda number: ENDINGS.get(number, str)(number), range(7))
    results = [(number, each.kind, each.sentence) for number, each in tries]
    assert results == [
        (0, "value", ""), (1, "crash", ""), (2, "value", ""), (3, "hang", ""), (4, "error", ""),
        (5, "error", ""), (6, "value", ""),
    ]  # fmt: skip


def make_number(folder: Path, variant: int) -> None:
    (folder / "number").write_text(f"{variant}" * 40)
    (folder / "spare").write_text("0" * 40)


def read_badly(folder: Path, way: int = 0) -> str:
    """A reader that does all that it should not."""
    data = (folder / "number").read_bytes()
    if way == 0:
        return f"{data!r}"
    if data != b"0" * 40:
        raise [KeyError("x"), ValueError("it is damaged"), OSError(2, "bad", f"{folder}/number")][
            way - 1
        ]
    return ""


@pytest.mark.process
def test_the_laboratory_sorts_what_a_bad_reader_does(tmp_path):
    kind = Kind(name="n", make=make_number, damaged=["number"], read=read_badly, ways=4)
    counts, findings = run_kind(kind, tmp_path / "a", range(40), seed=1)
    assert set(counts) == {
        Outcome.SILENT, Outcome.TRACEBACK, Outcome.VAGUE, Outcome.CLEAR_ERROR,
    }  # fmt: skip
    assert len(findings) == 40 - counts[Outcome.CLEAR_ERROR]
    assert all("in number" in finding.damage for finding in findings)
    spare = Kind(name="n", make=make_number, damaged=["spare"], read=read_badly)
    assert run_kind(spare, tmp_path / "b", range(5), seed=1) == ({Outcome.EQUAL: 5}, [])
    known = Kind(
        name="n", make=make_number, damaged=["number"], read=read_badly, unprotected={"num*": "-"}
    )
    assert run_kind(known, tmp_path / "c", range(5), seed=1) == ({Outcome.UNPROTECTED: 5}, [])
