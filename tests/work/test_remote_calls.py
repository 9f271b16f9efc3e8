"""A worker sends back the function's result, or its error."""

import logging
import pickle
import sys

import pytest

from bert_data.work.remote_calls import answer, open_answer, picklable


def test_a_result():
    assert open_answer(pickle.loads(answer(len, "abc"))) == (3, None)


def test_an_error_has_the_traceback_of_the_worker():
    result, error = open_answer(pickle.loads(answer(int, "a")))
    assert result is None and isinstance(error, ValueError)
    assert "In a worker process:\nTraceback" in error.__notes__[0]


def test_a_result_that_cannot_be_pickled_is_an_error():
    _, error = open_answer(pickle.loads(answer(lambda _: lambda: 1, 0)))
    assert error is not None and "lambda" in str(error)


def test_a_log_message_keeps_its_text_and_its_error():
    try:
        int("a")
    except ValueError:
        record = logging.LogRecord("x", 30, "f", 1, "%s!", (object,), sys.exc_info())
    copy = pickle.loads(pickle.dumps(picklable(record)))
    assert copy.getMessage().startswith("<class 'object'>!\nTraceback")
    assert copy.levelname == "WARNING"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_the_end_of_a_worker_is_no_answer(kind):
    def end(_):
        raise kind

    with pytest.raises(kind):
        answer(end, 0)
