"""Documents by percentile of a value: what share of all documents is better, in bounded memory.

    perplexities  20 35 35 90         a lower one is better
    percentiles    0 25 25 75         head below 30, middle below 60, then tail

A `PercentileStep` calls `save_values` in `observe`.
"""

import functools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from absl import logging
from numpy.typing import ArrayLike

from bert_data.curation.document import Document, Verdict
from bert_data.curation.step import CorpusStep, Decisions, ShardDecisions
from bert_data.settings import Within
from bert_data.storage import load_array, save_array
from bert_data.work.ranges import RangeReader
from bert_data.work.rounds import Own, Part, Rounds, Writers
from bert_data.work.sorted_records import Layout
from bert_data.work.sorting import from_keys, to_keys

Percentile = Annotated[float, Within(0, 100)]

_VALUES = Layout(("value", "document"), num_keys=2)
"""Keys of values, of which a better one is less."""

_BETTER = Layout(("document", "number"), num_keys=1)
"""A document, and the number of documents that are better."""


def bucket_of(is_head: bool, is_middle: bool) -> str:
    """Return the name of a document's bucket; what is of the head counts as such."""
    return "head" if is_head else "middle" if is_middle else "tail"


def save_values(path: Path, values: ArrayLike) -> None:
    """Write the values of a shard's documents, [documents], without NaN."""
    save_array(path, np.asarray(values, np.float64))


class PercentileStep(CorpusStep):
    """A step that keeps documents by the percentiles of their values, and marks them with both.

    Attributes:
      max_percentile: greatest percentile of a kept document, 0 to 100.
      head_percentile: where the head ends.
      middle_percentile: where the middle ends and the tail begins.
    """

    higher_is_better: ClassVar[bool]
    counts_buckets: ClassVar[bool] = False
    rules_of_value: ClassVar[Sequence[str]] = ()  # those whose threshold is None do not apply
    score_field: str
    bucket_field: str
    max_percentile: float
    head_percentile: float
    middle_percentile: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head_percentile > self.middle_percentile:
            raise ValueError(
                f"head_percentile is {self.head_percentile}; it must be at most middle_percentile,"
                f" {self.middle_percentile}"
            )

    def decide(self, rounds: Rounds) -> Decisions:
        """Count, for each document, the documents that are better."""
        values = rounds.over_parts("values", self._write_values, {"values": _VALUES})["values"]
        count = functools.partial(self._count_better, len(values))
        better = rounds.over_ranges("order", count, values, {"better": _BETTER})["better"]
        return Decisions(tables={"better": better}, notes={"total": len(values)})

    def _write_values(self, part: Part, own: Own, writers: Writers) -> None:
        values = load_array(part.path)
        writers["values"].add(
            value=to_keys(-values if self.higher_is_better else values),
            document=np.arange(part.first, part.end, dtype=np.uint64),
        )

    def _count_better(self, total: int, reader: RangeReader, writers: Writers) -> None:
        num_before = reader.num_before
        for batch in reader.batches(1):
            places = num_before + np.arange(len(batch.records))
            writers["better"].add(document=batch.records["document"], number=places - batch.places)
            values = from_keys(batch.records["value"])
            values = 0.0 - values if self.higher_is_better else values
            for percentile in (self.head_percentile, self.middle_percentile):
                place = min(int(total * percentile / 100), total - 1) - num_before
                if 0 <= place < len(values):
                    logging.info("%s: percentile %g is %.4g", self.name, percentile, values[place])
            num_before += len(batch.records)

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        """Reject documents by their percentiles and values, and mark all."""
        rules = [rule for rule in self.rules_of_value if getattr(self, rule) is not None]
        values = load_array(decided.observed)
        percentiles = 100 * decided.tables["better"]["number"] / max(decided.notes["total"], 1)
        pairs = zip(values.tolist(), percentiles.tolist(), strict=True)
        for document, (value, percentile) in zip(documents, pairs, strict=True):
            bucket = bucket_of(
                percentile < self.head_percentile, percentile < self.middle_percentile
            )
            values_of_rules = {"max_percentile": percentile, **dict.fromkeys(rules, value)}
            marked = document.with_fields(**{self.score_field: value, self.bucket_field: bucket})
            measured = self.measure_rules(values_of_rules)
            yield Verdict(marked, measured, counted={bucket: 1} if self.counts_buckets else {})
