"""The masking rules, as the kernels that make records and that mask anew in the reader share them.

    tokens      un ##know ##n cat sat            [CLS] and [SEP] left out
    candidates  un ##know ##n | cat | sat        whole words, or each token alone
    predicted   cat                              chosen by the rule
    shown       [MASK]                           80% [MASK], 10% the token, 10% any word

`TOKENS` chooses each candidate by itself: BERT's rule (Devlin et al. 2018, arXiv 1810.04805,
section 3.1) as google-research/bert has it in create_masked_lm_predictions.

`NGRAMS` chooses up to ten candidates side by side: ALBERT's rule (Lan et al. 2019, arXiv
1909.11942, section 4.1) as google-research/albert has it. The number n comes from NumPy's global
stream there, which the program never seeds; here from that of `numpy.random.seed(random_seed)`.

`SPANS` chooses up to ten words side by side, which are all shown alike: SpanBERT's rule (Joshi et
al. 2020, arXiv 1907.10529, section 3.1) as facebookresearch/SpanBERT has it in
PairWithSpanMaskingScheme. Unlike there, a span ends where its segment does, and the number to
predict is rounded as in the other rules.

Records and dynamic masking differ in the random numbers alone, see `Draws`.

[CLS] and [SEP] are left out before candidates are listed. So a candidate is always a range, even if
B begins inside a word because truncation removed its front (the reference joins such a piece to the
last word of A).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.tokens.word_bits import goes_on

TOKENS, NGRAMS, SPANS = range(3)  # codes of the rules in kernels
NUM_MASKED, NUM_KEPT, NUM_REPLACED = 0, 1, 2
NOT_PREDICTED, KEPT = -1, -2  # in place of an id that is shown


class Shown(NamedTuple):
    """The shares of what is shown in place of the tokens to predict; together 1."""

    mask: float = 0.8
    random: float = 0.1
    keep: float = 0.1

    @property
    def keep_of_rest(self) -> float:
        """Share of the kept ones among those that are not masked."""
        rest = self.random + self.keep
        return self.keep / rest if rest else 1.0


GOOGLES_SHOWN = Shown()


class MaskingRule(NamedTuple):
    """What masking depends on in kernels, besides the random numbers.

    Attributes:
      code: TOKENS, NGRAMS or SPANS.
      num_to_predict: int32[max_seq_length + 1], most predictions of an instance of each length,
        special tokens included.
      word_ids: int32[words], the ids that a random word is drawn from, >= 0.
      word_bits: uint16[vocabulary size], see `tokens.word_bits`; empty if single
        tokens are masked.
      cls_id, sep_id: ids that are never predicted; the caller leaves them out of the tokens.
      sizes: float64[any], cumulated probabilities of sizes; empty: nothing is predicted.
      mask_share, keep_of_rest: see `Shown`.
    """

    code: int
    num_to_predict: NDArray[np.int32]
    word_ids: NDArray[np.int32]
    word_bits: NDArray[np.uint16]
    mask_id: int
    cls_id: int
    sep_id: int
    sizes: NDArray[np.float64]
    mask_share: float
    keep_of_rest: float

    def most_predictions(self, lengths: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the most predictions of instances of these lengths; 0 for one without tokens."""
        return np.where(lengths > 0, self.num_to_predict[lengths], 0).astype(np.int32)


class Draws(NamedTuple):
    """Random numbers, and how kernels draw from them, at a position that they call the state.

    Attributes:
      source, second: the random numbers, and those for sizes.
      shuffle: (source, state, order, size) -> state.
      next_candidate: (source, state, order, place, size) -> (candidate, state).
      of_three: (source, state, p, q) -> (0 with probability p, else 1 with probability q, else 2;
        state).
      below: (source, state, limit) -> (integer in [0, limit), state).
      size: (second, state, sizes) -> (1 + the first i with u < sizes[i], state).
    """

    source: Any
    second: Any
    shuffle: Any
    next_candidate: Any
    of_three: Any
    below: Any
    size: Any


class MaskingScratch(NamedTuple):
    """Scratch space for one instance.

    Attributes:
      tokens: int32[tokens], filled by the caller if the rule has `word_bits`.
      order: integers[tokens], candidates.
      starts: integers[tokens + 1], the first token of each candidate, and the end of the last.
      shown: int32[tokens], all NOT_PREDICTED between two instances.
    """

    tokens: NDArray[np.int32]
    order: NDArray[np.integer]
    starts: NDArray[np.integer]
    shown: NDArray[np.int32]


def masking_scratch(max_tokens: int, dtype: type[np.integer] = np.int32) -> MaskingScratch:
    """Return scratch space for instances of up to `max_tokens` tokens, which `dtype` can number."""
    return MaskingScratch(
        tokens=np.empty(max_tokens, np.int32),
        order=np.empty(max_tokens, dtype),
        starts=np.empty(max_tokens + 1, dtype),
        shown=np.full(max_tokens, NOT_PREDICTED, np.int32),
    )


@inner
def size_at(sizes: NDArray[np.float64], unit: float) -> Scalar:
    """Return 1 + the place that `numpy.random.choice` finds for a number in [0, 1)."""
    size = np.int64(1)
    for i in range(sizes.size - 1):
        size += np.int64(sizes[i] <= unit)
    return size


@inner
def _list_candidates(num_tokens: Scalar, rule: MaskingRule, scratch: MaskingScratch) -> Scalar:
    """Fill `starts` and `order` with candidates; return how many there are."""
    starts, order, word_bits = scratch.starts, scratch.order, rule.word_bits
    num_candidates = num_tokens
    if word_bits.size:
        num_candidates = 0
        previous = np.int64(-1)
        for t in range(num_tokens):
            token = np.int64(scratch.tokens[t])  # a damaged record may have any number
            if not goes_on(word_bits, previous, token):
                starts[num_candidates] = t
                num_candidates += 1
            previous = token
        starts[num_candidates] = num_tokens
    else:
        for t in range(num_tokens + 1):
            starts[t] = t
    for candidate in range(num_candidates):
        order[candidate] = candidate
    return num_candidates


@inner
def _show(
    draws: Draws,
    state: Scalar,
    t: Scalar,
    rule: MaskingRule,
    shown: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> Scalar:
    """Draw what is shown in place of token t, and count it; return the state of the stream."""
    outcome, state = draws.of_three(draws.source, state, rule.mask_share, rule.keep_of_rest)
    counts[outcome] += 1
    if outcome == NUM_MASKED:
        shown[t] = rule.mask_id
    elif outcome == NUM_KEPT:
        shown[t] = KEPT
    else:
        word, state = draws.below(draws.source, state, np.int64(rule.word_ids.size))
        shown[t] = rule.word_ids[word]
    return state


@inner
def _mask_tokens(
    draws: Draws,
    state: Scalar,
    num_tokens: Scalar,
    num_to_predict: Scalar,
    rule: MaskingRule,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
) -> tuple[Scalar, Scalar]:
    """Choose candidates alone; one with more tokens than remain to be predicted is skipped."""
    order, starts = scratch.order, scratch.starts
    num_candidates = _list_candidates(num_tokens, rule, scratch)
    state = draws.shuffle(draws.source, state, order, num_candidates)
    num_chosen = np.int64(0)
    for place in range(num_candidates):
        if num_chosen >= num_to_predict:
            break
        candidate, state = draws.next_candidate(draws.source, state, order, place, num_candidates)
        start, stop = np.int64(starts[candidate]), np.int64(starts[candidate + 1])
        if num_chosen + stop - start > num_to_predict:
            continue
        num_chosen += stop - start
        for t in range(start, stop):
            state = _show(draws, state, t, rule, scratch.shown, counts)
    return num_chosen, state


@inner
def _is_free(shown: NDArray[np.int32], start: Scalar, stop: Scalar) -> bool:
    num_predicted = np.int64(0)
    for t in range(start, stop):
        num_predicted += np.int64(shown[t] != NOT_PREDICTED)
    return num_predicted == 0


@inner
def _mask_ngrams(
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
    num_candidates = _list_candidates(num_tokens, rule, scratch)
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
            state = _show(draws, state, t, rule, shown, counts)
    return num_chosen, draws.shuffle(draws.source, state, order, num_candidates)


@inner
def _begins_word(t: Scalar, a_length: Scalar, rule: MaskingRule, tokens: NDArray[np.int32]) -> bool:
    if t == 0 or t == a_length:
        return True
    return not goes_on(rule.word_bits, np.int64(tokens[t - 1]), np.int64(tokens[t]))


@inner
def _mask_spans(
    draws: Draws,
    state: Scalar,
    num_tokens: Scalar,
    a_length: Scalar,
    num_to_predict: Scalar,
    rule: MaskingRule,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
) -> tuple[Scalar, Scalar]:
    """Choose words side by side, and one thing to show for chosen tokens side by side.

    A token in random order that is not chosen already is a random one of these, so that no draw
    has to be repeated.
    """
    order, shown, tokens = scratch.order, scratch.shown, scratch.tokens
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
            outcome, state = draws.of_three(draws.source, state, rule.mask_share, rule.keep_of_rest)
        counts[outcome] += 1
        if outcome == NUM_MASKED:
            shown[t] = rule.mask_id
        elif outcome != NUM_KEPT:
            word, state = draws.below(draws.source, state, np.int64(rule.word_ids.size))
            shown[t] = rule.word_ids[word]
    return num_chosen, state


@inner
def choose_predictions(
    draws: Draws,
    state: Scalar,
    num_tokens: Scalar,
    a_length: Scalar,
    num_to_predict: Scalar,
    rule: MaskingRule,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
) -> tuple[Scalar, Scalar]:
    """Choose the predictions of one instance by its rule, and what is shown in place of each.

    Args:
      num_tokens, a_length: tokens of the instance and of A, without [CLS] and [SEP].
      num_to_predict: most tokens to predict.
      scratch: shown[t] becomes the id that is shown in place of token t, or KEPT if that is the
        token itself, and stays NOT_PREDICTED elsewhere.
      counts: int64[3 or more], added to: masked, kept and replaced tokens.

    Returns:
      (number of predictions, state of the stream).
    """
    if not rule.sizes.size:
        return np.int64(0), state
    if rule.code == NGRAMS:
        return _mask_ngrams(draws, state, num_tokens, num_to_predict, rule, scratch, counts)
    if rule.code == SPANS:
        return _mask_spans(
            draws, state, num_tokens, a_length, num_to_predict, rule, scratch, counts
        )
    return _mask_tokens(draws, state, num_tokens, num_to_predict, rule, scratch, counts)
