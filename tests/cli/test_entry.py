"""The way in for commands: one line an error, one exit status a kind of end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

PROGRAM = """
'A program that ends.'
import os, signal, sys, types
from absl import flags, logging
from bert_data.cli import entry
from bert_data.errors import CorruptDataError

HOW = flags.DEFINE_string("how", None, "What happens.", required=True)
COUNT = flags.DEFINE_integer("count", 1, "A number.")
SHARE = flags.DEFINE_float("share", 1, "A number.")
SURE = flags.DEFINE_bool("sure", False, "Whether.")

def be_ended_by(number):
    try:
        os.kill(os.getpid(), number)
    finally:
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(os.getpid(), each)
        print("cleaned up", flush=True)

def main(argv):
    logging.info("said")
    match HOW.value:
        case "well": print("done")
        case "value": raise ValueError("the field is\\n   wrong")
        case "option": raise ValueError("count is 0; 1 to 5 is allowed")
        case "missing": open("/no/such/file")
        case "two names": os.rename("/no/such/file", "/no/other")
        case "bare": raise OSError("no number")
        case "corrupt": raise CorruptDataError("a.gz", 7, "cut off", record=3)
        case "memory": raise MemoryError("Unable to allocate 9 GiB")
        case "empty": raise MemoryError
        case "tensorflow":
            class OpError(Exception): pass
            errors = types.SimpleNamespace(OpError=OpError)
            sys.modules["tensorflow"] = types.SimpleNamespace(errors=errors)
            head = "Graph execution error:\\n\\n<stack traces unavailable>\\n"
            raise OpError(head + "{{function_node a}} /x; Disk full\\n\\tmore [Op:SaveV2] name: ")
        case "bug": raise TypeError("a bug")
        case "nohup":
            os.kill(os.getpid(), signal.SIGHUP)
            print("still here")
        case other: be_ended_by(getattr(signal, other))

if __name__ == "__main__":
    entry.run(main)
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("entry") / "my_program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def run(program, programs, tmp_path):
    return lambda *flags: programs.run([str(program), *flags], cwd=tmp_path)


def error_lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Standard error without the log."""
    return [line for line in done.stderr.splitlines() if "] said" not in line]


def test_a_good_end(run):
    done = run("--how=well")
    assert (done.returncode, done.stdout, error_lines(done)) == (0, "done\n", [])
    assert "] said" in done.stderr


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("value", "the field is wrong"),
        ("option", "--count is 0; 1 to 5 is allowed"),
        ("missing", "/no/such/file: No such file or directory"),
        ("two names", "/no/such/file: No such file or directory"),
        ("bare", "no number"),
        ("corrupt", "a.gz: record 3, byte offset 7: cut off"),
        ("memory", "out of memory: Unable to allocate 9 GiB"),
        ("empty", "out of memory"),
        ("tensorflow", "TensorFlow: /x; Disk full"),
    ],
)
def test_an_error_is_one_line(run, how, sentence):
    done = run(f"--how={how}")
    assert done.returncode == 1
    assert error_lines(done) == [f"my_program: error: {sentence}"]
    assert done.stdout == ""


def test_a_bug_is_told_in_full(run):
    done = run("--how=bug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--how=well", "--cuont=3"], "unknown flag --cuont; did you mean --count? (see"),
        (["--how=well", "--count=three"], "--count=three: it must be a whole number (see --help"),
        (["--how=well", "--share=three"], "--share=three: it must be a number (see --help"),
        (["--how=well", "--sure=three"], "--sure=three: it must be true or false (see --help"),
        (["--how=well", "--count"], "--count"),
        ([], "--how"),
        (["--how=well", "a.txt", "b.txt"], "a.txt b.txt"),
        (["--how", "well", "b.txt"], "b.txt"),
    ],
)
def test_a_mistyped_flag_is_one_line(run, flags, named):
    done = run(*flags)
    assert done.returncode == 2
    [line] = error_lines(done)
    assert line.startswith("my_program: error: ")
    assert named in line
    assert done.stdout == ""


@pytest.mark.parametrize("flag", ["--help", "-h", "--helpfull"])
def test_help(run, flag):
    done = run(flag)
    assert (done.returncode, done.stderr) == (0, "")
    assert "A program that ends.\n\nmore:\n  --how=TEXT" in done.stdout
    assert ("--verbosity" in done.stdout) == (flag == "--helpfull")


def test_the_log_can_be_made_quiet(run):
    assert run("--how=well", "--verbosity=-1").stderr == ""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_program_once_it_has_cleaned_up(run, name):
    done = run(f"--how={name}")
    assert done.returncode == 128 + getattr(signal, name)
    assert done.stdout == "cleaned up\n"
    assert error_lines(done) == [f"my_program: error: stopped by {name}"]


def test_a_signal_that_is_ignored_stays_ignored(program, checkout):
    """As by nohup: the program is not ended when its terminal is closed."""
    done = subprocess.run(
        ["sh", "-c", f"trap '' HUP; exec '{sys.executable}' '{program}' --how=nohup"],
        env=os.environ | {"PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "still here\n")
