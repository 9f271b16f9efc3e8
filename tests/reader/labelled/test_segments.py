"""Packed rows, compared with a few lines of Python and with tensorflow_text's trimmer."""

import hypothesis.strategies as st
import pytest
import tensorflow as tf
import tensorflow_text as text
from hypothesis import given, settings

from bert_data.reader.labelled.segments import pack_segments, widest_row

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


@settings(max_examples=50)
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


def test_the_widest_row_fits_and_no_narrower() -> None:
    a = tf.ragged.constant([[[7], [8, 9]], [[5]], []], tf.int64)  # words of pieces
    b = tf.ragged.constant([[[[1]]], [[[2, 3, 4], [5]], [[6]]], []], tf.int64)  # sentences of words

    @tf.function(input_signature=[a._type_spec, b._type_spec])
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
