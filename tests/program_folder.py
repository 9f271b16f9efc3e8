"""A folder in which create_pretraining_data.py is run as a user runs it."""

import subprocess
import sys
from pathlib import Path

from tests.forking import Programs

PROGRAM = "create_pretraining_data"


class Folder:
    """A folder with a small text and vocabulary in it, where the program is run."""

    def __init__(
        self, path: Path, checkout: Path, text: Path, vocabulary: Path, programs: Programs
    ) -> None:
        self.path = path
        self._programs = programs
        self.script = str(checkout / f"{PROGRAM}.py")
        self.flags = {
            "input_file": "text.txt",
            "output_file": "out",
            "vocab_file": "vocab.txt",
            "max_seq_length": 32,
            "max_predictions_per_seq": 5,
            "dupe_factor": 2,
        }
        self.write("text.txt", text.read_bytes())
        self.write("vocab.txt", vocabulary.read_bytes())

    def write(self, name: str, content: bytes) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_bytes(content)

    def command(self, **flags: object) -> list[str]:
        settings = {
            name: value for name, value in {**self.flags, **flags}.items() if value is not None
        }
        return [
            sys.executable,
            self.script,
            *(f"--{name}={value}" for name, value in settings.items()),
        ]

    def run(
        self, *, max_file_bytes: int | None = None, **flags: object
    ) -> subprocess.CompletedProcess[str]:
        return self._programs.run(
            self.command(**flags)[1:], cwd=self.path, max_file_bytes=max_file_bytes
        )

    def make(self, **flags: object) -> dict[str, bytes | None]:
        """Runs it well; returns the files of the folder that its outputs lie in."""
        done = self.run(**flags)
        assert done.returncode == 0, done.stderr
        names = str(flags.get("output_file", "out"))
        return contents((self.path / names.split(",")[0]).parent)

    def fail(self, **flags: object) -> str:
        """Runs it badly; nothing is left behind; returns the sentence."""
        before = contents(self.path)
        done = self.run(**flags)
        assert done.returncode != 0
        assert contents(self.path) == before
        return only_error(done.stderr)


def contents(folder: Path) -> dict[str, bytes | None]:
    """All files with their bytes, hidden ones too, and folders and links with None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def only_error(stderr: str) -> str:
    """The sentence in the last line of standard error, after the log; no other line is an error."""
    start, lines = f"{PROGRAM}: error: ", stderr.splitlines(keepends=True)
    assert [" error: " in line for line in lines] == [False] * (len(lines) - 1) + [True], stderr
    assert lines[-1].startswith(start)
    return lines[-1].removeprefix(start).removesuffix("\n")
