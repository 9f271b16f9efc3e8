"""Commands end, although a server does not answer."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

pytestmark = [pytest.mark.process, pytest.mark.slow]

SECONDS = 600.0
PROGRAM = """
import sys
from bert_data import interrupts
from bert_data.cli import entry, tokenize
from bert_data.storage.schemes import s3
interrupts.SECONDS_TO_END = float(sys.argv.pop(1))
s3.STALL_SECONDS = 600.0
entry.run(tokenize.main)
"""
FORCED = "; ended by force, as cleaning up took more than 0.5 s: a server does not answer\n"


@pytest.fixture
def start(checkout, tmp_path, object_store, small_text, small_vocabulary) -> Iterator[Callable]:
    """Starts a command that is ended by force after some seconds."""
    object_store.put("in/a.txt", small_text.read_bytes())
    (tmp_path / "program.py").write_text(PROGRAM)
    started: list[subprocess.Popen[str]] = []

    def run(seconds: float) -> subprocess.Popen[str]:
        flags = (
            f"--input_file={object_store.uri('in/a.txt')} --vocab_file={small_vocabulary}"
            f" --output_prefix={object_store.uri('out/s')}"
        )
        process = subprocess.Popen(
            [sys.executable, "program.py", str(seconds), *flags.split()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(checkout), "TMPDIR": str(tmp_path)},
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_request_hangs(start, object_store, number):
    object_store.fail("hang", method="GET", key="in/a.txt", times=100)
    process = start(0.5)
    object_store.wait_for("GET", key="in/a.txt")
    process.send_signal(number)
    _, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + number
    assert stderr.endswith(f"program: error: stopped by {number.name}{FORCED}")


def test_an_error_before_a_request_that_hangs(start, object_store):
    object_store.fail("403", method="PUT", key="out/s.idx", times=100)
    object_store.fail("hang", method="DELETE", times=100)
    process = start(0.5)
    _, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    told = "access is forbidden; check the credentials and what they may do with the bucket"
    assert stderr.endswith(f"program: error: {object_store.uri('out/s.idx')}: {told}{FORCED}")
    assert "the finished files are in" in stderr


def test_what_ends_in_time_is_not_ended_by_force(start, object_store):
    object_store.fail("403", method="PUT", key="out/s.idx", times=100)
    process = start(100.0)
    _, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    assert "access is forbidden" in stderr and "by force" not in stderr
    object_store.clear()
    process = start(100.0)
    assert process.wait(SECONDS) == 0
