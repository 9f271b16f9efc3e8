"""What is true of threads beyond the contract of all executors (test_executor.py)."""

import itertools
import threading
from collections.abc import Iterable, Iterator

import pytest

from bert_data.work.threads import Threads, work_ahead


def test_order_when_the_first_is_the_last_to_be_done():
    second_done = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert second_done.wait(10)
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
