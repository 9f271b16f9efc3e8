"""The settings of masking."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from bert_data.records.choices import MASKING_NAMES, NGRAMS, TOKENS
from bert_data.settings import OneOf, Share, Within, check_settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bert_data.records.masking.rule import Masking

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
    masking: Annotated[str, OneOf(MASKING_NAMES)] = TOKENS
    max_ngram: Annotated[int, Within(1, MAX_NGRAM)] = 3
    favor_shorter_ngrams: bool = True

    def __post_init__(self) -> None:
        check_settings(self)
        for name in _NGRAM_SETTINGS:
            value = getattr(self, name)
            if self.masking != NGRAMS and value != getattr(MaskingConfig, name):
                raise ValueError(f"{name} is {value}; it needs `masking={NGRAMS}`")

    @property
    def rule(self) -> "Masking":
        """The rule that `masking` names."""
        from bert_data.records.masking.choosing import MASKINGS  # which loads NumPy

        return MASKINGS[self.masking]

    @property
    def largest_size(self) -> int:
        """Most tokens or words that are chosen together."""
        return self.rule.sizes_of(self.max_ngram, self.favor_shorter_ngrams).size

    @property
    def masks_words(self) -> bool:
        """Whether all pieces of a word are masked together, but for the last one of an instance."""
        return self.do_whole_word_mask or self.rule.of_words

    def num_to_predict(self, lengths: "NDArray[np.integer]") -> "NDArray[np.int32]":
        """Return int32[instances], predictions of instances of these lengths without a limit.

        It is the share of all tokens, rounded half to even, and at least one token.
        """
        import numpy as np

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
