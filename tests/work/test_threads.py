"""What is true of threads beyond the contract of all executors (test_executor.py)."""

import threading

from bert_data.work.threads import Threads


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
    meeting = threading.Barrier(3, timeout=10)
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
