"""The masking rules by name, and the choice among them in kernels."""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.records.masking.ngrams import NGRAMS, mask_ngrams
from bert_data.records.masking.rule import (
    NGRAMS_CODE,
    SPANS_CODE,
    Draws,
    MaskingRule,
    MaskingScratch,
)
from bert_data.records.masking.spans import SPANS, mask_spans
from bert_data.records.masking.tokens import TOKENS, mask_tokens

MASKINGS = {rule.name: rule for rule in (TOKENS, NGRAMS, SPANS)}


@inner
def choose_predictions(
    draws: Draws,
    state: Scalar,
    num_tokens: Scalar,
    num_to_predict: Scalar,
    rule: MaskingRule,
    scratch: MaskingScratch,
    counts: NDArray[np.int64],
) -> tuple[Scalar, Scalar]:
    """Choose the predictions of one instance by its rule, and what is shown in place of each.

    Args:
      num_tokens: of the instance, without special ones.
      num_to_predict: most tokens to predict.
      scratch: as `list_ordinary` filled it. shown[t] becomes the id that is shown in place of token
        t, or KEPT if that is the token itself, and stays NOT_PREDICTED elsewhere.
      counts: int64[3 or more], added to: masked, kept and replaced tokens.

    Returns:
      (number of predictions, state of the stream).
    """
    if not rule.sizes.size:
        return np.int64(0), state
    if rule.code == NGRAMS_CODE:
        return mask_ngrams(draws, state, num_tokens, num_to_predict, rule, scratch, counts)
    if rule.code == SPANS_CODE:
        return mask_spans(draws, state, num_tokens, num_to_predict, rule, scratch, counts)
    return mask_tokens(draws, state, num_tokens, num_to_predict, rule, scratch, counts)
