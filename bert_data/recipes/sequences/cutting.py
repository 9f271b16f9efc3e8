"""Cut a token store into sequences: each epoch anew, and always into the same number.

    sentences of a document   5 4 6 3 7 2        room 12
    as late as possible       5 4 | 6 3 | 7 2    the fewest sequences: three
    as early as possible      5 | 4 6 | 3 7 2
    of an epoch               one of these two, or 5 4 | 6 | 3 7 2

A sequence is full sentences of one document that fit; a longer sentence is cut into pieces that
fill the room, and a rest. The latest cuts give the fewest sequences, and their number is that of
every epoch. An epoch draws each cut between the earliest place from which the rest still fits, and
the furthest that the sequence before can reach. To find any sequence soon, a document is cut in
sections of up to 32 sequences, which are always the same, and an index keeps every 128th sequence.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.splitmix import next_below, next_bits, next_unit

SECTION = 32  # sequences
EVERY = 128  # sequences between two entries of an index
IN_ORDER, FROM_ELSEWHERE, ALONE = range(3)  # kinds of pairs; a sentence alone has no B
_DOCUMENT, _SENTENCE, _FRONT, _ORDINAL = range(4)


class SentenceArrays(NamedTuple):
    """The arrays of a token store, see `tokens.store.TokenStore`."""

    lengths: NDArray[np.int32]
    offsets: NDArray[np.int64]
    documents: NDArray[np.int64]
    id_bytes: int


class CutScratch(NamedTuple):
    """Scratch space for a section.

    Attributes:
      edges: int64[SECTION * room + 1], where its units begin, sentences or pieces, and the end.
      earliest: int64[SECTION + 1], the first unit of each sequence if cuts are as early as can be.
    """

    edges: NDArray[np.int64]
    earliest: NDArray[np.int64]


class TokenRanges(NamedTuple):
    """Sequences as ranges of a store.

    Attributes:
      begins: int64[sequences], the first token.
      lengths: int32[sequences], tokens.
      fronts: int32[sequences], tokens of A; all without a B.
      kinds: int8[sequences].
    """

    begins: NDArray[np.int64]
    lengths: NDArray[np.int32]
    fronts: NDArray[np.int32]
    kinds: NDArray[np.int8]


def cut_scratch(room: int) -> CutScratch:
    """Return scratch space for sequences of up to `room` tokens."""
    return CutScratch(np.empty(SECTION * room + 1, np.int64), np.empty(SECTION + 1, np.int64))


def new_ranges(size: int) -> TokenRanges:
    """Return ranges to fill."""
    return TokenRanges(
        np.empty(size, np.int64),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.zeros(size, np.int8),
    )


@inner
def _next_unit(
    lengths: NDArray[np.int32], sentence: Scalar, front: Scalar, stop: Scalar, room: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Return (tokens of the next unit, its sentence, the token that it begins with); 0: none."""
    while sentence < stop and lengths[sentence] == front:
        sentence += 1
        front = np.int64(0)
    if sentence == stop:
        return np.int64(0), sentence, front
    return min(np.int64(lengths[sentence]) - front, room), sentence, front


@kernel
def index_sequences(
    sentences: SentenceArrays,
    room: Scalar,
    part: tuple[Scalar, Scalar],
    before: Scalar,
    entries: NDArray[np.int64],
) -> tuple[Scalar, Scalar]:
    """Find every 128th sequence of a store in a part of its documents.

    Args:
      room: most tokens of a sequence, without special ones.
      part: the first document, and the one behind the last.
      before: sequences of the documents before.
      entries: int64[any, 4], filled: the document, the sentence and token where its section begins,
        and how many sequences of the section come before it. Enough are
        1 + (documents + 2 * tokens / room) / EVERY, of the part.

    Returns:
      The number of sequences, with those before, and of entries.
    """
    lengths, documents = sentences.lengths, sentences.documents
    number, num_entries = np.int64(before), np.int64(0)
    for document in range(part[0], part[1]):
        sentence, stop, front = documents[document], documents[document + 1], np.int64(0)
        ordinal, first, first_front = np.int64(SECTION), sentence, front
        unit, sentence, front = _next_unit(lengths, sentence, front, stop, room)
        while unit > 0:
            if ordinal == SECTION:
                ordinal, first, first_front = np.int64(0), sentence, front
            if number % EVERY == 0:
                entry = entries[num_entries]
                entry[_DOCUMENT], entry[_SENTENCE] = document, first
                entry[_FRONT], entry[_ORDINAL] = first_front, ordinal
                num_entries += 1
            num_tokens = np.int64(0)
            while unit > 0 and num_tokens + unit <= room:
                num_tokens += unit
                unit, sentence, front = _next_unit(lengths, sentence, front + unit, stop, room)
            number += 1
            ordinal += 1
    return number, num_entries


@inner
def _gather_section(
    sentences: SentenceArrays,
    sentence: Scalar,
    front: Scalar,
    stop: Scalar,
    room: Scalar,
    edges: NDArray[np.int64],
) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Fill the edges of a section; return its sequences and units, and where the next begins."""
    lengths = sentences.lengths
    num_sequences = num_units = np.int64(0)
    unit, sentence, front = _next_unit(lengths, sentence, front, stop, room)
    place = np.int64(0)
    if unit > 0:
        place = sentences.offsets[sentence] // sentences.id_bytes + front
    while unit > 0 and num_sequences < SECTION:
        num_tokens = np.int64(0)
        while unit > 0 and num_tokens + unit <= room:
            edges[num_units] = place
            num_units += 1
            place += unit
            num_tokens += unit
            unit, sentence, front = _next_unit(lengths, sentence, front + unit, stop, room)
        num_sequences += 1
    edges[num_units] = place
    return num_sequences, num_units, sentence, front


@inner
def _find_earliest(
    edges: NDArray[np.int64],
    num_units: Scalar,
    num_sequences: Scalar,
    room: Scalar,
    earliest: NDArray[np.int64],
) -> None:
    end = num_units
    earliest[num_sequences] = end
    for sequence in range(num_sequences - 1, -1, -1):
        begin = end - 1
        while begin > 0 and edges[end] - edges[begin - 1] <= room:
            begin -= 1
        earliest[sequence] = begin
        end = begin


@inner
def _split(
    edges: NDArray[np.int64], begin: Scalar, end: Scalar, key: np.uint64
) -> tuple[Scalar, Scalar]:
    """Split the units of a pair: (tokens of A, kind)."""
    if end - begin == 1:
        return edges[end] - edges[begin], np.int64(ALONE)
    key, more = next_below(key, end - begin - 1)
    key, unit = next_unit(key)
    return edges[begin + 1 + more] - edges[begin], np.int64(unit < 0.5)


@inner
def _cut_section(
    edges: NDArray[np.int64],
    num_units: Scalar,
    num_sequences: Scalar,
    number: Scalar,
    room: Scalar,
    keys: tuple[np.uint64, np.uint64],
    is_pairs: bool,
    earliest: NDArray[np.int64],
    bounds: tuple[Scalar, Scalar],
    ranges: TokenRanges,
) -> None:
    """Cut a section whose first sequence has this number; `bounds`: the numbers to fill in."""
    _find_earliest(edges, num_units, num_sequences, room, earliest)
    _, key = next_bits(keys[0] + np.uint64(number))
    begin = np.int64(0)
    for sequence in range(1, num_sequences + 1):
        end = num_units
        if sequence < num_sequences:
            least = max(earliest[sequence], begin + 1)
            end = least
            while edges[end + 1] - edges[begin] <= room:
                end += 1
            key, more = next_below(key, end - least + 1)
            end = least + more
        own_number = number + sequence - 1
        if bounds[0] <= own_number < bounds[1]:
            place = own_number - bounds[0]
            ranges.begins[place] = edges[begin]
            ranges.lengths[place] = edges[end] - edges[begin]
            ranges.fronts[place] = ranges.lengths[place]
            if is_pairs:
                _, own = next_bits(keys[1] + np.uint64(own_number))
                ranges.fronts[place], ranges.kinds[place] = _split(edges, begin, end, own)
        begin = end


@kernel
def cut_ranges(
    sentences: SentenceArrays,
    entries: NDArray[np.int64],
    room: Scalar,
    firsts: NDArray[np.int64],
    splits: NDArray[np.int64],
    keys: tuple[np.uint64, np.uint64],
    before: Scalar,
    is_pairs: bool,
    scratch: CutScratch,
    ranges: TokenRanges,
) -> None:
    """Cut some sequences of an epoch.

    Args:
      entries: see `index_sequences`.
      firsts: int64[any], the numbers in their store of the sequences that a stretch begins with.
      splits: int64[stretches + 1], where in `ranges` each stretch goes.
      keys: of the epoch's cuts and splits; those of a section or sequence also depend on its number
        in all stores of a source, which is `before` more than in this one.
      is_pairs: whether sequences are split into A and B.
      ranges: filled.
    """
    edges = scratch.edges
    for stretch in range(firsts.size):
        out = TokenRanges(
            ranges.begins[splits[stretch] : splits[stretch + 1]],
            ranges.lengths[splits[stretch] : splits[stretch + 1]],
            ranges.fronts[splits[stretch] : splits[stretch + 1]],
            ranges.kinds[splits[stretch] : splits[stretch + 1]],
        )
        first = firsts[stretch]
        last = first + out.begins.size
        entry = entries[first // EVERY]
        number = first // EVERY * EVERY - entry[_ORDINAL]
        document, sentence, front = entry[_DOCUMENT], entry[_SENTENCE], entry[_FRONT]
        while number < last:
            stop = sentences.documents[document + 1]
            num_sequences, num_units, sentence, front = _gather_section(
                sentences, sentence, front, stop, room, edges
            )
            if num_sequences == 0:
                document += 1
                sentence, front = sentences.documents[document], np.int64(0)
                continue
            if number + num_sequences > first:
                _cut_section(
                    edges, num_units, num_sequences, before + number, room, keys, is_pairs,
                    scratch.earliest, (before + first, before + last), out,
                )  # fmt: skip
            number += num_sequences
