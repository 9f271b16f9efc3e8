"""Programs that a process forks for: what they see, and how they end."""

import signal
import sys

import pytest

pytestmark = pytest.mark.process

SEEN = """
import os, sys
import beside
print(__name__, *sys.argv[1:], os.path.basename(os.getcwd()), dict(os.environ), sys.stdin.read(),
      sys.executable, "tensorflow" in sys.modules)
"""
ENDINGS = {
    "": 0,
    "raise SystemExit(3)": 3,
    "import atexit; atexit.register(print, 'at its end'); raise SystemExit('a sentence')": 1,
    "import signal; signal.raise_signal(signal.SIGKILL)": -signal.SIGKILL,
    "import signal; signal.raise_signal(signal.SIGINT)": -signal.SIGINT,
}


@pytest.mark.parametrize("program", [["program.py"], ["-m", "program"]])
def test_a_program_has_its_own_arguments_folder_modules_and_environment(
    programs, tmp_path, program
):
    (tmp_path / "program.py").write_text(SEEN)
    (tmp_path / "beside.py").write_text("")
    done = programs.run([*program, "--a=1"], cwd=tmp_path, env={"B": "2"})
    executable = f"{sys.executable} False"
    assert done.stdout == f"__main__ --a=1 {tmp_path.name} {{'B': '2'}}  {executable}\n"
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_ends_as_any_other(programs, tmp_path, ending):
    (tmp_path / "program.py").write_text(ending)
    done = programs.run(["program.py"], cwd=tmp_path)
    assert done.returncode == ENDINGS[ending]
    if "sentence" in ending:
        assert (done.stdout, done.stderr) == ("at its end\n", "a sentence\n")
    assert ("KeyboardInterrupt" in done.stderr) == ("SIGINT" in ending)


def test_files_of_a_bounded_size(programs, tmp_path):
    (tmp_path / "program.py").write_text("with open('a', 'wb') as file: file.write(bytes(101))")
    for max_file_bytes, status in ((100, 1), (None, 0)):
        done = programs.run(["program.py"], cwd=tmp_path, max_file_bytes=max_file_bytes)
        assert done.returncode == status
        assert ("File too large" in done.stderr) == bool(status)
