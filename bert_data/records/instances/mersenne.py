"""CPython's `random.Random(seed)` as a stream of numbers that kernels draw from.

    stream = seeded_stream(12345)              state uint32[624], draws uint32[...], position
    position = top_up(state, draws, position, reserve)
    unit, position = draw_unit(draws, position)          # as random()
    index, position = draw_below(draws, position, 10)    # as randrange(10)
    order = shuffled_indices(stream, 1000)               # as shuffle(list(range(1000)))

The generator is MT19937 (Matsumoto and Nishimura 1998), seeded by CPython itself. Outputs are made
in advance, thousands at a time, and a kernel keeps its position among them in a local variable, so
that a draw is one load and one addition. Before each instance the kernel makes sure that there are
more outputs than an instance can use: `reserve_for` says how many.
"""

import random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel

_N = 624
_M = 397
_TWIST = np.uint32(0x9908B0DF)
_UPPER = np.uint32(0x80000000)
_LOWER = np.uint32(0x7FFFFFFF)
_ONE = np.uint32(1)


class RandomStream(NamedTuple):
    """The state of one generator, updated in place by the kernels that draw from it.

    Attributes:
      state: uint32[624], MT19937's.
      draws: uint32[blocks * 624], tempered outputs made in advance.
      position: int64[1], the next of `draws`; len(draws) when all are used.
    """

    state: NDArray[np.uint32]
    draws: NDArray[np.uint32]
    position: NDArray[np.int64]


def reserve_for(max_seq_length: int) -> int:
    """Return more draws than an instance of `max_seq_length` tokens uses, apart from truncation.

    It uses at most 8 per token, and more for each rejected draw below a limit: at worst one in two.
    The probability that half of 16 n + 4096 draws are rejected is below 2**-1000.
    """
    return 16 * max_seq_length + 4096


def seeded_stream(seed: int, *, reserve: int = 4096) -> RandomStream:
    """Return the stream of `random.Random(seed)`; kernels top it up to `reserve` draws."""
    _, internal, _ = random.Random(seed).getstate()
    *state, index = internal
    assert index == _N  # freshly seeded: no output is used yet
    return stream_of(np.array(state, np.uint32), reserve=reserve)


def stream_of(state: NDArray[np.uint32], *, reserve: int) -> RandomStream:
    """Return the stream of a freshly seeded state, uint32[624]; without draws if none is needed."""
    num_blocks = 4 * -(-reserve // _N)
    draws = np.empty(num_blocks * _N, np.uint32)
    return RandomStream(state, draws, np.array([draws.size], np.int64))


@inner
def _mix(upper: np.uint32, lower: np.uint32, far: np.uint32) -> np.uint32:
    bits = (upper & _UPPER) | (lower & _LOWER)
    return far ^ (bits >> _ONE) ^ ((lower & _ONE) * _TWIST)


@inner
def refill(state: NDArray[np.uint32], draws: NDArray[np.uint32], start: Scalar) -> None:
    """Make the next outputs, for draws[start:], whose size is a multiple of 624.

    The recurrence is split where it wraps, so that no loop has a short dependency and the compiler
    vectorises them.
    """
    for block in range(start, draws.size, _N):
        for i in range(_N - _M):
            state[i] = _mix(state[i], state[i + 1], state[i + _M])
        for i in range(_N - _M, _N - 1):
            state[i] = _mix(state[i], state[i + 1], state[i + _M - _N])
        state[_N - 1] = _mix(state[_N - 1], state[0], state[_M - 1])
        for i in range(_N):
            y = state[i]
            y ^= y >> np.uint32(11)
            y ^= (y << np.uint32(7)) & np.uint32(0x9D2C5680)
            y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
            draws[block + i] = y ^ (y >> np.uint32(18))


@inner
def top_up(
    state: NDArray[np.uint32], draws: NDArray[np.uint32], position: Scalar, reserve: Scalar
) -> Scalar:
    """Make sure that `reserve` draws follow the position; return the new position."""
    if draws.size - position >= reserve:
        return position
    num_used = position // _N * _N
    num_left = draws.size - num_used
    for i in range(num_left):
        draws[i] = draws[num_used + i]
    refill(state, draws, num_left)
    return position - num_used


@inner
def draw_below(draws: NDArray[np.uint32], position: Scalar, limit: Scalar) -> tuple[Scalar, Scalar]:
    """Draw CPython's randbelow(limit), 1 <= limit < 2**32: (int64 in [0, limit), next position).

    It takes the top bits of outputs, as many bits as `limit` has, until they are below it.
    """
    num_bits = np.int64(0)
    rest = limit
    while rest > 0:
        num_bits += 1
        rest >>= 1
    shift = np.uint32(32 - num_bits)
    value = np.int64(draws[position] >> shift)
    while value >= limit:
        position += 1
        value = np.int64(draws[position] >> shift)
    return value, position + 1


@inner
def draw_unit(draws: NDArray[np.uint32], position: Scalar) -> tuple[float, Scalar]:
    """Draw CPython's random(): (float64 in [0, 1) with 53 random bits, next position)."""
    high = np.int64(draws[position] >> np.uint32(5))
    low = np.int64(draws[position + 1] >> np.uint32(6))
    return (high * 67108864 + low) * (1.0 / 9007199254740992.0), position + 2


@inner
def draw_of_three(
    draws: NDArray[np.uint32], position: Scalar, p: float, q: float
) -> tuple[Scalar, Scalar]:
    """Draw 0 with probability p, else 1 with probability q, else 2, by a random() each."""
    unit, position = draw_unit(draws, position)
    if unit < p:
        return np.int64(0), position
    unit, position = draw_unit(draws, position)
    return np.int64(1 if unit < q else 2), position


@inner
def shuffle_down(
    draws: NDArray[np.uint32], position: Scalar, items: NDArray[np.unsignedinteger], i: Scalar
) -> tuple[Scalar, Scalar]:
    """Continue CPython's `shuffle` at item i, down to item 1 or the end of the draws.

    For i from the last index down to 1, it swaps items i and randbelow(i + 1). Every third draw,
    unpredictably, is not below i + 1 and must be repeated; so the loop is over draws instead of
    items, and a rejected draw swaps item i with itself. Return (the next item, 0 when done; the
    next position).
    """
    num_bits = np.int64(0)
    while (i + 1) >> num_bits:
        num_bits += 1
    while i >= 1 and position < draws.size:
        while (i + 1) >> (num_bits - 1) == 0:
            num_bits -= 1
        last = max(1, (1 << (num_bits - 1)) - 1)  # the smallest i whose i + 1 has as many bits
        shift = np.uint32(32 - num_bits)
        while i >= last and position < draws.size:
            j = np.int64(draws[position] >> shift)
            position += 1
            counts = j <= i
            j = j if counts else i
            item = items[i]
            items[i] = items[j]
            items[j] = item
            i -= np.int64(counts)
    return i, position


@inner
def next_shuffled(
    draws: NDArray[np.uint32],
    position: Scalar,
    items: NDArray[np.unsignedinteger],
    place: Scalar,
    size: Scalar,
) -> tuple[Scalar, Scalar]:
    """Return the item at a place, after `shuffle_down` has shuffled all: (item, position)."""
    return np.int64(items[place]), position


@kernel
def _shuffle(stream: RandomStream, items: NDArray[np.unsignedinteger]) -> None:
    state, draws, position = stream.state, stream.draws, stream.position[0]
    i = items.size - 1
    while i >= 1:
        position = top_up(state, draws, position, np.int64(1))
        i, position = shuffle_down(draws, position, items, i)
    stream.position[0] = position


def shuffled_indices(stream: RandomStream, num_items: int) -> NDArray[np.uint32]:
    """Return the order into which `shuffle` brings a list of items: uint32[num_items]."""
    if num_items >= 1 << 32:
        raise ValueError(f"{num_items:,} items to shuffle; at most {2**32 - 1:,} are allowed")
    order = np.arange(num_items, dtype=np.uint32)
    _shuffle(stream, order)
    return order
