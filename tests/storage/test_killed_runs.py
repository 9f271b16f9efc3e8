"""create_pretraining_data.py ended by a signal at its changes to the file system.

`tests/damage` kills it before random changes; here it ends in order, and two runs meet.
"""

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forking import Programs
from tests.program_folder import contents

pytestmark = pytest.mark.process

FLAGS = ["--max_seq_length=32", "--max_predictions_per_seq=5", "--work_dir=work", "--num_workers=2"]
NEW = ["--output_file=out/t@2", "--dupe_factor=2", *FLAGS]
OLD = ["--output_file=out/t@3", "--dupe_factor=1", "--compression=gzip", *FLAGS]


class Runs:
    """Runs of the program in a folder, with text and vocabulary beside it."""

    def __init__(self, checkout: Path, text: Path, vocabulary: Path, programs: Programs) -> None:
        self._programs = programs
        self._script = str(checkout / "create_pretraining_data.py")
        self._dying = str(checkout / "tests/dying_program.py")
        self._inputs = [f"--input_file={text}", f"--vocab_file={vocabulary}", "--num_examples=0"]

    def command(self, *flags: str) -> list[str]:
        return [sys.executable, self._script, *self._inputs, *flags]

    def well(self, folder: Path, *flags: str) -> None:
        done = self._programs.run(self.command(*flags)[1:], cwd=folder)
        assert done.returncode == 0, done.stderr

    def ended(self, folder: Path, name: str, count: int, *flags: str) -> tuple[int, str]:
        """(exit status, standard error) of a run that gets a signal at its count-th change."""
        arguments = [self._dying, name, str(count), str(folder), *self.command(*flags)[1:]]
        done = self._programs.run(arguments, cwd=folder)
        return done.returncode, done.stderr


@pytest.fixture(scope="module")
def runs(checkout, small_text, small_vocabulary, programs) -> Runs:
    return Runs(checkout, small_text, small_vocabulary, programs)


@pytest.fixture(scope="module")
def undisturbed(runs, tmp_path_factory) -> dict[str, bytes | None]:
    """The files of a run that nothing disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    runs.well(folder, *NEW)
    return contents(folder)


@pytest.fixture(scope="module")
def older(runs, tmp_path_factory) -> dict[str, bytes | None]:
    """An older set of the same name: other flags, one shard more."""
    folder = tmp_path_factory.mktemp("older")
    runs.well(folder, *OLD)
    return contents(folder)


def write(folder: Path, files: dict[str, bytes | None]) -> None:
    folder.mkdir()
    for name, content in files.items():
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_ending_in_order_leaves_nothing(runs, tmp_path, undisturbed, name):
    for count in itertools.count(1, 3):
        folder = tmp_path / str(count)
        folder.mkdir()
        status, stderr = runs.ended(folder, name, count, *NEW)
        if status == 0:
            break
        if "Traceback" in stderr or status == -getattr(
            signal, name
        ):  # before the program has come to its main function
            assert contents(folder) == {}
            continue
        assert status == 128 + getattr(signal, name)
        assert stderr.endswith(f"create_pretraining_data: error: stopped by {name}\n")
        assert contents(folder) in ({}, undisturbed)
    assert count > 15


def test_a_killed_run_over_an_older_set_and_then_one_without_overwrite(
    runs, tmp_path, undisturbed, older
):
    """The second is refused, as the older set is whole again, as if there had been no first."""
    for count in itertools.count(20):
        folder = tmp_path / str(count)
        write(folder, older)
        status, _ = runs.ended(folder, "SIGKILL", count, *NEW, "--overwrite")
        assert status != 0
        if "out/manifest.t.json" not in contents(folder):
            break
    assert count > 20  # the change at which the older manifest goes
    status, stderr = runs.ended(folder, "SIGKILL", 0, *NEW)
    assert status == 1 and "exists already" in stderr
    assert contents(folder) == older
    runs.well(folder, *NEW, "--overwrite")
    assert contents(folder) == undisturbed


@pytest.mark.parametrize("overwrite", [False, True])
def test_two_runs_whose_outputs_overlap(runs, tmp_path, overwrite):
    """The first one waits at a pipe for its text while the second one makes the same files."""
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    text = Path(runs.command()[2].removeprefix("--input_file="))
    folder, alone = tmp_path / "runs", tmp_path / "alone"
    for each in (folder, alone):
        (each / "work").mkdir(parents=True)  # else the run that made it removes it if it fails
    second_flags = ["--output_file=out/a,out/b", *FLAGS]
    first_flags = ["--output_file=out/b,out/a", f"--overwrite={overwrite}", *FLAGS]
    runs.well(alone, *(first_flags if overwrite else second_flags))
    first = subprocess.Popen(
        [*runs.command(*first_flags), f"--input_file={pipe}"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with open(pipe, "wb") as file:
        runs.well(folder, *second_flags)
        file.write(text.read_bytes())
    stderr = first.communicate()[1]
    if overwrite:
        assert first.returncode == 0, stderr
    else:
        assert first.returncode == 1
        assert stderr.endswith("out/b: exists already (--overwrite replaces it)\n")
    assert contents(folder) == contents(alone)


def test_two_runs_for_the_same_output(runs, tmp_path, undisturbed):
    """The first one waits for its text at a pipe; the second is refused in one sentence."""
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    text = Path(runs.command()[2].removeprefix("--input_file="))
    folder = tmp_path / "runs"
    folder.mkdir()
    first = subprocess.Popen(
        [*runs.command(*NEW), f"--input_file={pipe}"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with open(pipe, "wb") as file:  # from here on the first run is reading
        before = contents(folder)
        done = subprocess.run(
            runs.command(*NEW, "--overwrite"),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "another run is writing this output" in done.stderr
        assert contents(folder) == before
        file.write(text.read_bytes())
    assert first.wait() == 0
    assert contents(folder) == undisturbed
