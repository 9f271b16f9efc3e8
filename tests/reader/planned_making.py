"""Planned batches of small instances, and what they must be."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bert_data.reader import ReaderConfig
from bert_data.reader.layout import arrays_of
from bert_data.reader.planned import PlannedSource
from bert_data.reader.sources import make_source
from tests.reader.making import MAX_TOKENS, Instance, dense, make_instances

INSTANCES = make_instances(23)
BY_NUMBER = {instance.tokens[0]: instance for instance in INSTANCES}


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


def plain_rows(rows: list[list[Instance]], width: int, predictions: int) -> dict[str, np.ndarray]:
    nothing = Instance((), (), (), (), 0)
    batch = dense([row[0] if row else nothing for row in rows], width, predictions)
    weights = [[float(bool(row))] for row in rows]
    return {**batch, "next_sentence_weights": np.array(weights, np.float32)}
