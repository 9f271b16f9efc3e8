"""Only what matters reaches standard error while TensorFlow is imported."""

import logging
import os
import signal
import subprocess
import sys

import pytest

from bert_data.quiet_tensorflow import quiet_tensorflow

# A module in TensorFlow's place, and what its C++ code writes.
PROGRAM = """
import os, sys, types
from bert_data.quiet_tensorflow import quiet_tensorflow
config = types.SimpleNamespace(list_logical_devices=lambda: os.write(2, b"E0000 1 x.cc:1] bad\\n"))
with quiet_tensorflow():
    sys.modules["tensorflow"] = types.SimpleNamespace(config=config)
    os.write(2, b"WARNING: All log messages before absl::InitializeLog() is called are written\\n")
    os.write(2, b"I0000 00:00:17 1 port.cc:153] oneDNN custom operations are on.\\n")
    print("printed", file=sys.stderr)
    {inside}
os.write(2, b"I0000 afterwards\\n")
"""

pytestmark = pytest.mark.process


def run(checkout, inside: str, **environment: str) -> subprocess.CompletedProcess:
    others = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(inside=inside)],
        cwd=checkout, env={**others, **environment}, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip


def test_remarks_are_dropped_and_errors_are_not(checkout) -> None:
    result = run(checkout, "pass")
    assert result.stderr.splitlines() == ["printed", "E0000 1 x.cc:1] bad", "I0000 afterwards"]


def test_an_error_that_ends_the_program_is_seen(checkout) -> None:
    result = run(checkout, 'os.write(2, b"F0000 no AVX here"); os.abort()')
    assert result.returncode == -signal.SIGABRT
    assert result.stderr.splitlines() == ["printed", "F0000 no AVX here"]


@pytest.mark.parametrize(
    ("path", "level", "is_shown"),
    [
        ("/x/tensorflow/python/checkpoint/functional_saver.py", logging.INFO, False),
        ("/x/tensorflow/python/checkpoint/functional_saver.py", logging.WARNING, True),
        ("/x/bert_data/cli/export_hub.py", logging.INFO, True),
    ],
)
def test_tensorflows_lines_in_the_log(path, level, is_shown) -> None:
    record = logging.LogRecord("absl", level, path, 1, "Writing", None, None)
    with quiet_tensorflow(finds_devices=False):
        pass
    assert bool(logging.getLogger("absl").filter(record)) is is_shown


def test_devices_that_are_not_to_be_found_are_looked_for_quietly(checkout) -> None:
    """Where NVIDIA's driver is not loaded, so that the first operation does not say it."""
    program = PROGRAM.replace("quiet_tensorflow():", "quiet_tensorflow(finds_devices=False):")
    program = program.replace(
        'list_logical_devices=lambda: os.write(2, b"E0000 1 x.cc:1] bad\\n")',
        "list_physical_devices=lambda: os.write("
        '2, b"E0000 1 x.cc:1] failed call to cuInit: 303\\nE0000 1 x.cc:1] bad\\n")',
    )
    assert "list_physical_devices" in program
    command = [sys.executable, "-c", program.format(inside="pass")]
    result = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    lines = result.stderr.splitlines()
    assert lines[0] == "printed" and lines[-1] == "I0000 afterwards"
    found = [] if os.path.exists("/dev/nvidiactl") else ["E0000 1 x.cc:1] bad"]
    assert lines[1:-1] == found


def test_one_that_is_imported_looks_for_gpus_quietly(checkout) -> None:
    """Once, where NVIDIA's driver is not loaded."""
    program = """
import os, sys, types
from bert_data.quiet_tensorflow import import_tensorflow
look = lambda: os.write(2, b"E0000 1 x.cc:1] failed call to cuInit: 303\\n") and print("looks")
config = types.SimpleNamespace(list_physical_devices=look)
sys.modules["tensorflow"] = types.SimpleNamespace(config=config)
import_tensorflow(finds_devices=False)
import_tensorflow()
"""
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    assert result.stdout == ("" if os.path.exists("/dev/nvidiactl") else "looks\n")
    assert result.stderr == ""


def test_level_0_shows_everything(checkout) -> None:
    assert "oneDNN" in run(checkout, "pass", TF_CPP_MIN_LOG_LEVEL="0").stderr


@pytest.mark.slow
def test_reading_imports_it_quietly(checkout) -> None:
    program = "from bert_data import read_batches; read_batches('none.tfrecord')"
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=checkout, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert "Error" in result.stderr
    assert "0000 " not in result.stderr and "InitializeLog" not in result.stderr
