"""The sentences of a token store, and how many of them an instance uses.

document  s0 s1 s2 s3 s4 ...     tokens  5 9 4 7 3 target    12                     s0 s1 reach it;
only s0 fits into it
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.objectives.mersenne import draw_below, draw_unit


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
    """What the segments of an instance depend on, besides the random numbers.

    Attributes:
      objective: place in `next_sentence.NEXT_SENTENCE`.
      short_seq_prob: probability that a document's target length is random, in [0, 1].
      max_num_tokens: of all segments together, without special tokens, >= 2.
      reserve: draws that an instance may use, see `reserve_for`.
    """

    objective: int
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

    If a single sentence does not fit, only the part that fits is taken.

    Returns:
      (tokens, the next sentence, its first unused token).
    """
    num_tokens = np.int64(lengths[start]) - front
    if num_tokens > target:
        return target, start, front + target
    end = start + 1
    while end < stop and num_tokens + lengths[end] <= target:
        num_tokens += lengths[end]
        end += 1
    return num_tokens, end, np.int64(0)
