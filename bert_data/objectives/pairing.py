"""Makes sentence pairs from documents: chooses A and B, and truncates them.

    document  s0 s1 s2 s3 s4 ...
    chunk     s0 s1 s2            sentences until the target length is met or the document ends
    A         s0                  a random number of them, at least one
    B         s1 s2               the rest; or, half of the time,
      nsp                         sentences from elsewhere, and the rest begins the next chunk
      sop     s0                  with s1 s2 as A

The draws come in the reference's order (google-research/bert, create_instances_from_document and
truncate_seq_pair; google-research/albert for the swap).
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.objectives.mersenne import draw_below, draw_unit, top_up
from bert_data.objectives.next_sentence import CODE_SOP
from bert_data.objectives.sentences import SegmentRule, Sentences, sentences_reaching

IN_ORDER, FROM_ELSEWHERE, SWAPPED = range(3)  # kinds of pairs

_FRONT = np.uint32(0x80000000)  # random() < 0.5 iff the top bit of its first draw is 0
_MAX_TRIES = 10  # draws for another document


@inner
def _draw_other(
    draws: NDArray[np.uint32],
    position: Scalar,
    bounds: NDArray[np.int64],
    order: NDArray[np.uint32],
    document: Scalar,
) -> tuple[Scalar, Scalar, Scalar]:
    """Draw a random sentence of another document: (sentence, end of its document, position).

    The tenth draw of a document may be the same document again.
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

    Returns:
      (first sentence of A, its tokens, first sentence of B, its tokens, first sentence of the next
      chunk, kind of the pair, position).
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
    """Return the next pair of a document.

    Args:
      state, draws, position: the random stream.
      sentences: Sentences.
      document: its place in `order`.
      sentence: the first sentence to use.
      stop: the end of the document's sentences.
      target: tokens to reach.
      rule: SegmentRule.

    Returns:
      (first token of A, tokens of A, first token of B, tokens of B, next sentence to use, kind of
      the pair, position).
    """
    a_sentence, a_length, b_sentence, b_length, sentence, kind, position = _split_chunk(
        draws, position, sentences, document, sentence, stop, target, rule.objective == CODE_SOP
    )
    a_front, a_length, b_front, b_length, position = _truncate(
        state, draws, position, a_length, b_length, rule.max_num_tokens
    )
    id_bytes = np.int64(sentences.ids.itemsize)
    a_begin = sentences.offsets[a_sentence] // id_bytes + a_front
    b_begin = sentences.offsets[b_sentence] // id_bytes + b_front
    return a_begin, a_length, b_begin, b_length, sentence, kind, position
