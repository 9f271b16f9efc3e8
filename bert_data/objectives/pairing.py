"""Sentence pairs from documents: what A is, what B is, how both are cut to length.

    document  s0 s1 s2 s3 s4 ...
    chunk     s0 s1 s2            sentences until the target length is met or the document ends
    A         s0                  a random number of them, at least one
    B         s1 s2               the rest; or, half of the time, sentences from elsewhere, and the
                                  rest begins the next chunk

One call makes the rows of many instances and can stop anywhere, so memory is bounded whatever the
documents are. The draws come in the reference's order (google-research/bert,
create_instances_from_document and truncate_seq_pair).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.objectives.masking import (
    MaskingRule,
    MaskingScratch,
    list_candidates,
    mask_candidates,
)
from bert_data.objectives.mersenne import (
    RandomStream,
    draw_below,
    draw_of_three,
    draw_unit,
    top_up,
)
from bert_data.objectives.rows import put_predictions
from bert_data.objectives.shuffling import next_shuffled, shuffle_down

DOCUMENT, SENTENCE, TARGET = 0, 1, 2  # of a cursor
NO_SENTENCE = -1
NUM_COUNTS = 6
NUM_INSTANCES, NUM_RANDOM_NEXT, NUM_TOKENS = 3, 4, 5  # after masking's three

_FRONT = np.uint32(0x80000000)  # random() < 0.5 iff the top bit of its first draw is 0
_MAX_TRIES = 10  # draws of another document


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


class LengthRule(NamedTuple):
    """How long instances are.

    Attributes:
      short_seq_prob: probability that a document's target length is random, in [0, 1].
      max_num_tokens: of A and B together, >= 2.
      reserve: draws that an instance may use, see `reserve_for`.
    """

    short_seq_prob: float
    max_num_tokens: int
    reserve: int


@inner
def _gather(
    lengths: NDArray[np.int32], start: Scalar, stop: Scalar, target: Scalar
) -> tuple[Scalar, Scalar]:
    """Sentences from `start` until `target` tokens are met or `stop` comes: (end, tokens)."""
    num_tokens: Scalar = np.int64(0)
    end = start
    while True:
        num_tokens += lengths[end]
        end += 1
        if end == stop or num_tokens >= target:
            return end, num_tokens


@inner
def _draw_other(
    draws: NDArray[np.uint32],
    position: Scalar,
    bounds: NDArray[np.int64],
    order: NDArray[np.uint32],
    document: Scalar,
) -> tuple[Scalar, Scalar, Scalar]:
    """A random sentence of another document: (sentence, end of its document, position).

    The tenth draw of a document may be the same one again.
    """
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
    """Cuts the longer side (a tie: B), token by token: (A's front, A, B's front, B, position)."""
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
def _choose_pair(
    draws: NDArray[np.uint32],
    position: Scalar,
    sentences: Sentences,
    document: Scalar,
    sentence: Scalar,
    stop: Scalar,
    target: Scalar,
) -> tuple[Scalar, Scalar, Scalar, Scalar, bool, Scalar]:
    """One chunk made into A and B, before truncation.

    Returns:
      (tokens of A, first sentence of B, tokens of B, first sentence of the next chunk, whether B is
      random, position). A begins at `sentence`.
    """
    lengths = sentences.lengths
    end, num_tokens = _gather(lengths, sentence, stop, target)
    a_end = sentence + 1
    is_random = True
    if end - sentence >= 2:
        more, position = draw_below(draws, position, end - sentence - 1)
        a_end += more
        unit, position = draw_unit(draws, position)
        is_random = unit < 0.5
    _, a_length = _gather(lengths, sentence, a_end, num_tokens)
    if not is_random:
        return a_length, a_end, num_tokens - a_length, end, is_random, position
    start, other_stop, position = _draw_other(
        draws, position, sentences.bounds, sentences.order, document
    )
    _, b_length = _gather(lengths, start, other_stop, target - a_length)
    return a_length, start, b_length, a_end, is_random, position


@inner
def _begin_document(
    draws: NDArray[np.uint32], position: Scalar, short_seq_prob: float, max_num_tokens: Scalar
) -> tuple[Scalar, Scalar]:
    """The target length of a document's instances: (tokens, position)."""
    unit, position = draw_unit(draws, position)
    if unit >= short_seq_prob:
        return max_num_tokens, position
    short, position = draw_below(draws, position, max_num_tokens - 1)
    return 2 + short, position


@inner
def _mask(
    draws: NDArray[np.uint32],
    position: Scalar,
    ids: NDArray[np.integer],
    a_begin: Scalar,
    a_length: Scalar,
    b_begin: Scalar,
    b_length: Scalar,
    rule: MaskingRule,
    code_bits: Scalar,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
    row: NDArray[np.uint32],
) -> tuple[Scalar, Scalar]:
    """Chooses the predictions of an instance and writes them into its row: (number, position).

    There are enough draws in reserve.
    """
    num_tokens = a_length + b_length
    if rule.continues.size:
        for t in range(a_length):
            scratch.tokens[t] = ids[a_begin + t]
        for t in range(b_length):
            scratch.tokens[a_length + t] = ids[b_begin + t]
    num_candidates = list_candidates(num_tokens, rule, scratch)
    _, position = shuffle_down(draws, position, scratch.order, num_candidates - 1)
    num_predictions, position = mask_candidates(
        draws, position, next_shuffled, draw_of_three, draw_below,
        num_candidates, rule.num_to_predict[num_tokens + 3], rule, scratch, counts,
    )  # fmt: skip
    put_predictions(scratch.shown, a_length, num_predictions, code_bits, row)
    return num_predictions, position


@kernel
def make_rows(
    stream: RandomStream,
    sentences: Sentences,
    cursor: NDArray[np.int64],
    lengths_rule: LengthRule,
    rule: MaskingRule,
    code_bits: Scalar,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
    rows: NDArray[np.uint32],
) -> Scalar:
    """Makes instances until `rows` is full or every document has had its turn.

    Args:
      stream: RandomStream, drawn from.
      sentences: Sentences.
      cursor: int64[3]: place in `order`, next sentence of the store or -1 at a document's start,
        target length. Moved on; the documents are done when cursor[0] == len(order).
      lengths_rule: LengthRule.
      rule, scratch: of masking.
      code_bits: bits of a code in a row.
      counts: int64[6], added to.
      rows: uint32[rows, words], filled from the first.

    Returns:
      The number of rows filled.
    """
    state, draws, position = stream.state, stream.draws, stream.position[0]
    ids, offsets, bounds, order = (
        sentences.ids,
        sentences.offsets,
        sentences.bounds,
        sentences.order,
    )
    document, sentence, target = cursor[DOCUMENT], cursor[SENTENCE], cursor[TARGET]
    max_num_tokens = lengths_rule.max_num_tokens
    id_bytes = np.int64(ids.itemsize)
    num_rows = 0
    while document < order.size and num_rows < rows.shape[0]:
        position = top_up(state, draws, position, lengths_rule.reserve)
        stop = bounds[order[document] + 1]
        if sentence == NO_SENTENCE:
            sentence = bounds[order[document]]
            target, position = _begin_document(
                draws, position, lengths_rule.short_seq_prob, max_num_tokens
            )
        a_length, b_sentence, b_length, next_sentence, is_random, position = _choose_pair(
            draws, position, sentences, document, sentence, stop, target
        )
        a_front, a_length, b_front, b_length, position = _truncate(
            state, draws, position, a_length, b_length, max_num_tokens
        )
        position = top_up(state, draws, position, lengths_rule.reserve)
        a_begin = offsets[sentence] // id_bytes + a_front
        b_begin = offsets[b_sentence] // id_bytes + b_front
        row = rows[num_rows]
        num_predictions, position = _mask(
            draws, position, ids, a_begin, a_length, b_begin, b_length, rule, code_bits, scratch,
            counts, row,
        )  # fmt: skip
        row[0], row[1] = np.uint32(a_begin), np.uint32(a_begin >> 32)
        row[2], row[3] = np.uint32(b_begin), np.uint32(b_begin >> 32)
        row[4] = np.uint32(b_length << 16 | a_length)
        row[5] = np.uint32(num_predictions << 1 | np.int64(is_random))
        counts[NUM_INSTANCES] += 1
        counts[NUM_RANDOM_NEXT] += np.int64(is_random)
        counts[NUM_TOKENS] += a_length + b_length + 3
        num_rows += 1
        sentence = next_sentence
        if sentence == stop:
            sentence = NO_SENTENCE
            document += 1
    cursor[DOCUMENT], cursor[SENTENCE], cursor[TARGET] = document, sentence, target
    stream.position[0] = position
    return num_rows
