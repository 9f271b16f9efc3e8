"""Kernels: kept on disk, fresh when anything they depend on changes, and the wait is explained."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    stats = second.stats
    print("compiled", sum(stats.cache_misses.values()))

app.run(main)
"""


class Program:
    """Two modules in a folder, with a cache of machine code of their own."""

    def __init__(self, folder: Path, checkout: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {
            "PYTHONPATH": str(checkout),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": str(folder / "cache"),
        }
        (folder / "caller.py").write_text(CALLER)

    def write(self, *, decorator="inner", factor="1", entry="0", inline_factor="1") -> None:
        (self.folder / "callee.py").write_text(
            CALLEE.format(
                decorator=decorator, factor=factor, entry=entry, inline_factor=inline_factor
            )
        )

    def run(self) -> tuple[str, int, int]:
        """(the results, kernels compiled, times that compiling was said)."""
        done = subprocess.run(
            [sys.executable, str(self.folder / "caller.py"), "--alsologtostderr"],
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        results, compiled = done.stdout.splitlines()
        return results, int(compiled.split()[1]), done.stderr.count("compiling, first run only")


@pytest.fixture
def program(tmp_path, checkout) -> Program:
    return Program(tmp_path, checkout)


def test_a_second_process_does_not_compile_and_does_not_say_so(program):
    program.write()
    assert program.run() == ("4 4.0", 2, 1)
    assert program.run() == ("4 4.0", 0, 0)


@pytest.mark.parametrize("decorator", ["kernel", "inner"])
def test_a_callee_in_another_module_changes(program, decorator):
    program.write(decorator=decorator)
    assert program.run()[0] == "4 4.0"
    program.write(decorator=decorator, inline_factor="2")
    results, compiled, said = program.run()
    assert (results, said) == ("7 7.0", 1)
    assert compiled >= 2


def test_a_constant_of_another_module_changes(program):
    program.write()
    assert program.run()[0] == "4 4.0"
    program.write(factor="10")
    assert program.run()[0] == "31 31.0"
    program.write(factor="10", entry="5")
    assert program.run()[0] == "46 46.0"
    assert program.run()[1:] == (0, 0)


def test_importing_the_package_loads_neither_numba_nor_numpy(checkout):
    code = "import sys, bert_data; print('numba' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=checkout, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False False\n"
