"""Make the data sets of all splits from token stores and weights.

This is what Megatron-LM's BlendedMegatronDatasetBuilder does.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.checks import check_integer
from bert_data.errors import CorruptDataError
from bert_data.gpt.blending import (
    Blend,
    build_blending_indices,
    build_exhaustive_blending_indices,
    check_num_datasets,
    check_weights,
    normalize_weights,
    share_samples,
)
from bert_data.gpt.cache import IndexArrays, IndexCache, check_array
from bert_data.gpt.dataset import GptDataset, SampleSet, plan_split
from bert_data.gpt.gpt_config import SPLITS, GptConfig, parse_split
from bert_data.gpt.indices import MAX_EPOCHS, MAX_SAMPLES, count_samples
from bert_data.gpt.store_documents import StoreDocuments
from bert_data.tokens.store_files import expand_stores

_NAMES = ("dataset_index", "dataset_sample_index", "counts")


class BlendedDataset(SampleSet):
    """Samples of several data sets in the order of a blend."""

    def __init__(self, datasets: Sequence[GptDataset], blend: Blend) -> None:
        """Combine data sets of one configuration and split, and a blend of them."""
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
    def stores(self) -> Sequence[StoreDocuments]:
        """The token stores."""
        return [dataset.documents for dataset in self.datasets]

    def __len__(self) -> int:
        return self.blend.dataset_index.size

    def __getitem__(self, number: int) -> dict[str, Any]:
        """One sample, see `SampleBatch`, and `dataset_id`, the data set that it is from."""
        sample = super().__getitem__(number)
        return {"dataset_id": int(self.dataset_index[number]), **sample}

    def gather(
        self,
        samples: NDArray[np.int64],
        rows: NDArray[np.int64],
        texts: NDArray[np.int32],
        num_tokens: NDArray[np.int32],
    ) -> None:
        """Gather tokens of samples into rows, see `SampleSet.gather`."""
        for each in self.blend.maps:
            each.check_size()
        from_datasets = self.dataset_index[samples]
        order = np.argsort(from_datasets, kind="stable")
        chosen, starts = np.unique(from_datasets[order], return_index=True)
        for number, places in zip(chosen.tolist(), np.split(order, starts[1:]), strict=True):
            own = self.dataset_sample_index[samples[places]]
            is_known = 0 <= number < len(self.datasets)
            if not is_known or own.min() < 0 or own.max() >= len(self.datasets[number]):
                reason = f"data set {number} or a sample of it is not in the blend"
                reason += "; the cache is damaged"
                raise CorruptDataError(f"{self.config.cache_dir}", 0, reason)
            self.datasets[number].gather(own, rows[places], texts, num_tokens)


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
      weights: > 0; divided by their sum, as Megatron-LM's BlendedDataset does.
      size: number of outputs, >= 1.
      split: one of `SPLITS`; names the blend.
      verify: whether to check every byte of a blend from the cache.
    """
    size = check_integer("the size of the blend", size, 1, MAX_SAMPLES)
    check_weights(weights, len(weights))
    shares = normalize_weights(weights)
    made_from = {"weights": shares, "size": size}
    cache = IndexCache(cache_dir, "BlendedDataset", split, made_from, verify=verify)
    return _load_or_make(cache, lambda: build_blending_indices(shares, size), shares, size)


def exhaustive_blend(
    sizes: Sequence[int],
    *,
    cache_dir: str | None = None,
    split: str = "train",
    verify: bool = False,
) -> Blend:
    """Blend all samples of data sets of these sizes, each once, or load the blend from the cache.

    For the other arguments see `weighted_blend`.
    """
    made_from = {"sizes": list(sizes), "size": None}
    cache = IndexCache(cache_dir, "BlendedDataset", split, made_from, verify=verify)
    total = sum(sizes)
    shares = [size / max(total, 1) for size in sizes]  # what is not allowed, `make` refuses
    return _load_or_make(cache, lambda: build_exhaustive_blending_indices(sizes), shares, total)


def _load_or_make(
    cache: IndexCache, make: Callable[[], Blend], shares: Sequence[float], size: int
) -> Blend:
    def make_arrays() -> IndexArrays:
        blend = make()
        return {name: getattr(blend, name) for name in _NAMES}

    arrays = cache.load_or_make(_NAMES, make_arrays)
    kinds = ((np.int16, size), (np.int64, size), (np.int64, len(shares)))
    for name, (dtype, length) in zip(_NAMES, kinds, strict=True):
        check_array(cache.path(name), arrays[name], np.dtype(dtype), (length,))
    return Blend(**arrays, shares=tuple(shares), maps=cache.maps)


BuiltDataset = GptDataset | BlendedDataset


def build_datasets(
    names: Sequence[str],
    config: GptConfig,
    *,
    weights: Sequence[float] | None = None,
    num_samples: Sequence[int] | None = None,
    num_epochs: int | None = None,
) -> tuple[BuiltDataset | None, BuiltDataset | None, BuiltDataset | None]:
    """Make the train, valid and test data sets of token stores.

    Whole epochs of one store give a `GptDataset`, anything else a `BlendedDataset`.

    Args:
      names: of the stores: the prefix of one, or PREFIX@N or a pattern for those of the parts of
        one data set, which share its weight in proportion to their tokens.
      weights: of the names, > 0; None: in proportion to the stores' samples.
      num_samples: number of samples of train, valid and test; a split with 0 or without a number is
        not made. None: `num_epochs` of each split that has a share. They are the first of those
        that Megatron-LM draws, which may be more. Several stores without weights are not repeated.
      num_epochs: passes over each store if `num_samples` is None; None: one.

    Returns:
      The data sets; None for a split that is not made.
    """
    parts = [store_prefixes(name) for name in names]
    check_num_datasets(sum(map(len, parts)))
    if weights is not None:
        check_weights(weights, len(names))
        if num_samples is None:
            raise ValueError("weights need num_samples, the size of the blend")
    sizes = split_sizes(config, num_samples, num_epochs)
    stores = [StoreDocuments(prefix, verify=config.verify) for part in parts for prefix in part]
    repeats = weights is not None or len(stores) == 1
    for split, size in zip(SPLITS, sizes, strict=True):
        if size == 0:
            continue
        # Refuse what cannot be made before making anything.
        plans = [plan_split(s, config, split, size if repeats else None) for s in stores]
        most = sum(plan.num_samples for plan in plans)
        if size is not None and size > most:
            raise ValueError(
                f"num_samples is {size:,} for {split}, but the stores have {most:,} samples; they"
                " are repeated only with `weights`"
            )
    built: list[BuiltDataset | None] = []
    for split, size in zip(SPLITS, sizes, strict=True):
        if size == 0:
            built.append(None)
        elif weights is not None:
            assert size is not None
            shared = _share_weights(weights, list(map(len, parts)), stores, config, split)
            built.append(_build_weighted(stores, config, split, normalize_weights(shared), size))
        elif len(stores) == 1 and size is not None:
            dataset = GptDataset(stores[0], config, split=split, num_samples=size)
            blend = weighted_blend([1.0], size, split=split, **_cache_of(config))
            built.append(BlendedDataset([dataset], blend))
        else:
            built.append(_build_unweighted(stores, config, split, size, num_epochs or 1))
    return built[0], built[1], built[2]


def store_prefixes(name: str) -> list[str]:
    """Return the prefixes of the stores that a name stands for; a file's name is left as it is."""
    return [name] if name.endswith((".bin", ".idx")) else expand_stores([name])


def _share_weights(
    weights: Sequence[float],
    num_parts: Sequence[int],
    stores: Sequence[StoreDocuments],
    config: GptConfig,
    split: str,
) -> list[float]:
    """Return a weight of each store: its data set's, times its share of the data set's tokens."""
    shared: list[float] = []
    for weight, number in zip(weights, num_parts, strict=True):
        own = stores[len(shared) : len(shared) + number]
        num_tokens = [store.count_tokens(store.of_split(config.split, split)) for store in own]
        total = sum(num_tokens)
        shared += [weight * (each / total) for each in num_tokens]
    return shared


def split_sizes(
    config: GptConfig, num_samples: Sequence[int] | None, num_epochs: int | None
) -> list[int | None]:
    """Return the samples to make of train, valid and test; 0: not made; None: whole epochs."""
    if num_epochs is not None:
        num_epochs = check_integer("num_epochs", num_epochs, 1, MAX_EPOCHS)
    shares = parse_split(config.split)
    if num_samples is None:
        return [None if share else 0 for share in shares]
    if num_epochs is not None:
        raise ValueError("num_samples and num_epochs are both set; choose one")
    if len(num_samples) > len(SPLITS) or min(num_samples, default=0) < 0 or not any(num_samples):
        raise ValueError(
            f"num_samples is {list(num_samples)}; one to three numbers >= 0 that are not all 0 are "
            "allowed, for train, valid and test"
        )
    sizes = [check_integer("num_samples", each, 0, MAX_SAMPLES) for each in num_samples]
    return [*sizes, *[0] * (len(SPLITS) - len(sizes))]


def _build_weighted(
    stores: Sequence[StoreDocuments],
    config: GptConfig,
    split: str,
    weights: Sequence[float],
    num_samples: int,
) -> BlendedDataset:
    """Make each data set a little larger than what the blend should take of it.

    If the blend takes still more, which happens with weights of very different sizes, the data set
    is enlarged: it gets another epoch instead of ending early.
    """
    blend = weighted_blend(weights, num_samples, split=split, **_cache_of(config))
    targets = share_samples(weights, num_samples)
    datasets = [
        GptDataset(store, config, split=split, num_samples=target)
        for store, target in zip(stores, targets, strict=True)
    ]
    return BlendedDataset(_enlarged(datasets, blend), blend)


def _build_unweighted(
    stores: Sequence[StoreDocuments],
    config: GptConfig,
    split: str,
    num_samples: int | None,
    num_epochs: int,
) -> BuiltDataset:
    datasets = [_build_epochs(store, config, split, num_epochs) for store in stores]
    if len(stores) == 1:
        return datasets[0]
    sizes = [len(dataset) for dataset in datasets]
    if num_samples is None:
        return BlendedDataset(datasets, exhaustive_blend(sizes, split=split, **_cache_of(config)))
    blend = weighted_blend(sizes, num_samples, split=split, **_cache_of(config))
    return BlendedDataset(_enlarged(datasets, blend), blend)


def _cache_of(config: GptConfig) -> dict[str, Any]:
    return {"cache_dir": config.cache_dir, "verify": config.verify}


def _enlarged(datasets: Sequence[GptDataset], blend: Blend) -> list[GptDataset]:
    """Enlarge those data sets of which the blend, by rounding, takes more than there is."""
    return [
        dataset
        if count <= len(dataset)
        else GptDataset(dataset.documents, dataset.config, split=dataset.split, num_samples=count)
        for dataset, count in zip(datasets, blend.counts.tolist(), strict=True)
    ]


def _build_epochs(
    store: StoreDocuments, config: GptConfig, split: str, num_epochs: int
) -> GptDataset:
    if num_epochs == 1:
        return GptDataset(store, config, split=split)
    num_tokens = store.count_tokens(store.of_split(config.split, split))
    extra = config.add_extra_token_to_sequence
    num_samples = count_samples(num_tokens, config.seq_length, num_epochs, add_extra_token=extra)
    return GptDataset(store, config, split=split, num_samples=max(1, num_samples))
