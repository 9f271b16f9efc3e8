"""Find the steps of a run that read some tokens of a store, without the other steps.

    token of a store -> sequence of an epoch -> its place there -> of its stage -> window -> batch

All of it is arithmetic, see `store_source` and `dealing`, but for packed rows: their batches are
counted from the beginning of their stage. Records that are made by a recipe are the sequences of a
stage in the order of its batches.
"""

import bisect
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.splitmix import bits_of
from bert_data.recipes.recipe_run import Place, Run
from bert_data.recipes.sequences.cutting import new_ranges
from bert_data.recipes.sequences.electra_segments import ElectraSource
from bert_data.recipes.sequences.permutation import ROUNDS
from bert_data.recipes.sequences.store_source import BLOCKS, DrawnSequences, StoreSource
from bert_data.recipes.stage_run import Planned, StageRun

_ALL = 2**64 - 1


class Exposure(NamedTuple):
    """Tokens of a store that a row of a batch holds.

    Attributes:
      row: among all hosts' rows of the batch.
      columns: where they are in the row; with t5_spans nothing, as spans of it are left out.
      segment: "A" or "B".
      tokens: of the source, see `Opened`.
      sequence: in the order of the stage's batches.
    """

    step: int
    stage: int
    row: int
    columns: range
    segment: str
    tokens: range
    sequence: int


class Stretches(NamedTuple):
    """Stretches of a source's tokens that sequences hold.

    Attributes:
      sequences: int64[any], of which each is.
      begins, lengths: int64[any], its tokens.
      is_b: bool[any], whether it is of segment B.
      places: int64[any], of its first token in the sequence, special tokens left out.
    """

    sequences: NDArray[np.int64]
    begins: NDArray[np.int64]
    lengths: NDArray[np.int64]
    is_b: NDArray[np.bool_]
    places: NDArray[np.int64]


def stretches(source: StoreSource, drawn: DrawnSequences) -> Stretches:
    """Return what sequences of a source hold, A before B; ELECTRA's have several of each."""
    numbers = np.arange(drawn.numbers.size)
    a_lengths, b_lengths = (np.array(n, np.int64) for n in (drawn.a_lengths, drawn.b_lengths))
    places_of_b = a_lengths.copy()
    parts: list[tuple[NDArray[Any], ...]] = []
    if isinstance(source, ElectraSource):
        late = source.late_parts(drawn)
        a_lengths[late.sequences] = (drawn.b_begins - drawn.a_begins)[late.sequences]
        b_lengths[late.sequences] = 0
        is_b = late.places >= places_of_b[late.sequences]
        parts.append((late.sequences, late.begins, late.lengths, is_b, late.places))
    nowhere, none = np.zeros(numbers.size, np.int64), np.zeros(numbers.size, np.bool_)
    parts.append((numbers, drawn.a_begins, a_lengths, none, nowhere))
    parts.append((numbers, drawn.b_begins, b_lengths, ~none, places_of_b))
    columns: Any = map(np.concatenate, zip(*parts, strict=True))
    found = Stretches(*columns)
    order = np.lexsort((found.places, found.sequences))
    order = order[found.lengths[order] > 0]
    columns = (column[order] for column in found)
    return Stretches(*columns)


class _Wanted(NamedTuple):
    """Ranges of tokens, ascending and apart."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    def hits(self, found: Stretches) -> NDArray[np.int64]:
        """Return the stretches that have some of the tokens."""
        after = np.searchsorted(self.stops, found.begins, side="right")
        starts = np.append(self.starts, _NEVER)[after]
        return np.flatnonzero(starts < found.begins + found.lengths)

    def within(self, begin: int, length: int) -> Iterator[range]:
        """Yield the tokens that a stretch has."""
        at = int(np.searchsorted(self.stops, begin, side="right"))
        while at < self.starts.size and self.starts[at] < begin + length:
            yield range(max(begin, int(self.starts[at])), min(begin + length, int(self.stops[at])))
            at += 1


_NEVER = np.iinfo(np.int64).max


def find_tokens(run: Run, name: str, wanted: Sequence[range]) -> Iterator[Exposure]:
    """Yield what a run reads of some tokens of a source, by stage; steps it skips are left out.

    Args:
      wanted: tokens of the source, ascending and apart.
    """
    bounds = ([each.start for each in wanted], [each.stop for each in wanted])
    for found in _find(run, name, _Wanted(*(np.array(each, np.int64) for each in bounds))):
        if not run.recipe.skips(found.step):
            yield found


def _find(run: Run, name: str, wanted: _Wanted) -> Iterator[Exposure]:
    before = 0
    for stage in run.stages:
        places = ((n, each) for n, each in enumerate(stage.sources) if each.opened.name == name)
        number, source = next(places, (-1, None))
        if stage.num_batches is not None and source is None:
            before += stage.num_batches
            continue
        if stage.is_packed:
            for planned, first_batch, first in planned_windows(run, stage, begin=before):
                yield from _exposures(stage, planned, first_batch, first, number, wanted)
                before = first_batch + planned.plan.num_batches
            continue
        assert source is not None and stage.num_batches is not None
        for of_stage in sorted(set(_windows(stage, number, source, wanted))):
            window = stage.window(of_stage)
            first_batch = before + stage.batches_before(of_stage)
            planned = stage.planned(window)
            yield from _exposures(stage, planned, first_batch, window.first, number, wanted)
        before += stage.num_batches


def planned_windows(
    run: Run, stage: StageRun, window: int = 0, *, begin: int = 0
) -> Iterator[tuple[Planned, int, int]]:
    """Yield windows of a stage from one on, each with its first batch and sequence.

    Args:
      window: of the stage; 0 if its rows are packed.
      begin: the first batch of the stage.
    """
    sequence, batch = 0, begin
    if not stage.is_packed:
        sequence, batch = stage.window(window).first, begin + stage.batches_before(window)
    start = Place(batch, stage.first_window + window, 0, begin)
    for _, planned, place in run.planned(start, stage.first_window + stage.num_windows):
        yield planned, place.batch, sequence
        sequence += planned.plan.records.size


def skipped_sequences(run: Run, number: int) -> list[tuple[int, int]]:
    """Return the first and the number of a stage's sequences in each batch that a recipe skips."""
    if not run.recipe.skip:
        return []
    begin, stage = 0, run.stages[number]
    for each in run.stages[:number]:
        if each.num_batches is not None:
            begin += each.num_batches
        else:
            for planned, batch, _ in planned_windows(run, each, begin=begin):
                begin = batch + planned.plan.num_batches
    found: dict[int, int] = {}
    for first, last in run.recipe.skip:
        if last < begin or (stage.num_batches is not None and first >= begin + stage.num_batches):
            continue
        window = 0 if stage.is_packed else stage.window_with(max(first - begin, 0))
        for planned, batch, sequence in planned_windows(run, stage, window, begin=begin):
            if batch > last:
                break
            splits = planned.plan.batch_splits
            if planned.plan.row_splits is not None:
                splits = planned.plan.row_splits[splits]
            for n in range(max(first - batch, 0), min(last + 1 - batch, splits.size - 1)):
                found[sequence + int(splits[n])] = int(splits[n + 1] - splits[n])
    return sorted(found.items())


def sequence_of_record(record: int, skipped: Sequence[tuple[int, int]]) -> int:
    """Return the sequence of a stage that a record is, see `skipped_sequences`."""
    for first, count in skipped:
        record += count * (first <= record)
    return record


def record_of_sequence(sequence: int, skipped: Sequence[tuple[int, int]]) -> int:
    """Return the record that a sequence of a stage is, which is not skipped."""
    return sequence - sum(count for first, count in skipped if first < sequence)


def find_sequence(run: Run, number: int, sequence: int) -> tuple[Planned, int]:
    """Return a window of a stage, and which of its planned sequences one of the stage is."""
    stage, window = run.stages[number], 0
    if not stage.is_packed:
        windows = range(stage.num_windows)
        window = bisect.bisect(windows, sequence, key=lambda n: stage.window(n).first) - 1
    for planned, _, first in planned_windows(run, stage, window):
        if sequence < first + planned.plan.records.size:
            return planned, sequence - first
    raise AssertionError(sequence)


def _windows(stage: StageRun, number: int, source: StoreSource, wanted: _Wanted) -> Iterator[int]:
    """Yield the windows of a stage that have sequences with some tokens of a source."""
    taken = stage.dealer.counts(stage.num_sequences)[number]
    start = stage.before[number]
    size = source.num_sequences
    for epoch in range(start // size, -(-(start + taken) // size)):
        for place in _places(source, epoch, wanted):
            own = epoch * size + place - start
            if 0 <= own < taken:
                windows, sequence = range(stage.num_windows), _dealt(stage, number, own)
                yield bisect.bisect(windows, sequence, key=lambda n: stage.window(n).first) - 1


def _dealt(stage: StageRun, number: int, own: int) -> int:
    """Return the sequence of a stage that is one of a source, by its number there."""
    sequences = range(stage.num_sequences)
    return bisect.bisect_left(sequences, own + 1, key=lambda n: stage.dealer.counts(n + 1)[number])


def _places(source: StoreSource, epoch: int, wanted: _Wanted) -> Iterator[int]:
    """Yield the places in an epoch of the sequences that have some tokens of a source."""
    windows = {
        window
        for start, stop in zip(*map(np.ndarray.tolist, wanted), strict=True)
        for window in _source_windows(source, epoch, range(start, stop))
    }
    for window in sorted(windows):
        first, _ = source.bounds(window)
        found = stretches(source, source.window(epoch, window))
        yield from (first + np.unique(found.sequences[wanted.hits(found)])).tolist()


def _source_windows(source: StoreSource, epoch: int, tokens: range) -> Iterator[int]:
    """Yield the windows of an epoch whose blocks have some tokens, which they may lend."""
    num_whole = source.num_sequences // source.block
    key = int(source.key(epoch, BLOCKS))
    starts = source.opened.splits
    for part, (start, stop) in enumerate(itertools.pairwise(starts.tolist())):
        own = range(max(tokens.start, start) - start, min(tokens.stop, stop) - start)
        if not own:
            continue
        first = _sequence_with(source, epoch, part, own.start)
        last = _sequence_with(source, epoch, part, own.stop - 1)
        for block in range(first // source.block, last // source.block + 1):
            place = find_permuted(block, num_whole, key) if block < num_whole else block
            yield source.window_of(place * source.block)


def _sequence_with(source: StoreSource, epoch: int, part: int, token: int) -> int:
    """Return the sequence that has a token of a store of a source, or the next one's."""

    def end(number: int) -> int:
        ranges = new_ranges(1)
        source.cut_part(epoch, part, np.array([number]), ranges)
        return int(ranges.begins[0]) + int(ranges.lengths[0])

    first, stop = source.splits[part : part + 2].tolist()
    return first + bisect.bisect_right(range(stop - first - 1), token, key=end)


def find_permuted(place: int, size: int, key: int) -> int:
    """Return the number whose place is given, see `permutation.permuted`."""
    half = next(half for half in itertools.count(1) if 4**half >= size)
    rounds = []
    for _ in range(ROUNDS):
        key, of_round = bits_of(key)
        rounds.append(of_round)
    while True:
        left, right = divmod(place, 2**half)
        for of_round in reversed(rounds):
            _, drawn = bits_of((of_round + left) & _ALL)
            left, right = right ^ (drawn >> 32) % 2**half, left
        place = left * 2**half + right
        if place < size:
            return place


def _exposures(
    stage: StageRun,
    planned: Planned,
    first_batch: int,
    first_sequence: int,
    number: int,
    wanted: _Wanted,
) -> Iterator[Exposure]:
    """Yield what the batches of a window hold of some tokens of a source."""
    plan, lengths = planned.plan, planned.lengths
    own = np.flatnonzero(planned.of_source == number)
    found = stretches(stage.sources[number], planned.drawn.take(own))
    hits = wanted.hits(found)
    places = np.full(lengths.size, -1)
    places[plan.records] = np.arange(plan.records.size)
    places = places[own[found.sequences[hits]]]
    has_marks = int(stage.stage.num_special > 1)
    for place, hit in sorted(zip(places.tolist(), hits.tolist(), strict=True)):
        if place < 0:  # of no batch: the stage ends before
            continue
        row, column = place, has_marks
        if plan.row_splits is not None:
            row = bisect.bisect_right(plan.row_splits, place) - 1
            begin = int(plan.row_splits[row])
            column += int(lengths[plan.records[begin:place]].sum())
        batch = bisect.bisect_right(plan.batch_splits, row) - 1
        begin, is_b = int(found.begins[hit]), bool(found.is_b[hit])
        for tokens in wanted.within(begin, int(found.lengths[hit])):
            at = column + int(found.places[hit]) + is_b + tokens.start - begin
            yield Exposure(
                first_batch + batch,
                stage.number,
                row - int(plan.batch_splits[batch]),
                range(at, at + len(tokens)) if stage.span_rule is None else range(0),
                "AB"[is_b],
                tokens,
                first_sequence + place,
            )
