"""The clock leaves out what compiling takes."""

import pytest

from bert_data.kernels import calling as module
from bert_data.kernels.calling import clock, stop_clock


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which moves only where a test moves it."""
    now = [1000.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(module, "_stood_still", 0.0)
    return now


def test_it_runs(time: list[float]) -> None:
    start = clock()
    time[0] += 2.5
    assert clock() - start == 2.5


def test_it_stands_still_while_a_kernel_is_compiled(time: list[float]) -> None:
    start = clock()
    time[0] += 1
    with stop_clock():
        time[0] += 6
        assert clock() - start == 1
    time[0] += 2
    assert clock() - start == 3


def test_it_runs_again_when_the_last_thread_is_done(time: list[float]) -> None:
    start = clock()
    first, second = stop_clock(), stop_clock()
    first.__enter__()
    time[0] += 1
    second.__enter__()
    time[0] += 1
    first.__exit__(None, None, None)
    time[0] += 1
    assert clock() == start
    second.__exit__(None, None, None)
    time[0] += 1
    assert clock() - start == 1


def test_it_runs_again_after_an_error(time: list[float]) -> None:
    start = clock()
    with pytest.raises(ValueError, match="cannot be compiled"), stop_clock():
        raise ValueError("cannot be compiled")
    time[0] += 1
    assert clock() - start == 1
