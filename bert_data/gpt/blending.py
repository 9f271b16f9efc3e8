"""Blends of several data sets by weight: which data set each output comes from.

    build_blending_indices([0.5, 0.3, 0.2], 3)

    n   lag = weight * max(n, 1) - taken     data set     its sample
    0    0.5  0.3  0.2                          0             0
    1   -0.5  0.3  0.2                          1             0
    2    0.0 -0.4  0.4                          2             0

Each output comes from the data set that lags furthest behind its weight, so every stretch of the
blend has nearly the requested shares. This is the rule of Megatron-LM's `build_blending_indices`,
in float64; the first of equals wins.

`blend_plainly` examines every data set for every output. `blend_in_blocks` gives the same result
for many data sets in about the square root of the time: each block remembers its best data set and
a time until which no other one of the block can have passed it, so only the best ones of the blocks
are compared. A margin allows for rounding: data sets within it of each other are compared again for
every output, by the same arithmetic as in the plain rule.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.progress import progress
from bert_data.storage import MappedFile

MAX_DATASETS = 32_766  # their numbers are int16
SURPLUS = 0.005
"""Share of samples that a data set of a blend has beyond what the blend should take of it."""

PLAIN_UP_TO = 100  # data sets; above this number, blocks are faster
OUTPUTS_AT_ONCE = 1 << 20
_MIN_BLOCK = 8
_ROUNDING = 2.0**-53
_SHRINK = 1.0 - 1e-9


@dataclasses.dataclass(frozen=True, kw_only=True)
class Blend:
    """Data set and sample of each output.

    Attributes:
      dataset_index: int16[outputs], the data set, >= 0.
      dataset_sample_index: int64[outputs], its sample; those of one data set ascend from 0.
      shares: requested share of each data set.
      maps: of the files of the arrays, if they are memory-mapped.
    """

    dataset_index: NDArray[np.int16]
    dataset_sample_index: NDArray[np.int64]
    counts: NDArray[np.int64]
    shares: tuple[float, ...]
    maps: tuple[MappedFile, ...] = ()


def check_weights(weights: Sequence[float], num_datasets: int) -> None:
    """Refuse weights that are not above 0, one for each data set."""
    if len(weights) != num_datasets:
        raise ValueError(
            f"{len(weights)} weight(s) for {num_datasets} data set(s); give one for each"
        )
    for number, weight in enumerate(weights):
        if not 0 < weight < math.inf:
            raise ValueError(
                f"weight {number} is {weight!r}; it must be above 0 (leave out data sets "
                "that you do not want)"
            )
    check_num_datasets(num_datasets)


def check_num_datasets(num_datasets: int) -> None:
    """Refuse more data sets than can be numbered, or none."""
    if not 1 <= num_datasets <= MAX_DATASETS:
        raise ValueError(f"{num_datasets:,} data sets to blend; 1 to {MAX_DATASETS:,} are allowed")


def normalize_weights(weights: Sequence[float]) -> list[float]:
    """Divide weights by their sum, as `numpy.sum` computes it."""
    values = np.array(weights, np.float64)
    with np.errstate(over="ignore"):
        total = np.sum(values)
    if not np.isfinite(total):
        raise ValueError(
            "the sum of the weights is not finite; use smaller weights in the same ratios"
        )
    normalized = values / total
    if not normalized.all():
        number = int(np.flatnonzero(normalized == 0)[0])
        raise ValueError(
            f"weight {number} is {weights[number]!r}, too small beside the sum of {total}; "
            "use a larger one"
        )
    return normalized.tolist()


def share_samples(weights: Sequence[float], size: int) -> list[int]:
    """Return how many samples to make of each data set for a blend of `size`, rounded up twice."""
    return [math.ceil(math.ceil(size * weight) * (1 + SURPLUS)) for weight in weights]


class BlendState(NamedTuple):
    """The state of a blend, updated by the kernels.

    Attributes:
      weights: float64[data sets].
      lag_counts: float64[data sets], samples taken of each; infinite once none is left.
      counts: int64[data sets], samples taken of each.
    """

    weights: NDArray[np.float64]
    lag_counts: NDArray[np.float64]
    counts: NDArray[np.int64]
    limits: NDArray[np.int64]


class BlendBlocks(NamedTuple):
    """State of each block of data sets, updated by the kernels.

    Attributes:
      best: int64[blocks], the data set that lags most.
      weights, lag_counts: float64[blocks], of that one.
      until: float64[blocks], the last max(n, 1) for which it is known to lag most.
      margin: float64[1], lags this close to each other may be in either order.
    """

    best: NDArray[np.int64]
    weights: NDArray[np.float64]
    lag_counts: NDArray[np.float64]
    until: NDArray[np.float64]
    margin: NDArray[np.float64]


def blend_state(weights: NDArray[np.float64], limits: NDArray[np.int64]) -> BlendState:
    """Return the state before the first output."""
    lag_counts = np.where(limits > 0, 0.0, np.inf)
    return BlendState(weights, lag_counts, np.zeros(weights.size, np.int64), limits)


def blend_blocks(state: BlendState, size: int) -> BlendBlocks:
    """Return blocks of which nothing is known yet, for `size` outputs in all.

    A lag is rounded twice, weight * n and the difference, to within 2**-53 of a number of at most
    max(weight, 1) * size. Two lags at one time differ by up to four such errors, and the difference
    between now and later by eight. The margin is several times that.
    """
    num_blocks = -(-state.weights.size // block_size(state.weights.size))
    largest = max(1.0, float(state.weights.max()))
    return BlendBlocks(
        best=np.zeros(num_blocks, np.int64),
        weights=np.zeros(num_blocks),
        lag_counts=np.zeros(num_blocks),
        until=np.full(num_blocks, -1.0),
        margin=np.array([64 * _ROUNDING * max(size, 1) * largest]),
    )


def block_size(num_datasets: int) -> int:
    """Return the size of a block that makes about as many blocks as data sets per block."""
    return max(_MIN_BLOCK, int(0.7 * num_datasets**0.5))


@inner
def _take(
    state: BlendState,
    chosen: Scalar,
    row: Scalar,
    dataset_index: NDArray[np.int16],
    dataset_sample_index: NDArray[np.int64],
) -> None:
    dataset_index[row] = chosen
    dataset_sample_index[row] = state.counts[chosen]
    state.counts[chosen] += 1
    if state.counts[chosen] < state.limits[chosen]:
        state.lag_counts[chosen] += 1.0
    else:
        state.lag_counts[chosen] = np.inf


@kernel
def blend_plainly(
    state: BlendState,
    first: Scalar,
    dataset_index: NDArray[np.int16],
    dataset_sample_index: NDArray[np.int64],
) -> None:
    """Choose the data sets of outputs from number `first` on.

    Args:
      dataset_index: int16[outputs], filled: the data set of each.
      dataset_sample_index: int64[outputs], filled: the number of its sample.
    """
    weights, lag_counts = state.weights, state.lag_counts
    for row in range(dataset_index.size):
        scale = max(np.float64(first + row), 1.0)
        chosen: Scalar = np.int64(0)
        largest = weights[0] * scale - lag_counts[0]
        for i in range(1, weights.size):
            lag = weights[i] * scale - lag_counts[i]
            if lag > largest:
                largest = lag
                chosen = i
        _take(state, chosen, row, dataset_index, dataset_sample_index)


@inner
def _look_at_block(
    state: BlendState, blocks: BlendBlocks, block: Scalar, size: Scalar, scale: Scalar
) -> None:
    """Find the data set of a block that lags most, and for how long it will.

    The order of two data sets with the same weight does not change until one is taken.
    """
    weights, lag_counts = state.weights, state.lag_counts
    start = block * size
    stop = min(start + size, weights.size)
    best = start
    largest = weights[start] * scale - lag_counts[start]
    for i in range(start + 1, stop):
        lag = weights[i] * scale - lag_counts[i]
        if lag > largest:
            largest = lag
            best = i
    until = np.inf
    if largest > -np.inf:
        for i in range(start, stop):
            rate = weights[i] - weights[best]
            lead = largest - (weights[i] * scale - lag_counts[i]) - blocks.margin[0]
            if rate != 0.0 and lead <= 0.0:
                until = min(until, scale)
            elif rate > 0.0:
                until = min(until, scale + np.floor(lead / rate * _SHRINK))
    blocks.best[block] = best
    blocks.weights[block] = weights[best]
    blocks.lag_counts[block] = lag_counts[best]
    blocks.until[block] = until


@kernel
def blend_in_blocks(
    state: BlendState,
    blocks: BlendBlocks,
    size: Scalar,
    first: Scalar,
    dataset_index: NDArray[np.int16],
    dataset_sample_index: NDArray[np.int64],
) -> None:
    """Do the same as `blend_plainly`, for many data sets."""
    soonest: Scalar = -1.0
    for row in range(dataset_index.size):
        scale = max(np.float64(first + row), 1.0)
        if scale > soonest:
            soonest = np.inf
            for block in range(blocks.best.size):
                if scale > blocks.until[block]:
                    _look_at_block(state, blocks, block, size, scale)
                soonest = min(soonest, blocks.until[block])
        leading: Scalar = np.int64(0)
        largest = blocks.weights[0] * scale - blocks.lag_counts[0]
        for block in range(1, blocks.best.size):
            lag = blocks.weights[block] * scale - blocks.lag_counts[block]
            if lag > largest:
                largest = lag
                leading = block
        _take(state, blocks.best[leading], row, dataset_index, dataset_sample_index)
        _look_at_block(state, blocks, leading, size, scale)
        soonest = min(soonest, blocks.until[leading])


def build_blending_indices(weights: Sequence[float], size: int) -> Blend:
    """Blend by normalised weights, which are used as they are."""
    check_weights(weights, len(weights))
    limits = np.full(len(weights), np.iinfo(np.int64).max)
    return _blend(blend_state(np.array(weights, np.float64), limits), size)


def build_exhaustive_blending_indices(sizes: Sequence[int]) -> Blend:
    """Blend all samples of all data sets, each once, in proportion to their numbers."""
    check_num_datasets(len(sizes))
    for number, size in enumerate(sizes):
        if size < 0:
            raise ValueError(f"data set {number} has {size} samples; 0 or more is allowed")
    total = sum(sizes)
    if not total:
        raise ValueError("the data sets have no samples; at least one is needed")
    limits = np.array(sizes, np.int64)
    return _blend(blend_state(limits / float(total), limits), total)


def _blend(state: BlendState, size: int) -> Blend:
    dataset_index = np.empty(size, np.int16)
    dataset_sample_index = np.empty(size, np.int64)
    blocks = blend_blocks(state, size)
    num_datasets = state.weights.size
    with progress("blend", total=size, unit="sample") as advance:
        for first in range(0, size, OUTPUTS_AT_ONCE):
            part = slice(first, first + OUTPUTS_AT_ONCE)
            outputs = dataset_index[part], dataset_sample_index[part]
            if num_datasets <= PLAIN_UP_TO:
                blend_plainly(state, first, *outputs)
            else:
                blend_in_blocks(state, blocks, block_size(num_datasets), first, *outputs)
            advance(outputs[0].size)
    return Blend(
        dataset_index=dataset_index,
        dataset_sample_index=dataset_sample_index,
        counts=state.counts,
        shares=tuple(state.weights.tolist()),
    )
