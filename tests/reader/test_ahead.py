"""The thread that works ahead: order, errors, and that it ends."""

import itertools
import threading
from collections.abc import Iterator

import pytest

from bert_data.reader.ahead import work_ahead


def num_threads() -> int:
    return sum(thread.name.startswith("bert_data") for thread in threading.enumerate())


@pytest.mark.parametrize("max_ahead", [1, 3, 100])
def test_items_come_in_their_order(max_ahead: int) -> None:
    assert list(work_ahead(iter(range(50)), max_ahead)) == list(range(50))
    assert num_threads() == 0


def test_it_works_ahead_so_far_and_no_farther() -> None:
    begun: list[int] = []
    enough = threading.Event()

    def items() -> Iterator[int]:
        for i in itertools.count():
            begun.append(i)
            if i == 2:  # one taken, two waiting
                enough.set()
            yield i

    ahead = work_ahead(items(), 2)
    assert next(ahead) == 0
    assert enough.wait(timeout=30)
    ahead.close()
    assert begun == [0, 1, 2]
    assert num_threads() == 0


def test_an_error_comes_in_its_place() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    ahead = work_ahead(items(), 5)
    assert next(ahead) == 1
    with pytest.raises(OSError, match="gone"):
        next(ahead)
    assert num_threads() == 0


def test_an_iterator_that_is_dropped_ends_its_thread() -> None:
    ahead = work_ahead(itertools.count(), 2)
    assert next(ahead) == 0
    del ahead
    assert num_threads() == 0
