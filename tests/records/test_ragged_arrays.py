"""Properties of ragged arrays. Round trips are in tests/reader/test_ragged.py."""

import numpy as np
import pytest

from bert_data.records.ragged_arrays import RaggedArray, ragged_features


def splits(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def test_features_are_named_from_the_outermost_dimension() -> None:
    array = RaggedArray(
        values=np.array([7, 8, 9]), splits=[splits(0, 2, 2), splits(0, 1, 3)]
    )  # [[[7], [8, 9]], []]
    features = {name: list(values) for name, values in ragged_features("a", array).items()}
    assert features == {"a_values": [7, 8, 9], "a_splits_0": [0, 2, 2], "a_splits_1": [0, 1, 3]}


def test_inner_dimensions_are_stored_flat() -> None:
    array = RaggedArray(values=np.arange(6).reshape(3, 2), splits=[splits(0, 3)])
    assert array.inner_shape == (2,)
    assert ragged_features("a", array)["a_values"].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("values", "all_splits", "reason"),
    [
        (np.zeros(2, np.int32), [splits(0, 2)], "values is an array of int32"),
        (np.int64(2), [splits(0, 2)], r"values has the shape \[\]"),
        (np.zeros((2, 0)).astype(np.int64), [splits(0, 2)], r"values has the shape \[2, 0\]"),
        (np.arange(2), [], "splits is empty"),
        (np.arange(2), [splits()], r"splits\[0\] is int64\[0\]"),
        (np.arange(2), [np.array([0.0, 2.0])], r"splits\[0\] is float64"),
        (np.arange(2), [splits(0, 1)], r"splits\[0\] goes from 0 to 1; .* from 0 to 2"),
        (np.arange(2), [splits(1, 2)], r"splits\[0\] goes from 1 to 2"),
        (np.arange(2), [splits(0, 2, 1, 2)], r"splits\[0\] goes from 0 to 2"),
        (np.arange(2), [splits(0, 1), splits(0, 1, 2)], r"splits\[0\] goes .* from 0 to 2"),
    ],
)
def test_what_is_no_ragged_array_is_refused(values, all_splits, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        RaggedArray(values=np.asarray(values), splits=all_splits)
