"""Blends of several data sets by weight: which data set each output comes from.

    build_blending_indices([0.3, 0.2, 0.5], 1000)
      -> data sets 2 0 1 2 0 2 1 2 0 2 ...,  their samples 0 0 0 1 1 2 1 3 2 4 ...

Each output comes from the data set that lags furthest behind its weight, so every stretch of the
blend has nearly the requested shares. Arrays and arithmetic are those of Megatron-LM's helpers.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

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
from bert_data.causal.cache import Arrays, IndexCache, check_array
from bert_data.causal.documents import Documents
from bert_data.causal.gathering import SampleBatch
from bert_data.causal.gpt import (
    GptDataset,
    Numbers,
    batch_of,
    checked_numbers,
    new_texts,
    single_sample,
)
from bert_data.causal.indices import MAX_SAMPLES
from bert_data.errors import CorruptDataError
from bert_data.progress import progress
from bert_data.settings import check_integer
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


_NAMES = ("dataset_index", "dataset_sample_index", "counts")


class BlendedDataset:
    """Samples of several data sets in the order of a blend.

    Attributes:
      datasets: the blended data sets.
      blend: data set and sample of each output.
      config, split: of the data sets.
    """

    def __init__(self, datasets: Sequence[GptDataset], blend: Blend) -> None:
        """Combine data sets and a blend of them.

        Raises:
          ValueError: the blend is for another number of data sets, takes more samples of one than
            it has, or the data sets differ in their configuration or split.
        """
        if len(datasets) != blend.counts.size:
            raise ValueError(f"{len(datasets)} data set(s) for a blend of {blend.counts.size}")
        self.datasets = tuple(datasets)
        self.blend = blend
        self.config, self.split = datasets[0].config, datasets[0].split
        for number, (dataset, count) in enumerate(zip(datasets, blend.counts, strict=True)):
            name = f"data set {number} ({dataset.documents.prefix})"
            if dataset.config != self.config or dataset.split != self.split:
                raise ValueError(f"{name} has another configuration or split than the first one")
            if count > len(dataset):
                raise ValueError(
                    f"the blend takes {count:,} samples of {name}, which has {len(dataset):,}; "
                    f"make it with num_samples={count}"
                )

    @property
    def dataset_index(self) -> NDArray[np.int16]:
        """int16[outputs], the data set of each."""
        return self.blend.dataset_index

    @property
    def dataset_sample_index(self) -> NDArray[np.int64]:
        """int64[outputs], which sample of it."""
        return self.blend.dataset_sample_index

    @property
    def paths(self) -> list[str]:
        """The files of all token stores."""
        return [path for dataset in self.datasets for path in dataset.paths]

    @property
    def stores(self) -> Sequence[Documents]:
        """The token stores."""
        return [dataset.documents for dataset in self.datasets]

    def __len__(self) -> int:
        return self.blend.dataset_index.size

    def __getitem__(self, number: int) -> dict[str, Any]:
        """One sample, and `dataset_id`, the data set that it is from.

        Raises:
          IndexError: there is no such sample; negative numbers count from the end.
        """
        sample = single_sample(self, number)
        return {"dataset_id": int(self.dataset_index[number]), **sample}

    def batch(self, numbers: Numbers) -> SampleBatch:
        """Return samples side by side, see `GptDataset.texts`."""
        return batch_of(self, numbers)

    def texts(self, numbers: Numbers) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the tokens of samples, see `GptDataset.texts`."""
        places = checked_numbers(numbers, len(self))
        for each in self.blend.maps:
            each.check_size()
        from_datasets = self.dataset_index[places]
        samples = self.dataset_sample_index[places]
        texts, num_tokens = new_texts(places.size, self.config)
        order = np.argsort(from_datasets, kind="stable")
        chosen, starts = np.unique(from_datasets[order], return_index=True)
        for number, rows in zip(chosen.tolist(), np.split(order, starts[1:]), strict=True):
            self._gather(number, samples[rows], rows, texts, num_tokens)
        return texts, num_tokens

    def _gather(
        self,
        number: int,
        samples: NDArray[np.int64],
        rows: NDArray[np.int64],
        texts: NDArray[np.int32],
        num_tokens: NDArray[np.int32],
    ) -> None:
        is_known = 0 <= number < len(self.datasets)
        if not is_known or samples.min() < 0 or samples.max() >= len(self.datasets[number]):
            reason = (
                f"data set {number} or a sample of it is not in the blend; the cache is damaged"
            )
            raise CorruptDataError(f"{self.config.cache_dir}", 0, reason)
        self.datasets[number].gather(samples, rows, texts, num_tokens)


def weighted_blend(
    weights: Sequence[float],
    size: int,
    *,
    cache_dir: str | None = None,
    split: str = "train",
    verify: bool = False,
) -> Blend:
    """Blend by weights, or load the blend from the cache.

    Args:
      weights: of the data sets, > 0; divided by their sum, as Megatron-LM's BlendedDataset does.
      size: number of outputs, >= 1.
      cache_dir: folder that keeps the blend, or None.
      split: one of `SPLITS`; names the blend.
      verify: whether to check every byte of a blend from the cache.

    Raises:
      ValueError: weights or size are not allowed.
      CorruptDataError: the cache is damaged.
    """
    check_integer("the size of the blend", size, 1, MAX_SAMPLES)
    check_weights(weights, len(weights))
    shares = normalize_weights(weights)
    made_from = {"weights": shares, "size": size}
    cache = IndexCache(cache_dir, "BlendedDataset", split, made_from, verify=verify)
    arrays = cache.load_or_make(_NAMES, lambda: _arrays(build_blending_indices(shares, size)))
    return _checked(cache, arrays, shares, size)


def exhaustive_blend(
    sizes: Sequence[int],
    *,
    cache_dir: str | None = None,
    split: str = "train",
    verify: bool = False,
) -> Blend:
    """Blend all samples of the data sets, each once, or load the blend from the cache.

    Args:
      sizes: of the data sets.
      cache_dir, split, verify: see `weighted_blend`.

    Raises:
      ValueError: the sizes are not allowed.
      CorruptDataError: the cache is damaged.
    """
    made_from = {"sizes": list(sizes), "size": None}
    cache = IndexCache(cache_dir, "BlendedDataset", split, made_from, verify=verify)
    arrays = cache.load_or_make(_NAMES, lambda: _arrays(build_exhaustive_blending_indices(sizes)))
    return _checked(cache, arrays, [size / sum(sizes) for size in sizes], sum(sizes))


def _arrays(blend: Blend) -> Arrays:
    return {name: getattr(blend, name) for name in _NAMES}


def _checked(cache: IndexCache, arrays: Arrays, shares: Sequence[float], size: int) -> Blend:
    kinds = ((np.int16, size), (np.int64, size), (np.int64, len(shares)))
    for name, (dtype, length) in zip(_NAMES, kinds, strict=True):
        check_array(cache.path(name), arrays[name], np.dtype(dtype), (length,))
    return Blend(**arrays, shares=tuple(shares), maps=cache.maps)
