"""Turn a source of batches into a tf.data.Dataset or an iterator of eager tensors.

    groups of batches --split--> runs of one shape --form, slice--> batches
    (one call of Python)         (in C++, on the consumer's thread)

    read_batches(ReaderConfig(input_patterns="data/train-*", batch_size=32, shuffle=True))
      -> {"input_ids": int32[32, widest row], ..., "next_sentence_labels": int32[32, 1]}, ...

All readers end here.
"""

import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.reader.config import UNKNOWN, ReadBefore, ReaderConfig
from bert_data.reader.layout import (
    ALIGNMENT_BYTES,
    BATCH_COLUMNS,
    RUN_COLUMNS,
    BatchLayout,
    Bounds,
    GroupSource,
    StaticShape,
    is_float,
    new_buffer,
    runs_of,
)
from bert_data.reader.sources import BatchForm, form_batch, iterate_arrays, make_source
from bert_data.records.objectives import Objective


def read_batches(
    config: ReaderConfig,
    *,
    input_context: "tf.distribute.InputContext | None" = None,
    before: Sequence[ReadBefore] = (),
) -> tf.data.Dataset:
    """Return the dataset of a configuration's batches.

    Every iteration over it gives the same batches, in every process. All features are int32, the
    weights float32; `bert_data.records.fields` and `ReaderConfig.batching` say which features there
    are. An error during an iteration reaches the caller as a tf.errors.OpError whose text begins
    with ours; `explain` recovers ours, and `iterate_batches` raises it.

    Args:
      input_context: inside `tf.distribute.Strategy.distribute_datasets_from_function`: hosts and
        the rows of a replica are taken from it; config.batch_size and config.start_batch are
        global, and each replica takes one batch of this dataset per step.
      before: batches of the same records in the same order, cut otherwise, behind which reading
        begins; then it does not end (num_epochs is None), and `start_batch` counts from there.

    Raises:
      ValueError: the configuration contradicts the shards, or there is nothing to read.
      CorruptDataError: a shard's size contradicts its manifest or index, or its first record is
        damaged.
    """
    return dataset_of(make_source(config, input_context, before), config)


class SourceOfInstances(GroupSource, Protocol):
    """A source of batches of masked LM instances."""

    objective: Objective

    @property
    def bounds(self) -> Bounds:
        """What no record exceeds."""


_BOUNDS: weakref.WeakKeyDictionary[tf.data.Dataset, Bounds] = weakref.WeakKeyDictionary()


def dataset_of(source: SourceOfInstances, config: BatchForm) -> tf.data.Dataset:
    """Return the dataset of a source's batches in the form that a configuration names."""
    asked = source.objective
    dataset = dataset_of_groups(source, lambda batch: form_batch(batch, config, asked, _ones_like))
    _BOUNDS[dataset] = source.bounds
    return dataset


def bounds_of(dataset: tf.data.Dataset) -> Bounds:
    """Return what no record of a dataset exceeds, as far as its reader has said it."""
    return _BOUNDS.get(dataset, Bounds(None, None))


def iterate_batches(config: ReaderConfig) -> Iterator[Any]:
    """Iterate over the batches of `read_batches` as eager tensors, for custom loops.

    This bypasses tf.data, so a batch costs only a few microseconds more than reading it, and errors
    are the reader's own. The tensors are on the CPU and share the memory of `iterate_arrays` if it
    is aligned.
    """
    return map(_tensors_of, iterate_arrays(config))


def _tensors_of(batch: Any) -> Any:
    if isinstance(batch, dict):
        return {name: _take_over(array) for name, array in batch.items()}
    return tuple(map(_tensors_of, batch)) if isinstance(batch, tuple) else _take_over(batch)


def _take_over(array: NDArray[Any]) -> tf.Tensor:
    """Return the array as a tensor on the same memory, which the tensor releases.

    If it is not aligned, so that TensorFlow's kernels would end the process, it is copied first.
    """
    if not array.size:
        return tf.constant(array)
    address, _ = array.__array_interface__["data"]  # array.ctypes takes three times as long
    if address % ALIGNMENT_BYTES:
        aligned = new_buffer(array.size).view(array.dtype).reshape(array.shape)
        aligned[...] = array
        array = aligned
    return tf.experimental.dlpack.from_dlpack(array.__dlpack__())


def dataset_of_groups(
    source: GroupSource, form: Callable[[dict[str, tf.Tensor]], Any]
) -> tf.data.Dataset:
    """Return the dataset of a source's batches.

    Args:
      form: turns a batch, or stacked batches of one shape, by the names of their features, into an
        element of the dataset, or stacked ones.
    """
    layout, static, shapes_differ = source.layout, source.static_shape, source.shapes_differ
    columns = (BATCH_COLUMNS if shapes_differ else RUN_COLUMNS) * len(layout)
    signature = (tf.TensorSpec([None], tf.int32), tf.TensorSpec([None, columns], tf.int32))

    def items(source: GroupSource) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        for group in source.groups():
            yield group.words, runs_of(group.table, layout, alone=shapes_differ)

    def split(words: tf.Tensor, run: tf.Tensor) -> Any:
        return form(_split(words, run, layout, static))

    @tf.autograph.experimental.do_not_convert
    def unpack_group(words: tf.Tensor, runs: tf.Tensor) -> tf.data.Dataset:
        rows = tf.data.Dataset.from_tensor_slices(runs)
        if shapes_differ:
            return _map_inline(functools.partial(split, words), rows)

        def unpack_run(run: tf.Tensor) -> tf.data.Dataset:
            return tf.data.Dataset.from_tensor_slices(split(words, run))

        return _flat_map_inline(unpack_run, rows)

    batches = generate(source, items, signature).flat_map(unpack_group)
    return finish(batches, source.num_batches)


def generate(source: Any, items: Callable[[Any], Iterator[Any]], signature: Any) -> tf.data.Dataset:
    """Return the dataset of an object's items; the object is deleted when the dataset is.

    TensorFlow never releases what `from_generator` is given. That therefore refers to the object
    weakly, and the dataset holds it, as does every dataset derived from this one. A dataset made
    inside a graph lives as long as the graph, and the object with it.

    Args:
      items: returns its items, from the first one on at each call.
    """
    find: Callable[[], Any] = weakref.ref(source) if tf.executing_eagerly() else lambda: source

    def generate_items() -> Iterator[Any]:
        try:
            yield from items(find())
        except (CorruptDataError, OSError, ValueError) as error:
            # TensorFlow's error quotes the whole traceback, between our sentence and the user.
            raise error.with_traceback(None) from None

    dataset = tf.data.Dataset.from_generator(generate_items, output_signature=signature)
    if tf.executing_eagerly():
        weakref.finalize(dataset, lambda source: None, source)
    return dataset


def finish(batches: tf.data.Dataset, num_batches: int) -> tf.data.Dataset:
    """Return the dataset with the options and the cardinality that all readers' have."""
    options = tf.data.Options()
    options.deterministic = True
    # The hosts' parts are already disjoint.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    # Groups are made ahead, so another thread per batch would cost more than it gains.
    options.experimental_optimization.inject_prefetch = False
    options.autotune.enabled = False  # measuring each batch costs more than there is to tune
    batches = batches.with_options(options)
    if num_batches == UNKNOWN:
        return batches
    return batches.apply(tf.data.experimental.assert_cardinality(num_batches))


def _map_inline(function: Callable[[tf.Tensor], Any], rows: tf.data.Dataset) -> tf.data.Dataset:
    """Return `rows.map(function)`, computed on the consumer's thread, at a third of the cost.

    `Dataset.map` gives each operation to a pool of threads, which costs more than the operations of
    `_split`.
    """
    results: list[Any] = []

    def flat(row: tf.Tensor) -> list[tf.Tensor]:
        results.append(function(row))
        return tf.nest.flatten(results[0])

    traced = tf.function(flat, [rows.element_spec], autograph=False).get_concrete_function()
    specs = tf.nest.map_structure(lambda value: tf.TensorSpec(value.shape, value.dtype), results[0])
    mapped = tf.raw_ops.MapDataset(
        input_dataset=tf.data.experimental.to_variant(rows),
        other_arguments=traced.captured_inputs,
        f=traced,
        output_types=[spec.dtype for spec in tf.nest.flatten(specs)],
        output_shapes=[spec.shape for spec in tf.nest.flatten(specs)],
        use_inter_op_parallelism=False,
    )
    return tf.data.experimental.from_variant(mapped, specs)


def _flat_map_inline(
    function: Callable[[tf.Tensor], tf.data.Dataset], rows: tf.data.Dataset
) -> tf.data.Dataset:
    """Return `rows.flat_map(function)`, computed on the consumer's thread."""
    specs: list[Any] = []

    def to_variant(row: tf.Tensor) -> tf.Tensor:
        dataset = function(row)
        specs.append(dataset.element_spec)
        return tf.data.experimental.to_variant(dataset)

    variants = _map_inline(to_variant, rows)
    return variants.flat_map(
        functools.partial(tf.data.experimental.from_variant, structure=specs[0])
    )


def _split(
    words: tf.Tensor, run: tf.Tensor, layout: BatchLayout, static: StaticShape
) -> dict[str, tf.Tensor]:
    """Return the batch, or batches, at the place in `words` that a row of `runs_of` gives.

    Each feature is one tensor. Where memory is aligned, no operation copies.
    """
    num_axes = run.shape[0] // len(layout) - 2
    parts = tf.split(run, [1, 1, num_axes] * len(layout))
    batches = {}
    for i, (fields, columns) in enumerate(zip(layout, static[1:], strict=True)):
        begin, size, shape = parts[3 * i : 3 * i + 3]
        section = tf.reshape(tf.slice(words, begin, size), shape)
        section.set_shape([len(fields), *[None] * (num_axes - 3), static[0], columns])
        for field, values in zip(fields, tf.unstack(section), strict=True):
            batches[field.name] = tf.bitcast(values, tf.float32) if is_float(field) else values
    return batches


def _ones_like(values: tf.Tensor) -> tf.Tensor:
    return tf.ones_like(values, tf.float32)


def block_diagonal_mask(instance_ids: tf.Tensor) -> tf.Tensor:
    """Return which tokens of packed rows attend to each other: those of the same instance.

    Args:
      instance_ids: int32[rows, width], 1, 2, ... in each row and 0 on padding.

    Returns:
      int32[rows, width, width], 1 where a token (second axis) attends to a token (third axis).
    """
    queries, keys = instance_ids[:, :, tf.newaxis], instance_ids[:, tf.newaxis, :]
    return tf.cast((queries == keys) & (queries > 0), tf.int32)
