"""Make rows of instances: ranges of a token store's sentences as segments, and their masks.

    document  s0 s1 s2 s3 s4 ...     tokens  5 9 4 7 3     target  12
    a pair    s0 | s1                sentences that reach the target, split and truncated
    single    s0                     sentences that fit

The draws come in the reference's order (google-research/bert, create_instances_from_document and
truncate_seq_pair; google-research/albert for the swap); `records.definition` has the
definitions. One call makes many rows and can stop anywhere, so memory is bounded for documents of
any size.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.records.instances.mersenne import (
    RandomStream,
    draw_below,
    draw_of_three,
    draw_unit,
    next_shuffled,
    shuffle_down,
    top_up,
)
from bert_data.records.instances.rows import put_header, put_predictions
from bert_data.records.masking.choosing import choose_predictions
from bert_data.records.masking.rule import (
    Draws,
    MaskingRule,
    MaskingScratch,
    list_ordinary,
    size_at,
)

IN_ORDER, FROM_ELSEWHERE, SWAPPED = range(3)  # kinds of pairs

_FRONT = np.uint32(0x80000000)  # random() < 0.5 iff the top bit of its first draw is 0
_MAX_TRIES = 10  # draws for another document


class Sentences(NamedTuple):
    """The token store, and the order of its documents.

    Attributes:
      ids: uint16 or int32[tokens].
      lengths: int32[sentences], >= 1.
      offsets: int64[sentences], in bytes.
      bounds: int64[documents + 1], first sentence of each document.
      order: uint32[documents], the shuffled documents.
    """

    ids: NDArray[np.integer]
    lengths: NDArray[np.int32]
    offsets: NDArray[np.int64]
    bounds: NDArray[np.int64]
    order: NDArray[np.uint32]


class SegmentRule(NamedTuple):
    """The arguments of segments' kernels, besides the random numbers.

    Attributes:
      short_seq_prob: probability that a document's target length is random, in [0, 1].
      max_num_tokens: of all segments together, without special tokens, >= 2.
      reserve: draws that an instance may use, see `reserve_for`.
    """

    num_segments: int
    swaps: bool
    short_seq_prob: float
    max_num_tokens: int
    reserve: int


@inner
def draw_target(
    draws: NDArray[np.uint32], position: Scalar, rule: SegmentRule
) -> tuple[Scalar, Scalar]:
    """Draw the target length of a document's instances: (tokens, position)."""
    unit, position = draw_unit(draws, position)
    if unit >= rule.short_seq_prob:
        return np.int64(rule.max_num_tokens), position
    short, position = draw_below(draws, position, rule.max_num_tokens - 1)
    return 2 + short, position


@inner
def sentences_reaching(
    lengths: NDArray[np.int32], start: Scalar, stop: Scalar, target: Scalar
) -> tuple[Scalar, Scalar]:
    """Gather sentences from `start` until they have `target` tokens or `stop`: (end, tokens)."""
    num_tokens: Scalar = np.int64(0)
    end = start
    while True:
        num_tokens += lengths[end]
        end += 1
        if end == stop or num_tokens >= target:
            return end, num_tokens


@inner
def sentences_fitting(
    lengths: NDArray[np.int32], start: Scalar, front: Scalar, stop: Scalar, target: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Gather sentences from token `front` of `start` on while they fit into `target` tokens.

    Of a single sentence that does not fit, the part that fits is taken. Return (tokens, the next
    sentence, its first unused token).
    """
    num_tokens = np.int64(lengths[start]) - front
    if num_tokens > target:
        return target, start, front + target
    end = start + 1
    while end < stop and num_tokens + lengths[end] <= target:
        num_tokens += lengths[end]
        end += 1
    return num_tokens, end, np.int64(0)


@inner
def _draw_other(
    draws: NDArray[np.uint32],
    position: Scalar,
    bounds: NDArray[np.int64],
    order: NDArray[np.uint32],
    document: Scalar,
) -> tuple[Scalar, Scalar, Scalar]:
    """Draw a random sentence of another document: (sentence, end of its document, position)."""
    num_documents = np.int64(order.size)
    other = np.int64(document)
    for _ in range(_MAX_TRIES):
        other, position = draw_below(draws, position, num_documents)
        if other != document:
            break
    first, stop = bounds[order[other]], bounds[order[other] + 1]
    start, position = draw_below(draws, position, stop - first)
    return first + start, stop, position


@inner
def _truncate(
    state: NDArray[np.uint32],
    draws: NDArray[np.uint32],
    position: Scalar,
    a_length: Scalar,
    b_length: Scalar,
    max_num_tokens: Scalar,
) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar]:
    """Truncate the longer side (a tie: B) by tokens: (A's front, A, B's front, B, position)."""
    a_front = b_front = np.int64(0)
    while a_length + b_length > max_num_tokens:
        if position + 2 > draws.size:
            position = top_up(state, draws, position, np.int64(2))
        front = np.int64(draws[position] < _FRONT)
        position += 2
        if a_length > b_length:
            a_length -= 1
            a_front += front
        else:
            b_length -= 1
            b_front += front
    return a_front, a_length, b_front, b_length, position


@inner
def _split_chunk(
    draws: NDArray[np.uint32],
    position: Scalar,
    sentences: Sentences,
    document: Scalar,
    sentence: Scalar,
    stop: Scalar,
    target: Scalar,
    swaps: Scalar,
) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]:
    """Split a chunk into A and B, before truncation.

    Return (first sentence of A, its tokens, first sentence of B, its tokens, first sentence of the
    next chunk, kind of the pair, position).
    """
    lengths = sentences.lengths
    end, num_tokens = sentences_reaching(lengths, sentence, stop, target)
    a_end = sentence + 1
    kind = FROM_ELSEWHERE
    if end - sentence >= 2:
        more, position = draw_below(draws, position, end - sentence - 1)
        a_end += more
        unit, position = draw_unit(draws, position)
        if unit >= 0.5:
            kind = IN_ORDER
        elif swaps:
            kind = SWAPPED
    _, a_length = sentences_reaching(lengths, sentence, a_end, num_tokens)
    b_length = num_tokens - a_length
    if kind == IN_ORDER:
        return sentence, a_length, a_end, b_length, end, kind, position
    if kind == SWAPPED:
        return a_end, b_length, sentence, a_length, end, kind, position
    start, other_stop, position = _draw_other(
        draws, position, sentences.bounds, sentences.order, document
    )
    _, b_length = sentences_reaching(lengths, start, other_stop, target - a_length)
    return sentence, a_length, start, b_length, a_end, kind, position


@inner
def choose_pair(
    state: NDArray[np.uint32],
    draws: NDArray[np.uint32],
    position: Scalar,
    sentences: Sentences,
    document: Scalar,
    sentence: Scalar,
    stop: Scalar,
    target: Scalar,
    rule: SegmentRule,
) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]:
    """Return the next pair of a document, whose place in `order` is `document`.

    It is (first token of A, tokens of A, first token of B, tokens of B, next sentence to use, kind
    of the pair, position).
    """
    a_sentence, a_length, b_sentence, b_length, sentence, kind, position = _split_chunk(
        draws, position, sentences, document, sentence, stop, target, rule.swaps
    )
    a_front, a_length, b_front, b_length, position = _truncate(
        state, draws, position, a_length, b_length, rule.max_num_tokens
    )
    id_bytes = np.int64(sentences.ids.itemsize)
    a_begin = sentences.offsets[a_sentence] // id_bytes + a_front
    b_begin = sentences.offsets[b_sentence] // id_bytes + b_front
    return a_begin, a_length, b_begin, b_length, sentence, kind, position


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
    """Choose the predictions of an instance and write them into its row: (number, position).

    Enough draws are in reserve; `length` is that of the instance with its special tokens.
    """
    a_begin, a_length, b_begin, b_length = segments
    a, b = ids[a_begin : a_begin + a_length], ids[b_begin : b_begin + b_length]
    num_tokens = list_ordinary(a, np.int64(1), np.int64(0), rule, scratch)
    num_tokens = list_ordinary(b, a_length + 2, num_tokens, rule, scratch)
    source = Draws(
        draws, numpy_stream, _shuffle, next_shuffled, draw_of_three, draw_below, _draw_size
    )
    num_predictions, position = choose_predictions(
        source, position, num_tokens, rule.num_to_predict[length], rule, scratch, counts
    )
    put_predictions(scratch, num_predictions, code_bits, row)
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
      numpy_stream: that of the sizes that masking draws; without draws if it draws none.
      cursor: int64[4]: place in `order`, next sentence of the store or -1 at a document's start,
        tokens of it that are used, target length. Advanced; all documents are done when cursor[0]
        == len(order).
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
