"""A test that starts a process has to say so."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable

import pytest


def start_by_subprocess() -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)


def start_by_multiprocessing() -> None:
    process = multiprocessing.get_context("spawn").Process(target=print)
    process.start()
    process.join()


def start_by_fork() -> None:
    if os.fork() == 0:
        os._exit(0)


@pytest.mark.parametrize(
    "start", [start_by_subprocess, start_by_multiprocessing, start_by_fork, lambda: os.system("")]
)
def test_an_unmarked_test_may_not_start_a_process(start: Callable[[], None]) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"mark it with @pytest\.mark\.process"):
        start()


@pytest.mark.process
def test_a_marked_one_may() -> None:
    start_by_subprocess()
