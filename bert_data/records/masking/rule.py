"""Masking: what its rules have in common, for the kernels and for all others.

    tokens      un ##know ##n cat sat            special ones left out
    candidates  un ##know ##n | cat | sat        whole words, or each token alone
    predicted   cat                              chosen by the rule
    shown       [MASK]                           80% [MASK], 10% the token, 10% any word

Records and recipes differ in the random numbers alone, see `Draws`.

Special tokens, [CLS] and [SEP] and those that stand in the text, are left out before candidates are
listed (`list_ordinary`). So a candidate is always a range, even if B begins inside a word because
truncation removed its front (the reference joins such a piece to the last word of A).
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.tokens.special_tokens import is_special
from bert_data.tokens.word_bits import goes_on

TOKENS_CODE, NGRAMS_CODE, SPANS_CODE = range(3)  # the rules in kernels
NUM_MASKED, NUM_KEPT, NUM_REPLACED = 0, 1, 2
NOT_PREDICTED, KEPT = -1, -2  # in place of an id that is shown


@dataclasses.dataclass(frozen=True, kw_only=True)
class Masking:
    """A masking rule, for all but the kernels.

    Attributes:
      name: its choice of --masking, and its name in manifests.
      code: by which the kernels know it.
      sizes_of: (max_ngram, favor_shorter_ngrams) -> float64[any], the probabilities of the sizes
        1, 2, ... of what is masked together.
      is_exact: whether it predicts as many tokens as the rate asks, unless whole words do not fit.
      of_words: whether it masks whole words in any case, but for the last one.
      gathers: whether neighbours are predicted together.
      shows_alike: whether one choice of [MASK], random and kept is made for tokens side by side.
      may_predict_nothing: whether it predicts no token at a rate of 0; otherwise at least one.
    """

    name: str
    code: int
    sizes_of: Callable[[int, bool], NDArray[np.float64]]
    is_exact: bool = True
    of_words: bool = False
    gathers: bool = False
    shows_alike: bool = False
    may_predict_nothing: bool = False


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
    """The arguments of masking's kernels, besides the random numbers.

    Attributes:
      code: TOKENS_CODE, NGRAMS_CODE or SPANS_CODE.
      num_to_predict: int32[max_seq_length + 1], most predictions of an instance of each length,
        special tokens included.
      word_ids: int32[words], the ids that a random word is drawn from, >= 0.
      word_bits: uint16[ids], see `tokens.word_bits`; empty if single tokens are masked.
      special: bool[any], which ids are never predicted, see `special_table`.
      text_begin, text_size: the range of ids that `ordinary_range` returns.
      sizes: float64[any], cumulated probabilities of sizes; empty: nothing is predicted.
      mask_share, keep_of_rest: see `Shown`.
      size_of_words: the size of a vocabulary of words, see `TokenTable.of_words`; 0 for others.
    """

    code: int
    num_to_predict: NDArray[np.int32]
    word_ids: NDArray[np.int32]
    word_bits: NDArray[np.uint16]
    mask_id: int
    cls_id: int
    sep_id: int
    special: NDArray[np.bool_]
    text_begin: int
    text_size: int
    sizes: NDArray[np.float64]
    mask_share: float
    keep_of_rest: float
    size_of_words: int

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
      tokens, places: int32[tokens], the ordinary tokens and their places in the instance.
      order: integers[tokens], candidates.
      starts: integers[tokens + 1], the first token of each candidate, and the end of the last.
      shown: int32[tokens], all NOT_PREDICTED between two instances.
    """

    tokens: NDArray[np.int32]
    places: NDArray[np.int32]
    order: NDArray[np.integer]
    starts: NDArray[np.integer]
    shown: NDArray[np.int32]


def masking_scratch(max_tokens: int, dtype: type[np.integer] = np.int32) -> MaskingScratch:
    """Return scratch space for instances of up to `max_tokens` tokens, which `dtype` can number."""
    return MaskingScratch(
        tokens=np.empty(max_tokens, np.int32),
        places=np.empty(max_tokens, np.int32),
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
def is_doubtful(token: Scalar, rule: MaskingRule) -> bool:
    """Whether a token is special, or one of few others."""
    return bool(np.uint32(token) - np.uint32(rule.text_begin) >= np.uint32(rule.text_size))


@inner
def count_doubtful(ids: NDArray[np.integer], rule: MaskingRule) -> Scalar:
    """Count the special tokens, and few others; the processor compares many at once."""
    count = np.int32(0)
    for i in range(ids.size):
        count += np.int32(is_doubtful(ids[i], rule))
    return np.int64(count)


@inner
def list_ordinary(
    ids: NDArray[np.integer],
    place: Scalar,
    num_tokens: Scalar,
    rule: MaskingRule,
    scratch: MaskingScratch,
) -> Scalar:
    """Append tokens, the first of which is at `place`, without special ones to the scratch space.

    Args:
      num_tokens: that are there already.

    Returns:
      The number of tokens that are there now.
    """
    tokens, places = scratch.tokens[num_tokens:], scratch.places[num_tokens:]
    if count_doubtful(ids, rule) == 0:
        for i in range(ids.size):
            tokens[i] = ids[i]
        for i in range(ids.size):
            places[i] = place + i
        return num_tokens + ids.size
    count = np.int64(0)
    for i in range(ids.size):  # without a branch on what a token is
        tokens[count], places[count] = ids[i], place + i
        count += np.int64(not is_special(ids[i], rule.special))
    return num_tokens + count


@inner
def list_candidates(num_tokens: Scalar, rule: MaskingRule, scratch: MaskingScratch) -> Scalar:
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
def show(
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
