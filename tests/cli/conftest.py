"""Commands as a user types them, without the time that imports take."""

import subprocess
from pathlib import Path

import pytest

from tests.forking import Programs
from tests.program_folder import contents


class Commands:
    """Runs commands in a folder."""

    def __init__(self, folder: Path, programs: Programs) -> None:
        self.folder, self._programs = folder, programs

    def run(self, name: str, *flags: str) -> subprocess.CompletedProcess[str]:
        return self._programs.run(["-m", f"bert_data.cli.{name}", *flags], cwd=self.folder)

    def well(self, name: str, *flags: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = self.run(name, *flags)
        assert done.returncode == status, done.stderr
        return done

    def error(self, name: str, *flags: str, status: int = 1) -> str:
        """Return the only sentence of a command that fails, which changes nothing."""
        before = contents(self.folder)
        stderr = self.well(name, *flags, status=status).stderr
        assert contents(self.folder) == before
        assert "Traceback" not in stderr
        start = f"{name}: error: "
        (sentence,) = [line for line in stderr.splitlines() if line.startswith(start)]
        return sentence.removeprefix(start)


@pytest.fixture
def commands(tmp_path: Path, programs: Programs) -> Commands:
    return Commands(tmp_path, programs)


@pytest.fixture
def tensorflow_commands(tmp_path: Path, tensorflow_programs: Programs) -> Commands:
    """Commands that need TensorFlow."""
    return Commands(tmp_path, tensorflow_programs)
