"""Any RaggedTensor to records and back."""

import hypothesis.strategies as st
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings

from bert_data.formats.examples import encode_example
from bert_data.reader.labelled.ragged import (
    RaggedSpec,
    parse_ragged,
    ragged_tensor_features,
)
from bert_data.schema.ragged_arrays import RaggedArray

VALUES = {
    tf.int64: st.integers(-(2**63), 2**63 - 1),
    tf.float32: st.floats(width=32, allow_nan=False),
    tf.string: st.binary(max_size=5),
}


@st.composite
def ragged_arrays(draw, dtype: tf.DType, ragged_rank: int, inner_shape: tuple[int, ...]):
    """Row lengths from the outermost dimension inwards, then values; rows may be empty."""
    splits = []
    num_rows = draw(st.integers(0, 3))
    for _ in range(ragged_rank):
        lengths = draw(st.lists(st.integers(0, 3), min_size=num_rows, max_size=num_rows))
        splits.append(np.cumsum([0, *lengths]))
        num_rows = int(splits[-1][-1])
    size = num_rows * int(np.prod(inner_shape, dtype=int))
    flat = draw(st.lists(VALUES[dtype], min_size=size, max_size=size))
    values = np.array(flat, dtype.as_numpy_dtype).reshape(num_rows, *inner_shape)
    return RaggedArray(values=values, splits=splits)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    data=st.data(),
    dtype=st.sampled_from(sorted(VALUES, key=str)),
    ragged_rank=st.integers(1, 4),
    inner_shape=st.sampled_from([(), (2,), (1, 3)]),
)
def test_round_trip_of_a_batch(data, dtype, ragged_rank: int, inner_shape) -> None:
    arrays = data.draw(
        st.lists(ragged_arrays(dtype, ragged_rank, inner_shape), min_size=1, max_size=3)
    )
    spec = RaggedSpec(dtype=dtype, ragged_rank=ragged_rank, inner_shape=inner_shape)
    tensors = [
        tf.RaggedTensor.from_nested_row_splits(tf.constant(array.values, dtype), array.splits)
        for array in arrays
    ]
    records = [encode_example(ragged_tensor_features("a", tensor)) for tensor in tensors]
    batch = parse_ragged(tf.constant(records), {"a": spec})["a"]
    assert batch.dtype == dtype
    assert batch.ragged_rank == ragged_rank + 1
    assert batch.shape[ragged_rank + 2 :] == inner_shape
    assert batch.to_list() == [tensor.to_list() for tensor in tensors]
    for number, array in enumerate(arrays):
        np.testing.assert_array_equal(batch[number].flat_values, array.values)
        for splits, expected in zip(batch[number].nested_row_splits, array.splits, strict=True):
            np.testing.assert_array_equal(splits, expected)


def test_several_tensors_in_a_graph() -> None:
    specs = {"a": RaggedSpec(), "b": RaggedSpec(dtype=tf.string, ragged_rank=2)}
    a, b = tf.ragged.constant([[1], []], tf.int64), tf.ragged.constant([[[b"x"], []], []])
    record = encode_example({**ragged_tensor_features("a", a), **ragged_tensor_features("b", b)})
    parsed = next(
        iter(tf.data.Dataset.from_tensors([record]).map(lambda r: parse_ragged(r, specs)))
    )
    assert {name: value.to_list() for name, value in parsed.items()} == {
        "a": [a.to_list()],
        "b": [b.to_list()],
    }


@pytest.mark.parametrize(
    "features",
    [
        {"a_values": np.array([1, 2])},
        {"a_values": np.array([1, 2]), "a_splits_0": np.array([0, 1])},
        {"a_values": np.array([1, 2]), "a_splits_0": np.array([0, 3])},
        {"a_splits_0": np.array([0, 2])},
        {"a_values": np.array([1, 2]), "a_splits_0": np.array([1, 2])},
        {"a_values": np.array([1, 2]), "a_splits_0": np.array([0, 2, 1, 2])},
    ],
)
def test_splits_that_do_not_fit_are_an_error(features: dict) -> None:
    good = encode_example({"a_values": np.array([1]), "a_splits_0": np.array([0, 1])})
    for records in ([good, encode_example(features)], [encode_example(features), good]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            parse_ragged(tf.constant(records), {"a": RaggedSpec()})


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"dtype": tf.int32}, "dtype is tf.int32"),
        ({"ragged_rank": 0}, "ragged_rank is 0"),
        ({"inner_shape": (2, 0)}, r"inner_shape is \(2, 0\)"),
    ],
)
def test_settings_are_checked(options: dict, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        RaggedSpec(**options)


def test_other_values_are_refused() -> None:
    with pytest.raises(ValueError, match="values is an array of int32"):
        ragged_tensor_features("a", tf.ragged.constant([[1]], tf.int32))
