"""A masking rule as the kernels take it, and the random numbers of ALBERT's."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.records.masking.config import MaskingConfig
from bert_data.records.masking.rule import GOOGLES_SHOWN, MaskingRule, Shown
from bert_data.tokens.special_tokens import ordinary_range, special_table
from bert_data.tokens.vocabulary import TokenTable


def masking_rule(
    config: MaskingConfig,
    vocabulary: TokenTable,
    *,
    max_seq_length: int,
    max_predictions_per_seq: int,
    shown: Shown = GOOGLES_SHOWN,
) -> MaskingRule:
    """Return the rule as the kernels take it."""
    most = config.num_to_predict(np.arange(max_seq_length + 1))
    probabilities = config.rule.sizes_of(config.max_ngram, config.favor_shorter_ngrams)
    sums = np.cumsum(probabilities)  # and as `numpy.random.choice` computes them
    sizes = sums[:0] if config.predicts_nothing else sums / sums[-1]
    text_begin, text_size = ordinary_range(vocabulary.special_ids, vocabulary.id_limit)
    return MaskingRule(
        code=config.rule.code,
        num_to_predict=np.minimum(most, max_predictions_per_seq).astype(np.int32),
        word_ids=vocabulary.word_ids.astype(np.int32),
        word_bits=vocabulary.word_bits if config.masks_words else np.zeros(0, np.uint16),
        mask_id=vocabulary.mask_id,
        cls_id=vocabulary.cls_id,
        sep_id=vocabulary.sep_id,
        special=special_table(vocabulary.special_ids),
        text_begin=text_begin,
        text_size=text_size,
        sizes=sizes,
        mask_share=float(shown.mask),
        keep_of_rest=float(shown.keep_of_rest),
        size_of_words=vocabulary.size if vocabulary.has_words else 0,
    )


def numpy_random(seed: int) -> "np.random.RandomState":
    """Return NumPy's random numbers as after `numpy.random.seed(seed)`, for any integer.

    NumPy takes 0 to 2**32 - 1. Another seed is given as a list: the 32-bit words of its absolute
    value, lowest first, and 1.
    """
    if 0 <= seed < 1 << 32:
        return np.random.RandomState(seed)
    size, words = abs(seed), []
    while size:
        words.append(size & 0xFFFFFFFF)
        size >>= 32
    return np.random.RandomState([*words, 1])


def numpy_state(seed: int) -> NDArray[np.uint32]:
    """Return the state of `numpy_random(seed)`, uint32[624], for `mersenne.stream_of`."""
    state: Any = numpy_random(seed).get_state(legacy=False)
    return np.array(state["state"]["key"], np.uint32)
