"""A plan's configuration refuses mistakes."""

import pytest

from bert_data.reader.planning import PlanConfig


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (
            {"batch_size": None},
            "batch_size is None and max_tokens_per_batch is None; give exactly one",
        ),
        ({"max_tokens_per_batch": 512}, "max_tokens_per_batch is 512; give exactly one of them"),
        ({"width": 8}, "width is 8; it must be a string or a list, each an integer"),
        ({"width": "widest"}, "width is 'widest'; it must be batch, max or ascending"),
        ({"width": ()}, r"width is \(\); it must be batch, max"),
        ({"width": (8, 8)}, r"width is \(8, 8\); it must be batch, max"),
        ({"width": (0, 8)}, r"width is \(0, 8\); it must be batch, max"),
        ({"width": (True, 8)}, "width is True; it must be an integer"),
        ({"width": (8, 99), "max_seq_length": 64}, "must not exceed max_seq_length, 64"),
        ({"width": (8, 9), "batching": "packed"}, "must be for packed rows one width, at least"),
        (
            {"width": (8,), "batching": "packed", "max_seq_length": 9},
            "must be for packed rows one width, at least max_seq_length",
        ),
    ],
)
def test_refusals(choices, message):
    with pytest.raises(ValueError, match=message):
        PlanConfig(**{"batch_size": 8, **choices})


def test_rows_by_tokens_are_a_multiple_of_the_hosts_and_of_what_is_asked_for():
    def rows(**choices):
        return PlanConfig(max_tokens_per_batch=1000, **choices).rows_of_width(90)

    assert (rows(), rows(num_hosts=3), rows(rows_multiple=4)) == (11, 9, 8)
    assert (rows(num_hosts=3, rows_multiple=2), rows(num_hosts=12)) == (6, 0)
    assert PlanConfig(batch_size=5, num_hosts=3, width=[16, 32]).rows_of_width(90) == 5
