"""Find the steps of a run that read some tokens of a store, without the other steps.

    token of a store -> sequence of an epoch -> its place there -> of its stage -> window -> batch

All of it is arithmetic, see `store_source` and `dealing`, but for packed rows: their batches are
counted from the beginning of their stage.
"""

import bisect
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.splitmix import bits_of
from bert_data.recipes.recipe_run import Place, Run
from bert_data.recipes.sequences.cutting import new_ranges
from bert_data.recipes.sequences.electra_segments import ElectraSource
from bert_data.recipes.sequences.permutation import ROUNDS
from bert_data.recipes.sequences.store_source import BLOCKS, DrawnSequences, StoreSource
from bert_data.recipes.stage_run import Planned, StageRun, Window

_ALL = 2**64 - 1


class Exposure(NamedTuple):
    """Tokens of a store that a row of a batch holds.

    Attributes:
      row: among all hosts' rows of the batch.
      columns: where they are in the row; with t5_spans nothing, as spans of it are left out.
      segment: "A" or "B".
      tokens: of the source, see `Opened`.
    """

    step: int
    stage: int
    row: int
    columns: range
    segment: str
    tokens: range


def find_tokens(run: Run, name: str, tokens: range) -> Iterator[Exposure]:
    """Yield what a run reads of some tokens of a source, by step; steps it skips are left out."""
    for found in _find(run, name, tokens):
        if not any(first <= found.step <= last for first, last in run.recipe.skip):
            yield found


def refuse_electra(stage: StageRun) -> None:
    """Refuse a stage whose segments are not stretches of tokens."""
    if any(isinstance(source, ElectraSource) for source in stage.sources):
        raise ValueError(
            f"stage {stage.number + 1} has ELECTRA's segments, whose sentences are put in another"
            " order; they cannot be traced yet"
        )


def _find(run: Run, name: str, tokens: range) -> Iterator[Exposure]:
    before = 0
    for stage in run.stages:
        refuse_electra(stage)
        places = ((n, each) for n, each in enumerate(stage.sources) if each.opened.name == name)
        number, source = next(places, (-1, None))
        if stage.num_batches is not None and source is None:
            before += stage.num_batches
            continue
        if stage.is_packed:
            first = Place(before, stage.first_window, 0, before)
            stop = stage.first_window + stage.num_windows
            for window, planned, place in run.planned(first, stop):
                yield from _exposures(stage, window, planned, place.batch, number, tokens)
                before = place.batch + planned.plan.num_batches
            continue
        assert source is not None and stage.num_batches is not None
        for of_stage in sorted(set(_windows(stage, number, source, tokens))):
            window = stage.window(of_stage)
            first_batch = before + stage.batches_before(of_stage)
            planned = stage.planned(window)
            yield from _exposures(stage, window, planned, first_batch, number, tokens)
        before += stage.num_batches


def _windows(stage: StageRun, number: int, source: StoreSource, tokens: range) -> Iterator[int]:
    """Yield the windows of a stage that have sequences with some tokens of a source."""
    taken = stage.dealer.counts(stage.num_sequences)[number]
    start = stage.before[number]
    size = source.num_sequences
    for epoch in range(start // size, -(-(start + taken) // size)):
        for place in _places(source, epoch, tokens):
            own = epoch * size + place - start
            if 0 <= own < taken:
                windows, sequence = range(stage.num_windows), _dealt(stage, number, own)
                yield bisect.bisect(windows, sequence, key=lambda n: stage.window(n).first) - 1


def _dealt(stage: StageRun, number: int, own: int) -> int:
    """Return the sequence of a stage that is one of a source, by its number there."""
    sequences = range(stage.num_sequences)
    return bisect.bisect_left(sequences, own + 1, key=lambda n: stage.dealer.counts(n + 1)[number])


def _places(source: StoreSource, epoch: int, tokens: range) -> Iterator[int]:
    """Yield the places in an epoch of the sequences that have some tokens of a source."""
    for window in sorted(set(_source_windows(source, epoch, tokens))):
        first, _ = source.bounds(window)
        drawn = source.window(epoch, window)
        yield from (first + np.flatnonzero(_overlaps(drawn, tokens))).tolist()


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


def _overlaps(drawn: DrawnSequences, tokens: range) -> NDArray[np.bool_]:
    return _overlap(drawn.a_begins, drawn.a_lengths, tokens) | _overlap(
        drawn.b_begins, drawn.b_lengths, tokens
    )


def _overlap(
    begins: NDArray[np.int64], lengths: NDArray[np.int32], tokens: range
) -> NDArray[np.bool_]:
    return (lengths > 0) & (begins < tokens.stop) & (begins + lengths > tokens.start)


def _exposures(
    stage: StageRun, window: Window, planned: Planned, first_batch: int, number: int, tokens: range
) -> Iterator[Exposure]:
    """Yield what the batches of a window hold of some tokens of a source."""
    plan, drawn = planned.plan, planned.drawn
    is_own = (planned.of_source == number) & _overlaps(drawn, tokens)
    places = np.flatnonzero(is_own[plan.records])
    row_splits = plan.row_splits
    for place in places.tolist():
        row = place if row_splits is None else bisect.bisect_right(row_splits, place) - 1
        batch = bisect.bisect_right(plan.batch_splits, row) - 1
        begin = place if row_splits is None else int(row_splits[row])
        before = int(planned.lengths[plan.records[begin:place]].sum())
        record = int(plan.records[place])
        has_marks = int(stage.stage.num_special > 1)
        for segment, start, length, shift in (
            ("A", int(drawn.a_begins[record]), int(drawn.a_lengths[record]), has_marks),
            ("B", int(drawn.b_begins[record]), int(drawn.b_lengths[record]), 2),
        ):
            own = range(max(start, tokens.start), min(start + length, tokens.stop))
            if not own:
                continue
            column = before + shift + own.start - start
            if segment == "B":
                column += int(drawn.a_lengths[record])
            columns = range(column, column + len(own))
            if stage.span_rule is not None:
                columns = range(0)
            yield Exposure(
                first_batch + batch,
                stage.number,
                row - int(plan.batch_splits[batch]),
                columns,
                segment,
                own,
            )
