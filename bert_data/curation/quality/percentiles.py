"""Documents by percentile of a value: what share of all documents is better, in bounded memory.

    perplexities  20 35 35 90         a lower one is better
    percentiles    0 25 25 75         head below 30, middle below 60, then tail

A `CorpusStep` calls `save_values` in `observe`, `rank` in `decide` and `ranked` in `judge_shard`.
"""

import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from absl import logging
from numpy.typing import ArrayLike

from bert_data.curation.parameters import Within
from bert_data.curation.step import Decisions, ShardDecisions
from bert_data.storage import load_array, make_folder, save_array
from bert_data.work.float_keys import from_keys, to_keys
from bert_data.work.ranges import RangeReader
from bert_data.work.records import Layout
from bert_data.work.rounds import Own, Part, Rounds, Writers

Percentile = Annotated[float, Within(0, 100)]

HEAD, MIDDLE, TAIL = "head", "middle", "tail"

_VALUES = Layout(("value", "document"), num_keys=2)
"""Keys of values, of which a better one is less."""

_BETTER = Layout(("document", "number"), num_keys=1)
"""A document, and the number of documents that are better."""

_FILE = "values.npy"


def check_percentiles(head_percentile: float, middle_percentile: float) -> None:
    """Raise ValueError if the head does not end before the middle."""
    if head_percentile > middle_percentile:
        raise ValueError(
            f"head_percentile is {head_percentile}; it must be at most middle_percentile,"
            f" {middle_percentile}"
        )


def bucket_of(percentile: float, head_percentile: float, middle_percentile: float) -> str:
    """Return the bucket of a percentile: each ends below its own."""
    if percentile < head_percentile:
        return HEAD
    return MIDDLE if percentile < middle_percentile else TAIL


def save_values(path: Path, values: ArrayLike) -> None:
    """Write the values of a shard's documents, [documents], of which none is NaN."""
    make_folder(path)
    save_array(path / _FILE, np.asarray(values, np.float64))


def rank(
    rounds: Rounds, step: str, percentiles: Sequence[float], *, higher_is_better: bool
) -> Decisions:
    """Count, for each document, the documents that are better.

    Args:
      rounds: over what `save_values` wrote.
      step: name for the log.
      percentiles: whose values are logged.
      higher_is_better: which value is better.
    """
    write = functools.partial(_write_values, higher_is_better)
    values = rounds.over_parts("values", write, {"values": _VALUES})["values"]
    total = len(values)
    count = functools.partial(_count_better, step, tuple(percentiles), higher_is_better, total)
    better = rounds.over_ranges("order", count, values, {"better": _BETTER})["better"]
    rounds.remove(values)
    return Decisions(tables={"better": better}, notes={"total": total})


def ranked(decided: ShardDecisions) -> Iterator[tuple[float, float]]:
    """Yield the value of each document of a shard, and its percentile, 0 to 100."""
    values = load_array(os.path.join(decided.observed, _FILE))
    percentiles = 100 * decided.tables["better"]["number"] / max(decided.notes["total"], 1)
    return zip(values.tolist(), percentiles.tolist(), strict=True)


def _write_values(higher_is_better: bool, part: Part, own: Own, writers: Writers) -> None:
    values = load_array(os.path.join(part.path, _FILE))
    writers["values"].add(
        value=to_keys(-values if higher_is_better else values),
        document=np.arange(part.first, part.end, dtype=np.uint64),
    )


def _count_better(
    step: str,
    percentiles: Sequence[float],
    higher_is_better: bool,
    total: int,
    reader: RangeReader,
    writers: Writers,
) -> None:
    num_before = reader.num_before
    for batch in reader.batches(1):
        places = num_before + np.arange(len(batch.records))
        writers["better"].add(document=batch.records["document"], number=places - batch.places)
        values = from_keys(batch.records["value"])
        values = 0.0 - values if higher_is_better else values
        for percentile in percentiles:
            place = min(int(total * percentile / 100), total - 1) - num_before
            if 0 <= place < len(values):
                logging.info("%s: percentile %g is %.4g", step, percentile, values[place])
        num_before += len(batch.records)
