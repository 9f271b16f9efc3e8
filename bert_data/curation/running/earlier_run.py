"""An earlier run: its summary, its documents in the input, and small runs over some of them."""

import contextlib
import functools
import hashlib
import itertools
import json
import os
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray
from pyarrow import ipc

from bert_data.curation.document import Document
from bert_data.curation.duplicates.lsh_buckets import IN_CROWDS
from bert_data.curation.duplicates.ranks import read_digests
from bert_data.curation.running.counts import READ, StepCounts, counts_from_json
from bert_data.curation.running.data_sets import TextShard, names_of, read_shard
from bert_data.curation.running.document_spool import SPOOL, SpoolWriter
from bert_data.curation.running.field_values import finite
from bert_data.curation.running.ledger import ROWS_AT_A_TIME, SCHEMA, LedgerWriter, StepLog
from bert_data.curation.running.output_files import output_paths
from bert_data.curation.running.passes import LEDGER, spooled_folder
from bert_data.curation.running.pipeline import ALL, JSONL, Pipeline
from bert_data.curation.running.result import describe_steps, pipeline_of
from bert_data.curation.running.run import summary_of
from bert_data.curation.running.stages import Stages
from bert_data.curation.step import CorpusStep, Decisions
from bert_data.storage import (
    decode_json,
    load_array,
    make_folder,
    open_input,
    open_scratch,
    read_bytes,
    save_array,
)
from bert_data.tokens.forgetting_stores import ForgetConfig
from bert_data.work import Executor, FolderTask, run_tasks

_NAMES = "names.npy"  # of a shard: hashes of its documents' ids

Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]


def hash_name(name: str) -> int:
    """Return the hash of a document's id in the run."""
    return xxhash.xxh3_64_intdigest(name.encode(errors="surrogatepass"))


def hash_names(column: pa.Array) -> Hashes:
    """Return the hashes of texts."""
    encoded = column.dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    hashes: Hashes = np.fromiter(map(hash_name, distinct), np.uint64, len(distinct))
    return hashes[np.array(encoded.indices)]


@contextlib.contextmanager
def _reading(
    pipeline: Pipeline, shard: TextShard, folder: str
) -> Iterator[tuple[Iterator[Document], LedgerWriter]]:
    """Open the documents of a shard, and the ledger of what cannot be read."""
    source = pipeline.data_sets[shard.data_set].name
    with LedgerWriter(Path(folder, LEDGER), source) as ledger:
        yield read_shard(shard, pipeline, StepLog(READ, ledger, pipeline)), ledger


def _scan(pipeline: Pipeline, ids: frozenset[str], shard: TextShard, folder: str) -> dict[str, Any]:
    """Write the hashes of the ids of a shard's documents; find those that are named."""
    hashes, rows, found = array("Q"), list[int](), set[str]()
    with _reading(pipeline, shard, folder) as (documents, ledger):
        for row, document in enumerate(documents):
            hashes.append(hash_name(document.id))
            if named := names_of(document) & ids:
                rows.append(row)
                found |= named
    save_array(Path(folder, _NAMES), np.frombuffer(hashes, np.uint64))
    return {"rows": rows, "found": sorted(found), "num_rejected": ledger.num_rows}


class Scanned:
    """The documents of the input, in their order.

    Attributes:
      shards: that they are of; `firsts` are the numbers of their first documents, and the end.
      num_rejected: rows that reading rejected, of each shard.
      names: hash of each document's id.
      gone: numbers of the documents to forget.
      found: the ids that they have.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        shards: Sequence[TextShard],
        ids: frozenset[str],
        folder: str,
        executor: Executor,
    ) -> None:
        task = FolderTask(
            parent=os.path.join(folder, "scan"), function=functools.partial(_scan, pipeline, ids)
        )
        made = [each for each, _ in run_tasks("find documents", task, shards, executor)]
        names = [load_array(os.path.join(each.folder, _NAMES)) for each in made]
        self.shards, self.names = shards, np.concatenate(names)
        self.firsts = np.cumsum([0, *map(len, names)])
        rows = [np.array(each.report["rows"], np.int64) for each in made]
        self.gone: Places = np.concatenate(
            [first + each for first, each in zip(self.firsts[:-1], rows, strict=True)]
        )
        self.found = {name for each in made for name in each.report["found"]}
        self.num_rejected = np.array([each.report["num_rejected"] for each in made])
        self._order = np.argsort(self.names)
        self._sorted = self.names[self._order]

    def has_doubles(self) -> bool:
        """Whether two documents have the same id in the run."""
        return bool((self._sorted[1:] == self._sorted[:-1]).any())

    def places(self, names: Hashes) -> Places:
        """Return the numbers of documents by the hashes of their ids; -1: of none."""
        found = np.minimum(np.searchsorted(self._sorted, names), self._sorted.size - 1)
        return np.where(self._sorted[found] == names, self._order[found], -1)

    def shard_of(self, places: Places) -> Places:
        """Return the numbers of the shards of documents."""
        return np.searchsorted(self.firsts, places, "right") - 1


@dataclass(frozen=True)
class Fetch:
    """Documents of a shard to read again, by their rows, and those of them to forget."""

    shard: TextShard
    rows: frozenset[int]
    gone: frozenset[int]

    @property
    def task_name(self) -> str:
        """Name of its folder."""
        return self.shard.task_name


def fetch(pipeline: Pipeline, item: Fetch, folder: str) -> list[list[int]]:
    """Spool documents to two folders, all, and those left; return their numbers and bytes."""
    wanted = [item.rows, item.rows - item.gone]
    sizes = [[len(rows), 0] for rows in wanted]
    with contextlib.ExitStack() as stack:
        documents, _ = stack.enter_context(_reading(pipeline, item.shard, folder))
        spools = []
        for number in range(len(wanted)):
            make_folder(spooled_folder(folder, number))
            spool = SpoolWriter(Path(spooled_folder(folder, number), SPOOL))
            spools.append(stack.enter_context(spool))
        last = max(item.rows, default=-1)
        for row, document in enumerate(itertools.islice(documents, last + 1)):
            for rows, spool, size in zip(wanted, spools, sizes, strict=True):
                if row in rows:
                    spool.add(document)
                    size[1] += document.num_bytes
    return sizes


class SmallRun(Stages):
    """A run over some documents, of which none may be left.

    Attributes:
      digests: of what each `CorpusStep` saw, by its number.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.digests: dict[int, set[bytes]] = {}
        self.run_passes()

    def refuse_nothing(self) -> None:
        """Go on."""

    def decide(self, number: int) -> Decisions:
        """Note the digests, and decide."""
        digests = (digest for part in self.parts(number) for digest in read_digests(part))
        self.digests[number] = {digest.tobytes() for digest in digests}
        return super().decide(number)

    def ledger_rows(self) -> pa.Table:
        """Return the rows of the ledger, but those of reading."""
        batches = []
        for path, num_rows in self.ledger_parts:
            if num_rows:
                with open_input(path) as file, ipc.open_stream(file) as stream:
                    batches += list(stream)
        return pa.Table.from_batches(batches, SCHEMA)


class _ToldRun(TypedDict):
    data_sets: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    counts: list[dict[str, Any]]
    read: dict[str, Any]
    files: list[dict[str, Any]]
    ledger: dict[str, Any]
    output_format: str
    split_sentences: bool
    settings: NotRequired[dict[str, Any]]


class EarlierRun:
    """The run that wrote a set.

    Attributes:
      pipeline: with the files to write now.
      told: its summary.
      files, ledger: their paths; `paths` are all.
      inputs: files that it read.
    """

    def __init__(self, config: ForgetConfig) -> None:
        assert config.input_file is not None
        summary = summary_of(config.input_file)
        content = read_bytes(summary)
        self.told = decode_json(content, summary, _ToldRun)
        self.digest = [config.input_file, config.documents, hashlib.sha256(content).hexdigest()]
        self._again = (
            "; run `curate` with its settings again, and with"
            f" `without_documents={config.documents}`"
        )
        folder = os.path.dirname(summary)
        if "settings" not in self.told:
            self.refuse(f"{summary} is of an earlier version, and does not say how it was made")
        try:
            self.pipeline = pipeline_of(self.told, config.output_prefix)
            known = json.loads(json.dumps(finite(describe_steps(self.pipeline)), default=str))
        except (ValueError, ImportError) as error:
            self.refuse(f"{summary} has a step that cannot be made by its name ({error})")
        if known != self.told["steps"]:
            self.refuse(f"{summary} has steps with parameters that it does not hold exactly")
        self._check_steps(config.input_file)
        self.files = [os.path.join(folder, each["name"]) for each in self.told["files"]]
        self.ledger = output_paths(os.path.join(folder, self.told["ledger"]["name"]))[1]
        self.paths = [*self.files, *self.ledger, summary]
        self.inputs = [path for each in self.told["data_sets"] for path in each["files"]]

    def refuse(self, reason: str) -> None:
        """Raise an error with a reason, and the command that makes the set."""
        raise ValueError(f"{reason}{self._again}")

    def _check_steps(self, name_of_set: str) -> None:
        for labelled, counts in zip(self.pipeline.steps, self.told["counts"][1:], strict=True):
            step, name = labelled.step, f"step {labelled.label}"
            if isinstance(step, CorpusStep) and not step.decides_in_groups:
                self.refuse(f"{name} decides over all documents, which the ledger does not tell")
            if IN_CROWDS in counts["counted"]:
                self.refuse(f"{name} met buckets of more documents than it compares")
        if self.pipeline.ledger == ALL:
            self.refuse("a ledger of all documents has values that compare them with others")
        if self.pipeline.output.output_format != JSONL:
            self.refuse(f"{name_of_set} is not JSON Lines")

    def pipeline_without(self, documents: str) -> Pipeline:
        """Return the pipeline that leaves out more documents, by the files of their ids."""
        files = [*filter(None, [self.pipeline.without_documents]), documents]
        return replace(self.pipeline, without_documents=",".join(files))

    def check_inputs(self, shards: Sequence[TextShard]) -> None:
        """Check that the input has the files that it had."""
        found = {span.path for shard in shards for span in shard.spans}
        if found != set(self.inputs):
            self.refuse("the input does not have the files that it had")

    def counts(self) -> list[StepCounts]:
        """Return the counts of reading and of all steps."""
        read = {name: self.told["read"][name] for name in ("num_rows", "num_replaced")}
        counts = [counts_from_json(each) for each in self.told["counts"]]
        return [replace(counts[0], **read), *counts[1:]]


def changed(
    old: Sequence[StepCounts], before: Sequence[StepCounts], after: Sequence[StepCounts]
) -> list[StepCounts]:
    """Return counts without those of some documents, and with others."""
    changed = []
    for total, less, more in zip(old, before, after, strict=True):
        values = dict(vars(total))
        for name, value in values.items():
            if isinstance(value, int | float):
                values[name] = value - getattr(less, name) + getattr(more, name)
        for name in ("edits", "counted"):
            counter = Counter(values[name])
            counter.subtract(getattr(less, name))
            values[name] = counter + getattr(more, name)
        changed.append(StepCounts(**values))
    return changed


def write_part(rows: pa.RecordBatch, path: str) -> None:
    """Write rows in the batches that `LedgerWriter` makes of them."""
    starts = np.flatnonzero(np.array(rows.column("measure")) == 0)
    with open_scratch(path) as file, ipc.new_stream(file, rows.schema) as stream:
        first = 0
        while first < rows.num_rows:
            following = np.searchsorted(starts, first + ROWS_AT_A_TIME)
            end = starts[following] if following < starts.size else rows.num_rows
            stream.write_batch(rows.slice(first, end - first))
            first = int(end)
