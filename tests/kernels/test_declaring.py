"""Kernels: kept on disk, fresh when anything they depend on changes, and the wait is explained."""

import concurrent.futures
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bert_data.kernels import inner, kernel
from bert_data.kernels.compiling import compile_kernel

COVERS = ("kernels/compiling", "kernels/machine_code")


CALLEE = """
import numpy as np
from bert_data.kernels import {decorator}

FACTOR = {factor}
TABLE = np.array([{entry}, 0])

@{decorator}
def scale(value):
    return value * {inline_factor}
"""
CALLER = """
import sys
from absl import app, logging
from bert_data.kernels import kernel
from callee import FACTOR, TABLE, scale

@kernel
def total(values):
    result = 0
    for value in values:
        result += scale(value) * FACTOR + TABLE[0]
    return result

@kernel
def second(values):
    return total(values) + 1

def main(argv):
    import numpy as np
    logging.use_absl_handler()
    print(second(np.arange(3)), second(np.arange(3.0)))
    print("numba" in sys.modules)

app.run(main)
"""


REFUSING = """
from bert_data.kernels import kernel

@kernel
def refuse(number):
    if number:
        raise ValueError
    return number

print(refuse(0), flush=True)
print(refuse(1), flush=True)
"""


@kernel
def add_to(values, number):
    for i in range(values.size):
        values[i] += number


class Program:
    """Two modules in a folder, with a cache of machine code of their own."""

    def __init__(self, folder: Path, checkout: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {
            "PYTHONPATH": str(checkout),
            "PYTHONDONTWRITEBYTECODE": "1",
            "BERT_DATA_CACHE_DIR": str(folder / "cache"),
        }
        (folder / "caller.py").write_text(CALLER)

    def write(self, *, decorator="inner", factor="1", entry="0", inline_factor="1") -> None:
        (self.folder / "callee.py").write_text(
            CALLEE.format(
                decorator=decorator, factor=factor, entry=entry, inline_factor=inline_factor
            )
        )

    def machine_code(self) -> set[str]:
        return {path.name for path in self.folder.rglob("*.kernel")}

    def run(self) -> tuple[str, bool, int]:
        """(the results, whether numba was imported, times that compiling was said)."""
        done = subprocess.run(
            [sys.executable, str(self.folder / "caller.py"), "--alsologtostderr"],
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        results, compiled = done.stdout.splitlines()
        return results, compiled == "True", done.stderr.count("compiling kernels")


@pytest.fixture
def program(tmp_path, checkout) -> Program:
    return Program(tmp_path, checkout)


@pytest.mark.process
def test_machine_code_is_kept_until_something_changes(program):
    """A second process does not compile, and does not say so."""
    program.write()
    assert program.run() == ("4 4.0", True, 1)
    assert program.run() == ("4 4.0", False, 0)
    before = program.machine_code()
    # Constants of another module, which are baked in.
    program.write(factor="10")
    assert program.run() == ("31 31.0", True, 1)
    after = program.machine_code()
    assert len(after) == len(before) == 2  # `second`, for integers and for floats
    assert not after & before  # machine code of an earlier source is removed
    program.write(factor="10", entry="5")
    assert program.run() == ("46 46.0", True, 1)
    assert program.run() == ("46 46.0", False, 0)


@pytest.mark.process
def test_damaged_machine_code_is_made_anew_and_so_is_that_of_a_changed_callee(program):
    program.write()
    program.run()
    for path in program.folder.rglob("*.kernel"):
        path.write_bytes(path.read_bytes()[:-1])
    assert program.run() == ("4 4.0", True, 1)
    assert program.run() == ("4 4.0", False, 0)
    for decorator, factor, result in (("inner", 2, 7), ("kernel", 3, 10), ("kernel", 4, 13)):
        program.write(decorator=decorator, inline_factor=str(factor))
        assert program.run() == (f"{result} {result}.0", True, 1)


@pytest.mark.process
def test_programs_that_compile_at_the_same_time(program):
    program.write()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(program.run) for _ in range(2)]
        assert {run.result()[0] for run in runs} == {"4 4.0"}
    assert program.run() == ("4 4.0", False, 0)


@pytest.mark.process
def test_without_a_place_to_keep_it_the_result_is_the_same(program):
    program.write()
    (program.folder / "cache").write_text("a file where a folder should be")
    assert program.run()[:2] == ("4 4.0", True)


def test_a_kernel_says_what_it_does_not_take():
    with pytest.raises(TypeError, match="2 arguments, not 1"):
        add_to(np.zeros(1))
    with pytest.raises(TypeError, match="not 'text'"):
        add_to(np.zeros(1), "text")


LARGE, WITH_GAPS = np.zeros(200_000), np.zeros(8)[::2]


@inner
def twice(number):
    return 2 * number


@inner
def applied(function, number):
    return function(number)


@kernel
def applied_to(number):
    return applied(twice, number)


def test_kernels_are_arguments_of_kernels():
    assert applied_to(3) == 6


def test_a_constant_array_whose_address_would_be_kept_is_refused():
    with pytest.raises(ValueError, match="LARGE is too large, or has gaps"):
        kernel(lambda at: LARGE[at])
    with pytest.raises(ValueError, match="WITH_GAPS is too large, or has gaps"):
        kernel(lambda at: WITH_GAPS[at])


@pytest.mark.process
def test_a_kernel_that_raises_ends_the_process_and_is_not_taken_for_a_result(tmp_path, checkout):
    (tmp_path / "refusing.py").write_text(REFUSING)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "refusing.py")],
        env=os.environ | {"PYTHONPATH": str(checkout), "BERT_DATA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == -signal.SIGABRT
    assert done.stdout == "0\n"
    assert "kernel refuse raised an exception, which kernels must not do" in done.stderr


@pytest.mark.slow
def test_threads_run_one_kernel_at_the_same_time():
    arrays = [np.arange(1000.0) + i for i in range(64)]
    expected = [array + 2.5 for array in arrays]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda array: add_to(array, 2.5), arrays))
    np.testing.assert_array_equal(arrays, expected)


@inner
def sum_below(values, stop):
    total = 0
    for i in range(stop):
        total += values[i]
    return total


@kernel
def sum_of_sums(values):
    return sum_below(values, values.size) + sum_below(values, values.size // 2)


def test_machine_code_is_one_function_that_counts_no_references():
    values = np.arange(10)
    code = compile_kernel(sum_of_sums, (values,))
    assert b"NRT_" not in code.object_code
    symbols = [name for name in code.object_code.split(b"\0") if b"sum_below" in name]
    assert all(name.startswith(b"_ZN08NumbaEnv") for name in symbols)  # data, no function
    assert sum_of_sums(values) == 45 + 10
