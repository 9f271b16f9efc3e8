"""Masking of n-grams: up to three words side by side, or pieces of words.

    the | un ##afford ##able | cat | sat      n-grams from "the": the, the un ##afford ##able, ...
      -->  [MASK] [MASK] [MASK] dog cat sat

This is ALBERT's rule (Lan et al. 2019, arXiv 1909.11942, section 4.1) as google-research/albert has
it in create_masked_lm_predictions: n with a probability in proportion to 1/n, or, if longer ones
are favored, to those numbers in the other order. n comes from NumPy's global stream there, which
the program never seeds; here from that of `numpy.random.seed(random_seed)`.
"""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.objectives.masked_tokens import as_results, draw_shown, list_words
from bert_data.objectives.masking import (
    GOOGLES_SHOWN,
    NOT_PREDICTED,
    MaskedLmInstance,
    Masking,
    MaskingRule,
    MaskingScratch,
    Shown,
    cumulated,
    list_candidates,
    show,
)


def ngram_probabilities(max_ngram: int, favor_shorter_ngrams: bool) -> NDArray[np.float64]:
    """Return the probabilities of n from 1 to `max_ngram`."""
    weights = 1.0 / np.arange(1, max_ngram + 1)
    weights /= weights.sum()
    weights = weights if favor_shorter_ngrams else weights[::-1]
    return np.asarray(weights / weights.sum())


def create_ngram_predictions(
    tokens: Sequence[str],
    masked_lm_prob: float,
    max_predictions_per_seq: int,
    vocab_words: Sequence[str],
    rng: random.Random,
    *,
    do_whole_word_mask: bool = False,
    max_ngram: int = 3,
    favor_shorter_ngrams: bool = True,
    numpy_rng: np.random.RandomState,
    shown: Shown = GOOGLES_SHOWN,
) -> tuple[list[str], list[int], list[str]]:
    """Choose the tokens to predict, and what is shown in their place.

    At each word, or token, in random order, an n-gram begins with n drawn anew, even where it will
    be left out. It is made shorter until it fits the number to predict, and left out if it does not
    fit or a token of it is chosen already. A rate of 0 predicts nothing. At last the reference
    shuffles the n-grams again, for a task that is off, which moves the random numbers of the
    instances to come.

    For arguments and results see `masked_tokens.create_masked_lm_predictions`.
    """
    changed = list(tokens)
    if masked_lm_prob == 0:
        return changed, [], []
    words = list_words(tokens, do_whole_word_mask=do_whole_word_mask)
    starts = list(range(len(words)))
    rng.shuffle(starts)
    num_to_predict = min(max_predictions_per_seq, max(1, round(len(tokens) * masked_lm_prob)))
    probabilities = ngram_probabilities(max_ngram, favor_shorter_ngrams)
    predictions: dict[int, MaskedLmInstance] = {}
    for start in starts:
        if len(predictions) >= num_to_predict:
            break
        drawn = int(numpy_rng.choice(np.arange(1, max_ngram + 1), p=probabilities))
        ngrams = (
            [i for word in words[start : start + n] for i in word] for n in range(drawn, 0, -1)
        )
        room = num_to_predict - len(predictions)
        ngram: list[int] = next((each for each in ngrams if len(each) <= room), [])
        if any(index in predictions for index in ngram):
            continue
        for index in ngram:
            predictions[index] = MaskedLmInstance(index, tokens[index])
            changed[index] = draw_shown(tokens[index], vocab_words, rng, shown)
    rng.shuffle(starts)
    return as_results(changed, list(predictions.values()))


@inner
def _is_free(shown: NDArray[np.int32], start: Scalar, stop: Scalar) -> bool:
    num_predicted = np.int64(0)
    for t in range(start, stop):
        num_predicted += np.int64(shown[t] != NOT_PREDICTED)
    return num_predicted == 0


@inner
def mask_ngrams(
    source: Any,
    state: Scalar,
    second: Any,
    shuffle: Any,
    next_candidate: Any,
    draw_of_three: Any,
    draw_below: Any,
    draw_size: Any,
    num_tokens: Scalar,
    num_to_predict: Scalar,
    rule: MaskingRule,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
) -> tuple[Scalar, Scalar]:
    """Choose the predictions of one instance; see `masked_tokens.mask_tokens`."""
    order, starts, shown = scratch.order, scratch.starts, scratch.shown
    num_candidates = list_candidates(num_tokens, rule, scratch)
    state = shuffle(source, state, order, num_candidates)
    num_chosen = np.int64(0)
    for place in range(num_candidates):
        if num_chosen >= num_to_predict:
            break
        candidate, state = next_candidate(source, state, order, place, num_candidates)
        size, state = draw_size(second, state, rule.sizes)
        start, last = np.int64(starts[candidate]), min(candidate + size, num_candidates)
        while last > candidate and num_chosen + starts[last] - start > num_to_predict:
            last -= 1
        stop = np.int64(starts[last])
        if not _is_free(shown, start, stop):
            continue
        num_chosen += stop - start
        for t in range(start, stop):
            state = show(source, state, draw_of_three, draw_below, t, rule, shown, counts)
    return num_chosen, shuffle(source, state, order, num_candidates)


def _sizes_of(max_ngram: int, favor_shorter_ngrams: bool) -> NDArray[np.float64]:
    return cumulated(ngram_probabilities(max_ngram, favor_shorter_ngrams))


NGRAMS = Masking(
    name="ngrams",
    code=1,
    define=create_ngram_predictions,
    sizes_of=_sizes_of,
    is_exact=False,
    gathers=True,
    may_predict_nothing=True,
)
