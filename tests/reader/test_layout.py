"""Batches side by side, aligned and apart; memory that is used again, but not while it is held."""

import itertools
import os

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
    new_buffer,
    new_bytes,
    new_file,
    runs_of,
    words_of_batch,
)
from bert_data.records.fields import masked_lm_records

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
    end, most = 0, sum(words_of_batch(shape, layout) for shape in shapes)
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


LARGE = 1 << 20


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def test_dropped_memory_is_used_again() -> None:
    first = new_bytes(LARGE)
    where = address(first)
    del first
    assert address(new_bytes(LARGE)) == where


def test_a_view_keeps_the_memory() -> None:
    whole = new_bytes(LARGE)
    view = whole[100:200].view(np.int32)[3:]
    view[:] = 7
    del whole
    others = [new_bytes(LARGE) for _ in range(4)]
    for other in others:
        other[:] = 1
    assert (view == 7).all()


@given(st.lists(st.tuples(st.integers(1, 1 << 18), st.booleans()), max_size=30))
def test_no_two_arrays_share_memory(steps: list[tuple[int, bool]]) -> None:
    held: list[np.ndarray] = []
    for number, (size, drop) in enumerate(steps):
        array = new_bytes(size)
        assert array.shape == (size,)
        assert array.dtype == np.uint8
        array[:] = number
        held.append(array[size // 2 :])
        if drop:
            held.pop(number % len(held))
    ranges = sorted((address(array), address(array) + array.size) for array in held)
    assert all(low[1] <= high[0] for low, high in itertools.pairwise(ranges))


def test_what_is_written_to_a_file_appears_in_its_array() -> None:
    array, descriptor = new_file(5000)
    assert (array.dtype, array.shape) == (np.uint8, (5000,))
    assert os.pwrite(descriptor, b"here", 4096) == 4
    assert array[4096:4100].tobytes() == b"here"
    _other, other_descriptor = new_file(5000)
    assert other_descriptor != descriptor
    os.pwrite(other_descriptor, b"else", 4096)
    assert array[4096:4100].tobytes() == b"here"
    del array
    assert new_file(5000)[1] == descriptor
