"""The clock leaves out what compiling takes."""

import pickle
import struct
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.kernels import Constants, kernel
from bert_data.kernels import calling as module
from bert_data.kernels.calling import clock, flatten, letters, stop_clock, type_of


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which moves only where a test moves it."""
    now = [1000.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
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


class Pair(NamedTuple):
    values: np.ndarray
    factor: float


@kernel
def weighted_sum(matrix, pair, start, sign):
    total = 0.0
    for row in range(start, matrix.shape[0]):
        for column in range(matrix.shape[1]):
            total += matrix[row, column] * pair.values[column]
    return np.int64(matrix.size), sign * pair.factor * total


def _oracle(matrix, pair, start, sign):
    total = (matrix[start:].astype(float) @ pair.values.astype(float)).sum()
    return matrix.size, float(sign * pair.factor * total)


def _arranged(matrix: np.ndarray, how: str) -> np.ndarray:
    if how == "columns":
        return np.asfortranarray(matrix)
    if how == "steps":
        wide = np.zeros((2 * matrix.shape[0], 3 * matrix.shape[1]), matrix.dtype)
        wide[::2, ::3] = matrix
        return wide[::2, ::3]
    if how == "backwards":
        return np.ascontiguousarray(matrix[::-1])[::-1]
    return np.ascontiguousarray(matrix)


@given(
    rows=st.integers(0, 4),
    columns=st.integers(0, 4),
    start=st.integers(0, 5),
    sign=st.sampled_from([1, -1, np.int64(-1)]),
    factor=st.sampled_from([0.5, -3.0]),
    how=st.sampled_from(["rows", "columns", "steps", "backwards"]),
    dtype=st.sampled_from([np.uint16, np.int64]),
)
def test_arrays_of_every_arrangement_tuples_and_numbers(
    rows, columns, start, sign, factor, how, dtype
):
    matrix = np.arange(rows * columns, dtype=dtype).reshape(rows, columns) % 7
    pair = Pair(np.arange(columns) - 1, factor)
    given_matrix = _arranged(matrix, how)
    expected = _oracle(matrix, pair, start, sign)
    assert weighted_sum(given_matrix, pair, start, int(sign)) == expected


def test_constants_are_a_tuple_that_survives_pickling():
    matrix, pair = np.ones((2, 3)), (np.arange(3), 2.0)
    constants = Constants(pair)
    again = pickle.loads(pickle.dumps(constants))
    del constants
    expected = dot_and_scale(matrix, pair)
    assert dot_and_scale(matrix, again) == dot_and_scale(matrix, Constants(pair)) == expected


@kernel
def dot_and_scale(matrix, pair):
    values, factor = pair
    return matrix[0, 0] * values[2] * factor


@kernel
def echo_int(value):
    return value


@kernel
def sum_of(values):
    total = 0
    for value in values:
        total += value
    return total


@kernel
def third_field(records):
    total = 0.0
    for record in records:
        total += record.weight
    return total


@pytest.mark.parametrize(
    "value",
    [0, -1, 2**63 - 1, -(2**63), 1.5, np.uint32(2**32 - 1), np.int8(-3), np.float32(0.25)],
)
def test_a_number_comes_back(value):
    result = echo_int(value)
    assert result == value
    assert isinstance(result, float if isinstance(value, float | np.floating) else int)


def test_read_only_arrays_and_records():
    values = np.arange(5, dtype=np.int32)
    values.flags.writeable = False
    assert sum_of(values) == 10
    records = np.zeros(3, [("name", "S5"), ("weight", "f8")])
    records["weight"] = 1, 2, 4
    assert third_field(records) == 7.0


@kernel
def one_or_two(is_two):
    return 2 if is_two else 1


@pytest.mark.parametrize("truth", [True, False, np.True_, np.False_])
def test_truth(truth):
    assert one_or_two(truth) == (2 if truth else 1)


@kernel
def mixed_results(number):
    return number > 1, np.int8(number), number > 2, number / 2, np.uint32(7)


@kernel
def is_odd(number):
    return number % 2 == 1


def test_results_of_several_types():
    assert mixed_results(2) == (True, 2, False, 1.0, 7)
    assert mixed_results(3) == (True, 3, True, 1.5, 7)
    assert mixed_results(1) == (False, 1, False, 0.5, 7)
    assert (is_odd(1), is_odd(2)) == (True, False)


def test_no_result_is_none():
    assert _nothing(1) is None


@kernel
def _nothing(value):
    value + 1


def test_types_tell_apart_what_needs_other_machine_code():
    array = np.zeros((2, 3))
    frozen = array.copy()
    frozen.flags.writeable = False
    values = [
        array, array.T, array[:, ::2], array[0], array.astype(np.float32), frozen,
        1, 1.0, True, np.int32(1), np.int64(1), (1,), (1, 1), Pair(array, 1.0), (array, 1.0),
    ]  # fmt: skip
    assert len({repr(type_of(value)) for value in values}) == len(values)


def test_every_number_is_a_word():
    arguments = (np.zeros((2, 3), np.int8), Pair(np.zeros(4), 2.0), 7, np.uint8(1))
    numbers: list[object] = []
    flatten(arguments, numbers)
    words = struct.unpack("<9Q", struct.pack(letters(arguments), *numbers)[8:80])
    assert words == (6, 1, 2, 3, 3, 1, arguments[1].values.ctypes.data, 4, 8)
    assert letters(arguments) == "q" * 7 + "q" * 5 + "dqQ"
    assert numbers[-3:] == [2.0, 7, 1]


def test_fields_in_another_order_are_another_type():
    class Reordered(NamedTuple):
        factor: float
        values: np.ndarray

    Reordered.__qualname__, Reordered.__module__ = Pair.__qualname__, Pair.__module__
    assert repr(type_of(Pair(1.0, 1.0))) != repr(type_of(Reordered(1.0, 1.0)))


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_a_number_that_fits_no_word_is_refused(value):
    with pytest.raises(struct.error):
        echo_int(value)


def test_arrays_at_odd_addresses():
    values = np.frombuffer(bytes(range(21)), np.int32, 5, offset=1)
    assert not values.flags.aligned
    assert sum_of(values) == int(values.sum())
