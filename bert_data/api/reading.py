"""Batches and samples to train on.

read_batches("train-*", batch_size=32)         a tf.data.Dataset
iterate_arrays("train-*", batch_size=32)       the same as NumPy arrays, without TensorFlow
read_batches(recipe), iterate_arrays(recipe)   batches from token stores, by a recipe
build_samples("store", seq_length=1024)        GPT samples of train, valid and test
"""

import dataclasses
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from bert_data.api.arguments import Options, file_name, list_of_names, takes
from bert_data.api.text import Records, Stores
from bert_data.gpt import BlendedDataset, GptConfig, GptDataset, build_datasets
from bert_data.quiet_tensorflow import import_tensorflow
from bert_data.reader import ReaderConfig
from bert_data.reader import iterate_arrays as iterate_arrays_of
from bert_data.reader.planning.epoch import Parts
from bert_data.reader.saved_places import PlacedIterator
from bert_data.recipes.recipe import Recipe
from bert_data.recipes.recipe_source import RecipeHost, RecipeReaderConfig, source_of
from bert_data.recipes.run_batches import iterate_recipe_arrays
from bert_data.settings import convert
from bert_data.storage.paths import Path

if TYPE_CHECKING:
    import tensorflow as tf

    from bert_data.api.keywords import BuildSamplesOptions, IterateArraysOptions, ReadBatchesOptions

Files = Path | Sequence[Path] | Records
Samples = GptDataset | BlendedDataset


@takes(ReaderConfig, others=("input_context",))
def read_batches(
    files: Files | Recipe,
    *,
    batch_size: int | None = None,
    batching: str = "pools",
    shuffle: bool = True,
    **options: "Unpack[ReadBatchesOptions]",
) -> "tf.data.Dataset":
    """Return batches of records, or of a recipe, as a tf.data.Dataset.

    Args:
      files: names or patterns of shards, or what `create_records` returned; or a recipe, which has
        settings of its own: it takes only num_hosts, host_index, start_batch, form, feature_names
        and input_context, that of `tf.distribute`.
      batch_size: rows of a batch.
      batching: which records share a batch: "plain", "pools" (of similar length, with almost no
        padding), "buckets", "packed" or "stream".
      shuffle: whether records come in an order drawn from `seed`, another one in each epoch.
      options: seed, num_epochs (None: forever), max_seq_length, form="fit" for Keras's fit, and all
        other fields of `bert_data.reader.ReaderConfig`.
    """
    import_tensorflow()
    from bert_data.reader import read_batches as read_batches_of

    named: dict[str, object] = {"batch_size": batch_size, "batching": batching, "shuffle": shuffle}
    if isinstance(files, Recipe):
        return _batches_of_recipe(files, {**_not_default(named), **options})
    return read_batches_of(_config("read_batches", files, {**named, **options}))


@takes(ReaderConfig)
def iterate_arrays(
    files: Files | Recipe,
    *,
    batch_size: int | None = None,
    batching: str = "pools",
    shuffle: bool = True,
    **options: "Unpack[IterateArraysOptions]",
) -> PlacedIterator[Any]:
    """Iterate over the batches of `read_batches` as dicts of NumPy arrays, without TensorFlow.

    Those of a recipe take only num_hosts, host_index and start_batch. Each has the features of its
    own stage, and "flat" ones have `cu_seqlens`. `get_state()` of the iterator returns the place
    behind the last batch, and `set_state(state)` goes there, see `PlacedIterator`.
    """
    named: dict[str, object] = {"batch_size": batch_size, "batching": batching, "shuffle": shuffle}
    if isinstance(files, Recipe):
        return _arrays_of_recipe(files, {**_not_default(named), **options})
    return iterate_arrays_of(_config("iterate_arrays", files, {**named, **options}))


def _config(function: str, files: Files, options: dict[str, object]) -> ReaderConfig:
    arguments = Options(function, options)
    return arguments.last_config(ReaderConfig, input_patterns=names_of(files))


_NAMED = {"batch_size": None, "batching": "pools", "shuffle": True}


def _not_default(named: dict[str, object]) -> dict[str, object]:
    """Return arguments without those that have their defaults, which a recipe would refuse."""
    return {name: value for name, value in named.items() if value != _NAMED[name]}


def _batches_of_recipe(recipe: Recipe, options: dict[str, Any]) -> "tf.data.Dataset":
    from bert_data.reader.sources import parts_of
    from bert_data.reader.tensors import dataset_of

    context = options.pop("input_context", None)
    config = Options("read_batches", options, RecipeReaderConfig).last_config(RecipeReaderConfig)
    own = Parts(config.num_hosts, config.host_index, 1) if context is None else parts_of(context)
    return dataset_of(source_of(recipe, config, own), config)


def _arrays_of_recipe(recipe: Recipe, options: dict[str, Any]) -> PlacedIterator[Any]:
    config = Options("iterate_arrays", options, RecipeHost).last_config(RecipeHost)
    return iterate_recipe_arrays(recipe, **dataclasses.asdict(config))


def names_of(files: Files) -> str:
    """Return names or patterns, separated by commas."""
    if isinstance(files, Records):
        files = files.files
    if isinstance(files, str | os.PathLike):
        return list_of_names(files)
    if not isinstance(files, Iterable):
        raise ValueError(f"files is {files!r}; names, patterns or what made them are allowed")
    return ",".join(map(file_name, files))


@takes(GptConfig)
def build_samples(
    stores: Path | Sequence[Path] | Stores,
    *,
    seq_length: int = 1024,
    weights: Sequence[float] | None = None,
    num_samples: Sequence[int] | int | None = None,
    num_epochs: int | None = None,
    **options: "Unpack[BuildSamplesOptions]",
) -> tuple[Samples | None, Samples | None, Samples | None]:
    """Return the GPT samples of train, valid and test, as Megatron-LM draws them.

    Args:
      stores: prefixes of token stores of documents, or what `tokenize` returned.
      seq_length: tokens per sample.
      weights: of each store in a blend; None: every sample of every store comes once.
      num_samples: of train, valid and test; one number is of train. None: whole epochs.
      num_epochs: passes over each store if num_samples is None.
      options: seed, split ("969,30,1"), cache_dir, eod_id and all other fields of
        `bert_data.gpt.GptConfig`.

    Returns:
      The samples of each split, None for one that has no share: sequences of arrays.
    """
    if isinstance(stores, Stores):
        stores = stores.prefixes
    names = [stores] if isinstance(stores, str | os.PathLike) else stores
    arguments = Options("build_samples", {**options, "seq_length": seq_length})
    config = arguments.last_config(GptConfig)
    return build_datasets(
        convert("stores", tuple[str, ...], names),
        config,
        weights=convert("weights", tuple[float, ...] | None, weights),
        num_samples=convert("num_samples", tuple[int, ...] | None, num_samples),
        num_epochs=convert("num_epochs", int | None, num_epochs),
    )
