"""ELECTRA's segments: sentences of a document until a target is reached, divided between A and B.

    tokens of sentences   9 8 7 3 5 | 6 ...     the fewest that reach the target, here 30 tokens
    A                     9     3               up to half of them, (30 - 3) // 2
    B                       8 7   5             what would take A beyond that; at the first such
                                                sentence, a coin says whether A takes it yet

The target is the length of a sequence, for one in 20 any from 5 on; one in 10 is a single segment.
What is longer than a sequence is lost, A having its tokens first. Targets depend on a sequence's
number alone, so an epoch has the same cuts as any other, and only divides sequences anew: their
number is known, and every 128th can be listed. As later sentences may go to A yet, segments are
not ranges: what A takes behind the beginning of B is listed for each, see `list_late`.

Source: Clark et al., "ELECTRA: Pre-training Text Encoders as Discriminators Rather Than Generators"
(ICLR 2020); google-research/electra, build_pretraining_dataset.py.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.objectives.objective import Objective
from bert_data.reader.splitmix import draw_below, draw_unit, next_bits
from bert_data.recipes.sequences.cutting import EVERY, SentenceArrays, TokenRanges
from bert_data.recipes.sequences.store_source import (
    LENGTHS,
    SPLITS,
    DrawnSequences,
    StoreSource,
    sentence_arrays,
)
from bert_data.tokens.store import MAX_LENGTH, TokenStore

SHORT, LEAST_TARGET, SINGLE = 0.05, 5, 0.1
UNLIMITED = 100_000  # tokens of A in a single segment
_SPECIAL = 3


class Divided(NamedTuple):
    """Sequences, divided.

    Attributes:
      a_lengths: int32[sequences], tokens of A.
      fronts: int32[sequences], tokens before B begins, all of A; A takes more behind them, or fewer
        if they are too many.
      b_lengths: int32[sequences], tokens of B.
    """

    a_lengths: NDArray[np.int32]
    fronts: NDArray[np.int32]
    b_lengths: NDArray[np.int32]


class LateParts(NamedTuple):
    """Sentences behind the beginning of B, where A takes some of them.

    Attributes:
      sequences: int64[any], of which each is.
      begins: int64[any], its first token.
      lengths: int32[any], its tokens.
      places: int64[any], of its first token in the sequence, A and then B.
    """

    sequences: NDArray[np.int64]
    begins: NDArray[np.int64]
    lengths: NDArray[np.int32]
    places: NDArray[np.int64]


@inner
def _target(key: np.uint64, number: Scalar, room: Scalar) -> Scalar:
    _, own = next_bits(key + np.uint64(number))
    own, drawn = draw_unit(own)
    if drawn >= SHORT:
        return room + _SPECIAL
    own, more = draw_below(own, room + _SPECIAL - LEAST_TARGET + 1)
    return LEAST_TARGET + more


@kernel
def index_targets(
    sentences: SentenceArrays,
    room: Scalar,
    key: np.uint64,
    before: Scalar,
    entries: NDArray[np.int64],
) -> tuple[Scalar, Scalar, float]:
    """Find every 128th sequence of a store.

    Args:
      room: most tokens of a pair, without special ones.
      key: of targets; those of a sequence also depend on its number in all stores of a source, of
        which `before` come before this one.
      entries: int64[any, 2], filled: the document and sentence that the sequence begins with;
        1 + (documents + tokens / 5) / EVERY are enough.

    Returns:
      The number of sequences, of entries, and of tokens that fit, as expected: a single segment
      has one special token less.
    """
    number = num_entries = np.int64(0)
    num_kept = 0.0
    for document in range(sentences.documents.size - 1):
        num_tokens, target = np.int64(0), _target(key, before + number, room)
        for sentence in range(sentences.documents[document], sentences.documents[document + 1]):
            if num_tokens == 0 and number == num_entries * EVERY:
                entries[num_entries, 0], entries[num_entries, 1] = document, sentence
            num_tokens += sentences.lengths[sentence]
            is_last = sentence + 1 == sentences.documents[document + 1]
            if num_tokens > 0 and (is_last or num_tokens >= target):
                num_entries += np.int64(number == num_entries * EVERY)
                single = 1.0 if num_tokens == sentences.lengths[sentence] else SINGLE
                num_kept += min(np.float64(num_tokens), room + single)
                number += 1
                num_tokens, target = np.int64(0), _target(key, before + number, room)
    return number, num_entries, num_kept


@kernel
def cut_at_targets(
    sentences: SentenceArrays,
    entries: NDArray[np.int64],
    room: Scalar,
    key: np.uint64,
    before: Scalar,
    numbers: NDArray[np.int64],
    begins: NDArray[np.int64],
    lengths: NDArray[np.int32],
) -> None:
    """Cut sequences, given by their numbers in the store; sequences side by side are cut soonest.

    Args:
      room, key, before, entries: see `index_targets`.
      begins: int64[sequences], filled: the first token of each.
      lengths: int32[sequences], filled: its tokens, those that are lost included.
    """
    number = np.int64(-1)
    document = sentence = np.int64(0)
    for i in range(numbers.size):
        if number < 0 or not number <= numbers[i] < number + EVERY:
            entry = numbers[i] // EVERY
            number, document, sentence = entry * EVERY, entries[entry, 0], entries[entry, 1]
        while number <= numbers[i]:
            target, num_tokens = _target(key, before + number, room), np.int64(0)
            while num_tokens == 0 or (
                num_tokens < target and sentence < sentences.documents[document + 1]
            ):
                while sentence == sentences.documents[document + 1]:
                    document += 1
                if num_tokens == 0:
                    begins[i] = sentences.offsets[sentence] // sentences.id_bytes
                num_tokens += sentences.lengths[sentence]
                sentence += 1
            lengths[i] = min(num_tokens, np.int64(MAX_LENGTH))
            number += 1


@inner
def _find_sentence(sentences: SentenceArrays, token: Scalar) -> Scalar:
    """Return the sentence that begins with a token."""
    low, high = np.int64(0), np.int64(sentences.lengths.size)
    while high - low > 1:
        middle = (low + high) // 2
        if sentences.offsets[middle] <= token * sentences.id_bytes:
            low = middle
        else:
            high = middle
    return low


@kernel
def divide(
    sentences: SentenceArrays,
    room: Scalar,
    keys: tuple[np.uint64, np.uint64],
    numbers: NDArray[np.int64],
    begins: NDArray[np.int64],
    lengths: NDArray[np.int32],
    divided: Divided,
) -> None:
    """Divide sequences between A and B, and remove the tokens that are too many.

    Args:
      keys: of targets, and of what an epoch draws.
      numbers: int64[sequences], in all stores of the source.
      begins, lengths: see `cut_at_targets`.
      divided: filled.
    """
    for i in range(numbers.size):
        _, key = next_bits(keys[1] + np.uint64(numbers[i]))
        key, drawn = draw_unit(key)
        half = np.int64(UNLIMITED)
        if drawn >= SINGLE:
            half = (_target(keys[0], numbers[i], room) - _SPECIAL) // 2
        sentence = _find_sentence(sentences, begins[i])
        a = b = front = np.int64(0)
        while a + b < lengths[i]:
            length = np.int64(sentences.lengths[sentence])
            is_of_a = a == 0 or a + length < half
            if not is_of_a and b == 0 and a < half:
                key, drawn = draw_unit(key)
                is_of_a = drawn < 0.5
            if is_of_a:
                a += length
            else:
                b += length
            if b == 0:
                front = a
            sentence += 1
        a = min(a, room + 1)
        divided.a_lengths[i], divided.fronts[i] = a, front
        divided.b_lengths[i] = min(b, max(np.int64(0), room - a))


@kernel
def list_late(
    sentences: SentenceArrays,
    room: Scalar,
    key: np.uint64,
    numbers: NDArray[np.int64],
    begins: NDArray[np.int64],
    divided: Divided,
    parts: LateParts,
) -> Scalar:
    """List the sentences behind the beginning of B.

    Args:
      numbers: int64[sequences], in all stores of the source; A has more than `fronts` in each.
      begins: int64[sequences], the first token of B.
      parts: filled; as many as there are tokens behind `fronts` are enough.

    Returns:
      The number of parts.
    """
    count = np.int64(0)
    for i in range(numbers.size):
        half = (_target(key, numbers[i], room) - _SPECIAL) // 2
        a_length, b_length = np.int64(divided.a_lengths[i]), np.int64(divided.b_lengths[i])
        a, b, begin = np.int64(divided.fronts[i]), np.int64(0), begins[i]
        sentence = _find_sentence(sentences, begin)
        while a < a_length or b < b_length:
            length = np.int64(sentences.lengths[sentence])
            is_of_a = a + length < half
            size = length if is_of_a else min(length, b_length - b)
            if size > 0:
                parts.sequences[count], parts.begins[count] = i, begin
                parts.lengths[count] = size
                parts.places[count] = a if is_of_a else a_length + b
                count += 1
            if is_of_a:
                a += size
            else:
                b += size
            begin += length
            sentence += 1
    return count


class ElectraSource(StoreSource):
    """The sequences of stores that are cut and divided as ELECTRA's."""

    _num_kept = 0.0

    @property
    def tokens_a_sequence(self) -> float:
        """The mean length of sequences, without special tokens and what is lost."""
        return self._num_kept / self.num_sequences

    @property
    def _targets_key(self) -> np.uint64:
        return self.key(0, LENGTHS)

    def _count(self, store: TokenStore, before: int) -> int:
        most = store.num_documents + store.ids.size // LEAST_TARGET
        entries = np.empty((1 + most // EVERY, 2), np.int64)
        count, num_entries, num_kept = index_targets(
            sentence_arrays(store), self.cut.room, self._targets_key, before, entries
        )
        self._entries.append(entries[:num_entries].copy())
        self._num_kept += num_kept
        return int(count)

    def cut_part(self, epoch: int, part: int, numbers: NDArray[np.int64], out: TokenRanges) -> None:
        """Cut sequences of one store, by their numbers there; they are those of every epoch."""
        del epoch
        cut_at_targets(
            sentence_arrays(self.opened.stores[part]), self._entries[part], self.cut.room,
            self._targets_key, int(self.splits[part]), numbers, out.begins, out.lengths,
        )  # fmt: skip

    def _pair(
        self,
        epoch: int,
        numbers: NDArray[np.int64],
        ranges: TokenRanges,
        objective: Objective,
    ) -> DrawnSequences:
        """Return ranges as segments A and B; a B may have fewer than what lies behind its begin."""
        del objective
        divided = _new_divided(numbers.size)
        keys = self._targets_key, self.key(epoch, SPLITS)
        for part, here in self._parts(ranges.begins):
            own = _new_divided(here.size)
            divide(
                sentence_arrays(self.opened.stores[part]), self.cut.room, keys, numbers[here],
                ranges.begins[here] - self.opened.splits[part], ranges.lengths[here], own,
            )  # fmt: skip
            for values, of_part in zip(divided, own, strict=True):
                values[here] = of_part
        return DrawnSequences(
            numbers, ranges.begins, divided.a_lengths, ranges.begins + divided.fronts,
            divided.b_lengths, np.zeros(numbers.size, np.int8),
        )  # fmt: skip

    def late_parts(self, drawn: DrawnSequences) -> LateParts:
        """Return what lies behind the beginning of B, of sequences of which A has some of that."""
        fronts = (drawn.b_begins - drawn.a_begins).astype(np.int32)
        late = np.flatnonzero((drawn.a_lengths > fronts) & (drawn.b_lengths > 0))
        found = [_new_late(0)]
        for part, of_late in self._parts(drawn.a_begins[late]):
            here = late[of_late]
            own = Divided(drawn.a_lengths[here], fronts[here], drawn.b_lengths[here])
            parts = _new_late(int((own.a_lengths + own.b_lengths - own.fronts).sum()))
            count = list_late(
                sentence_arrays(self.opened.stores[part]), self.cut.room, self._targets_key,
                drawn.numbers[here], drawn.b_begins[here] - self.opened.splits[part], own, parts,
            )  # fmt: skip
            parts.sequences[:count] = here[parts.sequences[:count]]
            parts.begins[:count] += self.opened.splits[part]
            columns: Any = (values[:count] for values in parts)
            found.append(LateParts(*columns))
        columns = zip(*found, strict=True)
        return LateParts(*map(np.concatenate, columns))

    def _parts(self, begins: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield each store, and which of the tokens are in it."""
        parts = np.searchsorted(self.opened.splits, begins, side="right") - 1
        for part in np.unique(parts).tolist():
            yield part, np.flatnonzero(parts == part)


def _new_divided(size: int) -> Divided:
    return Divided(np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32))


def _new_late(size: int) -> LateParts:
    return LateParts(
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int32),
        np.empty(size, np.int64),
    )
