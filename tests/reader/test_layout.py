"""Batches side by side: aligned, apart, and as large as their shapes say."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.layout import (
    PACKED,
    PLANNED,
    BatchGroup,
    Shape,
    arrays_of,
    layout_of,
    make_table,
    most_words,
    new_buffer,
    runs_of,
)
from bert_data.schema.fields import masked_lm_records

SHAPES = st.builds(
    Shape, st.integers(1, 40), st.integers(1, 40), st.integers(0, 9), st.integers(1, 9)
)


KIND = masked_lm_records("ragged")
WITHOUT_LABELS = masked_lm_records("ragged", sentence_field=None)
LAYOUTS = st.sampled_from(
    (
        layout_of(KIND),
        layout_of(KIND, *PLANNED),
        layout_of(KIND, *PACKED),
        layout_of(WITHOUT_LABELS, *PLANNED),
    )
)
RUNS = st.lists(st.tuples(SHAPES, st.integers(1, 3)), min_size=1, max_size=6)


def batches_of(runs: list[tuple[Shape, int]]) -> list[Shape]:
    return [shape for shape, count in runs for _ in range(count)]


def grouped(shapes: list[Shape], alone: bool) -> list[tuple[Shape, int]]:
    """Runs of equal shapes, or of one batch each."""
    if alone:
        return [(shape, 1) for shape in shapes]
    return [(shape, len(list(group))) for shape, group in itertools.groupby(shapes)]


def shapes_of(runs: np.ndarray) -> list:
    """The begin, size, and shape with an axis of batches, of each run and section."""
    if runs.shape[1] == 15:
        runs = np.insert(runs.reshape(-1, 3, 5), 3, 1, axis=2)
    return runs.reshape(-1, 3, 6).tolist()


@given(RUNS, LAYOUTS, st.booleans())
def test_runs_follow_each_other_on_aligned_places(
    runs: list[tuple[Shape, int]], layout, alone: bool
) -> None:
    shapes = batches_of(runs)
    table, num_words = make_table(shapes, layout, alone=alone)
    assert new_buffer(num_words).ctypes.data % 64 == 0
    same = grouped(shapes, alone)
    end, most = 0, sum(most_words(shape, layout) for shape in shapes)
    runs_of_table = runs_of(table, layout, alone=alone)
    assert runs_of_table.shape[1] == (15 if alone else 18)
    places = shapes_of(runs_of_table)
    for (shape, count), entries in zip(same, places, strict=True):
        for section, columns, entry in zip(layout, shape[1:], entries, strict=True):
            begin, size, *sizes = entry
            assert sizes == [len(section), count, shape.rows, columns]
            assert size == len(section) * count * shape.rows * columns
            assert begin == end
            end = -(-(begin + size) // 16) * 16
    assert num_words == end <= most
    assert (make_table(np.array(shapes), layout, alone=alone)[0] == table).all()


@given(RUNS, LAYOUTS, st.booleans())
def test_arrays_are_the_runs_taken_apart(
    runs: list[tuple[Shape, int]], layout, alone: bool
) -> None:
    shapes = batches_of(runs)
    table, num_words = make_table(shapes, layout, alone=alone)
    words = new_buffer(num_words)
    words[:] = np.arange(num_words)
    batches = arrays_of(BatchGroup(words, table), layout)
    for entries in shapes_of(runs_of(table, layout, alone=alone)):
        sections = [words[b : b + size].reshape(shape) for b, size, *shape in entries]
        for number, batch in enumerate(itertools.islice(batches, entries[0][3])):
            assert list(batch) == [field.name for section in layout for field in section]
            for section, values in zip(layout, sections, strict=True):
                for field, expected in zip(section, values[:, number], strict=True):
                    array = batch[field.name]
                    assert array.dtype == field.tensor_dtype
                    np.testing.assert_array_equal(array.view(np.int32), expected)
                    assert np.shares_memory(array, words) or not array.size
    assert next(batches, None) is None
