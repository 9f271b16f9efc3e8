"""Make the data sets of all splits from token stores and weights.

    build_datasets(["web", "books"], GptConfig(seq_length=1024, split="969,30,1"),
                   weights=[0.7, 0.3], num_samples=(100_000, 1000, 0))
      -> BlendedDataset of train, BlendedDataset of valid, None

This is what Megatron-LM's BlendedMegatronDatasetBuilder does.
"""

from collections.abc import Sequence
from typing import Any

from bert_data.causal.blending import (
    SURPLUS,
    Blend,
    BlendedDataset,
    check_num_datasets,
    check_weights,
    exhaustive_blend,
    normalize_weights,
    share_samples,
    weighted_blend,
)
from bert_data.causal.config import GptConfig
from bert_data.causal.documents import SPLITS, Documents, parse_split
from bert_data.causal.gpt import GptDataset, plan_split
from bert_data.causal.indices import MAX_EPOCHS, MAX_SAMPLES, count_samples
from bert_data.settings import check_integer
from bert_data.tokens.store_names import expand_stores

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

    One store without weights gives a `GptDataset`, anything else a `BlendedDataset`.

    Args:
      names: of the stores: the prefix of one, or PREFIX@N or a pattern for those of the parts of
        one data set, which share its weight in proportion to their tokens.
      config: of the samples.
      weights: of the names, > 0; None: in proportion to the stores' samples.
      num_samples: number of samples of train, valid and test; a split with 0 or without a number is
        not made. None: `num_epochs` of each split that has a share. With weights there may be a few
        more, as the part of each store is rounded up; without, there are at most those of one epoch
        of several stores.
      num_epochs: passes over each store if `num_samples` is None; None: one.

    Returns:
      The data sets; None for a split that is not made.

    Raises:
      ValueError: settings contradict each other, or a store does not fit them.
      CorruptDataError: a store or the cache is damaged.
    """
    parts = [store_prefixes(name) for name in names]
    check_num_datasets(sum(map(len, parts)))
    if weights is not None:
        check_weights(weights, len(names))
        if num_samples is None:
            raise ValueError("weights need num_samples, the size of the blend")
    sizes = split_sizes(config, num_samples, num_epochs)
    stores = [Documents(prefix, verify=config.verify) for part in parts for prefix in part]
    repeats = weights is not None or len(stores) == 1
    for split, size in zip(SPLITS, sizes, strict=True):
        for store in stores:
            if size != 0:  # refuse what cannot be made before making anything
                plan_split(store, config, split, size if repeats else None)
    built: list[BuiltDataset | None] = []
    for split, size in zip(SPLITS, sizes, strict=True):
        if size == 0:
            built.append(None)
        elif weights is not None:
            assert size is not None
            shared = _share_weights(weights, list(map(len, parts)), stores, config, split)
            built.append(_build_weighted(stores, config, split, normalize_weights(shared), size))
        elif len(stores) == 1 and size is not None:
            built.append(GptDataset(stores[0], config, split=split, num_samples=size))
        else:
            built.append(_build_unweighted(stores, config, split, size, num_epochs or 1))
    return built[0], built[1], built[2]


def store_prefixes(name: str) -> list[str]:
    """Return the prefixes of the stores that a name stands for; a file's name is left as it is."""
    return [name] if name.endswith((".bin", ".idx")) else expand_stores([name])


def _share_weights(
    weights: Sequence[float],
    num_parts: Sequence[int],
    stores: Sequence[Documents],
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
    """Return the samples to make of train, valid and test; 0: not made; None: whole epochs.

    Raises:
      ValueError: see `build_datasets`.
    """
    if num_epochs is not None:
        check_integer("num_epochs", num_epochs, 1, MAX_EPOCHS)
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
    for each in num_samples:
        check_integer("num_samples", each, 0, MAX_SAMPLES)
    return [*num_samples, *[0] * (len(SPLITS) - len(num_samples))]


def _build_weighted(
    stores: Sequence[Documents],
    config: GptConfig,
    split: str,
    weights: Sequence[float],
    num_samples: int,
) -> BlendedDataset:
    """Make each data set a little larger than what the blend should take of it.

    If the blend takes still more, which happens with weights of very different sizes, the data set
    is enlarged: it gets another epoch instead of ending early.
    """
    size = sum(share_samples(weights, num_samples))
    blend = weighted_blend(weights, size, split=split, **_cache_of(config))
    datasets = []
    targets = share_samples(weights, num_samples, SURPLUS)
    for store, target, count in zip(stores, targets, blend.counts.tolist(), strict=True):
        dataset = GptDataset(store, config, split=split, num_samples=target)
        if count > len(dataset):
            dataset = GptDataset(store, config, split=split, num_samples=count)
        datasets.append(dataset)
    return BlendedDataset(datasets, blend)


def _build_unweighted(
    stores: Sequence[Documents],
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
        blend = exhaustive_blend(sizes, split=split, **_cache_of(config))
        return BlendedDataset(datasets, blend)
    blend = weighted_blend(sizes, min(num_samples, sum(sizes)), split=split, **_cache_of(config))
    return BlendedDataset(_enlarged(datasets, blend), blend)


def _cache_of(config: GptConfig) -> dict[str, Any]:
    return {"cache_dir": config.cache_dir, "verify": config.verify}


def _enlarged(datasets: Sequence[GptDataset], blend: Blend) -> list[GptDataset]:
    """Enlarge those data sets of which the blend, by rounding, takes one sample too many."""
    return [
        dataset
        if count <= len(dataset)
        else GptDataset(dataset.documents, dataset.config, split=dataset.split, num_samples=count)
        for dataset, count in zip(datasets, blend.counts.tolist(), strict=True)
    ]


def _build_epochs(store: Documents, config: GptConfig, split: str, num_epochs: int) -> GptDataset:
    """Blend all samples of some epochs."""
    if num_epochs == 1:
        return GptDataset(store, config, split=split)
    num_tokens = store.count_tokens(store.of_split(config.split, split))
    num_samples = count_samples(
        num_tokens,
        config.seq_length,
        num_epochs,
        add_extra_token=config.add_extra_token_to_sequence,
    )
    return GptDataset(store, config, split=split, num_samples=max(1, num_samples))
