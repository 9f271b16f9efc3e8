"""Recipes: what a training run reads, stage by stage.

    Recipe(
        seed=1,
        vocab_file="vocab.txt",
        stores={"wiki": "data/wiki@8", "books": "data/books"},
        stages=(
            Stage(tokens=1e9, max_seq_length=128, batch_size=256, masking=StageMasking(rate=0.3)),
            Stage(tokens=2e8, max_seq_length=512, mixture={"wiki": 1, "books": 3}),
        ),
    )

What a stage does not say stays as in the stage before. `recipe_file` reads the same from YAML.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any

from bert_data.objectives.definition import MIN_SEQ_LENGTH
from bert_data.objectives.masking import GOOGLES_SHOWN, Shown
from bert_data.objectives.masking_rules import MASKINGS, MAX_NGRAM, MaskingConfig
from bert_data.objectives.objective import Objective
from bert_data.objectives.objectives import OBJECTIVES
from bert_data.settings import (
    NotEmpty,
    OneOf,
    Share,
    Within,
    check_bounds,
    check_choice,
    check_settings,
)

TOKENS = "tokens"
RECIPE_OBJECTIVES = (*OBJECTIVES, TOKENS)
PLAIN, POOLS, BUCKETS, PACKED, FLAT = BATCHINGS = ("plain", "pools", "buckets", "packed", "flat")
MAX_SEQ_LENGTH = (1 << 16) - 1
MAX_STORES = 32_766
_MOST = 1e18
_ENDS = ("tokens", "steps", "epochs")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ramp:
    """A number that changes in a straight line.

    Attributes:
      start: at the beginning of the stage (`from` in a file).
      end: at the end (`to`).
      over: tokens until then; None: the whole stage.
    """

    start: float
    end: float
    over: float | None = None

    def at(self, share: float) -> float:
        """Return the number after a share of the way, in [0, 1]."""
        return self.start + (self.end - self.start) * min(1.0, share)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StageMasking:
    """How tokens to predict are chosen, and what is shown in their place.

    Attributes:
      rule: tokens: each by itself, or each word with `whole_words`; ngrams: up to `max_ngram` side
        by side, as in ALBERT; spans: up to 10 words, as in SpanBERT.
      rate: share of tokens to predict; a number, or a ramp over the stage.
      shown: shares of [MASK], random words and kept tokens, together 1.
      whole_words: mask all pieces of a word together.
      max_ngram: with `rule=ngrams`, the longest n-gram.
      favor_shorter_ngrams: with `rule=ngrams`, take n with a probability in proportion to 1/n.
    """

    rule: Annotated[str, OneOf(tuple(MASKINGS))] | None = None
    rate: Share | Ramp | None = None
    shown: Shown | None = None
    whole_words: bool | None = None
    max_ngram: Annotated[int, Within(1, MAX_NGRAM)] | None = None
    favor_shorter_ngrams: bool | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        for rate in (self.rate.start, self.rate.end) if isinstance(self.rate, Ramp) else ():
            check_bounds("rate", rate, 0, 1)
        if self.rate is not None and not isinstance(self.rate, Ramp):
            check_bounds("rate", self.rate, 0, 1)
        if self.shown is not None:
            for name, share in zip(Shown._fields, self.shown, strict=True):
                check_bounds(f"shown: {name}", share, 0, 1)
            if abs(sum(self.shown) - 1) > 1e-9:
                raise ValueError(f"shown is {tuple(self.shown)}; the shares must make 1")

    @property
    def config(self) -> MaskingConfig:
        """The settings of the rule, at the highest rate."""
        return MaskingConfig(
            masked_lm_prob=self.highest_rate,
            do_whole_word_mask=bool(self.whole_words),
            masking=self.rule or "tokens",
            max_ngram=self.max_ngram or 3,
            favor_shorter_ngrams=self.favor_shorter_ngrams in (None, True),
        )

    @property
    def highest_rate(self) -> float:
        """The highest rate of the stage."""
        if isinstance(self.rate, Ramp):
            return max(self.rate.start, self.rate.end)
        return 0.15 if self.rate is None else self.rate


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stage:
    """A part of a run with one length, batching and mixture; it ends after tokens, steps or epochs.

    Attributes:
      tokens: the stage has so many tokens, special ones included, padding left out.
      steps: the stage has so many batches; with packed and flat about as many, by the mean length
        of sequences.
      epochs: passes over a store, {store: passes}, or a number if the stage reads one store.
      objective: nsp, sop: two segments and their task; none: one segment of full sentences; tokens:
        the stream of tokens, cut at `max_seq_length`, without special tokens of its own.
      max_seq_length: most tokens of a sequence, and of a row.
      batch_size: rows of a batch of all hosts together.
      batch_tokens: the same in tokens: rows times `max_seq_length`; a number, or a ramp.
      batching: plain: sequences in their order; pools: those of similar length together; buckets:
        the same with few widths; packed: several in a row, which is `max_seq_length` wide; flat:
        several in one row without padding.
      masking: see `StageMasking`.
      mixture: share of each store in the sequences, {store: weight}; without one, stores are read
        in proportion to their sequences.
      max_predictions_per_seq: most tokens to predict in a sequence; without one, the share of
        `max_seq_length` that the rate asks for.
      pool_batches: with pools and buckets: batches of a pool.
      num_buckets: with buckets: number of widths.
    """

    tokens: Annotated[float, Within(1, _MOST)] | None = None
    steps: Annotated[int, Within(1, _MOST)] | None = None
    epochs: Mapping[str, float] | float | None = None
    objective: Annotated[str, OneOf(RECIPE_OBJECTIVES)] | None = None
    max_seq_length: Annotated[int, Within(MIN_SEQ_LENGTH, MAX_SEQ_LENGTH)] | None = None
    batch_size: Annotated[int, Within(1)] | None = None
    batch_tokens: Annotated[float, Within(1)] | Ramp | None = None
    batching: Annotated[str, OneOf(BATCHINGS)] | None = None
    masking: StageMasking | None = None
    mixture: Mapping[str, float] | None = None
    max_predictions_per_seq: Annotated[int, Within(0, MAX_SEQ_LENGTH)] | None = None
    pool_batches: Annotated[int, Within(1, 1 << 16)] | None = None
    num_buckets: Annotated[int, Within(1, 256)] | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        budget = self.batch_tokens
        for number in (budget.start, budget.end) if isinstance(budget, Ramp) else (budget,):
            if number is not None:
                check_bounds("batch_tokens", number, 1, _MOST)
        for name, weights in (("mixture", self.mixture), ("epochs", self.epochs)):
            for value in weights.values() if isinstance(weights, Mapping) else ():
                check_bounds(name, value, 0, _MOST)

    def after(self, before: "Stage") -> "Stage":
        """Return this stage with what it does not say as in the one before."""
        kept = {
            field.name: getattr(before, field.name)
            for field in dataclasses.fields(self)
            if field.name not in _ENDS and getattr(self, field.name) is None
        }
        if self.batch_size is not None or self.batch_tokens is not None:
            kept |= {"batch_size": self.batch_size, "batch_tokens": self.batch_tokens}
        if self.masking is not None and before.masking is not None:
            said = {k: v for k, v in vars(self.masking).items() if v is not None}
            kept["masking"] = dataclasses.replace(before.masking, **said)
        return dataclasses.replace(self, **kept)

    @property
    def asked(self) -> Objective:
        """The objective that `objective` names; `tokens` asks nothing about segments."""
        return OBJECTIVES["none" if self.objective == TOKENS else self.objective or "none"]

    @property
    def num_special(self) -> int:
        """Special tokens of a sequence."""
        return 0 if self.objective == TOKENS else self.asked.num_special

    @property
    def most_predictions(self) -> int:
        """Most predictions of a sequence."""
        assert self.max_seq_length is not None
        assert self.masking is not None
        if self.max_predictions_per_seq is not None:
            return self.max_predictions_per_seq
        return max(1, round(self.max_seq_length * self.masking.highest_rate))

    def rows_at(self, tokens: float) -> int:
        """Return the rows of a batch after so many tokens of the stage."""
        assert self.max_seq_length is not None
        if self.batch_size is not None:
            return self.batch_size
        budget = self.batch_tokens
        if isinstance(budget, Ramp):
            budget = budget.at(tokens / budget.over if budget.over else 1.0)
        assert budget is not None
        return max(1, int(budget) // self.max_seq_length)


FIRST = Stage(
    objective="none",
    max_seq_length=128,
    batching=POOLS,
    masking=StageMasking(
        rule="tokens",
        rate=0.15,
        shown=GOOGLES_SHOWN,
        whole_words=False,
        max_ngram=3,
        favor_shorter_ngrams=True,
    ),
    pool_batches=64,
    num_buckets=8,
)
"""What the first stage has where it says nothing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """A training run: stores, and stages that read them.

    Attributes:
      seed: any integer; order, cuts and masks follow from it.
      vocab_file, tokenizer_file: that of all stores; one of the two.
      stores: name -> prefix of a token store, or prefix@N, or a pattern.
      stages: what is done with them, one after the other; each is complete, with what it took over
        from the one before.
      skip: batches that are left out, first and last of each range, counted from 0 over all stages.
      shuffle_block: sequences of a store that are read together.
      shuffle_window: sequences of a store, of random blocks, that are shuffled together.
    """

    stores: Mapping[str, str]
    stages: tuple[Stage, ...]
    seed: int = 0
    vocab_file: Annotated[str, NotEmpty()] | None = None
    tokenizer_file: Annotated[str, NotEmpty()] | None = None
    skip: tuple[tuple[int, int], ...] = ()
    shuffle_block: Annotated[int, Within(1, 1 << 20)] = 128
    shuffle_window: Annotated[int, Within(1, 1 << 24)] = 16_384

    def __post_init__(self) -> None:
        check_settings(self)
        if (self.vocab_file is None) == (self.tokenizer_file is None):
            raise ValueError("set one of `vocab_file` and `tokenizer_file`")
        if not 1 <= len(self.stores) <= MAX_STORES:
            raise ValueError(f"stores has {len(self.stores)} names; 1 to {MAX_STORES:,} is allowed")
        if not self.stages:
            raise ValueError("stages is empty; a recipe has at least one")
        stages, before = [], FIRST
        for stage in self.stages:
            before = stage.after(before)
            stages.append(before)
            self._check_stage(before)
        object.__setattr__(self, "stages", tuple(stages))

    def _check_stage(self, stage: Stage) -> None:
        ends = [name for name in _ENDS if getattr(stage, name) is not None]
        if len(ends) != 1:
            raise ValueError(f"a stage has {' and '.join(ends) or 'no end'}; set one of {_ENDS}")
        if (stage.batch_size is None) == (stage.batch_tokens is None):
            raise ValueError("set one of `batch_size` and `batch_tokens`")
        for name in stage.mixture or ():
            check_choice("mixture", name, self.stores)
        if isinstance(stage.epochs, Mapping):
            if len(stage.epochs) != 1:
                raise ValueError("epochs names one store, whose passes end the stage")
            check_choice("epochs", next(iter(stage.epochs)), self.names_of(stage))
        elif stage.epochs is not None and len(self.names_of(stage)) > 1:
            raise ValueError("epochs needs the name of a store, as the stage reads several")

    def names_of(self, stage: Stage) -> list[str]:
        """Return the names of the stores that a stage reads."""
        return [name for name in self.stores if stage.mixture is None or stage.mixture.get(name)]

    def digest(self, num_stages: int) -> str:
        """Return a digest of all that the batches of the first stages depend on, but the stores."""
        names = {name for stage in self.stages[:num_stages] for name in self.names_of(stage)}
        told: dict[str, Any] = {
            "seed": self.seed,
            "stores": sorted(names),
            "shuffle": [self.shuffle_block, self.shuffle_window],
            "stages": [dataclasses.asdict(stage) for stage in self.stages[:num_stages]],
        }
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
