"""Any RaggedTensor to records and back."""

import hypothesis.strategies as st
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text as text
from hypothesis import given

from bert_data.labelled.ragged import (
    RaggedSpec,
    pack_segments,
    parse_ragged,
    ragged_tensor_features,
    widest_row,
)
from bert_data.records.formats.examples import encode_example
from bert_data.records.ragged_arrays import RaggedArray
from tests.hypotheses import examples

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
@examples(40)
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
    values = np.concatenate([array.values for array in arrays])
    np.testing.assert_array_equal(batch.flat_values, values)


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


CLS, SEP = 101, 102
TEXTS = st.lists(st.lists(st.integers(1, 90), max_size=7), min_size=3, max_size=3)


def trim(lengths: list[int], room: int) -> list[int]:
    """The texts take turns, a token each."""
    kept = [0] * len(lengths)
    while sum(kept) < room and kept != lengths:
        for number, length in enumerate(lengths):
            if kept[number] < length and sum(kept) < room:
                kept[number] += 1
    return kept


def expected(texts: list[list[int]], width: int) -> list[list[int]]:
    kept = trim([len(t) for t in texts], width - len(texts) - 1)
    ids, types = [CLS], [0]
    for number, (tokens, length) in enumerate(zip(texts, kept, strict=True)):
        ids += [*tokens[:length], SEP]
        types += [number] * (length + 1)
    padding = [0] * (width - len(ids))
    return [ids + padding, [1] * len(ids) + padding, types + padding]


@examples(50)
@given(columns=st.lists(TEXTS, min_size=1, max_size=2), width=st.integers(3, 20))
def test_rows(columns: list[list[list[int]]], width: int) -> None:
    segments = [tf.ragged.constant(column, tf.int64, ragged_rank=1) for column in columns]
    packed = pack_segments(segments, width, cls_id=CLS, sep_id=SEP)
    names = ("input_ids", "input_mask", "segment_ids")
    expected_rows = [expected(list(texts), width) for texts in zip(*columns, strict=True)]
    for name, rows in zip(names, zip(*expected_rows, strict=True), strict=True):
        assert packed[name].numpy().tolist() == list(rows)
    trimmed = text.RoundRobinTrimmer(width - len(columns) - 1).trim(segments)
    for row, texts in enumerate(zip(*columns, strict=True)):
        kept = trim(list(map(len, texts)), width - len(texts) - 1)
        assert [len(column[row]) for column in trimmed] == kept


@pytest.mark.slow
def test_the_widest_row_fits_and_no_narrower() -> None:
    a = tf.ragged.constant([[[7], [8, 9]], [[5]], []], tf.int64)  # words of pieces
    b = tf.ragged.constant([[[[1]]], [[[2, 3, 4], [5]], [[6]]], []], tf.int64)  # sentences of words

    @tf.function(input_signature=[*map(tf.type_spec_from_value, (a, b))])
    def pack(a: tf.RaggedTensor, b: tf.RaggedTensor) -> dict[str, tf.Tensor]:
        return pack_segments([a, b], widest_row([a, b]), cls_id=CLS, sep_id=SEP)

    assert pack(a, b)["input_ids"].numpy().tolist() == [
        [CLS, 7, 8, 9, SEP, 1, SEP, 0, 0],
        [CLS, 5, SEP, 2, 3, 4, 5, 6, SEP],
        [CLS, SEP, SEP, 0, 0, 0, 0, 0, 0],
    ]
    assert int(widest_row([a])) == 5
    assert int(widest_row([a[:0], b[:0]])) == 3


@pytest.mark.parametrize(
    ("num_segments", "width", "reason"),
    [
        (0, 9, "segments has 0 texts"),
        (3, 9, "segments has 3 texts"),
        (2, 2, "width is 2; it must be 3 or"),
    ],
)
def test_mistakes(num_segments: int, width: int, reason: str) -> None:
    segments = [tf.ragged.constant([[1]])] * num_segments
    with pytest.raises(ValueError, match=reason):
        pack_segments(segments, width, cls_id=CLS, sep_id=SEP)
