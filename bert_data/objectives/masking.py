"""Which tokens of an instance are to be predicted, and what stands in their place.

    candidates: every token but [CLS] and [SEP], or every whole word; shuffled; the first ones taken
    for each token: 80% [MASK], 10% itself, 10% a word of the vocabulary   (Devlin et al. 2018, 3.1)

Tokens are numbered here without [CLS] and [SEP]: t < len(A) is A's token t at position t + 1, the
others are B's, at position t + 2. A whole word is then always a range, also one that goes on across
[SEP] because B was cut at its front (the reference joins such a piece to the last word of A).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.objectives.mersenne import draw_below, draw_unit
from bert_data.objectives.rows import HEADER_WORDS
from bert_data.objectives.shuffling import shuffle_down

NUM_MASKED, NUM_KEPT, NUM_REPLACED = 0, 1, 2


class MaskingRule(NamedTuple):
    """What masking depends on.

    Attributes:
      num_to_predict: int32[max_seq_length + 1], predictions for each length of an instance.
      word_ids: int32[words], the ids that a random word is drawn from, >= 0.
      continues: bool[vocabulary size], whether an id's piece continues a word; empty where single
        tokens are masked.
      mask_id: id of [MASK].
      code_bits: bits of a code in a row.
    """

    num_to_predict: NDArray[np.int32]
    word_ids: NDArray[np.int32]
    continues: NDArray[np.bool_]
    mask_id: int
    code_bits: int


class MaskingScratch(NamedTuple):
    """Room for one instance: uint16[tokens], uint16[tokens + 1], uint32[positions], zeros."""

    candidates: NDArray[np.uint16]
    starts: NDArray[np.uint16]
    predictions: NDArray[np.uint32]


def masking_scratch(max_seq_length: int) -> MaskingScratch:
    """Room for instances of up to `max_seq_length` tokens."""
    return MaskingScratch(
        np.empty(max_seq_length, np.uint16),
        np.empty(max_seq_length + 1, np.uint16),
        np.zeros(max_seq_length, np.uint32),
    )


def num_to_predict(
    max_seq_length: int, masked_lm_prob: float, max_predictions: int
) -> NDArray[np.int32]:
    """Predictions for an instance of n tokens, [CLS] and [SEP] counted, n = 0 ... max_seq_length.

    Returns:
      int32[max_seq_length + 1]: min(max_predictions, max(1, round(n * masked_lm_prob))), where
      round is half-to-even on the double product.
    """
    counts = [
        min(max_predictions, max(1, round(n * masked_lm_prob))) for n in range(max_seq_length + 1)
    ]
    return np.array(counts, np.int32)


@inner
def _find_words(
    ids: NDArray[np.integer],
    a_begin: Scalar,
    a_length: Scalar,
    b_begin: Scalar,
    b_length: Scalar,
    continues: NDArray[np.bool_],
    starts: NDArray[np.uint16],
) -> Scalar:
    """Fills starts[: words + 1] with the first token of each candidate; returns the words."""
    num_tokens = a_length + b_length
    num_words = 0
    for t in range(num_tokens):
        token = ids[a_begin + t] if t < a_length else ids[b_begin + t - a_length]
        if t == 0 or continues.size == 0 or not continues[token]:
            starts[num_words] = t
            num_words += 1
    starts[num_words] = num_tokens
    return num_words


@inner
def mask_tokens(
    draws: NDArray[np.uint32],
    position: Scalar,
    ids: NDArray[np.integer],
    a_begin: Scalar,
    a_length: Scalar,
    b_begin: Scalar,
    b_length: Scalar,
    rule: MaskingRule,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
    row: NDArray[np.uint32],
) -> tuple[Scalar, Scalar]:
    """Chooses the predictions of one instance.

    Args:
      draws, position: the random stream, with enough draws in reserve.
      ids: the store's tokens.
      a_begin, a_length, b_begin, b_length: the two ranges of `ids`.
      rule: MaskingRule.
      scratch: MaskingScratch; `predictions` is all zeros before and after.
      counts: int64[3], added to: masked, kept and replaced tokens.
      row: uint32[words], filled behind its header with the predictions.

    Returns:
      (number of predictions, position in the stream).
    """
    num_tokens = a_length + b_length
    wanted = rule.num_to_predict[num_tokens + 3]
    starts, candidates, predictions = scratch.starts, scratch.candidates, scratch.predictions
    word_ids, continues = rule.word_ids, rule.continues
    keep = (np.int64(1) << rule.code_bits) - 1
    num_words = num_tokens
    if continues.size:
        num_words = _find_words(ids, a_begin, a_length, b_begin, b_length, continues, starts)
    else:
        for t in range(num_tokens + 1):
            starts[t] = t
    for word in range(num_words):
        candidates[word] = word
    _, position = shuffle_down(draws, position, candidates, num_words - 1)
    num_chosen = np.int64(0)
    for place in range(num_words):
        if num_chosen >= wanted:
            break
        word = candidates[place]
        start, stop = np.int64(starts[word]), np.int64(starts[word + 1])
        if num_chosen + stop - start > wanted:
            continue
        for t in range(start, stop):
            unit, position = draw_unit(draws, position)
            if unit < 0.8:
                code = np.int64(rule.mask_id)
                counts[NUM_MASKED] += 1
            else:
                unit, position = draw_unit(draws, position)
                if unit < 0.5:
                    code = keep
                    counts[NUM_KEPT] += 1
                else:
                    index, position = draw_below(draws, position, np.int64(word_ids.size))
                    code = np.int64(word_ids[index])
                    counts[NUM_REPLACED] += 1
            at = t + 1 + np.int64(t >= a_length)
            predictions[at] = np.uint32(at << rule.code_bits | code)
            num_chosen += 1
    _compact(predictions, num_tokens + 2, num_chosen, row)
    return num_chosen, position


@inner
def _compact(
    predictions: NDArray[np.uint32], stop: Scalar, num_chosen: Scalar, row: NDArray[np.uint32]
) -> None:
    """Moves the words that are not zero behind the row's header, in order, and zeroes their places.

    No prediction is the word 0, for none is at position 0, where [CLS] is.
    """
    found = np.int64(0)
    for at in range(1, stop):
        if found == num_chosen:
            break
        word = predictions[at]
        row[HEADER_WORDS + found] = word
        found += np.int64(word != 0)
        predictions[at] = 0
