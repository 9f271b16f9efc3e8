"""The sequences of a recipe's store, in the order of its epochs.

    numbers in the store    0 1 2 3 | 4 5 6 7 | 8 9         blocks of 4, the last one shorter
    blocks of an epoch      4 5 6 7 | 0 1 2 3 | 8 9         permuted by a key, but for the last one
    a window of two         6 1 4 0 2 7 3 5                 shuffled

So reading is local, in blocks, and takes the memory of a window. The n-th sequence of a source is
found at once, however large n is: an epoch has a fixed number of sequences, see `cutting`.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.splitmix import key_of, next_below, next_bits, next_unit, shuffled
from bert_data.recipes.sequences.cutting import (
    ALONE,
    FROM_ELSEWHERE,
    IN_ORDER,
    TokenRanges,
    cut_ranges,
    cut_scratch,
    new_ranges,
)
from bert_data.recipes.sequences.opened_stores import Opened, OpenedPart
from bert_data.recipes.sequences.permutation import permute_range
from bert_data.recipes.sequences.sequence_index import index_store, kept_index, sentence_arrays
from bert_data.records.objectives import Objective

# What keys are for.
BLOCKS, WINDOW, CUTS, SPLITS, LENDERS, TRUNCATION, MASKS, LENGTHS = range(16, 24)


class DrawnSequences(NamedTuple):
    """Sequences of an epoch, as they are drawn; B is empty if there is none.

    Attributes:
      numbers: int64[sequences], in the source.
      a_begins, b_begins: int64[sequences], first tokens, in all stores of the source.
      a_lengths, b_lengths: int32[sequences].
      labels: int8[sequences], whether B does not follow A.
    """

    numbers: NDArray[np.int64]
    a_begins: NDArray[np.int64]
    a_lengths: NDArray[np.int32]
    b_begins: NDArray[np.int64]
    b_lengths: NDArray[np.int32]
    labels: NDArray[np.int8]

    def take(self, places: NDArray[np.integer] | slice) -> "DrawnSequences":
        """Return some of them."""
        columns: Any = (values[places] for values in self)
        return DrawnSequences(*columns)


def concatenate(parts: Sequence[DrawnSequences]) -> DrawnSequences:
    """Return sequences one after the other."""
    if len(parts) == 1:
        return parts[0]
    columns: Any = zip(*parts, strict=True)
    return DrawnSequences(*map(np.concatenate, columns))


@dataclasses.dataclass(frozen=True)
class CutRule:
    """The rule by which a stage cuts stores; equal ones go on where others ended.

    Attributes:
      room: most tokens of a sequence without special ones.
      objective: that draws segments; None: the stream of tokens.
    """

    room: int
    objective: Objective | None


class StoreSource:
    """The sequences of stores that are cut in one way."""

    def __init__(
        self,
        opened: Opened,
        cut: CutRule,
        seed: int,
        block: int,
        window: int,
        cache_dir: str | None = None,
    ) -> None:
        """Index the stores, or take what is kept; a stream is cut by its size alone."""
        self.opened, self.cut, self._seed, self.block = opened, cut, seed, block
        self._scratch = cut_scratch(cut.room if cut.objective else 1)
        self._entries: list[NDArray[np.int64]] = []
        with opened.named():
            counts = [self._count(part, cache_dir) for part in opened.parts]
        self.splits = np.cumsum([0, *counts])
        self.num_sequences = int(self.splits[-1])
        self._num_blocks = -(-self.num_sequences // block)
        self._num_windows = max(1, round(self._num_blocks * block / window))
        self._held: tuple[int, int, DrawnSequences] | None = None
        has_lenders = cut.objective is not None and cut.objective.label is not None
        if has_lenders and self.num_sequences < 2:
            with opened.named():
                raise ValueError(
                    f"it has a single sequence of {cut.room} tokens; pairs need two or more"
                )

    @property
    def tokens_a_sequence(self) -> float:
        """The mean length of sequences, without special tokens."""
        return self.opened.num_tokens / self.num_sequences

    def _count(self, part: OpenedPart, cache_dir: str | None) -> int:
        """Index a store, and return its number of sequences."""
        if self.cut.objective is None:
            return stream_cuts(part.store.ids.size, self.cut.room)[0]
        check = functools.partial(self.opened.check_bounds, part)
        if cache_dir is None:
            index = index_store(part, self.cut.room, check)
        else:
            index = kept_index(part, self.cut.room, check, cache_dir)
        self._entries.append(index.entries)
        return index.num_sequences

    def take(self, start: int, stop: int) -> DrawnSequences:
        """Return sequences `start` to `stop` of all epochs, one after the other."""
        windows = self.windows(start, stop)
        return concatenate([self.window(epoch, w).take(part) for epoch, w, part in windows])

    def windows(self, start: int, stop: int) -> Iterator[tuple[int, int, slice]]:
        """Yield the windows of sequences `start` to `stop`: epoch, number, and part of it."""
        while start < stop:
            epoch, place = divmod(start, self.num_sequences)
            window = self.window_of(place)
            first, last = self.bounds(window)
            end = min(stop, start + last - place)
            yield epoch, window, slice(place - first, place - first + end - start)
            start = end

    def window_of(self, place: int) -> int:
        """Return the window that a place in an epoch is in."""
        block = place // self.block
        return ((block + 1) * self._num_windows - 1) // self._num_blocks

    def bounds(self, window: int) -> tuple[int, int]:
        """Return the places in an epoch where a window begins and ends."""
        blocks = (
            each * self._num_blocks // self._num_windows * self.block
            for each in (window, window + 1)
        )
        first, last = (min(block, self.num_sequences) for block in blocks)
        return first, last

    def window(self, epoch: int, window: int) -> DrawnSequences:
        """Return the sequences of a window, and keep them until another one is needed."""
        if self._held is None or self._held[:2] != (epoch, window):
            self._held = epoch, window, self._draw_window(epoch, window)
        return self._held[2]

    def key(self, epoch: int, *purpose: int) -> np.uint64:
        """Return the key of a purpose in an epoch."""
        return key_of(self._seed, self.opened.key, epoch, *purpose)

    def masks_keys(self, start: int, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return uint64[sequences], the keys that the masks of sequences are drawn from.

        Args:
          start: the place of the first one, see `take`.
        """
        keys = numbers.astype(np.uint64)
        end, at = start + numbers.size, start
        while at < end:
            epoch = at // self.num_sequences
            last = min(end, (epoch + 1) * self.num_sequences)
            keys[at - start : last - start] += self.key(epoch, MASKS)
            at = last
        return keys

    def cut_window(self, epoch: int, window: int) -> tuple[NDArray[np.int64], TokenRanges]:
        """Return the numbers of the sequences of a window, block by block, and what they are."""
        first, last = self.bounds(window)
        blocks = np.empty(-(-last // self.block) - first // self.block, np.int64)
        num_whole = self.num_sequences // self.block
        whole = blocks[: num_whole - first // self.block]
        permute_range(first // self.block, num_whole, self.key(epoch, BLOCKS), whole)
        blocks[whole.size :] = num_whole
        return self._cut_blocks(epoch, blocks)

    def _draw_window(self, epoch: int, window: int) -> DrawnSequences:
        numbers, ranges = self.cut_window(epoch, window)
        order = shuffled(numbers.size, self.key(epoch, WINDOW, window))
        objective = self.cut.objective
        if objective is not None and objective.num_segments > 1:
            return self._pair(epoch, numbers, ranges, objective).take(order)
        none: Any = (  # they take no memory
            np.broadcast_to(np.zeros(1, dtype), order.shape)
            for dtype in (np.int64, np.int32, np.int8)
        )
        return DrawnSequences(numbers[order], ranges.begins[order], ranges.lengths[order], *none)

    def _cut_blocks(
        self, epoch: int, blocks: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], TokenRanges]:
        """Return the numbers of the sequences in blocks, and what they are."""
        firsts = blocks * self.block
        sizes = np.minimum(self.block, self.num_sequences - firsts)
        numbers = np.arange(sizes.sum()) + (firsts - np.cumsum(sizes) + sizes).repeat(sizes)
        ranges = new_ranges(numbers.size)
        if len(self.opened.stores) == 1:
            self.cut_part(epoch, 0, numbers, ranges)
            return numbers, ranges
        parts = np.searchsorted(self.splits, numbers, "right") - 1
        for part in np.unique(parts).tolist():
            here = np.flatnonzero(parts == part)
            own = new_ranges(here.size)
            self.cut_part(epoch, part, numbers[here] - self.splits[part], own)
            own.begins[:] += self.opened.splits[part]
            columns: Any = zip(ranges, own, strict=True)
            for values, of_part in columns:
                values[here] = of_part
        return numbers, ranges

    def cut_part(self, epoch: int, part: int, numbers: NDArray[np.int64], out: TokenRanges) -> None:
        """Cut sequences of one store, by their numbers there."""
        store, cut = self.opened.stores[part], self.cut
        if cut.objective is None:
            self._cut_stream(epoch, part, numbers, out)
            return
        starts = np.flatnonzero(np.diff(numbers, prepend=-2) != 1)
        cut_ranges(
            sentence_arrays(store), self._entries[part], cut.room, numbers[starts],
            np.append(starts, numbers.size), (self.key(epoch, CUTS), self.key(epoch, SPLITS)),
            int(self.splits[part]), cut.objective.num_segments == 2, self._scratch, out,
        )  # fmt: skip

    def _cut_stream(
        self, epoch: int, part: int, numbers: NDArray[np.int64], out: TokenRanges
    ) -> None:
        """Cut the stream of tokens: all sequences are full but the first and the last one."""
        size, room = self.opened.stores[part].ids.size, self.cut.room
        _, least, most = stream_cuts(size, room)
        shift = least + int(self.key(epoch, CUTS, part)) % (most - least + 1)
        out.begins[:] = np.maximum(numbers * room - shift, 0)
        out.lengths[:] = np.minimum((numbers + 1) * room - shift, size) - out.begins
        out.fronts[:] = out.lengths

    def _pair(
        self, epoch: int, numbers: NDArray[np.int64], ranges: TokenRanges, objective: Objective
    ) -> DrawnSequences:
        """Return ranges as segments A and B; a B from elsewhere is another sequence's."""
        begins, lengths, fronts, kinds = ranges
        b_begins, b_lengths = begins + fronts, lengths - fronts
        drawn = DrawnSequences(
            numbers, begins.copy(), fronts.copy(), b_begins.copy(), b_lengths.copy(),
            np.zeros(begins.size, np.int8),
        )  # fmt: skip
        drawn.labels[:] = kinds != IN_ORDER
        is_elsewhere = kinds == FROM_ELSEWHERE
        lenders = np.flatnonzero(kinds != ALONE)
        alone = np.flatnonzero(kinds == ALONE)
        key = self.key(epoch, LENDERS)
        if objective.swaps:
            a, b = np.array((begins, fronts)), np.array((b_begins, b_lengths))
            drawn.a_begins[:], drawn.a_lengths[:] = np.where(is_elsewhere, b, a)
            drawn.b_begins[:], drawn.b_lengths[:] = np.where(is_elsewhere, a, b)
        else:
            takers = np.flatnonzero(is_elsewhere)
            givers = np.roll(takers, -(takers.size // 2))
            if takers.size == 1:
                drawn.labels[takers] = 0
            drawn.b_begins[takers], drawn.b_lengths[takers] = b_begins[givers], b_lengths[givers]
        if alone.size and lenders.size:
            chosen = np.empty(alone.size, np.int64)
            draw_each(key, numbers[alone], lenders.size, chosen)
            lent = lenders[chosen]
            drawn.b_begins[alone], drawn.b_lengths[alone] = b_begins[lent], b_lengths[lent]
        elif alone.size:
            chosen = np.empty(alone.size, np.int64)
            draw_each(key, numbers[alone], max(1, alone.size - 1), chosen)
            lent = (chosen + (chosen >= np.arange(alone.size))) % alone.size
            drawn.b_begins[alone], drawn.b_lengths[alone] = begins[lent], fronts[lent]
        _truncate(drawn, self.cut.room, self.key(epoch, TRUNCATION))
        return drawn


def stream_cuts(size: int, room: int) -> tuple[int, int, int]:
    """Return how many sequences a stream of tokens is cut into, and the bounds of the cuts' shift.

    All are full but the first and the last one; of the two possible numbers, that with more shifts.
    """
    whole, rest = divmod(size, room)
    if 2 * rest >= room + 2:
        return whole + 2, room - rest + 1, room - 1
    return whole + (size > 0), int(rest == 0), min(room - rest, room - 1)


@kernel
def draw_each(
    key: np.uint64, numbers: NDArray[np.int64], limit: Scalar, drawn: NDArray[np.int64]
) -> None:
    """Draw an integer in [0, limit) for each number, by a key of its own."""
    for i in range(numbers.size):
        _, own = next_bits(key + np.uint64(numbers[i]))
        _, drawn[i] = next_below(own, limit)


@kernel
def mix_each(keys: NDArray[np.uint64]) -> None:
    """Replace each key by random bits drawn from it."""
    for i in range(keys.size):
        _, keys[i] = next_bits(keys[i])


@inner
def _coin(key: np.uint64) -> tuple[np.uint64, Scalar]:
    key, unit = next_unit(key)
    return key, np.int64(unit < 0.5)


@kernel
def _truncate(drawn: DrawnSequences, room: Scalar, key: np.uint64) -> None:
    """Remove tokens from the longer segment of each pair (a tie: B), at a random end of it."""
    for i in range(drawn.numbers.size):
        a, b = np.int64(drawn.a_lengths[i]), np.int64(drawn.b_lengths[i])
        _, own = next_bits(key + np.uint64(drawn.numbers[i]))
        while a + b > room:
            own, front = _coin(own)
            if a > b:
                a -= 1
                drawn.a_begins[i] += front
            else:
                b -= 1
                drawn.b_begins[i] += front
        drawn.a_lengths[i], drawn.b_lengths[i] = a, b
