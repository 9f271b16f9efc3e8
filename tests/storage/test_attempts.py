"""Requests are sent again as often as the environment says."""

import pytest

from bert_data.storage import attempts
from bert_data.storage.attempts import LOST_REASON, max_attempts, retried


@pytest.mark.parametrize("value", ["0", "many", "-1", "1e9"])
def test_impossible_numbers_of_attempts(monkeypatch, value):
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", value)
    with pytest.raises(ValueError, match="it must be a number from 1 to 9999"):
        max_attempts()


@pytest.mark.parametrize(
    ("errors", "num_reads"),
    [
        ([], 1),
        ([OSError(LOST_REASON)] * 2, 3),
        ([OSError(LOST_REASON)] * 3, 3),
        ([OSError("forbidden")], 1),
        ([OSError(LOST_REASON), OSError("forbidden")], 2),
    ],
)
def test_reads_whose_error_lost_its_reason_are_tried_again(monkeypatch, errors, num_reads):
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "3")
    monkeypatch.setattr(attempts, "_FIRST_SECONDS", 0)
    left, calls = list(errors), []

    def read(*args):
        calls.append(args)
        if left:
            raise left.pop(0)
        return b"data"

    if len(errors) == 3 or "forbidden" in str(errors[-1:]):
        with pytest.raises(OSError) as caught:
            retried(read, 5, 7)
        assert caught.value is errors[-1]
    else:
        assert retried(read, 5, 7) == b"data"
    assert calls == [(5, 7)] * num_reads
