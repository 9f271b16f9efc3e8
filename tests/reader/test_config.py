"""A configuration says itself what is wrong with it: field, value, what is allowed."""

from typing import Any

import pytest

from bert_data.reader import ReaderConfig


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"input_patterns": ""}, "input_patterns is ''; must name files"),
        ({"input_patterns": "a,,b"}, "input_patterns is 'a,,b'"),
        ({"input_patterns": []}, r"input_patterns is \[\]"),
        ({"batch_size": 0}, "batch_size is 0; 1 to"),
        ({"batch_size": 2.5}, "batch_size is 2.5; an integer, 1 to"),
        ({"seed": 1.5}, "seed is 1.5; it must be an integer"),
        ({"start_batch": -1}, "start_batch is -1"),
        ({"shuffle_buffer": 0}, "shuffle_buffer is 0"),
        ({"num_epochs": 0}, "num_epochs is 0; 1 to"),
        ({"max_seq_length": 0}, "max_seq_length is 0"),
        ({"max_predictions_per_seq": -1}, "max_predictions_per_seq is -1; 0 to"),
        ({"num_hosts": 2, "host_index": 2}, "host_index is 2; it must be below num_hosts, 2"),
        ({"feature_names": "hub"}, "feature_names is 'hub'; it must be one of google, tfhub"),
        ({"form": "dict"}, "form is 'dict'; it must be one of features, supervised, fit"),
        ({"width": "widest"}, "width is 'widest'; it must be 'batch', 'max' or a tuple"),
        ({"width": ()}, r"width is \(\)"),
        ({"width": (64, 32)}, r"width is \(64, 32\); .* ascending"),
        ({"width": (32, 32)}, r"width is \(32, 32\)"),
        ({"width": (0, 8)}, r"width is \(0, 8\)"),
        (
            {"width": (64, 512), "max_seq_length": 128},
            r"width is \(64, 512\); it must not exceed max_seq_length, 128",
        ),
    ],
)
def test_values_that_are_not_allowed(changes: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ReaderConfig(**{"input_patterns": "a", "batch_size": 1, **changes})


def test_patterns_of_a_string_and_of_a_list() -> None:
    assert ReaderConfig(input_patterns="a*,b", batch_size=1).patterns == ("a*", "b")
    assert ReaderConfig(input_patterns=["a,b", "c"], batch_size=1).patterns == ("a,b", "c")
