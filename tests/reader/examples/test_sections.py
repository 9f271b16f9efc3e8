"""Batches side by side: aligned, apart, and as large as their shapes say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.examples.sections import (
    PACKED,
    PLANNED,
    STREAMED,
    Shape,
    make_table,
    most_words,
    new_buffer,
)

SHAPES = st.builds(
    Shape, st.integers(1, 40), st.integers(1, 40), st.integers(0, 9), st.integers(1, 9)
)


@given(st.lists(SHAPES, min_size=1, max_size=9), st.sampled_from((STREAMED, PLANNED, PACKED)))
def test_sections_follow_each_other_on_aligned_places(shapes: list[Shape], schema) -> None:
    table, num_words = make_table(shapes, schema)
    assert new_buffer(num_words).ctypes.data % 64 == 0
    end, most = 0, 0
    for shape, entries in zip(shapes, table.reshape(-1, 3, 5).tolist(), strict=True):
        most += most_words(*shape, schema)
        for names, columns, entry in zip(schema, shape[1:], entries, strict=True):
            begin, size, *sizes = entry
            assert sizes == [len(names), shape.rows, columns]
            assert size == len(names) * shape.rows * columns
            assert begin == end
            end = -(-(begin + size) // 16) * 16
    assert num_words == end <= most
    assert (make_table(np.array(shapes), schema)[0] == table).all()
