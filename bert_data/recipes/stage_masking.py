"""The masking of a stage, and numbers that change while it runs."""

import dataclasses
from typing import Annotated, Any

from bert_data.checks import check_bounds
from bert_data.records.choices import MASKING_NAMES, NGRAMS
from bert_data.records.masking.config import MAX_NGRAM, MaskingConfig
from bert_data.records.masking.rule import GOOGLES_SHOWN, Shown
from bert_data.settings import OneOf, Share, Within, WrittenAs, check_settings

AS_BEFORE: Any = None
"""Value of a setting that a stage takes over from the one before."""

MOST = 1e18  # of all numbers of tokens, steps and the like
_OF_NGRAMS = ("max_ngram", "favor_shorter_ngrams")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ramp:
    """A number that changes in a straight line.

    Attributes:
      start: at the beginning of the stage (`from` in a file).
      end: at the end (`to`).
      over: tokens until then; None: the whole stage.
    """

    start: Annotated[float, WrittenAs("from")]
    end: Annotated[float, WrittenAs("to")]
    over: Annotated[float, Within(1, MOST)] | None = None

    def __post_init__(self) -> None:
        check_settings(self)

    def at(self, share: float) -> float:
        """Return the number after a share of the way, in [0, 1]."""
        return self.start + (self.end - self.start) * min(1.0, share)


def check_ends(name: str, value: float | Ramp | None, low: float, high: float) -> None:
    """Check a number, or both ends of a ramp."""
    if isinstance(value, Ramp):
        check_bounds(f"{name}: from", value.start, low, high)
        check_bounds(f"{name}: to", value.end, low, high)
    elif value is not None:
        check_bounds(name, value, low, high)


def steady(said: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as they are at the end of ramps."""
    return {n: v.end if isinstance(v, Ramp) else v for n, v in vars(said).items()}


@dataclasses.dataclass(frozen=True, kw_only=True)
class StageMasking:
    """The choice of tokens to predict, and what is shown in their place.

    Attributes:
      rule: tokens: each by itself, or each word with `whole_words`; ngrams: up to `max_ngram` side
        by side, as in ALBERT; spans: up to 10 words, as in SpanBERT.
      rate: share of tokens to predict; a number, or a ramp over the stage.
      shown: shares of [MASK], random words and kept tokens, together 1.
      whole_words: mask all pieces of a word together.
      max_ngram: with `rule=ngrams`, the longest n-gram.
      favor_shorter_ngrams: with `rule=ngrams`, take n with a probability in proportion to 1/n.
    """

    rule: Annotated[str, OneOf(MASKING_NAMES)] = AS_BEFORE
    rate: Share | Ramp = AS_BEFORE
    shown: Shown = AS_BEFORE
    whole_words: bool = AS_BEFORE
    max_ngram: Annotated[int, Within(1, MAX_NGRAM)] = AS_BEFORE
    favor_shorter_ngrams: bool = AS_BEFORE

    def __post_init__(self) -> None:
        check_settings(self)
        check_ends("rate", self.rate, 0, 1)
        if self.rate is not None and self.lowest_rate == 0:
            raise ValueError("rate is 0, at which nothing is predicted; it must be above 0")
        if self.shown is not None:
            for name, share in zip(Shown._fields, self.shown, strict=True):
                check_bounds(f"shown: {name}", share, 0, 1)
            if abs(sum(self.shown) - 1) > 1e-9:
                told = ", ".join(f"{share:g}" for share in self.shown)
                raise ValueError(f"shown is {told}; the shares must make 1")

    @property
    def config(self) -> MaskingConfig:
        """The settings of the rule of a complete stage, at the highest rate."""
        return MaskingConfig(
            masked_lm_prob=self.highest_rate,
            do_whole_word_mask=bool(self.whole_words),
            masking=self.rule,
            **{name: getattr(self, name) for name in _OF_NGRAMS if self.rule == NGRAMS},
        )

    @property
    def highest_rate(self) -> float:
        """The highest rate of the stage."""
        if isinstance(self.rate, Ramp):
            return max(self.rate.start, self.rate.end)
        return self.rate

    @property
    def lowest_rate(self) -> float:
        """The lowest rate of the stage."""
        if isinstance(self.rate, Ramp):
            return min(self.rate.start, self.rate.end)
        return self.rate

    def after(self, before: "StageMasking") -> "StageMasking":
        """Return this masking with what it does not say as at the end of the stage before."""
        said = {name: value for name, value in vars(self).items() if value is not None}
        after = StageMasking(**{**steady(before), **said})
        for name in _OF_NGRAMS:
            value = getattr(after, name)
            if after.rule != NGRAMS and value != getattr(before, name):
                raise ValueError(f"{name} is {value}; it needs the rule {NGRAMS}, not {after.rule}")
        return after


FIRST_MASKING = StageMasking(
    rule="tokens",
    rate=0.15,
    shown=GOOGLES_SHOWN,
    whole_words=False,
    max_ngram=3,
    favor_shorter_ngrams=True,
)
"""Defaults of the first stage."""
