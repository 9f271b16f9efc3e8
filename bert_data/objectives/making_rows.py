"""Makes rows of instances from documents.

    s0 s1 s2 | s3 s4 | ...  ->  [CLS] s0 [SEP] s1 s2 [SEP], [CLS] s4 [SEP] s3 [SEP], ...

One call makes many rows and can stop anywhere, so memory is bounded for documents of any size.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.objectives.masking import MaskingRule, MaskingScratch, size_at
from bert_data.objectives.masking_rules import choose_predictions
from bert_data.objectives.mersenne import (
    RandomStream,
    draw_below,
    draw_of_three,
    draw_unit,
    next_shuffled,
    shuffle_down,
    top_up,
)
from bert_data.objectives.rows import put_header, put_predictions
from bert_data.objectives.segments import (
    IN_ORDER,
    SegmentRule,
    Sentences,
    choose_pair,
    draw_target,
    sentences_fitting,
)

DOCUMENT, SENTENCE, FRONT, TARGET = range(4)  # of a cursor
NO_SENTENCE = -1
NUM_INSTANCES, NUM_TOKENS, NUM_IN_ORDER, NUM_RANDOM_NEXT, NUM_SWAPPED = range(3, 8)
NUM_COUNTS = 8  # masking's three come first


@inner
def _shuffle(
    draws: NDArray[np.uint32], position: Scalar, order: NDArray[np.uint16], size: Scalar
) -> Scalar:
    """Shuffle the first `size` items of an order, whose draws are in reserve."""
    _, position = shuffle_down(draws, position, order, size - 1)
    return position


@inner
def _draw_size(
    stream: RandomStream, position: Scalar, sizes: NDArray[np.float64]
) -> tuple[Scalar, Scalar]:
    """Draw a size from NumPy's stream; the position in the other one stays."""
    own = top_up(stream.state, stream.draws, stream.position[0], np.int64(2))
    unit, stream.position[0] = draw_unit(stream.draws, own)
    return size_at(sizes, unit), position


@inner
def _mask(
    draws: NDArray[np.uint32],
    position: Scalar,
    numpy_stream: RandomStream,
    ids: NDArray[np.integer],
    segments: tuple[Scalar, Scalar, Scalar, Scalar],
    length: Scalar,
    rule: MaskingRule,
    code_bits: Scalar,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
    row: NDArray[np.uint32],
) -> tuple[Scalar, Scalar]:
    """Choose the predictions of an instance and write them into its row; return (number, position).

    Enough draws are in reserve; `length` is that of the instance with its special tokens.
    """
    a_begin, a_length, b_begin, b_length = segments
    if rule.word_bits.size:
        for t in range(a_length):
            scratch.tokens[t] = ids[a_begin + t]
        for t in range(b_length):
            scratch.tokens[a_length + t] = ids[b_begin + t]
    num_predictions, position = choose_predictions(
        draws, position, numpy_stream, _shuffle, next_shuffled, draw_of_three, draw_below,
        _draw_size, a_length + b_length, a_length, rule.num_to_predict[length],
        rule, scratch, counts,
    )  # fmt: skip
    put_predictions(scratch.shown, a_length, num_predictions, code_bits, row)
    return num_predictions, position


@kernel
def make_rows(
    stream: RandomStream,
    numpy_stream: RandomStream,
    sentences: Sentences,
    cursor: NDArray[np.int64],
    segment_rule: SegmentRule,
    rule: MaskingRule,
    code_bits: Scalar,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
    rows: NDArray[np.uint32],
) -> Scalar:
    """Make instances until `rows` is full or all documents are done.

    Args:
      stream: RandomStream, source of the random numbers.
      numpy_stream: that of the sizes that masking draws; without draws if it draws none.
      sentences: Sentences.
      cursor: int64[4]: place in `order`, next sentence of the store or -1 at a document's start,
        tokens of it that are used, target length. Advanced; all documents are done when cursor[0]
        == len(order).
      segment_rule: SegmentRule.
      rule, scratch: of masking.
      code_bits: bits of a code in a row.
      counts: int64[8], added to.
      rows: uint32[rows, words], filled from the first.

    Returns:
      The number of rows filled.
    """
    state, draws, position = stream.state, stream.draws, stream.position[0]
    lengths, offsets, bounds, order = (
        sentences.lengths, sentences.offsets, sentences.bounds, sentences.order,
    )  # fmt: skip
    document, sentence, front, target = cursor[0], cursor[1], cursor[2], cursor[3]
    num_rows = 0
    while document < order.size and num_rows < rows.shape[0]:
        position = top_up(state, draws, position, segment_rule.reserve)
        stop = bounds[order[document] + 1]
        if sentence == NO_SENTENCE:
            sentence = bounds[order[document]]
            target, position = draw_target(draws, position, segment_rule)
        if segment_rule.num_segments == 1:
            a_begin = offsets[sentence] // np.int64(sentences.ids.itemsize) + front
            a_length, sentence, front = sentences_fitting(lengths, sentence, front, stop, target)
            b_begin, b_length, kind = a_begin, np.int64(0), IN_ORDER
        else:
            a_begin, a_length, b_begin, b_length, sentence, kind, position = choose_pair(
                state, draws, position, sentences, document, sentence, stop, target, segment_rule
            )
        position = top_up(state, draws, position, segment_rule.reserve)
        row, segments = rows[num_rows], (a_begin, a_length, b_begin, b_length)
        length = a_length + b_length + 2 + np.int64(b_length > 0)
        num_predictions, position = _mask(
            draws,
            position,
            numpy_stream,
            sentences.ids,
            segments,
            length,
            rule,
            code_bits,
            scratch,
            counts,
            row,
        )
        put_header(row, segments, num_predictions, kind != IN_ORDER)
        counts[NUM_INSTANCES] += 1
        counts[NUM_TOKENS] += length
        counts[NUM_IN_ORDER + kind] += 1
        num_rows += 1
        if sentence == stop:
            sentence = NO_SENTENCE
            document += 1
    cursor[0], cursor[1], cursor[2], cursor[3] = document, sentence, front, target
    stream.position[0] = position
    return num_rows
