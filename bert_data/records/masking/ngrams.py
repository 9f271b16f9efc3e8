"""Masking of n-grams: up to ten tokens or words side by side.

This is ALBERT's rule (Lan et al. 2019, arXiv 1909.11942, section 4.1) as google-research/albert has
it in create_masked_lm_predictions. The number n comes from NumPy's global stream there, which the
program never seeds; here from that of `numpy.random.seed(random_seed)`.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.records import choices
from bert_data.records.masking.rule import (
    NGRAMS_CODE,
    NOT_PREDICTED,
    Draws,
    Masking,
    MaskingRule,
    MaskingScratch,
    list_candidates,
    show,
)


def ngram_probabilities(max_ngram: int, favor_shorter_ngrams: bool) -> NDArray[np.float64]:
    """Return the probabilities of n from 1 to `max_ngram`: in proportion to 1/n, or reversed."""
    weights = 1.0 / np.arange(1, max_ngram + 1)
    weights /= weights.sum()
    weights = weights if favor_shorter_ngrams else weights[::-1]
    return np.asarray(weights / weights.sum())


@inner
def _is_free(shown: NDArray[np.int32], start: Scalar, stop: Scalar) -> bool:
    num_predicted = np.int64(0)
    for t in range(start, stop):
        num_predicted += np.int64(shown[t] != NOT_PREDICTED)
    return num_predicted == 0


@inner
def mask_ngrams(
    draws: Draws,
    state: Scalar,
    num_tokens: Scalar,
    num_to_predict: Scalar,
    rule: MaskingRule,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
) -> tuple[Scalar, Scalar]:
    """Choose candidates side by side.

    An n-gram is made shorter until it fits, and skipped if a token of it is chosen already. At last
    ALBERT shuffles the n-grams again, for a task that is off, which moves the random numbers of the
    instances to come.
    """
    order, starts, shown = scratch.order, scratch.starts, scratch.shown
    num_candidates = list_candidates(num_tokens, rule, scratch)
    state = draws.shuffle(draws.source, state, order, num_candidates)
    num_chosen = np.int64(0)
    for place in range(num_candidates):
        if num_chosen >= num_to_predict:
            break
        candidate, state = draws.next_candidate(draws.source, state, order, place, num_candidates)
        size, state = draws.size(draws.second, state, rule.sizes)
        start, last = np.int64(starts[candidate]), min(candidate + size, num_candidates)
        while last > candidate and num_chosen + starts[last] - start > num_to_predict:
            last -= 1
        stop = np.int64(starts[last])
        if not _is_free(shown, start, stop):
            continue
        num_chosen += stop - start
        for t in range(start, stop):
            state = show(draws, state, t, rule, shown, counts)
    return num_chosen, draws.shuffle(draws.source, state, order, num_candidates)


NGRAMS = Masking(
    name=choices.NGRAMS,
    code=NGRAMS_CODE,
    sizes_of=ngram_probabilities,
    is_exact=False,
    gathers=True,
    may_predict_nothing=True,
)
