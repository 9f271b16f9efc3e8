"""Blends of several data sets by weight: which data set each output comes from.

    build_blending_indices([0.3, 0.2, 0.5], 1000)
      -> data sets 2 0 1 2 0 2 1 2 0 2 ...,  their samples 0 0 0 1 1 2 1 3 2 4 ...

Each output comes from the data set that lags furthest behind its weight, so every stretch of the
blend has nearly the requested shares. Arrays and arithmetic are those of Megatron-LM's helpers.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.causal.blend_kernels import (
    BlendState,
    blend_blocks,
    blend_in_blocks,
    blend_plainly,
    blend_state,
    block_size,
)
from bert_data.progress import progress
from bert_data.storage import MappedFile

MAX_DATASETS = 32_766  # their numbers are int16
SURPLUS = 0.005
"""Share of samples that a data set of a blend has beyond what the blend should take of it."""

_PLAIN_UP_TO = 100  # data sets; above this number, blocks are faster
_OUTPUTS_AT_ONCE = 1 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class Blend:
    """Data set and sample of each output.

    Attributes:
      dataset_index: int16[outputs], the data set, >= 0.
      dataset_sample_index: int64[outputs], its sample; those of one data set ascend from 0.
      counts: int64[data sets], outputs from each.
      shares: requested share of each data set.
      maps: of the files of the arrays, if they are memory-mapped.
    """

    dataset_index: NDArray[np.int16]
    dataset_sample_index: NDArray[np.int64]
    counts: NDArray[np.int64]
    shares: tuple[float, ...]
    maps: tuple[MappedFile, ...] = ()


def check_weights(weights: Sequence[float], num_datasets: int) -> None:
    """Check that each data set has a weight above 0.

    Raises:
      ValueError: one has not.
    """
    if len(weights) != num_datasets:
        raise ValueError(f"{len(weights)} weight(s) for {num_datasets} data set(s); one each")
    for number, weight in enumerate(weights):
        if not 0 < weight < math.inf:
            raise ValueError(
                f"weight {number} is {weight!r}; it must be above 0 (leave out data sets "
                "that you do not want)"
            )
    check_num_datasets(num_datasets)


def check_num_datasets(num_datasets: int) -> None:
    """Check that data sets can be numbered.

    Raises:
      ValueError: there are too many, or none.
    """
    if not 1 <= num_datasets <= MAX_DATASETS:
        raise ValueError(f"{num_datasets:,} data sets to blend; 1 to {MAX_DATASETS:,} are allowed")


def normalize_weights(weights: Sequence[float]) -> list[float]:
    """Divide weights by their sum, as `numpy.sum` computes it.

    Raises:
      ValueError: the sum is not finite, or a weight vanishes beside it.
    """
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
            f"weight {number} is {weights[number]!r}, which vanishes beside the sum of {total}; "
            "use a larger one"
        )
    return normalized.tolist()


def share_samples(weights: Sequence[float], size: int, surplus: float = 0.0) -> list[int]:
    """Return how many samples a blend of `size` takes of each data set, rounded up.

    Args:
      weights: normalised.
      size: of the blend, >= 0.
      surplus: share of samples to make beyond them, rounded up again.
    """
    return [math.ceil(math.ceil(size * weight) * (1 + surplus)) for weight in weights]


def build_blending_indices(weights: Sequence[float], size: int) -> Blend:
    """Blend by weights.

    Args:
      weights: normalised, see `normalize_weights`; used as they are.
      size: number of outputs, >= 0.

    Raises:
      ValueError: a weight or the number of them is not allowed.
    """
    check_weights(weights, len(weights))
    limits = np.full(len(weights), np.iinfo(np.int64).max)
    return _blend(blend_state(np.array(weights, np.float64), limits), size)


def build_exhaustive_blending_indices(sizes: Sequence[int]) -> Blend:
    """Blend all samples of all data sets, each once, in proportion to their numbers.

    Args:
      sizes: samples of each data set, >= 0; not all 0.

    Raises:
      ValueError: a size or the number of them is not allowed.
    """
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
        for first in range(0, size, _OUTPUTS_AT_ONCE):
            part = slice(first, first + _OUTPUTS_AT_ONCE)
            outputs = dataset_index[part], dataset_sample_index[part]
            if num_datasets <= _PLAIN_UP_TO:
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
