"""Packing against a plain definition, and against TensorFlow Text's."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text as tf_text
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_data.hub.preprocessing import SpecialIds, pack, width_of_longest

SPECIAL = SpecialIds(start_id=101, end_id=102, pad_id=7)
NAMES = ("input_word_ids", "input_mask", "input_type_ids")

rows = st.lists(st.integers(200, 300), max_size=7)
batches = st.one_of(
    st.lists(st.tuples(rows), max_size=5), st.lists(st.tuples(rows, rows), min_size=1, max_size=5)
)


def ragged(batch: list[list[int]]) -> tf.RaggedTensor:
    values = tf.constant([number for row in batch for number in row], tf.int32)
    return tf.RaggedTensor.from_row_lengths(values, tf.constant([len(r) for r in batch], tf.int64))


def segments_of(batch: list[tuple[list[int], ...]]) -> list[tf.RaggedTensor]:
    num_segments = len(batch[0]) if batch else 1
    return [ragged([row[i] for row in batch]) for i in range(num_segments)]


def defined(batch: list[tuple[list[int], ...]], width: int) -> dict[str, list[list[int]]]:
    """The rows, made token by token: the segments take turns until there is no room."""
    result: dict[str, list[list[int]]] = {name: [] for name in NAMES}
    for row in batch:
        kept: list[list[int]] = [[] for _ in row]
        room = width - len(row) - 1
        while room and any(len(k) < len(segment) for k, segment in zip(kept, row, strict=True)):
            for k, segment in zip(kept, row, strict=True):
                if room and len(k) < len(segment):
                    k.append(segment[len(k)])
                    room -= 1
        ids, types = [101], [0]
        for number, k in enumerate(kept):
            ids += [*k, 102]
            types += [number] * (len(k) + 1)
        padding = width - len(ids)
        result["input_word_ids"].append(ids + [7] * padding)
        result["input_mask"].append([1] * len(ids) + [0] * padding)
        result["input_type_ids"].append(types + [0] * padding)
    return result


@pytest.mark.slow
@settings(max_examples=300)
@given(batch=batches, width=st.integers(3, 20))
def test_rows_of_any_batch(batch: list[tuple[list[int], ...]], width: int) -> None:
    packed = pack(segments_of(batch), SPECIAL, width)
    assert tuple(packed) == NAMES
    for name, expected in defined(batch, width).items():
        assert packed[name].shape == (len(batch), width)
        assert packed[name].dtype == tf.int32
        assert packed[name].numpy().tolist() == expected


@pytest.mark.slow
@settings(max_examples=100)
@given(batch=batches, limit=st.integers(3, 20))
def test_the_longest_row_gives_the_width(batch: list[tuple[list[int], ...]], limit: int) -> None:
    segments = segments_of(batch)
    width = int(width_of_longest(segments, limit))
    wide = pack(segments, SPECIAL, limit)
    longest = max(wide["input_mask"].numpy().sum(axis=1), default=len(segments) + 1)
    assert width == longest
    for name, values in pack(segments, SPECIAL, width).items():
        np.testing.assert_array_equal(values, wide[name][:, :width])


@pytest.mark.parametrize("num_segments", [1, 2])
def test_rows_equal_those_of_tensorflow_text(num_segments: int) -> None:
    random = np.random.default_rng(1)
    for width in range(num_segments + 2, 30):
        lengths = random.integers(0, 16, (num_segments, 8))
        segments = [
            tf.RaggedTensor.from_row_lengths(random.integers(1, 99, n.sum()).astype(np.int32), n)
            for n in lengths
        ]
        trimmed = tf_text.RoundRobinTrimmer(width - num_segments - 1).trim(segments)
        ids, types = tf_text.combine_segments(trimmed, 101, 102)
        ids, mask = tf_text.pad_model_inputs(ids, width, 7)
        types, _ = tf_text.pad_model_inputs(types, width, 0)
        packed = pack(segments, SPECIAL, width)
        for name, expected in zip(NAMES, (ids, mask, types), strict=True):
            np.testing.assert_array_equal(packed[name], expected)


def test_words_of_pieces_are_flattened() -> None:
    words = tf.ragged.constant([[[5], [6, 7]], [], [[8]]], dtype=tf.int32)
    flat = tf.ragged.constant([[5, 6, 7], [], [8]], dtype=tf.int32)
    for name, values in pack([words, flat], SPECIAL, 9).items():
        np.testing.assert_array_equal(values, pack([flat, words], SPECIAL, 9)[name])
    assert int(width_of_longest([words, words], 20)) == 9


def test_a_graph_serves_every_batch_and_width() -> None:
    spec = [tf.RaggedTensorSpec([None, None], tf.int32)] * 2
    function = tf.function(
        lambda a, b, width: pack([a, b], SPECIAL, width),
        input_signature=[*spec, tf.TensorSpec([], tf.int32)],
    )
    batch = [([201, 202, 203], [204]), ([205], [])]
    for width in (5, 7, 30):
        packed = function(*segments_of(batch), tf.constant(width))
        assert {name: x.numpy().tolist() for name, x in packed.items()} == defined(batch, width)
    with pytest.raises(tf.errors.InvalidArgumentError, match="seq_length must be more than the 2"):
        function(*segments_of(batch), tf.constant(2))


def test_mistakes_are_told() -> None:
    one = ragged([[1]])
    with pytest.raises(ValueError, match="width is 1; it must be 2 or more"):
        pack([one], SPECIAL, 1)
    with pytest.raises(ValueError, match="segments has 3 texts; it must have 1 or 2"):
        pack([one, one, one], SPECIAL, 9)
    with pytest.raises(ValueError, match=r"end_id is -1; a whole number >= 0 is allowed"):
        SpecialIds(start_id=1, end_id=-1)
