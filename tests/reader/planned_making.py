"""Planned batches of small instances, and what they must be."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bert_data.formats.tfrecord import INDEX_DTYPE, index_path
from bert_data.reader import ReaderConfig
from bert_data.reader.layout import arrays_of
from bert_data.reader.planned import PlannedSource
from bert_data.reader.sources import make_source
from tests.reader.making import MAX_TOKENS, Instance, dense, frame_offsets, make_instances

INSTANCES = make_instances(23)
BY_NUMBER = {instance.tokens[0]: instance for instance in INSTANCES}


def write_index(path: Path, tokens: list[int]) -> None:
    offsets = frame_offsets(path)
    index = np.array(list(zip(offsets, [*tokens, 0], strict=True)), INDEX_DTYPE)
    np.save(index_path(str(path)), index)


def config_of(pattern: str, batch_size: int | None = 4, **changes: Any) -> ReaderConfig:
    settings = {"batch_size": batch_size, "max_seq_length": MAX_TOKENS, "shuffle": True, **changes}
    return ReaderConfig(input_patterns=pattern, **settings)


def batches_of(config: ReaderConfig) -> Iterator[dict[str, np.ndarray]]:
    source = make_source(config)
    assert isinstance(source, PlannedSource)
    for group in source.groups():
        yield from arrays_of(group, source.layout)


def rows_of(batch: dict[str, np.ndarray]) -> list[list[Instance]]:
    """The instances of each row, by their first tokens."""
    if "instance_ids" not in batch:
        numbers = np.where(batch["next_sentence_weights"], batch["input_ids"][:, :1], 0)
    else:
        firsts = np.take_along_axis(batch["input_ids"], batch["next_sentence_positions"], 1)
        numbers = np.where(batch["next_sentence_weights"], firsts, 0)
    return [[BY_NUMBER[number] for number in row if number] for row in numbers.tolist()]


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


def plain_rows(rows: list[list[Instance]], width: int, predictions: int) -> dict[str, np.ndarray]:
    nothing = Instance((), (), (), (), 0)
    batch = dense([row[0] if row else nothing for row in rows], width, predictions)
    weights = [[float(bool(row))] for row in rows]
    return {**batch, "next_sentence_weights": np.array(weights, np.float32)}
