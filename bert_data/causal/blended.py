"""A blend of data sets, as one data set.

dataset = BlendedDataset([web, books], weighted_blend([0.7, 0.3], 1000))
len(dataset)  ->  1000
dataset[0]    ->  {"dataset_id": 0, "tokens": ...}, the first sample of web
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.bounds import check_integer
from bert_data.causal.blending import (
    Blend,
    build_blending_indices,
    build_exhaustive_blending_indices,
    check_weights,
    normalize_weights,
)
from bert_data.causal.cache import Arrays, IndexCache, check_array
from bert_data.causal.documents import Documents
from bert_data.causal.epochs import MAX_SAMPLES
from bert_data.causal.gathering import SampleBatch
from bert_data.causal.gpt import (
    GptDataset,
    Numbers,
    batch_of,
    checked_numbers,
    new_texts,
    single_sample,
)
from bert_data.errors import CorruptDataError

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
