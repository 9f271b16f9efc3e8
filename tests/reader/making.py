"""Small instances, their records in either layout, and the batches that they must become."""

import dataclasses
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.decode import Rows, decode_records
from bert_data.reader.layout import (
    BatchGroup,
    Shape,
    arrays_of,
    layout_of,
    make_table,
    new_buffer,
    stored_fields,
)
from bert_data.records.fields import MASKED_LM_FIELDS, masked_lm_records
from bert_data.records.formats.tfrecord import INDEX_DTYPE, index_path

KIND = masked_lm_records("ragged")
STREAMED = layout_of(KIND)
FEATURES = tuple(field.name for field in stored_fields(KIND.fields))
"""By the numbers that kernels know them by."""
V2_NAMES = {field.name: field.v2_name for field in MASKED_LM_FIELDS if field.v2_name}

MAX_TOKENS, MAX_PREDICTIONS = 12, 4
INT_FEATURES = (
    "input_ids",
    "input_mask",
    "segment_ids",
    "masked_lm_positions",
    "masked_lm_ids",
    "next_sentence_labels",
)
ALL_FEATURES = (*INT_FEATURES, "masked_lm_weights")


@dataclasses.dataclass(frozen=True)
class Instance:
    tokens: tuple[int, ...]
    segments: tuple[int, ...]
    positions: tuple[int, ...]
    labels: tuple[int, ...]
    is_random: int


def make_instance(number: int, *, max_tokens: int = MAX_TOKENS) -> Instance:
    """An instance that its first token tells from others, with a [PAD] among its tokens."""
    drawn = random.Random(number)
    length = drawn.randint(3, max_tokens)
    tokens = [number, *(drawn.choice((0, 5, 300, 20000, 30521)) for _ in range(length - 1))]
    count = drawn.randint(0, min(MAX_PREDICTIONS, length))
    positions = sorted(drawn.sample(range(length), count))
    labels = [drawn.randint(0, 30521) for _ in positions]
    first_b = drawn.randint(1, length)
    segments = [int(i >= first_b) for i in range(length)]
    return Instance(tuple(tokens), tuple(segments), tuple(positions), tuple(labels), number % 2)


def make_instances(count: int, first: int = 1) -> list[Instance]:
    return [make_instance(number) for number in range(first, first + count)]


def feature(values: Sequence[float], *, is_float: bool = False) -> tf.train.Feature:
    if is_float:
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def features_of(
    instance: Instance,
    layout: str,
    max_tokens: int = MAX_TOKENS,
    max_predictions: int = MAX_PREDICTIONS,
) -> dict[str, tf.train.Feature]:
    def pad(values: Iterable[float], length: int) -> list[float]:
        values = list(values)
        return values + [0] * (0 if layout == "ragged" else (length - len(values)))

    tokens, predicted = instance.tokens, instance.positions
    features = {
        "input_ids": feature(pad(tokens, max_tokens)),
        "input_mask": feature(pad([1] * len(tokens), max_tokens)),
        "segment_ids": feature(pad(instance.segments, max_tokens)),
        "masked_lm_positions": feature(pad(predicted, max_predictions)),
        "masked_lm_ids": feature(pad(instance.labels, max_predictions)),
        "masked_lm_weights": feature(pad([1.0] * len(predicted), max_predictions), is_float=True),
        "next_sentence_labels": feature([instance.is_random]),
    }
    if layout == "ragged":
        features["input_ids_splits_0"] = feature(range(len(tokens) + 1))
    names = V2_NAMES if layout == "v2" else {}
    return {names.get(name, name): value for name, value in features.items()}


def example_of(instance: Instance, layout: str, *, extra: bool = False) -> bytes:
    features = features_of(instance, layout)
    if extra:
        features["a_feature_of_no_concern"] = tf.train.Feature(
            bytes_list=tf.train.BytesList(value=[b"input_ids"])
        )
    message = tf.train.Example(features=tf.train.Features(feature=features))
    return message.SerializeToString(deterministic=True)


def write_examples(path: Path, examples: Iterable[bytes], *, compression: str = "") -> Path:
    with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(compression)) as writer:
        for example in examples:
            writer.write(example)
    return path


def write_shard(
    path: Path, instances: Iterable[Instance], layout: str = "ragged", *, compression: str = ""
) -> Path:
    examples = [example_of(instance, layout) for instance in instances]
    return write_examples(path, examples, compression=compression)


def write_shards(
    folder: Path, num_shards: int, instances: Sequence[Instance], layout: str = "ragged"
) -> str:
    """Deals instances to shards as create_pretraining_data does; returns their pattern."""
    for shard in range(num_shards):
        path = folder / f"part-{shard:05d}-of-{num_shards:05d}"
        write_shard(path, instances[shard::num_shards], layout)
    return str(folder / "part-*")


def frame_offsets(path: Path) -> list[int]:
    """The start of each record of a shard, and the shard's size."""
    data = path.read_bytes()
    offsets = [0]
    while offsets[-1] < len(data):
        size = int.from_bytes(data[offsets[-1] : offsets[-1] + 8], "little")
        offsets.append(offsets[-1] + 16 + size)
    return offsets


def write_index(path: Path, tokens: Sequence[int] | None = None) -> None:
    """Writes the index of a shard, in which records have these numbers of tokens, or none."""
    offsets = frame_offsets(path)
    index = np.zeros(len(offsets), INDEX_DTYPE)
    index["offset"] = offsets
    index["num_tokens"][:-1] = 0 if tokens is None else tokens
    np.save(index_path(str(path)), index)


def packed_rows(
    rows: list[list[Instance]], width: int, predictions: int, instances: int
) -> dict[str, np.ndarray]:
    """The batch of these rows, made one number at a time."""
    count = len(rows)
    names = ("input_ids", "input_mask", "segment_ids", "position_ids", "instance_ids")
    batch = {name: np.zeros((count, width), np.int32) for name in names}
    for name in ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights"):
        batch[name] = np.zeros((count, predictions), np.int32)
    for name in ("labels", "weights", "positions"):
        batch[f"next_sentence_{name}"] = np.zeros((count, instances), np.int32)
    for name in ("masked_lm_weights", "next_sentence_weights"):
        batch[name] = batch[name].astype(np.float32)
    for r, row in enumerate(rows):
        at = predicted = 0
        for number, instance in enumerate(row):
            batch["next_sentence_labels"][r, number] = instance.is_random
            batch["next_sentence_weights"][r, number] = 1
            batch["next_sentence_positions"][r, number] = at
            for position, label in zip(instance.positions, instance.labels, strict=True):
                batch["masked_lm_positions"][r, predicted] = at + position
                batch["masked_lm_ids"][r, predicted] = label
                batch["masked_lm_weights"][r, predicted] = 1
                predicted += 1
            for i, token in enumerate(instance.tokens):
                batch["input_ids"][r, at + i] = token
                batch["input_mask"][r, at + i] = 1
                batch["segment_ids"][r, at + i] = instance.segments[i]
                batch["position_ids"][r, at + i] = i
                batch["instance_ids"][r, at + i] = number + 1
            at += len(instance.tokens)
    return batch


def dense(instances: Sequence[Instance], width: int, predictions: int) -> dict[str, np.ndarray]:
    """The batch of these instances, one a row."""
    batch = packed_rows([[instance] for instance in instances], width, predictions, 1)
    return {name: batch[name] for name in ALL_FEATURES}


def widest(instances: Sequence[Instance]) -> tuple[int, int]:
    """Tokens and predictions of the batch of these instances under width="batch"."""
    tokens = max(len(instance.tokens) for instance in instances)
    return tokens, max(1, *(len(instance.positions) for instance in instances), 1)


def assert_same_batch(batch: dict, expected: dict[str, np.ndarray]) -> None:
    assert list(batch) == list(expected) or set(batch) == set(expected)
    for name, values in expected.items():
        array = np.asarray(batch[name])
        assert array.dtype == values.dtype, name
        np.testing.assert_array_equal(array, values, err_msg=name)


def first_tokens(batches: Iterable[dict]) -> list[int]:
    """The numbers of the instances of batches, see `make_instance`."""
    return [int(row[0]) for batch in batches for row in np.asarray(batch["input_ids"])]


def decode_rows(block: RecordBlock, shape: Shape) -> tuple[dict[str, np.ndarray], tuple[int, bool]]:
    """One batch of a record a row, and what `decode_records` tells."""
    table, num_words = make_table([shape], STREAMED)
    words = new_buffer(num_words)
    words[:] = 77
    rows = Rows(np.ones(shape.rows, np.bool_), np.arange(shape.rows + 1), np.array([0, shape.rows]))
    largest_and_outside = decode_records(block, rows, STREAMED, table, words)
    (batch,) = arrays_of(BatchGroup(words, table), STREAMED)
    return batch, largest_and_outside
