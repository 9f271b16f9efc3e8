"""Bytes of Examples, read by TensorFlow's own protobuf."""

import hypothesis.strategies as st
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given

from bert_data.records.columns import Column, ColumnBatch
from bert_data.records.fields import INT8, INT32, Axis, Field, RecordKind, Role
from bert_data.records.formats.examples import ExampleEncoder, encode_example
from tests.hypotheses import examples
from tests.records.batches import column_batches
from tests.records.formats.tfrecords import split_records

COVERS = ("records/formats/wire_kernels",)


INT64 = st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300)
VALUES = (
    st.lists(INT64, max_size=40).map(lambda x: np.array(x, np.int64))
    | st.lists(st.floats(width=32, allow_nan=False), max_size=40).map(
        lambda x: np.array(x, np.float32)
    )
    | st.lists(st.binary(max_size=200), max_size=4)
)


def by_tensorflow(features: dict) -> tf.train.Example:
    def feature(values) -> tf.train.Feature:
        if isinstance(values, list) or values.dtype == object:
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
        if values.dtype.kind in "biu":
            return tf.train.Feature(int64_list=tf.train.Int64List(value=values.astype(np.int64)))
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    named = {name: feature(values) for name, values in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=named))


def by_entries(features: dict) -> bytes:
    """An Example whose entries are sorted by name, each made by protobuf.

    Protobuf's own deterministic order differs between its implementations where one name begins
    with another, as "input_ids_splits_0" does with "input_ids".
    """
    entries = b"".join(
        by_tensorflow({name: features[name]}).features.SerializeToString()
        for name in sorted(features)
    )
    size, prefix = len(entries), bytearray(b"\x0a")
    while size >= 128:
        prefix.append(size & 127 | 128)
        size >>= 7
    return bytes(prefix) + bytes([size]) + entries


def features_of(batch: ColumnBatch, record: int) -> dict:
    """The features of a record of a batch."""
    features = {}
    for field in batch.kind.fields:
        column = batch.column_of(field.axis) if field.is_implied else batch[field]
        if column.splits is not None:
            values = column.values[column.splits[record] : column.splits[record + 1]]
        else:
            values = column.values[record : record + 1].reshape(-1)
        if field.is_implied:
            values = np.ones(len(values), field.dtype)
        padding = batch.kind.padded_to.get(field.axis, 0) - len(values)
        if padding > 0:
            values = np.concatenate([values, np.zeros(padding, field.dtype)])
        features[field.name] = values
    return features


@pytest.mark.slow
@examples(200)
@given(column_batches())
def test_any_batch_is_what_protobuf_makes_of_it(batch: ColumnBatch) -> None:
    data, ends = ExampleEncoder(batch.kind).encode(batch)
    records = split_records(data.tobytes())
    assert ends.tolist() == [*[at for at, _ in records[1:]], data.size]
    for number, (_, record) in enumerate(records):
        assert record == by_entries(features_of(batch, number))


@given(features=st.dictionaries(st.text("ab_é", max_size=70), VALUES, max_size=4))
def test_tensorflow_reads_the_same(features: dict) -> None:
    data = encode_example(features)
    assert tf.train.Example.FromString(data) == by_tensorflow(features)
    assert data == encode_example(dict(reversed(features.items())))


@pytest.mark.parametrize("bits", [7, 14, 21, 28, 31])
@pytest.mark.parametrize("role", [Role.IDS, Role.POSITIONS])
def test_numbers_at_the_edges_of_their_bytes(bits: int, role: Role) -> None:
    values = np.array([(1 << bits) - 1, (1 << bits) % 2**31, 1, -1, 2**31 - 1], np.int32)
    kind = RecordKind(name="edges", fields=(Field("a", INT32, Axis.TOKENS, role),))
    batch = ColumnBatch(kind=kind, columns={"a": Column(values[np.newaxis])})
    data, _ = ExampleEncoder(batch.kind).encode(batch)
    assert split_records(data.tobytes()) == [(0, by_entries({"a": values}))]


def test_columns_need_not_be_contiguous() -> None:
    kind = RecordKind(name="strided", fields=(Field("a", INT8, Axis.TOKENS, Role.SEGMENTS),))
    values = np.arange(-50, 50, dtype=np.int8).reshape(10, 10)
    batch = ColumnBatch(kind=kind, columns={"a": Column(values.T)})
    for number, (_, record) in enumerate(
        split_records(ExampleEncoder(batch.kind).encode(batch)[0].tobytes())
    ):
        assert record == by_entries({"a": values[:, number]})


def test_records_larger_than_protobuf_allows_are_refused() -> None:
    """Padding makes them large, so that nothing but address space is taken."""
    fields = (Field("a", INT8, Axis.TOKENS, Role.SEGMENTS),)
    kind = RecordKind(name="large", fields=fields, padded_to={Axis.TOKENS: 2**31})
    batch = ColumnBatch(kind=kind, columns={"a": Column(np.zeros((1, 1), np.int8))})
    with pytest.raises(ValueError, match="record 0 of the batch takes more than 2,147,483,647"):
        ExampleEncoder(batch.kind).encode(batch)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.zeros(2, np.int32), "holds int32"),
        (np.zeros((2, 1), np.int64), "has 2 dimensions"),
        (["text"], "holds str"),
    ],
)
def test_other_types_are_refused(values, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        encode_example({"a": values})
