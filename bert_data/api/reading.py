"""Batches and samples to train on.

read_batches("train-*", batch_size=32)         a tf.data.Dataset
iterate_arrays("train-*", batch_size=32)       the same as NumPy arrays, without TensorFlow
build_samples("store", seq_length=1024)        GPT samples of train, valid and test
"""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bert_data.api.arguments import Options, file_name
from bert_data.api.text import Path, Records, Stores
from bert_data.causal import BlendedDataset, GptConfig, GptDataset, build_datasets
from bert_data.quiet_tensorflow import import_tensorflow
from bert_data.reader import ReaderConfig
from bert_data.reader import iterate_arrays as iterate_arrays_of
from bert_data.settings import plain

if TYPE_CHECKING:
    import tensorflow as tf

Files = Path | Sequence[Path] | Records
Samples = GptDataset | BlendedDataset


def read_batches(
    files: Files,
    *,
    batch_size: int | None = None,
    batching: str = "pools",
    shuffle: bool = True,
    **options: object,
) -> "tf.data.Dataset":
    """Return batches of records as a tf.data.Dataset.

    Args:
      files: names or patterns of shards, or what `create_records` returned.
      batch_size: rows of a batch.
      batching: which records share a batch: "plain", "pools" (of similar length, with almost no
        padding), "buckets", "packed" or "stream".
      shuffle: whether records come in an order drawn from `seed`, another one in each epoch.
      options: seed, num_epochs (None: forever), max_seq_length, form="fit" for Keras's fit, and all
        other fields of `bert_data.reader.ReaderConfig`.
    """
    import_tensorflow()
    from bert_data.reader import read_batches as read_batches_of

    named = {"batch_size": batch_size, "batching": batching, "shuffle": shuffle}
    return read_batches_of(_config("read_batches", files, {**named, **options}))


def iterate_arrays(
    files: Files,
    *,
    batch_size: int | None = None,
    batching: str = "pools",
    shuffle: bool = True,
    **options: object,
) -> Iterator[dict[str, Any]]:
    """Yield the batches of `read_batches` as dicts of NumPy arrays; TensorFlow is not loaded."""
    named = {"batch_size": batch_size, "batching": batching, "shuffle": shuffle}
    return iterate_arrays_of(_config("iterate_arrays", files, {**named, **options}))


def _config(function: str, files: Files, options: dict[str, object]) -> ReaderConfig:
    arguments = Options(function, options, ReaderConfig)
    return arguments.last_config(ReaderConfig, input_patterns=names_of(files))


def names_of(files: Files) -> str:
    """Return names or patterns, separated by commas."""
    if isinstance(files, Records):
        files = files.files
    if isinstance(files, str):
        return files
    if isinstance(files, os.PathLike):
        return file_name(files)
    return ",".join(map(file_name, files))


def build_samples(
    stores: Path | Sequence[Path] | Stores,
    *,
    seq_length: int = 1024,
    weights: Sequence[float] | None = None,
    num_samples: Sequence[int] | int | None = None,
    num_epochs: int | None = None,
    **options: object,
) -> tuple[Samples | None, Samples | None, Samples | None]:
    """Return the GPT samples of train, valid and test, as Megatron-LM draws them.

    Args:
      stores: prefixes of token stores of documents, or what `tokenize` returned.
      seq_length: tokens per sample.
      weights: of each store in a blend; None: every sample of every store comes once.
      num_samples: of train, valid and test; one number is of train. None: whole epochs.
      num_epochs: passes over each store if num_samples is None.
      options: seed, split ("969,30,1"), cache_dir, eod_id and all other fields of
        `bert_data.causal.GptConfig`.

    Returns:
      The samples of each split, None for one that has no share: sequences of arrays.
    """
    if isinstance(stores, Stores):
        stores = stores.prefixes
    names = [stores] if isinstance(stores, str | os.PathLike) else list(stores)
    arguments = Options("build_samples", {**options, "seq_length": seq_length}, GptConfig)
    config = arguments.last_config(GptConfig)
    sizes = plain(num_samples)
    return build_datasets(
        [os.fspath(name) for name in names],
        config,
        weights=None if weights is None else [float(weight) for weight in weights],
        num_samples=[sizes] if isinstance(sizes, int) else sizes and list(map(plain, sizes)),
        num_epochs=plain(num_epochs),
    )
