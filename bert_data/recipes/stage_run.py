"""The sequences and batches of a stage, before a token is read.

A stage has a fixed number of sequences, dealt among its stores. A window of them is planned like
the records of a set, see `reader.planning`. What packed rows leave of a window, some percent of it
at most, comes first in the next one. With packed rows that end by steps, the last window is made
longer or cut off, so that the stage has exactly as many; the next stage goes on behind the
sequences that the mean length foresaw.
"""

import functools
import itertools
import operator
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.planning import EpochPlan, PlanConfig, make_plan
from bert_data.reader.planning.lengths import check_planned_lengths, choose_widths
from bert_data.reader.planning.plan_config import WIDTH_OF_BATCH
from bert_data.reader.splitmix import key_of
from bert_data.recipes.dealing import Dealer
from bert_data.recipes.packing import (
    RowForm,
    batch_in_order,
    first_batches,
    pack_window,
    take_packed,
)
from bert_data.recipes.recipe import BUCKETS, FLAT, PACKED, PLAIN, POOLS, Stage
from bert_data.recipes.sequences.fetched_tokens import FetchedTokens
from bert_data.recipes.sequences.opened_stores import OpenStore
from bert_data.recipes.sequences.store_source import DrawnSequences, StoreSource, concatenate
from bert_data.recipes.stage_masking import Ramp

_DEALING, _BATCHING = 32, 33  # what keys are for
_LEAST_WINDOW = 1 << 14  # sequences, unless batches are packed or grow
_PACKED_BATCHES = 256  # of a window
_MAX_PACKED = 1 << 20  # sequences of a window
_STEPS = 16  # of a rate that changes, in a window
_MAX_RAMP = 1 << 20  # windows while batches grow


class Window(NamedTuple):
    """Sequences of a stage that are planned together.

    Attributes:
      number: among the windows of the run.
      first, last: its sequences in the stage.
      rows: of each batch.
    """

    number: int
    stage: int
    first: int
    last: int
    rows: int


class Planned(NamedTuple):
    """A window's sequences and their batches.

    Attributes:
      of_source: int16[sequences], numbers of the stage's sources.
      keys: uint64[sequences], that masks are drawn from.
      lengths: int64[sequences], with special tokens.
      left: sequences at the end of the window that are in none of the batches.
      fetched: tokens of stores in buckets.
    """

    of_source: NDArray[np.int16]
    drawn: DrawnSequences
    keys: NDArray[np.uint64]
    lengths: NDArray[np.int64]
    plan: EpochPlan
    left: int = 0
    fetched: FetchedTokens | None = None


class StageRun:
    """A stage, and the sources that it reads.

    Attributes:
      num_sequences: of the stage.
      before: of each source, sequences that earlier stages took.
      num_batches: of the stage; None if its packed rows must be counted.
      first_window: number of the stage's first window in the run.
    """

    def __init__(
        self, number: int, stage: Stage, sources: list[StoreSource], before: list[int], seed: int
    ) -> None:
        self.number, self.stage, self.sources, self.before = number, stage, sources, before
        self.first_window, self._seed = 0, seed
        names = [source.opened.name for source in sources]
        sizes = {source.opened.name: float(source.num_sequences) for source in sources}
        weights = stage.mixture or sizes
        total = sum(weights[name] for name in names)
        self.shares = [weights[name] / total for name in names]
        self.dealer = Dealer([weights[name] for name in names], seed, number, _DEALING)
        lengths = (source.tokens_a_sequence for source in sources)
        self.mean_tokens = stage.num_special + sum(map(operator.mul, self.shares, lengths))
        self._ramp: list[tuple[int, int]] = []
        self._steady = self._steady_rows = 0
        self.num_sequences = self._count_sequences()
        if not self._ramp:
            self._find_ramp(self.num_sequences)
        self.num_batches = stage.steps
        if not self.is_packed:
            self.num_batches = self.batches_before(self.num_windows)

    @property
    def is_packed(self) -> bool:
        """Whether rows hold several sequences."""
        return self.stage.batching in (PACKED, FLAT)

    @property
    def ends_in_window(self) -> bool:
        """Whether the stage ends with some batch of a window, see `planned_until`."""
        return self.is_packed and self.stage.steps is not None

    @property
    def shapes_differ(self) -> bool:
        """Whether those of consecutive batches mostly do."""
        return self.stage.batching != PLAIN

    def _over(self) -> float | None:
        budget = self.stage.batch_tokens
        if not isinstance(budget, Ramp):
            return None
        return self.stage.tokens if budget.over is None else budget.over

    def _count_sequences(self) -> int:
        stage = self.stage
        if stage.tokens is not None:
            return max(1, -int(-stage.tokens // self.mean_tokens))
        if stage.epochs is not None:
            return self._sequences_of_epochs()
        assert stage.steps is not None
        if self.is_packed:
            room = stage.rows_at(0) * stage.max_seq_length  # without a ramp, see `Recipe`
            return max(1, round(stage.steps * room / self.mean_tokens))
        self._find_ramp(None)
        sizes = [
            last - first
            for (first, _), (last, _) in itertools.pairwise([*self._ramp, (self._steady, 0)])
        ]
        steps, number = stage.steps, 0
        for (_, rows), size in zip(self._ramp, sizes, strict=True):
            taken = min(steps, size // rows)
            steps, number = steps - taken, number + taken * rows
        self._ramp = [each for each in self._ramp if each[0] < number]
        if not steps:
            self._steady = number
        return number + steps * self._steady_rows

    def _sequences_of_epochs(self) -> int:
        """Return the fewest sequences with the passes over a store that end the stage."""
        epochs = self.stage.epochs
        source, passes = 0, epochs
        if isinstance(epochs, Mapping):
            ((name, passes),) = epochs.items()
            source = [each.opened.name for each in self.sources].index(name)
        assert isinstance(passes, int | float)
        wanted = max(1, round(passes * self.sources[source].num_sequences))
        low, high = wanted - 1, wanted
        while self.dealer.counts(high)[source] < wanted:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if self.dealer.counts(middle)[source] < wanted:
                low = middle
            else:
                high = middle
        return high

    def _find_ramp(self, num_sequences: int | None) -> None:
        """List the windows whose batches grow: their first sequences, and rows of a batch."""
        over, first = self._over(), 0
        while over is not None and first * self.mean_tokens < over:
            if num_sequences is not None and first >= num_sequences:
                break
            rows = self.stage.rows_at(first * self.mean_tokens)
            self._ramp.append((first, rows))
            first += self._window_size(rows, grows=True)
            if len(self._ramp) > _MAX_RAMP:
                raise ValueError(f"the ramp of batch_tokens has more than {_MAX_RAMP:,} windows")
        self._steady = first
        self._steady_rows = self.stage.rows_at(float("inf") if over is None else over)

    @property
    def _pool(self) -> int:
        return self.stage.pool_batches

    @property
    def _pools(self) -> int:
        """Pools of a window whose batches have ceased to grow."""
        return -(-_LEAST_WINDOW // (self._pool * self._steady_rows))

    def _window_size(self, rows: int, *, grows: bool = False) -> int:
        stage = self.stage
        if not self.is_packed:
            return self._pool * rows * (1 if grows else self._pools)
        a_batch = rows * stage.max_seq_length / self.mean_tokens
        return round(min(_PACKED_BATCHES, max(8, int(_MAX_PACKED / a_batch))) * a_batch)

    def check_sizes(self) -> None:
        """Check that no store has been truncated, see `TokenStore.check_sizes`."""
        for source in self.sources:
            source.opened.check_sizes()

    @property
    def num_windows(self) -> int:
        """Number of windows."""
        left = max(0, self.num_sequences - self._steady)
        return len(self._ramp) + -(-left // self._window_size(self._steady_rows))

    def window(self, number: int) -> Window:
        """Return a window of the stage."""
        if number < len(self._ramp):
            first, rows = self._ramp[number]
            size = self._window_size(rows, grows=True)
        else:
            rows = self._steady_rows
            size = self._window_size(rows)
            first = self._steady + (number - len(self._ramp)) * size
        last = min(first + size, self.num_sequences)
        return Window(self.first_window + number, self.number, first, last, rows)

    def batches_before(self, number: int) -> int:
        """Return the number of batches before a window of the stage, if rows are one sequence."""
        if number and number == self.num_windows:
            last = self.window(number - 1)
            return self.batches_before(number - 1) + -(-(last.last - last.first) // last.rows)
        growing = min(number, len(self._ramp))
        return growing * self._pool + (number - growing) * self._pool * self._pools

    def window_with(self, batch: int) -> int:
        """Return the window of the stage that a batch is in, if rows are one sequence."""
        growing = len(self._ramp) * self._pool
        if batch < growing:
            return batch // self._pool
        return len(self._ramp) + (batch - growing) // (self._pool * self._pools)

    def progress(self, first: int, over: float | None) -> float:
        """Return how far a sequence is on the way of a ramp."""
        if over is None:
            return first / self.num_sequences
        return first * self.mean_tokens / over

    def rate(self, first: int) -> float:
        """Return the share of tokens to predict, from a sequence on."""
        rate = self.stage.masking.rate
        if isinstance(rate, Ramp):
            return rate.at(self.progress(first, rate.over))
        return rate

    def rate_of_batch(self, window: Window, number: int, num_batches: int) -> tuple[float, int]:
        """Return the share of tokens to predict of a batch of a window, and until which batch.

        A ramp has sixteen steps in a window, if that has so many batches.
        """
        if not isinstance(self.stage.masking.rate, Ramp):
            return self.rate(window.first), num_batches
        step = max(1, num_batches // _STEPS)
        begin = number // step * step
        sequence = window.first + (window.last - window.first) * begin // num_batches
        return self.rate(sequence), min(begin + step, num_batches)

    def draw(
        self, first: int, last: int
    ) -> tuple[NDArray[np.int16], DrawnSequences, NDArray[np.uint64]]:
        """Return sequences of the stage: their sources, what they are, and the keys of masks."""
        of_source = self.dealer.deal(first, last)
        start, stop = self.dealer.counts(first), self.dealer.counts(last)
        order = np.argsort(of_source, kind="stable")
        parts, keys = [], []
        for number, (source, before) in enumerate(zip(self.sources, self.before, strict=True)):
            begin, end = before + start[number], before + stop[number]
            if begin < end:
                drawn = source.take(begin, end)
                parts.append(drawn)
                keys.append(source.masks_keys(begin, drawn.numbers))
        places = np.empty(order.size, np.int64)
        places[order] = np.arange(order.size)
        return of_source, concatenate(parts).take(places), np.concatenate(keys)[places]

    @functools.cached_property
    def stores(self) -> list[OpenStore]:
        """The stores of all sources."""
        opened = (source.opened for source in self.sources)
        return [
            OpenStore(each, prefix, store.ids)
            for each in opened
            for prefix, store in zip(each.prefixes, each.stores, strict=True)
        ]

    @functools.cached_property
    def source_starts(self) -> NDArray[np.int64]:
        """int64[sources], the first token of each, if one source follows the other."""
        return np.cumsum([0, *(source.opened.num_tokens for source in self.sources)])[:-1]

    @functools.cached_property
    def store_starts(self) -> NDArray[np.int64]:
        """int64[stores], the first token of each."""
        starts = zip(self.source_starts, self.sources, strict=True)
        return np.concatenate([start + each.opened.splits[:-1] for start, each in starts])

    @functools.cached_property
    def widths(self) -> tuple[int, ...] | None:
        """The widths that batches may have; None: any."""
        stage = self.stage
        if stage.batching == POOLS:
            return None
        if stage.batching != BUCKETS:
            return (stage.max_seq_length,)
        window = self.window(0)
        _, drawn, _ = self.draw(window.first, window.last)
        lengths = self.lengths(drawn)
        histogram = check_planned_lengths(lengths, stage.max_seq_length).histogram
        widths = choose_widths(histogram, stage.num_buckets)
        return (*widths[:-1], stage.max_seq_length)

    def lengths(self, drawn: DrawnSequences) -> NDArray[np.int64]:
        """Return the tokens of sequences, special ones included."""
        return drawn.a_lengths.astype(np.int64) + drawn.b_lengths + self.stage.num_special

    def windows(
        self, first: int, carried: int, left: int | None
    ) -> Iterator[tuple[Window, Planned, int]]:
        """Yield windows that have batches, each with the sequences that it has of those before.

        Args:
          first: the number of the first window in the stage.
          carried: sequences at the end of the window before that come first.
          left: batches until the end of a stage that ends in a window.
        """
        for number in range(first, self.num_windows):
            self.check_sizes()
            window = self.window(number)
            window = window._replace(first=window.first - carried)
            if self.ends_in_window:
                assert left is not None
                if left <= 0:
                    return
                window, planned = self._planned_until(window, left)
                left -= planned.plan.num_batches
            else:
                planned = self.planned(window)
            if planned.plan.num_batches:
                yield window, planned, carried
            carried = planned.left

    def _planned_until(self, window: Window, left: int) -> tuple[Window, Planned]:
        """Plan a window of a stage that has so many batches left; the last one has them all."""
        planned, room = self.planned(window), window.rows * self.stage.max_seq_length
        while window.last >= self.num_sequences and planned.plan.num_batches < left:
            more = (left - planned.plan.num_batches) * room / self.mean_tokens
            window = window._replace(last=window.last + 1 + round(more))
            planned = self.planned(window)
        return window, planned._replace(plan=first_batches(planned.plan, left))

    def planned(self, window: Window) -> Planned:
        """Draw a window's sequences, and plan its batches."""
        stage = self.stage
        of_source, drawn, keys = self.draw(window.first, window.last)
        lengths = self.lengths(drawn)
        seed = int(key_of(self._seed, self.number, _BATCHING, window.number))
        is_last = window.last >= self.num_sequences and not self.ends_in_window
        if stage.batching == FLAT and stage.asked.num_segments == 2:
            room = window.rows * stage.max_seq_length
            plan = batch_in_order(lengths, room, stage.max_seq_length, is_last=is_last)
            return Planned(of_source, drawn, keys, lengths, plan, keys.size - plan.records.size)
        if self.is_packed:
            cuts = stage.asked.num_segments == 1
            form = RowForm(stage.max_seq_length, window.rows, stage.num_special, cuts)
            packed = pack_window(lengths, form, seed, is_last=is_last)
            of_source, drawn, keys = take_packed(packed, of_source, drawn, keys)
            left = lengths.size - packed.num_used
            return Planned(of_source, drawn, keys, self.lengths(drawn), packed.plan, left)
        config = PlanConfig(
            batching=stage.batching,
            batch_size=window.rows,
            max_seq_length=stage.max_seq_length,
            pool_batches=stage.pool_batches,
            width=self.widths or WIDTH_OF_BATCH,
            shuffle=stage.batching != PLAIN,
            seed=seed,
        )
        return Planned(of_source, drawn, keys, lengths, make_plan(lengths, config).epoch(0))
