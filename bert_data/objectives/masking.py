"""The masking rule: which tokens are predicted, and what the model sees in their place.

    tokens      un ##know ##n cat sat            [CLS] and [SEP] left out
    candidates  un ##know ##n | cat | sat        whole words, or each token alone
    predicted   cat                              candidates in random order, while they fit
    shown       [MASK]                           80% [MASK], 10% the token, 10% any word

The rule is that of google-research/bert, create_masked_lm_predictions (Devlin et al. 2018, section
3.1). It is used to make records, and by the reader for dynamic masking; the two differ in the
stream of random numbers, which is a parameter:

    source, state            the random numbers, and the position in them
    next_candidate           (source, state, order, place, size) -> (candidate, state)
    draw_of_three            (source, state, p, q) -> (0 with probability p, else 1 with probability
                             q, else 2; state)
    draw_below               (source, state, limit) -> (integer in [0, limit), state)

[CLS] and [SEP] are left out before candidates are listed. So a candidate is always a range, even if
B begins inside a word because truncation removed its front (the reference joins such a piece to the
last word of A).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.tokens.word_bits import goes_on

NUM_MASKED, NUM_KEPT, NUM_REPLACED = 0, 1, 2
NOT_PREDICTED, KEPT = -1, -2  # in place of an id that is shown

_MASK_SHARE = 0.8
_KEEP_SHARE = 0.5  # of the rest


class MaskingRule(NamedTuple):
    """What masking depends on, besides the random numbers.

    Attributes:
      num_to_predict: int32[max_seq_length + 1], most predictions of an instance of each length,
        special tokens included.
      word_ids: int32[words], the ids that a random word is drawn from, >= 0.
      word_bits: uint16[vocabulary size], see `tokens.word_bits`; empty if single
        tokens are masked.
      mask_id: id of [MASK].
      cls_id, sep_id: ids that are never predicted; the caller leaves them out of the tokens.
    """

    num_to_predict: NDArray[np.int32]
    word_ids: NDArray[np.int32]
    word_bits: NDArray[np.uint16]
    mask_id: int
    cls_id: int
    sep_id: int

    def most_predictions(self, lengths: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the most predictions of instances of these lengths; 0 for one without tokens."""
        return np.where(lengths > 0, self.num_to_predict[lengths], 0).astype(np.int32)


def masking_rule(
    vocabulary: Vocabulary,
    *,
    max_seq_length: int,
    max_predictions_per_seq: int,
    masked_lm_prob: float,
    whole_words: bool,
) -> MaskingRule:
    """Return the reference's rule.

    Args:
      max_seq_length: most tokens of an instance, special ones included.
      max_predictions_per_seq: most predictions of an instance.
      masked_lm_prob: share of all tokens to predict, rounded half to even, and at least one token.
      whole_words: whether all pieces of a word are predicted together.
    """
    lengths = range(max_seq_length + 1)
    counts = [min(max_predictions_per_seq, max(1, round(n * masked_lm_prob))) for n in lengths]
    return MaskingRule(
        num_to_predict=np.array(counts, np.int32),
        word_ids=vocabulary.word_ids.astype(np.int32),
        word_bits=vocabulary.word_bits if whole_words else np.zeros(0, np.uint16),
        mask_id=vocabulary.mask_id,
        cls_id=vocabulary.cls_id,
        sep_id=vocabulary.sep_id,
    )


class MaskingScratch(NamedTuple):
    """Scratch space for one instance.

    Attributes:
      tokens: int32[tokens].
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
def list_candidates(num_tokens: Scalar, rule: MaskingRule, scratch: MaskingScratch) -> Scalar:
    """List candidates by their places; return how many there are.

    Args:
      num_tokens: of the instance, without [CLS] and [SEP].
      rule: MaskingRule.
      scratch: `tokens` holds the instance's if whole words are masked; `starts` and `order` are
        filled.
    """
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
def mask_candidates(
    source: Any,
    state: Scalar,
    next_candidate: Any,
    draw_of_three: Any,
    draw_below: Any,
    num_candidates: Scalar,
    num_to_predict: Scalar,
    rule: MaskingRule,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
) -> tuple[Scalar, Scalar]:
    """Choose the predictions of one instance, and what is shown in place of each.

    A candidate with more tokens than remain to be predicted is skipped.

    Args:
      source, state, next_candidate, draw_of_three, draw_below: the random numbers, see the module.
      num_candidates: as `list_candidates` returned it.
      num_to_predict: most tokens to predict.
      rule: MaskingRule.
      scratch: as `list_candidates` left it; shown[t] becomes the id that is shown in place of token
        t, or KEPT if that is the token itself, and stays NOT_PREDICTED elsewhere.
      counts: int64[3 or more], added to: masked, kept and replaced tokens.

    Returns:
      (number of predictions, state of the stream).
    """
    order, starts, shown = scratch.order, scratch.starts, scratch.shown
    num_chosen = np.int64(0)
    for place in range(num_candidates):
        if num_chosen >= num_to_predict:
            break
        candidate, state = next_candidate(source, state, order, place, num_candidates)
        start, stop = np.int64(starts[candidate]), np.int64(starts[candidate + 1])
        if num_chosen + stop - start > num_to_predict:
            continue
        num_chosen += stop - start
        for t in range(start, stop):
            outcome, state = draw_of_three(source, state, _MASK_SHARE, _KEEP_SHARE)
            counts[outcome] += 1
            if outcome == NUM_MASKED:
                shown[t] = rule.mask_id
            elif outcome == NUM_KEPT:
                shown[t] = KEPT
            else:
                word, state = draw_below(source, state, np.int64(rule.word_ids.size))
                shown[t] = rule.word_ids[word]
    return num_chosen, state
