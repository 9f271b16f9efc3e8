"""Masking of spans: up to ten words side by side, all shown alike.

    the | un ##afford ##able | cat | sat | on      3 words from "un"
      -->  the [MASK] [MASK] [MASK] [MASK] [MASK] on

This is SpanBERT's rule (Joshi et al. 2020, arXiv 1907.10529, section 3.1) as facebookresearch/
SpanBERT has it in PairWithSpanMaskingScheme. Unlike there, a span ends where its segment does, and
the number to predict is rounded as in the other rules.
"""

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.objectives.masked_tokens import as_results
from bert_data.objectives.masking import (
    CLS,
    GOOGLES_SHOWN,
    KEPT,
    MASK,
    NOT_PREDICTED,
    NUM_KEPT,
    NUM_MASKED,
    SEP,
    MaskedLmInstance,
    Masking,
    MaskingRule,
    MaskingScratch,
    Shown,
    cumulated,
)
from bert_data.tokens.vocabulary_file import CONTINUATION
from bert_data.tokens.word_bits import goes_on

MAX_WORDS = 10  # of a span
_P = 0.2  # of the geometric distribution of their number


def span_probabilities() -> NDArray[np.float64]:
    """Return the probabilities of 1 to `MAX_WORDS` words: geometric, without longer spans."""
    weights = _P * (1 - _P) ** np.arange(MAX_WORDS)
    return np.asarray(weights / weights.sum())


def create_span_predictions(
    tokens: Sequence[str],
    masked_lm_prob: float,
    max_predictions_per_seq: int,
    vocab_words: Sequence[str],
    rng: random.Random,
    *,
    do_whole_word_mask: bool = True,
    numpy_rng: np.random.RandomState,
    shown: Shown = GOOGLES_SHOWN,
) -> tuple[list[str], list[int], list[str]]:
    """Choose the tokens to predict, and what is shown in their place.

    At each token in random order that is not chosen already, a span begins with its word and goes
    on for a number of words that is drawn, over tokens that are chosen already, too, up to the end
    of the segment or until there are as many tokens as are to be predicted. One choice of [MASK],
    kept and random words is made for chosen tokens side by side.

    For arguments and results see `masked_tokens.create_masked_lm_predictions`; words are whole in
    any case.
    """
    del do_whole_word_mask
    order = [index for index, token in enumerate(tokens) if token not in (CLS, SEP)]
    begins = {
        i for i in order if tokens[i - 1] in (CLS, SEP) or not tokens[i].startswith(CONTINUATION)
    }
    rng.shuffle(order)
    num_to_predict = min(max_predictions_per_seq, max(1, round(len(tokens) * masked_lm_prob)))
    chosen: set[int] = set()
    for anchor in order:
        if len(chosen) >= num_to_predict:
            break
        if anchor in chosen:
            continue
        words = int(numpy_rng.choice(np.arange(1, MAX_WORDS + 1), p=span_probabilities()))
        index = next(i for i in range(anchor, -1, -1) if i in begins)
        while tokens[index] != SEP and len(chosen) < num_to_predict:
            words -= index in begins
            if words < 0:
                break
            chosen.add(index)
            index += 1
    changed = list(tokens)
    for _, span in itertools.groupby(enumerate(sorted(chosen)), lambda item: item[1] - item[0]):
        is_masked = rng.random() < shown.mask
        is_kept = not is_masked and rng.random() < shown.keep_of_rest
        for _, index in span:
            if is_masked:
                changed[index] = MASK
            elif not is_kept:
                changed[index] = vocab_words[rng.randint(0, len(vocab_words) - 1)]
    return as_results(changed, [MaskedLmInstance(index, tokens[index]) for index in chosen])


@inner
def _begins_word(t: Scalar, a_length: Scalar, rule: MaskingRule, tokens: NDArray[np.int32]) -> bool:
    if t == 0 or t == a_length:
        return True
    return not goes_on(rule.word_bits, np.int64(tokens[t - 1]), np.int64(tokens[t]))


@inner
def mask_spans(
    source: Any,
    state: Scalar,
    second: Any,
    shuffle: Any,
    next_candidate: Any,
    draw_of_three: Any,
    draw_below: Any,
    draw_size: Any,
    num_tokens: Scalar,
    a_length: Scalar,
    num_to_predict: Scalar,
    rule: MaskingRule,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
) -> tuple[Scalar, Scalar]:
    """Choose the predictions of one instance; see `masked_tokens.mask_tokens`.

    A token in random order that is not chosen already is a random one of these, so that no draw
    has to be repeated. `a_length` is the number of tokens of A.
    """
    order, shown, tokens = scratch.order, scratch.shown, scratch.tokens
    for t in range(num_tokens):
        order[t] = t
    state = shuffle(source, state, order, num_tokens)
    num_chosen = np.int64(0)
    for place in range(num_tokens):
        if num_chosen >= num_to_predict:
            break
        t, state = next_candidate(source, state, order, place, num_tokens)
        if shown[t] != NOT_PREDICTED:
            continue
        num_words, state = draw_size(second, state, rule.sizes)
        end = a_length if t < a_length else num_tokens
        while not _begins_word(t, a_length, rule, tokens):
            t -= 1
        while t < end and num_chosen < num_to_predict:
            num_words -= np.int64(_begins_word(t, a_length, rule, tokens))
            if num_words < 0:
                break
            num_chosen += np.int64(shown[t] == NOT_PREDICTED)
            shown[t] = KEPT
            t += 1
    outcome = np.int64(NUM_KEPT)
    for t in range(num_tokens):
        if shown[t] == NOT_PREDICTED:
            continue
        if t == 0 or t == a_length or shown[t - 1] == NOT_PREDICTED:
            outcome, state = draw_of_three(source, state, rule.mask_share, rule.keep_of_rest)
        counts[outcome] += 1
        if outcome == NUM_MASKED:
            shown[t] = rule.mask_id
        elif outcome != NUM_KEPT:
            word, state = draw_below(source, state, np.int64(rule.word_ids.size))
            shown[t] = rule.word_ids[word]
    return num_chosen, state


def _sizes_of(max_ngram: int, favor_shorter_ngrams: bool) -> NDArray[np.float64]:
    del max_ngram, favor_shorter_ngrams
    return cumulated(span_probabilities())


SPANS = Masking(
    name="spans",
    code=2,
    define=create_span_predictions,
    sizes_of=_sizes_of,
    of_words=True,
    gathers=True,
    shows_alike=True,
)
