"""The masking rules by name, their settings, and the choice among them in kernels."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.records.masking.ngrams import NGRAMS, mask_ngrams
from bert_data.records.masking.rule import (
    GOOGLES_SHOWN,
    NGRAMS_CODE,
    SPANS_CODE,
    Draws,
    Masking,
    MaskingRule,
    MaskingScratch,
    Shown,
)
from bert_data.records.masking.spans import SPANS, mask_spans
from bert_data.records.masking.tokens import TOKENS, mask_tokens
from bert_data.settings import OneOf, Share, Within, check_settings
from bert_data.tokens.special_tokens import ordinary_range, special_table
from bert_data.tokens.vocabulary import TokenTable

MASKINGS = {rule.name: rule for rule in (TOKENS, NGRAMS, SPANS)}


_NGRAM_SETTINGS = ("max_ngram", "favor_shorter_ngrams")


MAX_NGRAM = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class MaskingConfig:
    """Settings of masking, part of the configurations of all that mask.

    Attributes:
      masked_lm_prob: share of tokens to predict.
      do_whole_word_mask: mask all pieces of a word together.
      masking: how tokens to predict are chosen. tokens: each by itself, or each word with
        `do_whole_word_mask`, as in BERT. ngrams: up to `max_ngram` tokens or words side by side, as
        in ALBERT. spans: up to 10 words side by side, 3.8 on average, all shown as [MASK], as they
        are or as random words, as in SpanBERT.
      max_ngram: with `masking=ngrams`, the longest n-gram.
      favor_shorter_ngrams: with `masking=ngrams`, choose n with a probability proportional to 1/n;
        otherwise longer n-grams are more likely.
    """

    masked_lm_prob: Share = 0.15
    do_whole_word_mask: bool = False
    masking: Annotated[str, OneOf(tuple(MASKINGS))] = TOKENS.name
    max_ngram: Annotated[int, Within(1, MAX_NGRAM)] = 3
    favor_shorter_ngrams: bool = True

    def __post_init__(self) -> None:
        check_settings(self)
        for name in _NGRAM_SETTINGS:
            value = getattr(self, name)
            if self.masking != NGRAMS.name and value != getattr(MaskingConfig, name):
                raise ValueError(f"{name} is {value}; it needs `masking={NGRAMS.name}`")

    @property
    def rule(self) -> Masking:
        """The rule that `masking` names."""
        return MASKINGS[self.masking]

    @property
    def largest_size(self) -> int:
        """Most tokens or words that are chosen together."""
        return self.rule.sizes_of(self.max_ngram, self.favor_shorter_ngrams).size

    @property
    def masks_words(self) -> bool:
        """Whether all pieces of a word are masked together, but for the last one of an instance."""
        return self.do_whole_word_mask or self.rule.of_words

    def num_to_predict(self, lengths: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return int32[instances], predictions of instances of these lengths without a limit.

        It is the share of all tokens, rounded half to even, and at least one token.
        """
        least = 0 if self.predicts_nothing else 1
        return np.maximum(least, np.rint(lengths * self.masked_lm_prob)).astype(np.int32)

    @property
    def predicts_nothing(self) -> bool:
        """Whether the rate is 0, and the rule takes it as such."""
        return self.rule.may_predict_nothing and self.masked_lm_prob == 0

    def changed_flags(self) -> dict[str, Any]:
        """Return the settings that the reference does not have, where they change anything."""
        values = {name: getattr(self, name) for name in ("masking", *_NGRAM_SETTINGS)}
        return {
            name: value for name, value in values.items() if value != getattr(MaskingConfig, name)
        }


def masking_of_flags(flags: Mapping[str, Any]) -> MaskingConfig:
    """Return the settings that a manifest's flags name."""
    names = [field.name for field in dataclasses.fields(MaskingConfig)]
    return MaskingConfig(**{name: flags[name] for name in names if name in flags})


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
