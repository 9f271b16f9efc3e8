"""Random column batches of random kinds of records, for tests of whatever reads or writes them."""

import numpy as np
from hypothesis import strategies as st

from bert_data.records.columns import Column, ColumnBatch
from bert_data.records.fields import BYTES, DTYPES, FLOAT32, INT32, Axis, Field, RecordKind, Role

AXES = (Axis.TOKENS, Axis.PREDICTIONS, Axis.INSTANCES)


def _values_of(dtype: np.dtype) -> st.SearchStrategy:
    if dtype == BYTES:
        return st.binary(max_size=200)
    if dtype.kind == "f":
        return st.floats(width=32, allow_nan=False)
    if dtype.kind == "b":
        return st.booleans()
    limits = np.iinfo(dtype)
    small = st.integers(max(limits.min, -3), min(limits.max, 300))
    return small | st.integers(int(limits.min), int(limits.max))


def _array(values: list, dtype: np.dtype) -> np.ndarray:
    array = np.empty(len(values), dtype)
    array[:] = values
    return array


@st.composite
def record_kinds(draw: st.DrawFn) -> RecordKind:
    """Fields of any type on any axis; what an axis has is told by at least one stored field."""
    fields = []
    for axis in draw(st.lists(st.sampled_from(AXES), min_size=1, unique=True)):
        dtypes = draw(st.lists(st.sampled_from(DTYPES), min_size=1, max_size=3))
        for dtype in dtypes:
            name = draw(st.text("abcdefghij_", min_size=1, max_size=12)) + str(len(fields))
            fields.append(Field(name, dtype, axis, Role.IDS, column=f"column {name}"))
        if draw(st.booleans()):
            dtype = draw(st.sampled_from([INT32, FLOAT32]))
            fields.append(Field(f"ones{len(fields)}", dtype, axis, Role.WEIGHTS, is_implied=True))
    order = draw(st.permutations(fields))
    padded_to = {
        axis: draw(st.integers(0, 40))
        for axis in {field.axis for field in fields}
        if draw(st.booleans()) and not any(f.axis is axis and f.dtype == BYTES for f in fields)
    }
    return RecordKind(name="random", fields=tuple(order), padded_to=padded_to)


@st.composite
def column_batches(draw: st.DrawFn, *, one_value_per_instance: bool = False) -> ColumnBatch:
    """Up to five records, as long as they may be; all fields of an axis have the same lengths."""
    kind = draw(record_kinds())
    num_records = draw(st.integers(1, 5))
    columns = {}
    for axis in AXES:
        most = kind.padded_to.get(axis, draw(st.sampled_from([3, 20, 150])))
        lengths = draw(st.lists(st.integers(0, most), min_size=num_records, max_size=num_records))
        if axis is Axis.INSTANCES and one_value_per_instance:
            lengths = [1] * num_records
        for field in (field for field in kind.stored if field.axis is axis):
            splits = np.cumsum([0, *lengths], dtype=np.int32)
            one = _values_of(field.dtype)
            seeds = draw(st.lists(one, min_size=1, max_size=30))
            values = _array([seeds[i % len(seeds)] for i in range(splits[-1])], field.dtype)
            columns[field.name] = Column(values, splits)
            if len(set(lengths)) == 1 and draw(st.booleans()):
                columns[field.name] = Column(values.reshape(num_records, -1))
                if lengths[0] == 1 and draw(st.booleans()):
                    columns[field.name] = Column(values)
    return ColumnBatch(kind=kind, columns=columns)
