"""CPython's `random.Random(seed)` as a stream of numbers that kernels draw from.

    stream = seeded_stream(12345)              state uint32[624], draws uint32[...], position
    position = top_up(state, draws, position, reserve)
    unit, position = draw_unit(draws, position)          # as random()
    index, position = draw_below(draws, position, 10)    # as randrange(10)

The generator is MT19937 (Matsumoto and Nishimura 1998), seeded by CPython itself. Outputs are made
in advance, thousands at a time, and a kernel keeps its position among them in a local variable, so
that a draw is one load and one addition. Before each instance the kernel makes sure that there are
more outputs than an instance can use: `reserve_for` says how many.
"""

import random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner

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
    """Return the stream of `random.Random(seed)`.

    Args:
      seed: any integer; CPython drops its sign.
      reserve: the most draws that a kernel tops the stream up to.
    """
    _, internal, _ = random.Random(seed).getstate()
    *state, index = internal
    assert index == _N  # freshly seeded: no output is used yet
    num_blocks = 4 * -(-reserve // _N)
    draws = np.empty(num_blocks * _N, np.uint32)
    return RandomStream(np.array(state, np.uint32), draws, np.array([draws.size], np.int64))


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
