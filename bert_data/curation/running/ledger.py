"""The ledger: a row for each rule by which a document was measured, of those that are rejected.

    document        source  step            measure  rule       value  threshold  failed  outcome
    crawl/a.jsonl:7 crawl   gopher_quality  0        min_words    7.0       50.0  true    rejected
    crawl/a.jsonl:7 crawl   gopher_quality  1        max_words    7.0   100000.0  false   rejected

All that the rejecting step has measured is there, so that a threshold can be tried again. Values
and thresholds that are texts are in `value_text` and `threshold_text`. `measure` counts the rows of
one document at one step, from 0; `num_bytes` is the size of its text when it came to the step. With
`--ledger=all` the rows of documents that a step keeps are there, too (outcome "kept").
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import pyarrow
from pyarrow import ipc, parquet

from bert_data.curation.running.counts import is_number
from bert_data.curation.verdict import Measured
from bert_data.storage import open_input, open_scratch

REJECTED, ALL = LEDGER_MODES = ("rejected", "all")
"""Of which documents there are rows."""

OUTCOME_KEPT, OUTCOME_REJECTED = "kept", "rejected"

SCHEMA = pyarrow.schema(
    [
        ("document", pyarrow.string()),
        ("source", pyarrow.string()),
        ("step", pyarrow.string()),
        ("measure", pyarrow.int32()),
        ("rule", pyarrow.string()),
        ("value", pyarrow.float64()),
        ("value_text", pyarrow.string()),
        ("threshold", pyarrow.float64()),
        ("threshold_text", pyarrow.string()),
        ("failed", pyarrow.bool_()),
        ("outcome", pyarrow.string()),
        ("num_bytes", pyarrow.int64()),
    ]
)
_ROWS_AT_A_TIME = 8192
_ROWS_A_GROUP = 1 << 17


class LedgerWriter:
    """Writes the part of the ledger that is of one shard: a stream of Arrow."""

    def __init__(self, path: Path, source: str) -> None:
        self._source = source
        self._columns: list[list[Any]] = [[] for _ in SCHEMA.names]
        self._file = open_scratch(path)
        options = ipc.IpcWriteOptions(compression="lz4")
        self._writer = ipc.new_stream(self._file, SCHEMA, options=options)

    def add(
        self, document: str, step: str, measured: Sequence[Measured], num_bytes: int, *, kept: bool
    ) -> None:
        """Adds a row for each measure of a document at a step."""
        count = len(measured)
        outcome = OUTCOME_KEPT if kept else OUTCOME_REJECTED
        values = [_number_and_text(each.value) for each in measured]
        thresholds = [_number_and_text(each.threshold) for each in measured]
        added: tuple[Iterable[Any], ...] = (
            [document] * count,
            [self._source] * count,
            [step] * count,
            range(count),
            [each.rule for each in measured],
            [number for number, _ in values],
            [text for _, text in values],
            [number for number, _ in thresholds],
            [text for _, text in thresholds],
            [each.failed for each in measured],
            [outcome] * count,
            [num_bytes] * count,
        )
        for column, new in zip(self._columns, added, strict=True):
            column.extend(new)
        if len(self._columns[0]) >= _ROWS_AT_A_TIME:
            self._flush()

    def _flush(self) -> None:
        arrays = [
            pyarrow.array(column, kind)
            for column, kind in zip(self._columns, SCHEMA.types, strict=True)
        ]
        self._writer.write_batch(pyarrow.record_batch(arrays, schema=SCHEMA))
        self._columns = [[] for _ in SCHEMA.names]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Writes what is left, unless there was an error."""
        with self._file:
            if kind is None:
                if self._columns[0]:
                    self._flush()
                self._writer.close()


def _number_and_text(value: Any) -> tuple[float | None, str | None]:
    if is_number(value):
        return float(value), None
    return None, str(value).encode(errors="replace").decode()


def join_ledgers(parts: Iterable[Path], path: str) -> int:
    """Writes the parts of shards into one Parquet file, in their order; returns its rows."""
    num_rows = num_waiting = 0
    waiting: list[pyarrow.RecordBatch] = []
    with parquet.ParquetWriter(
        path, SCHEMA, compression="zstd", write_page_checksum=True
    ) as writer:

        def write() -> None:
            writer.write_table(pyarrow.Table.from_batches(waiting, SCHEMA))
            waiting.clear()

        for part in parts:
            with open_input(part) as file, ipc.open_stream(file) as stream:
                for batch in stream:
                    waiting.append(batch)
                    num_rows += batch.num_rows
                    num_waiting += batch.num_rows
                    if num_waiting >= _ROWS_A_GROUP:
                        write()
                        num_waiting = 0
        write()
    return num_rows
