"""Masking of tokens or words by themselves.

This is BERT's rule (Devlin et al. 2018, arXiv 1810.04805, section 3.1) as google-research/bert has
it in create_masked_lm_predictions.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.records import choices
from bert_data.records.masking.rule import (
    TOKENS_CODE,
    Draws,
    Masking,
    MaskingRule,
    MaskingScratch,
    list_candidates,
    show,
)


@inner
def mask_tokens(
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
    num_candidates = list_candidates(num_tokens, rule, scratch)
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
            state = show(draws, state, t, rule, scratch.shown, counts)
    return num_chosen, state


TOKENS = Masking(
    name=choices.TOKENS, code=TOKENS_CODE, sizes_of=lambda longest, favors_short: np.ones(1)
)
