"""The thread that works ahead: order, errors, and that it ends."""

import itertools
import threading
from collections.abc import Iterable, Iterator

import pytest

from bert_data.reader.ahead import work_ahead


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
    assert enough.wait(timeout=30)
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
