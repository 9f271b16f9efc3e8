"""The sequences of a recipe in plain Python: what the kernels must give, to be read in ten minutes.

    deal(weights, n, ...)                       the source of each of a stage's first n sequences
    epoch_sequences(store, room, keys, ...)     those of a source's epoch, in order
      -> [Drawn(number=17, a=range(2040, 2100), b=range(70, 110), label=True), ...]

A store is a list of documents, and a document a list of the lengths of its sentences, in tokens; a
segment is a `range` of the store's tokens. The draws are those of
`tests.reader.oracle`, which also has the masks; each is made from a key that names what it is for,
so nothing depends on what was drawn before. A sequence of number n is masked by the key
`Keys.of(MASKS, n)`.

Sequences become batches window by window: `reader.planning` orders and packs those of a window like
the records of a set.
"""

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from bert_data.reader.splitmix import key_of
from bert_data.recipes.sequences.cutting import SECTION
from bert_data.recipes.sequences.permutation import ROUNDS
from bert_data.recipes.sequences.store_source import (
    BLOCKS,
    CUTS,
    LENDERS,
    SPLITS,
    TRUNCATION,
    WINDOW,
)
from bert_data.records.objectives import Objective
from tests.reader.oracle import below, bits, shuffle, unit

Store = Sequence[Sequence[int]]
_ALL = 2**64 - 1


def permuted(number: int, size: int, key: int) -> int:
    """Return the place of a number in [0, size) in an order drawn from a key."""
    half = next(half for half in itertools.count(1) if 4**half >= size)
    while True:
        left, right = divmod(number, 2**half)
        round_key = key
        for _ in range(ROUNDS):
            round_key, of_round = bits(round_key)
            _, drawn = bits((of_round + right) & _ALL)
            left, right = right, left ^ (drawn >> 32) % 2**half
        number = left * 2**half + right
        if number < size:
            return number


class Drawn(NamedTuple):
    """A sequence of an epoch.

    Attributes:
      number: in its store, the same in all epochs.
      b: empty if there is none.
      label: whether B does not follow A.
    """

    number: int
    a: Sequence[int]
    b: Sequence[int]
    label: bool


class Keys(NamedTuple):
    """The parts of an epoch's keys.

    Attributes:
      store: the number of its name, see `sources.key_of_name`.
    """

    seed: int
    store: int
    epoch: int

    def of(self, *purpose: int) -> int:
        """Return the key of a purpose, or of one and a sequence's number."""
        return int(key_of(*self, *purpose))


def units(document: Sequence[int], begin: int, room: int) -> list[range]:
    """Return a document's sentences; one that is longer than the room in pieces."""
    found = []
    for length in document:
        for start in range(begin, begin + length, room):
            found.append(range(start, min(start + room, begin + length)))
        begin += length
    return found


def tokens_of(parts: Sequence[range]) -> range:
    """Return the tokens of units side by side."""
    return range(parts[0].start, parts[-1].stop)


def fewest(parts: Sequence[range], room: int) -> list[list[range]]:
    """Fill sequences one after the other; no other way takes fewer."""
    groups: list[list[range]] = []
    for part in parts:
        if not groups or len(tokens_of([*groups[-1], part])) > room:
            groups.append([])
        groups[-1].append(part)
    return groups


def sections(store: Store, room: int) -> Iterator[tuple[list[range], int]]:
    """Yield the units of each section, and into how many sequences every epoch cuts it."""
    begin = 0
    for document in store:
        groups = fewest(units(document, begin, room), room)
        begin += sum(document)
        for start in range(0, len(groups), SECTION):
            some = groups[start : start + SECTION]
            yield list(itertools.chain(*some)), len(some)


def cut(parts: list[range], count: int, room: int, key: int) -> list[list[range]]:
    """Cut a section into `count` sequences, each cut at random where the rest still fits."""
    backwards = fewest_backwards(parts, count, room)
    cuts = [0]
    for earliest in backwards[1:]:
        first = max(earliest, cuts[-1] + 1)
        last = first
        while len(tokens_of(parts[cuts[-1] : last + 1])) <= room:
            last += 1
        key, more = below(key, last - first + 1)
        cuts.append(first + more)
    return [parts[a:b] for a, b in itertools.pairwise([*cuts, len(parts)])]


def fewest_backwards(parts: list[range], count: int, room: int) -> list[int]:
    """Return the first unit of each of `count` sequences that are filled from the end."""
    starts, end = [], len(parts)
    for _ in range(count):
        begin = end - 1
        while begin > 0 and len(tokens_of(parts[begin - 1 : end])) <= room:
            begin -= 1
        starts.append(begin)
        end = begin
    return starts[::-1]


def cut_sentences(store: Store, room: int, keys: Keys) -> list[list[range]]:
    """Return the units of each sequence of an epoch, by its number."""
    found: list[list[range]] = []
    for parts, count in sections(store, room):
        found += cut(parts, count, room, keys.of(CUTS, len(found)))
    return found


def cut_stream(num_tokens: int, room: int, keys: Keys) -> list[list[range]]:
    """Return the sequences of the stream of tokens: full, but for the first and the last one.

    The first one has `room - shift` tokens. Their number is that of half of all shifts or more.
    """
    shifts = range(room)
    counts = [len(range(-shift, num_tokens, room)) for shift in shifts]
    most = max(set(counts), key=lambda count: (counts.count(count), count))
    choices = [shift for shift in shifts if counts[shift] == most]
    shift = choices[keys.of(CUTS, 0) % len(choices)]
    starts = range(-shift, num_tokens, room)
    return [[range(max(0, start), min(start + room, num_tokens))] for start in starts]


def epoch_windows(count: int, block: int, window: int, keys: Keys) -> list[list[int]]:
    """Return the numbers of an epoch's sequences, block by block, in the windows they are read in.

    Blocks are permuted, but for a shorter last one.
    """
    whole = count // block
    blocks = [permuted(i, whole, keys.of(BLOCKS)) for i in range(whole)]
    if count % block:
        blocks.append(whole)
    num_windows = max(1, round(len(blocks) * block / window))
    bounds = [i * len(blocks) // num_windows for i in range(num_windows + 1)]
    return [
        [n for b in blocks[first:last] for n in range(b * block, min(count, (b + 1) * block))]
        for first, last in itertools.pairwise(bounds)
    ]


def pair(
    cuts: list[list[range]], window: list[int], room: int, keys: Keys, *, swaps: bool
) -> list[Drawn]:
    """Return the sequences of a window as pairs.

    A sequence is split between two of its units. Half of the time its segments are swapped, or it
    gives its B to another one and gets that of a third; all that do so form a ring, each getting
    that of the one half the ring ahead. A sequence of one unit gets a copy of any B of the window.
    """
    a, b, is_moved, has_b = {}, {}, {}, {}
    for number in window:
        parts, has_b[number] = cuts[number], len(cuts[number]) > 1
        a[number], b[number] = tokens_of(parts), range(0)
        is_moved[number] = True
        if has_b[number]:
            key, more = below(keys.of(SPLITS, number), len(parts) - 1)
            is_moved[number] = unit(key)[1] < 0.5
            a[number], b[number] = tokens_of(parts[: more + 1]), tokens_of(parts[more + 1 :])
    ring = [n for n in window if is_moved[n] and has_b[n]]
    lenders = [n for n in window if has_b[n]]
    alone = [n for n in window if not has_b[n]]
    drawn = []
    for number in window:
        own_a, own_b, label = a[number], b[number], is_moved[number]
        if not has_b[number]:
            choices = lenders or [n for n in alone if n != number] or alone
            lender = choices[below(keys.of(LENDERS, number), len(choices))[1]]
            own_b = b[lender] if lenders else a[lender]
        elif label and swaps:
            own_a, own_b = own_b, own_a
        elif label:
            own_b = b[ring[(ring.index(number) + len(ring) // 2) % len(ring)]]
            label = len(ring) > 1
        drawn.append(
            Drawn(number, *truncate(own_a, own_b, room, keys.of(TRUNCATION, number)), label)
        )
    return drawn


def truncate(a: range, b: range, room: int, key: int) -> tuple[range, range]:
    """Remove tokens from the longer segment (a tie: B), at a random end, until both fit."""
    while len(a) + len(b) > room:
        key, drawn = unit(key)
        kept = slice(1, None) if drawn < 0.5 else slice(-1)
        if len(a) > len(b):
            a = a[kept]
        else:
            b = b[kept]
    return a, b


def epoch_sequences(
    store: Store, room: int, keys: Keys, *, objective: Objective | None, block: int, window: int
) -> list[Drawn]:
    """Return the sequences of an epoch in their order.

    Args:
      objective: that draws segments; None: the stream of tokens.
    """
    if objective is None:
        cuts = cut_stream(sum(map(sum, store)), room, keys)
    else:
        cuts = cut_sentences(store, room, keys)
    found = []
    for number, numbers in enumerate(epoch_windows(len(cuts), block, window, keys)):
        if objective is not None and objective.num_segments == 2:
            drawn = pair(cuts, numbers, room, keys, swaps=objective.swaps)
        else:
            drawn = [Drawn(n, tokens_of(cuts[n]), range(0), False) for n in numbers]
        order = list(range(len(drawn)))
        shuffle(order, keys.of(WINDOW, number))
        found += [drawn[place] for place in order]
    return found


def deal(weights: Sequence[float], num_sequences: int, *key: int) -> list[int]:
    """Return the source of each sequence: nodes of a tree send them left by their share, evenly."""
    nodes: list[tuple[int, int]] = []  # of each node its share of 2**64, and its state
    tree: dict[tuple[int, int], int] = {}

    def grow(first: int, last: int) -> None:
        if last - first > 1:
            node, middle = len(nodes), first + (last - first) // 2
            total, left = (sum(map(Fraction, weights[first:end])) for end in (last, middle))
            nodes.append((int(left * 2**64 / total), int(key_of(*key, node))))
            tree[first, last] = node
            grow(first, middle)
            grow(middle, last)

    grow(0, len(weights))
    found = []
    for _ in range(num_sequences):
        first, last = 0, len(weights)
        while last - first > 1:
            node, middle = tree[first, last], first + (last - first) // 2
            share, state = nodes[node]
            goes_left, state = divmod(state + share, 2**64)
            nodes[node] = share, state
            first, last = (first, middle) if goes_left else (middle, last)
        found.append(first)
    return found
