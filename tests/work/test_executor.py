"""The contract that every executor keeps, and what open_threads and open_executor give."""

import functools
import itertools
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.work import count_workers, open_executor, open_threads
from bert_data.work.executor import InProcess, Threads, work_ahead
from bert_data.work.processes import Processes
from bert_data.work.ray_tasks import RayTasks
from bert_data.work.slurm import SlurmTasks
from tests.hypotheses import examples

EXECUTORS = [
    pytest.param(functools.partial(InProcess), id="in process"),
    pytest.param(functools.partial(Threads, 1), id="one thread"),
    pytest.param(functools.partial(Threads, 3), id="threads"),
    pytest.param(functools.partial(Processes, 1), id="one process", marks=pytest.mark.process),
    pytest.param(functools.partial(Processes, 3), id="processes", marks=pytest.mark.process),
    pytest.param(functools.partial(RayTasks, 2), id="ray", marks=pytest.mark.process),
    pytest.param(
        functools.partial(SlurmTasks, 4, tasks_per_job=4),
        id="slurm",
        marks=[pytest.mark.process, pytest.mark.slow],
    ),
]


@pytest.fixture(scope="module", params=EXECUTORS)
def executor(request, ray_folder, tmp_path_factory):
    """One executor for all tests: each map leaves it as it was."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param.func is SlurmTasks:
            request.getfixturevalue("slurm_cluster")
            patch.chdir(tmp_path_factory.mktemp("slurm"))
        with request.param() as workers:
            yield workers


def double(number: int) -> int:
    return 2 * number


def fail_at(bad: frozenset[int], number: int) -> int:
    if number in bad:
        raise CorruptDataError("a.txt", number, "is bad")
    return number


def fail_late_at_first(second_fails: str, number: int) -> int:
    """The first item fails no sooner than the second one, which closes a pipe."""
    with open(second_fails, "wb" if number else "rb") as pipe:
        if number == 0:
            pipe.read()
    raise ValueError(f"item {number}")


def touch(path: str) -> str:
    open(path, "w").close()
    return path


def items_then_error(number: int):
    yield from range(number)
    raise RuntimeError("no more")


@examples(25)
@given(st.lists(st.integers(), max_size=40))
def test_results_come_in_the_order_of_the_items(executor, items):
    if isinstance(executor, SlurmTasks):
        pytest.skip("each map takes seconds; the tests below look at the order, too")
    assert list(executor.ordered_map(double, items)) == [2 * item for item in items]


def test_items_are_read_as_results_are_taken(executor):
    num_read = 0

    def items():
        nonlocal num_read
        for item in range(1000):
            num_read += 1
            yield item

    results = executor.ordered_map(double, items())
    for taken in range(10 if isinstance(executor, SlurmTasks) else 100):
        assert next(results) == 2 * taken
        assert num_read <= taken + executor.max_in_flight
    results.close()
    assert num_read < 200


@examples(5)  # processes that are at work are started anew after an error
@given(st.frozensets(st.integers(0, 11), min_size=1))
def test_the_first_error_in_the_order_of_the_items_comes_at_its_turn(executor, bad):
    results = executor.ordered_map(functools.partial(fail_at, bad), range(12))
    for number in range(min(bad)):
        assert next(results) == number
    with pytest.raises(CorruptDataError) as caught:
        next(results)
    assert caught.value.offset == min(bad)
    traceback_text = "".join(traceback.format_exception(caught.value))
    assert "in fail_at" in traceback_text
    assert list(results) == []


def test_a_later_error_waits_for_an_earlier_item(executor, tmp_path):
    if executor.num_workers == 1:
        pytest.skip("the second item cannot fail before the first one with one worker")
    os.mkfifo(tmp_path / "fails")
    fail = functools.partial(fail_late_at_first, str(tmp_path / "fails"))
    with pytest.raises(ValueError, match="item 0"):
        list(executor.ordered_map(fail, range(2)))


@pytest.mark.parametrize("number", [0, 1, 3])
def test_an_error_of_the_items_comes_after_the_results_before_it(executor, number):
    results = executor.ordered_map(double, items_then_error(number))
    assert [next(results) for _ in range(number)] == [2 * n for n in range(number)]
    with pytest.raises(RuntimeError, match="no more"):
        next(results)


def test_what_is_far_behind_an_error_is_not_begun(executor, tmp_path):
    paths = [str(tmp_path / str(number)) for number in range(500)]
    paths[3] = str(tmp_path / "missing/3")
    with pytest.raises(FileNotFoundError):
        list(executor.ordered_map(touch, paths))
    begun = {int(path.name) for path in tmp_path.iterdir()}
    assert {0, 1, 2} <= begun
    assert max(begun) < 3 + executor.max_in_flight


def test_a_map_that_is_let_go_of_leaves_the_executor_as_it_was(executor, tmp_path):
    for _ in range(2):
        results = executor.ordered_map(double, range(1000))
        assert next(results) == 0
        results.close()
    assert list(executor.ordered_map(double, range(9))) == [2 * n for n in range(9)]


def test_what_stops_a_generator_is_an_error_as_any_other(executor):
    with pytest.raises(RuntimeError):
        list(executor.ordered_map(next, [iter([]), iter([])]))


@pytest.mark.parametrize("open_workers", [open_threads, open_executor])
def test_one_worker_is_the_caller_itself(open_workers):
    with open_workers(1) as workers:
        assert isinstance(workers, InProcess)
    with open_workers(2) as workers:
        assert workers.num_workers == 2


def test_count_workers():
    assert count_workers(3) == 3
    assert count_workers(0) == len(os.sched_getaffinity(0))
    with pytest.raises(ValueError, match=r"^num_workers is -1; 0 to 1,024 is allowed$"):
        count_workers(-1)


@pytest.mark.process
def test_processes_and_ray_are_imported_only_when_they_are_used(checkout):
    program = (
        "import sys; from bert_data.work import open_executor, open_threads\n"
        "with open_executor(1) as e: list(e.ordered_map(str, [1, 2]))\n"
        "print('multiprocessing' in sys.modules, 'ray' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=checkout, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False False\n"


def test_order_when_the_first_is_the_last_to_be_done():
    second_done = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert second_done.wait(600)
        if item == 1:
            second_done.set()
        return item

    with Threads(2) as executor:
        assert list(executor.ordered_map(work, range(5))) == [0, 1, 2, 3, 4]


def test_workers_run_side_by_side():
    meeting = threading.Barrier(3, timeout=600)
    with Threads(3) as executor:
        list(executor.ordered_map(lambda _: meeting.wait(), range(3)))


def test_threads_end_with_the_block():
    with Threads(3) as executor:
        results = executor.ordered_map(lambda _: threading.current_thread(), range(100))
        threads = {next(results) for _ in range(10)}
        results.close()
    assert threads and not any(thread.is_alive() for thread in threads)


def test_how_many_items_are_read_ahead_can_be_chosen():
    num_read = 0

    def items():
        nonlocal num_read
        for item in range(100):
            num_read += 1
            yield item

    with Threads(1, max_in_flight=4) as executor:
        results = executor.ordered_map(str, items())
        for taken in range(20):
            assert next(results) == str(taken)
            assert num_read == taken + 4
        results.close()


class Watched:
    """Items, and the thread that makes them."""

    def __init__(self, items: Iterable[int]) -> None:
        self._items, self._thread = items, threading.current_thread()

    def __iter__(self) -> Iterator[int]:
        for item in self._items:
            self._thread = threading.current_thread()
            yield item

    def has_ended(self) -> bool:
        return self._thread is not threading.current_thread() and not self._thread.is_alive()


@pytest.mark.parametrize("max_ahead", [1, 3, 100])
def test_items_come_in_their_order(max_ahead: int) -> None:
    items = Watched(range(50))
    assert list(work_ahead(iter(items), max_ahead)) == list(range(50))
    assert items.has_ended()


def test_it_works_ahead_so_far_and_no_farther() -> None:
    begun: list[int] = []
    enough = threading.Event()

    def count() -> Iterator[int]:
        for i in itertools.count():
            begun.append(i)
            if i == 2:  # one taken, two waiting
                enough.set()
            yield i

    items = Watched(count())
    ahead = work_ahead(iter(items), 2)
    assert next(ahead) == 0
    assert enough.wait(timeout=600)
    ahead.close()
    assert begun == [0, 1, 2]
    assert items.has_ended()


def test_an_error_comes_in_its_place() -> None:
    def fail() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    items = Watched(fail())
    ahead = work_ahead(iter(items), 5)
    assert next(ahead) == 1
    with pytest.raises(OSError, match="gone"):
        next(ahead)
    assert items.has_ended()


def test_an_iterator_that_is_dropped_ends_its_thread() -> None:
    items = Watched(itertools.count())
    ahead = work_ahead(iter(items), 2)
    assert next(ahead) == 0
    del ahead
    assert items.has_ended()


@pytest.mark.process
def test_an_iterator_that_outlives_the_modules_ends_in_silence() -> None:
    """As one that a module of C keeps, or that a script with PyTorch does not finish."""
    program = """
import itertools, numpy
from bert_data.work.executor import work_ahead
numpy.kept = work_ahead(itertools.count(), 2)
assert next(numpy.kept) == 0
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
