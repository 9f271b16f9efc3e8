"""Batches side by side: aligned, apart, and as large as their shapes say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.layout import (
    PACKED,
    PLANNED,
    STREAMED,
    BatchGroup,
    Shape,
    arrays_of,
    make_table,
    most_words,
    new_buffer,
)

SHAPES = st.builds(
    Shape, st.integers(1, 40), st.integers(1, 40), st.integers(0, 9), st.integers(1, 9)
)


@given(st.lists(SHAPES, min_size=1, max_size=9), st.sampled_from((STREAMED, PLANNED, PACKED)))
def test_sections_follow_each_other_on_aligned_places(shapes: list[Shape], layout) -> None:
    table, num_words = make_table(shapes, layout)
    assert new_buffer(num_words).ctypes.data % 64 == 0
    end, most = 0, 0
    for shape, entries in zip(shapes, table.reshape(-1, 3, 5).tolist(), strict=True):
        most += most_words(shape, layout)
        for section, columns, entry in zip(layout, shape[1:], entries, strict=True):
            begin, size, *sizes = entry
            assert sizes == [len(section), shape.rows, columns]
            assert size == len(section) * shape.rows * columns
            assert begin == end
            end = -(-(begin + size) // 16) * 16
    assert num_words == end <= most
    assert (make_table(np.array(shapes), layout)[0] == table).all()


@given(st.lists(SHAPES, min_size=1, max_size=5), st.sampled_from((STREAMED, PLANNED, PACKED)))
def test_arrays_are_the_sections_taken_apart(shapes: list[Shape], layout) -> None:
    table, num_words = make_table(shapes, layout)
    words = new_buffer(num_words)
    words[:] = np.arange(num_words)
    batches = list(arrays_of(BatchGroup(words, table), layout))
    for shape, entries, batch in zip(shapes, table.reshape(-1, 3, 5), batches, strict=True):
        assert list(batch) == [field.name for section in layout for field in section]
        for section, columns, (begin, *_) in zip(layout, shape[1:], entries.tolist(), strict=True):
            for field in section:
                values = batch[field.name]
                assert values.shape == (shape.rows, columns)
                assert values.dtype == field.tensor_dtype
                assert values.view(np.int32).ravel().tolist() == list(
                    range(begin, begin + values.size)
                )
                assert np.shares_memory(values, words) or not values.size
                begin += values.size
