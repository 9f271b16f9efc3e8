"""Masking of spans: up to ten words side by side, which are all shown alike.

This is SpanBERT's rule (Joshi et al. 2020, arXiv 1907.10529, section 3.1) as
facebookresearch/SpanBERT has it in PairWithSpanMaskingScheme. Unlike there, a span ends where its
segment does, or where a special token follows, and the number to predict is rounded as in the other
rules.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.records import choices
from bert_data.records.masking.rule import (
    KEPT,
    NOT_PREDICTED,
    NUM_KEPT,
    NUM_MASKED,
    SPANS_CODE,
    Draws,
    Masking,
    MaskingRule,
    MaskingScratch,
)
from bert_data.tokens.word_bits import goes_on

_SPAN_WORDS, _SPAN_P = 10, 0.2  # most words of a span; their number is geometric


def span_probabilities() -> NDArray[np.float64]:
    """Return the probabilities of 1 to 10 words: geometric, without longer spans."""
    weights = _SPAN_P * (1 - _SPAN_P) ** np.arange(_SPAN_WORDS)
    return np.asarray(weights / weights.sum())


@inner
def _is_apart(t: Scalar, places: NDArray[np.int32]) -> bool:
    """Whether a special token, or nothing, precedes an ordinary one."""
    return t == 0 or places[t] > places[t - 1] + 1


@inner
def _begins_word(t: Scalar, rule: MaskingRule, scratch: MaskingScratch) -> bool:
    if _is_apart(t, scratch.places):
        return True
    tokens = scratch.tokens
    return not goes_on(rule.word_bits, np.int64(tokens[t - 1]), np.int64(tokens[t]))


@inner
def mask_spans(
    draws: Draws,
    state: Scalar,
    num_tokens: Scalar,
    num_to_predict: Scalar,
    rule: MaskingRule,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
) -> tuple[Scalar, Scalar]:
    """Choose words side by side, and one thing to show for chosen tokens side by side.

    A token in random order that is not chosen already is a random one of these, so that no draw
    has to be repeated.
    """
    order, shown, places = scratch.order, scratch.shown, scratch.places
    for t in range(num_tokens):
        order[t] = t
    state = draws.shuffle(draws.source, state, order, num_tokens)
    num_chosen = np.int64(0)
    for place in range(num_tokens):
        if num_chosen >= num_to_predict:
            break
        t, state = draws.next_candidate(draws.source, state, order, place, num_tokens)
        if shown[t] != NOT_PREDICTED:
            continue
        num_words, state = draws.size(draws.second, state, rule.sizes)
        while not _begins_word(t, rule, scratch):
            t -= 1
        while num_chosen < num_to_predict:
            num_words -= np.int64(_begins_word(t, rule, scratch))
            if num_words < 0:
                break
            num_chosen += np.int64(shown[t] == NOT_PREDICTED)
            shown[t] = KEPT
            t += 1
            if t == num_tokens or _is_apart(t, places):
                break
    outcome = np.int64(NUM_KEPT)
    for t in range(num_tokens):
        if shown[t] == NOT_PREDICTED:
            continue
        if _is_apart(t, places) or shown[t - 1] == NOT_PREDICTED:
            outcome, state = draws.of_three(draws.source, state, rule.mask_share, rule.keep_of_rest)
        counts[outcome] += 1
        if outcome == NUM_MASKED:
            shown[t] = rule.mask_id
        elif outcome != NUM_KEPT:
            word, state = draws.below(draws.source, state, np.int64(rule.word_ids.size))
            shown[t] = rule.word_ids[word]
    return num_chosen, state


SPANS = Masking(
    name=choices.SPANS,
    code=SPANS_CODE,
    sizes_of=lambda longest, favors_short: span_probabilities(),
    of_words=True,
    gathers=True,
    shows_alike=True,
)
