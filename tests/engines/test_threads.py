"""The ordered map: the items' order, bounded work ahead, errors at their turn."""

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.engines.threads import count_workers, ordered_map


@given(st.lists(st.integers()), st.integers(1, 4))
def test_results_come_in_the_order_of_the_items(items, num_workers):
    assert list(ordered_map(lambda x: x * 2, items, num_workers=num_workers)) == [
        2 * x for x in items
    ]


def test_order_when_the_first_is_the_last_to_be_done():
    second_done = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert second_done.wait(10)
        if item == 1:
            second_done.set()
        return item

    assert list(ordered_map(work, range(5), num_workers=2)) == [0, 1, 2, 3, 4]


def test_workers_run_side_by_side():
    meeting = threading.Barrier(3, timeout=10)
    list(ordered_map(lambda _: meeting.wait(), range(3), num_workers=3))


@pytest.mark.parametrize("num_workers", [1, 2, 3])
def test_items_are_read_as_results_are_taken(num_workers):
    num_read = 0

    def items():
        nonlocal num_read
        for item in range(1000):
            num_read += 1
            yield item

    results = ordered_map(str, items(), num_workers=num_workers)
    for taken in range(1, 50):
        assert next(results) == str(taken - 1)
        assert num_read <= taken + 2 * num_workers
    results.close()


@pytest.mark.parametrize("num_workers", [1, 2])
def test_an_error_comes_at_its_turn(num_workers):
    results = ordered_map(lambda x: 6 // x, [3, 2, 0, 1], num_workers=num_workers)
    assert [next(results), next(results)] == [2, 3]
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert list(results) == []


@pytest.mark.parametrize("num_workers", [1, 2, 3])
def test_an_error_of_the_items_comes_after_the_results_before_it(num_workers):
    def items():
        yield from range(3)
        raise RuntimeError("no more")

    results = ordered_map(str, items(), num_workers=num_workers)
    assert [next(results) for _ in range(3)] == ["0", "1", "2"]
    with pytest.raises(RuntimeError, match="no more"):
        next(results)


def test_threads_end_when_the_results_are_let_go_of():
    before = threading.active_count()
    results = ordered_map(str, range(100), num_workers=3)
    next(results)
    results.close()
    assert threading.active_count() == before


def test_count_workers():
    assert count_workers(3) == 3
    assert count_workers(0) == len(os.sched_getaffinity(0))
    with pytest.raises(
        ValueError, match=r"^num_workers is -1; 0 \(all cores\) or more is allowed$"
    ):
        count_workers(-1)
