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

What a stage does not say stays as at the end of the stage before. `Recipe.from_file` reads the same
from YAML.
"""

import bisect
import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
import operator
import os
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Self

from bert_data.checks import did_you_mean
from bert_data.errors import named_in_errors, named_in_file_errors
from bert_data.recipes.stage_masking import (
    AS_BEFORE,
    FIRST_MASKING,
    MOST,
    Ramp,
    StageMasking,
    check_ends,
    steady,
)
from bert_data.records.choices import MAX_SEQ_LENGTH, MIN_SEQ_LENGTH
from bert_data.records.objectives import OBJECTIVES, Objective
from bert_data.settings import NotEmpty, OneOf, Within, check_settings, convert
from bert_data.storage import read_bytes
from bert_data.tokens.store_files import expand_store, store_paths
from bert_data.yaml_files import WrittenMapping, read_record

TOKENS_ONLY = "tokens"
RECIPE_OBJECTIVES = (*OBJECTIVES, TOKENS_ONLY)
PLAIN, POOLS, BUCKETS, PACKED, FLAT = RECIPE_BATCHINGS = (
    "plain",
    "pools",
    "buckets",
    "packed",
    "flat",
)
MAX_STORES = 32_766
RECIPE_VERSION = 2
"""Of the order, cuts and masks that a recipe stands for; checkpoints name it by their digest."""
_WINDOW, _WINDOWS = 1 << 14, 1 << 18  # sequences shuffled together: of a store, of all
MAX_BATCH_TOKENS = 1 << 28  # rows times `max_seq_length`: a batch has up to 2**31 numbers
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_MOST_NAMED = 12  # stores in a sentence
_ENDS = ("tokens", "steps", "epochs")
_Number = Annotated[int, Within(0, MOST)]
_Weight = Annotated[float, Within(0, MOST)]


def _check_weights(name: str, weights: Mapping[str, float] | None) -> None:
    if weights is not None and not any(weights.values()):
        raise ValueError(f"{name} has no number above 0; it must have one")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stage:
    """A part of a run with one length, batching and mixture; it ends after tokens, steps or epochs.

    Attributes:
      tokens: the stage has so many tokens, special ones included, padding left out.
      steps: the stage has so many batches. With packed and flat, the next stage goes on behind the
        sequences that the mean length foresaw for them, a few more or fewer than were read.
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

    tokens: Annotated[float, Within(1, MOST)] | None = None
    steps: Annotated[int, Within(1, MOST)] | None = None
    epochs: Mapping[str, _Weight] | _Weight | None = None
    objective: Annotated[str, OneOf(RECIPE_OBJECTIVES)] = AS_BEFORE
    max_seq_length: Annotated[int, Within(MIN_SEQ_LENGTH, MAX_SEQ_LENGTH)] = AS_BEFORE
    batch_size: Annotated[int, Within(1, MAX_BATCH_TOKENS)] | None = None
    batch_tokens: Annotated[float, Within(1, MAX_BATCH_TOKENS)] | Ramp | None = None
    batching: Annotated[str, OneOf(RECIPE_BATCHINGS)] = AS_BEFORE
    masking: StageMasking = AS_BEFORE
    mixture: Mapping[str, _Weight] | None = None
    max_predictions_per_seq: Annotated[int, Within(1, MAX_SEQ_LENGTH)] | None = None
    pool_batches: Annotated[int, Within(1, 1 << 16)] = AS_BEFORE
    num_buckets: Annotated[int, Within(1, 256)] = AS_BEFORE

    def __post_init__(self) -> None:
        check_settings(self)
        check_ends("batch_tokens", self.batch_tokens, 1, MAX_BATCH_TOKENS)
        _check_weights("mixture", self.mixture)
        if isinstance(self.epochs, Mapping) or self.epochs is None:
            _check_weights("epochs", self.epochs)
        else:
            _check_weights("epochs", {"": self.epochs})

    def after(self, before: "Stage") -> "Stage":
        """Return this stage with what it does not say as in the one before."""
        kept = {
            name: value
            for name, value in steady(before).items()
            if name not in _ENDS and getattr(self, name) is None
        }
        if self.batch_size is not None or self.batch_tokens is not None:
            kept |= {"batch_size": self.batch_size, "batch_tokens": self.batch_tokens}
        if self.masking is not None and before.masking is not None:
            with named_in_errors("masking"):
                kept["masking"] = self.masking.after(before.masking)
        elif before.masking is not None:
            kept["masking"] = StageMasking(**steady(before.masking))
        return dataclasses.replace(self, **kept)

    @property
    def asked(self) -> Objective:
        """The objective that `objective` names; a stream asks nothing about segments."""
        return OBJECTIVES["none" if self.objective == TOKENS_ONLY else self.objective]

    @property
    def num_special(self) -> int:
        """Special tokens of a sequence."""
        return 0 if self.objective == TOKENS_ONLY else self.asked.num_special

    @property
    def most_predictions(self) -> int:
        """Most predictions of a sequence."""
        if self.max_predictions_per_seq is not None:
            return self.max_predictions_per_seq
        return max(1, round(self.max_seq_length * self.masking.highest_rate))

    def rows_at(self, tokens: float) -> int:
        """Return the rows of a batch after so many tokens of the stage."""
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
    masking=FIRST_MASKING,
    pool_batches=64,
    num_buckets=8,
)
"""Defaults of the first stage."""


def _check_ramps(stage: Stage) -> None:
    """Check ramps and the size of batches against the rest of a complete stage."""
    budget, room = stage.batch_tokens, stage.max_seq_length
    for name, value in (("masking: rate", stage.masking.rate), ("batch_tokens", budget)):
        over = value.over if isinstance(value, Ramp) else None
        if over and stage.tokens and over > stage.tokens:
            raise ValueError(
                f"{name}: over is {over:g}; at most the {stage.tokens:g} tokens of the stage are"
                " allowed"
            )
    least = min(budget.start, budget.end) if isinstance(budget, Ramp) else budget
    if stage.batch_size is not None and stage.batch_size * room > MAX_BATCH_TOKENS:
        raise ValueError(
            f"batch_size is {stage.batch_size:,}; at most {MAX_BATCH_TOKENS // room:,} rows of"
            f" {room:,} tokens are allowed"
        )
    if least is not None and least < room:
        raise ValueError(
            f"batch_tokens is {least:,g}; at least a row, {room:,} by max_seq_length, is allowed"
        )
    if not isinstance(budget, Ramp):
        return
    if budget.over is None and stage.tokens is None:
        raise ValueError(
            "batch_tokens has no over, the tokens until its end; a stage that does not end by"
            " tokens needs it"
        )
    if stage.steps is not None and stage.batching in (PACKED, FLAT):
        raise ValueError(
            f"batch_tokens has two ends; with steps and {stage.batching} it must be one number"
        )


def _check_store(name: str, store: str, known: Collection[str]) -> None:
    if store in known:
        return
    hint = did_you_mean(store, known)
    more = f" and {len(known) - _MOST_NAMED:,} more" if len(known) > _MOST_NAMED else ""
    told = ", ".join(itertools.islice(known, _MOST_NAMED))
    raise ValueError(f"{name} has {store!r:.60}{hint}, which is none of the stores: {told}{more}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """A training run: stores, and stages that read them.

    Attributes:
      seed: any integer; order, cuts and masks follow from it.
      vocab_file, tokenizer_file: that of all stores; one of the two.
      stores: name -> prefix of a token store, or prefix@N, or a pattern.
      stages: what is done with them, one after the other; each is complete, with what it took over
        from the one before.
      skip: ranges of batches that are left out, also the first and the last batch of each, counted
        from 0 over all stages.
      shuffle_block: sequences of a store that are read together.
      shuffle_window: sequences of a store, of random blocks, that are shuffled together; by
        default 16,384, or fewer if the first stage that reads a store reads more than 16 stores, so
        that together they are 262,144.
      cache_dir: folder that keeps what a start finds by reading all lengths of stores, so that the
        next one need not.
    """

    stores: Mapping[str, Annotated[str, NotEmpty()]]
    stages: Annotated[tuple[Stage, ...], NotEmpty()]
    seed: int = 0
    vocab_file: Annotated[str, NotEmpty()] | None = None
    tokenizer_file: Annotated[str, NotEmpty()] | None = None
    skip: tuple[tuple[_Number, _Number], ...] = ()
    shuffle_block: Annotated[int, Within(1, 1 << 20)] = 128
    shuffle_window: Annotated[int, Within(1, 1 << 24)] | None = None
    cache_dir: Annotated[str, NotEmpty()] | None = None

    # Of a recipe that was read: where its file, and a line of it, say what is named.
    _places: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        check_settings(self)
        if (self.vocab_file is None) == (self.tokenizer_file is None):
            raise ValueError("the recipe needs one of vocab_file and tokenizer_file")
        if not 1 <= len(self.stores) <= MAX_STORES:
            raise ValueError(f"stores must be 1 to {MAX_STORES:,} names and their token stores")
        for name in self.stores:
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"stores has the name {name!r:.60}; letters (a to z), digits, ., _ and - are"
                    " allowed"
                )
        stages = [FIRST]
        for number, said in enumerate(self.stages, 1):
            with named_in_errors(f"stage {number}"):
                stage = said.after(stages[-1])
                if stage.batching != BUCKETS and stage.num_buckets != stages[-1].num_buckets:
                    raise ValueError(
                        f"num_buckets is {stage.num_buckets}; it needs `batching={BUCKETS}`, not"
                        f" {stage.batching}"
                    )
                self._check_stage(stage)
            stages.append(stage)
        object.__setattr__(self, "stages", tuple(stages[1:]))
        for first, last in self.skip:
            if first > last:
                raise ValueError(f"skip has [{first}, {last}]; the first batch comes first")

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Read a recipe in YAML.

        The keys are the attributes of `Recipe`, `Stage` and `StageMasking`; a ramp is
        `{from: 0.3, to: 0.15, over: 1e9}`.
        """
        name = convert("path", str, path)
        record = read_record(cls, read_bytes(name), allows_empty=False)
        with named_in_errors(name), record as (recipe, written):
            lines, stores = dict(written.lines), written["stores"]
            inner = stores.lines if isinstance(stores, WrittenMapping) else {}
            lines |= {f"stores: {s}": inner.get(s, lines["stores"]) for s in recipe.stores}
            places = {key: f"{name}: line {line}: {key}" for key, line in lines.items()}
            object.__setattr__(recipe, "_places", places)
            return recipe

    @contextlib.contextmanager
    def named(self, store: str | None = None) -> Iterator[None]:
        """Put where a store, or else the vocabulary, is named before the text of an error."""
        of_vocabulary = "tokenizer_file" if self.vocab_file is None else "vocab_file"
        what = of_vocabulary if store is None else f"stores: {store}"
        with named_in_file_errors(self._places.get(what, what)):
            yield

    def _check_stage(self, stage: Stage) -> None:
        ends = [name for name in _ENDS if getattr(stage, name) is not None]
        if len(ends) != 1:
            told = f"has {' and '.join(ends)}" if ends else "has no end"
            raise ValueError(f"it {told}; set one of {', '.join(_ENDS)}")
        if (stage.batch_size is None) == (stage.batch_tokens is None):
            raise ValueError("it needs one of batch_size and batch_tokens")
        for store in stage.mixture or ():
            _check_store("mixture", store, self.stores)
        if isinstance(stage.epochs, Mapping):
            if len(stage.epochs) != 1:
                raise ValueError("epochs must name one store, whose passes end the stage")
            _check_store("epochs", next(iter(stage.epochs)), self.names_of(stage))
        elif stage.epochs is not None and len(self.names_of(stage)) > 1:
            raise ValueError(
                f"epochs is {stage.epochs}; as the stage reads several stores, it must name the one"
                " whose passes end it, {store: passes}"
            )
        _check_ramps(stage)

    @functools.cached_property
    def skipped(self) -> list[tuple[int, int]]:
        """The ranges of `skip` in order, none of which touches another."""
        ranges: list[tuple[int, int]] = []
        for first, last in sorted(self.skip):
            if ranges and first <= ranges[-1][1] + 1:
                ranges[-1] = ranges[-1][0], max(last, ranges[-1][1])
            else:
                ranges.append((first, last))
        return ranges

    def skips(self, batch: int) -> bool:
        """Return whether a batch is left out."""
        at = bisect.bisect_right(self.skipped, batch, key=operator.itemgetter(0))
        return at > 0 and batch <= self.skipped[at - 1][1]

    def input_files(self) -> list[str]:
        """Return the files that a run reads."""
        files: list[str] = []
        for name, path in self.stores.items():
            with self.named(name):
                files += (each for prefix in expand_store(path) for each in store_paths(prefix))
        return [*filter(None, (self.vocab_file, self.tokenizer_file)), *files]

    def names_of(self, stage: Stage) -> list[str]:
        """Return the names of the stores that a stage reads."""
        return [name for name in self.stores if stage.mixture is None or stage.mixture.get(name)]

    def window_of(self, num_stores: int) -> int:
        """Return the sequences of a store that are shuffled together, of so many stores."""
        if self.shuffle_window is not None:
            return self.shuffle_window
        return max(2 * self.shuffle_block, min(_WINDOW, _WINDOWS // num_stores))

    def digest(self, num_stages: int) -> str:
        """Return a digest of all that the batches of the first stages depend on, but the stores."""
        names = {name for stage in self.stages[:num_stages] for name in self.names_of(stage)}
        stages = [dataclasses.asdict(stage) for stage in self.stages[:num_stages]]
        told: dict[str, Any] = {
            "version": RECIPE_VERSION,
            "seed": self.seed,
            "stores": [name for name in self.stores if name in names],
            "shuffle": [self.shuffle_block, self.shuffle_window],
            "stages": json.loads(json.dumps(stages), parse_int=float),  # 1000 and 1e3 are the same
        }
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
