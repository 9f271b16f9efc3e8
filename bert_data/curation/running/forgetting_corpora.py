"""Take documents out of what a run wrote, as if its input had never had them.

    ledger ─groups of duplicates─┐
    input ─places of ids─────────┴─▶ affected: documents to forget, and all that are in their groups
    affected ─run─▶ before           those that are left of them ─run─▶ after
    what the earlier run wrote - before + after

The first of the two small runs must repeat what the earlier run wrote of these documents. No other
document is judged anew: their texts are as they were, and so are their groups, as digests that the
second run decides over are among those of the first.
"""

import functools
import heapq
import itertools
import os
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, parquet

from bert_data.curation.document import Document
from bert_data.curation.duplicates.ranks import DUPLICATE_OF
from bert_data.curation.running.counts import READ, StepCounts, counts_from_json
from bert_data.curation.running.data_sets import count_rows_before, ids_of_files, plan_all_shards
from bert_data.curation.running.document_spool import SpooledShard
from bert_data.curation.running.earlier_run import (
    EarlierRun,
    Fetch,
    Hashes,
    Places,
    Scanned,
    SmallRun,
    changed,
    fetch,
    hash_name,
    hash_names,
    write_part,
)
from bert_data.curation.running.ledger import ERROR, SCHEMA
from bert_data.curation.running.output_files import (
    FILE,
    WrittenFile,
    encode_row,
    join_ledgers,
    read_rows,
    share_out,
    write_rows,
)
from bert_data.curation.running.passes import spooled_folder
from bert_data.curation.running.pipeline import plan_passes
from bert_data.curation.running.result import Curation, describe_as_json, describe_problems
from bert_data.curation.running.run import OutputPaths, describe_work
from bert_data.storage import OutputSet, make_folder, open_input, own_work_folder
from bert_data.tokens.forgetting_stores import ForgetConfig, Forgotten, report_ids
from bert_data.work import THIS_MACHINE, Executor, FolderTask, fingerprint, open_work, run_tasks

_NUM_WITNESSES = 512  # documents that both small runs see, so that they see the same rules
_TASK_BYTES = 500_000_000


def forget_curated(config: ForgetConfig) -> Forgotten:
    """Write the outputs of a run without some documents; they appear together, or not at all.

    Raises:
      ValueError: the summary does not say enough to do so, a step decides over all documents, or
        the input has changed.
    """
    earlier = EarlierRun(config)
    pipeline = earlier.pipeline
    ids = ids_of_files(config.documents)
    shards = plan_all_shards(pipeline.data_sets, pipeline.shard_bytes)
    earlier.check_inputs(shards)
    after = earlier.pipeline_without(config.documents)
    paths = OutputPaths(pipeline.output, ())
    with (
        OutputSet(
            paths.name,
            [*paths.all, paths.summary],
            reads=[*earlier.paths, *config.documents.split(","), *earlier.inputs],
            overwrite=config.overwrite,
            obsolete=paths.find_obsolete,
        ) as outputs,
        open_work(
            own_work_folder(paths.name, "forget"),
            fingerprint([describe_work(after, shards, paths.name), earlier.digest]),
            is_own=True,
            keeps_inputs=False,
            num_workers=min(THIS_MACHINE.count_workers(config.num_workers), len(shards)),
            engine=THIS_MACHINE,
            task_bytes=_TASK_BYTES,
            useless_after=(ValueError,),
        ) as (folder, executor),
    ):
        shards = count_rows_before(shards, pipeline.data_sets, executor)
        scanned = Scanned(pipeline, shards, ids, folder, executor)
        report_ids(config, earlier.files, scanned.found)
        change = ChangedSet(earlier, scanned, folder, executor)
        files, num_rows = _write_files(change, outputs, paths)
        counts, by_data_set = change.count()
        done = Curation(
            pipeline=after,
            shards=shards,
            counts=counts,
            by_data_set=by_data_set,
            files=files,
            ledger=(paths.ledger, num_rows),
            warnings=list(describe_problems(after, counts)),
        )
        with outputs.open(paths.summary) as file:
            file.write(describe_as_json(done).encode(errors="replace"))
        outputs.commit(paths.all, [paths.summary])
    return Forgotten(paths.files, scanned.names.size, scanned.gone.size, len(scanned.found))


def _write_files(
    change: "ChangedSet", outputs: OutputSet, paths: OutputPaths
) -> tuple[list[WrittenFile], int]:
    """Write documents and ledger; return the files and the ledger's rows."""
    work = os.path.join(outputs.work_dir, "forget")
    make_folder(work)
    files = []
    for number, written in enumerate(change.write_documents(paths.files, work)):
        outputs.link_in(paths.files[number], os.path.join(work, str(number), FILE))
        files.append(written)
    num_rows = 0
    ledger = change.write_ledger(len(paths.ledger_files), work)
    for name, (rows, path) in zip(paths.ledger_files, ledger, strict=True):
        outputs.link_in(name, path)
        num_rows += rows
    return files, num_rows


class ChangedSet:
    """Decides what a set is without some documents."""

    def __init__(
        self, earlier: EarlierRun, scanned: Scanned, folder: str, executor: Executor
    ) -> None:
        self._earlier, self._scanned = earlier, scanned
        self._passes = {READ: 0}
        for number, steps in enumerate(plan_passes(earlier.pipeline.steps)):
            for step in steps.judging:
                self._passes[earlier.pipeline.steps[step].label] = number
        if scanned.has_doubles():
            earlier.refuse("two documents have the same id in the run (`id_field`)")
        rejected, groups = self._read_groups()
        is_kept = np.ones(scanned.names.size, np.bool_)
        is_kept[self._places(rejected)] = False
        self._kept: Places = np.flatnonzero(is_kept)
        if self._kept.size != sum(each["num_documents"] for each in earlier.told["files"]):
            self._refuse_input()
        self._affected = self._find_affected(groups)
        self._before, self._after = self._run_both(folder, executor)
        for number, digests in self._after.digests.items():
            if not digests <= self._before.digests[number]:
                earlier.refuse(
                    f"step {earlier.pipeline.steps[number].label} has not met a document that comes"
                    " back, nor its equal"
                )
        for old, new in zip(self._before.counts, self._after.counts, strict=True):
            if old.thresholds != new.thresholds:
                earlier.refuse(f"step {old.label} has rules that it applies to few documents")

    def _refuse_input(self) -> None:
        self._earlier.refuse(
            "the input, or the output with its ledger, is not what it was when the run ended"
        )

    def _places(self, names: Hashes) -> Places:
        places = self._scanned.places(names)
        if (places < 0).any():
            self._refuse_input()
        return places

    def _ledger_batches(self) -> Iterator[pa.RecordBatch]:
        for path in self._earlier.ledger:
            with open_input(path) as file, parquet.ParquetFile(file) as ledger:
                yield from ledger.iter_batches()

    def _read_groups(self) -> tuple[Hashes, NDArray[np.uint64]]:
        """Return the rejected documents, and (document, kept one, pass) of duplicates."""
        rejected, groups = [np.empty(0, np.uint64)], [np.empty((0, 3), np.uint64)]
        for batch in self._ledger_batches():
            is_read = compute.equal(batch.column("step"), READ)
            first = compute.equal(batch.column("measure"), 0)
            rows = batch.filter(compute.and_not(first, is_read))
            rejected.append(hash_names(rows.column("document")))
            rows = batch.filter(compute.equal(batch.column("rule"), DUPLICATE_OF))
            passes = [self._passes[label] for label in rows.column("step").to_pylist()]
            names = (hash_names(rows.column(name)) for name in ("document", "value_text"))
            groups.append(np.column_stack([*names, np.array(passes, np.uint64)]))
        return np.concatenate(rejected), np.concatenate(groups)

    def _find_affected(self, groups: NDArray[np.uint64]) -> Places:
        """Return the documents to forget, all of their groups, and some others."""
        scanned = self._scanned
        documents, kept = map(self._places, groups.T[:2])
        keys = kept * len(self._passes) + groups[:, 2].astype(np.int64)
        affected, size = scanned.gone, -1
        while affected.size != size:
            size = affected.size
            is_met = np.isin(documents, affected) | np.isin(kept, affected)
            is_met = np.isin(keys, keys[is_met])
            affected = np.unique(np.concatenate([affected, documents[is_met], kept[is_met]]))
        others = np.setdiff1d(self._kept, np.concatenate([documents, kept, affected]))
        near = np.isin(scanned.shard_of(others), scanned.shard_of(affected))
        others = others[near][:: max(1, np.count_nonzero(near) // _NUM_WITNESSES)]
        return np.union1d(affected, others)

    def _run_both(self, folder: str, executor: Executor) -> list[SmallRun]:
        pipeline, scanned = self._earlier.pipeline, self._scanned
        shard_of = scanned.shard_of(self._affected)
        items = []
        seen: set[int] = set()
        for number, shard in enumerate(scanned.shards):
            own = self._affected[shard_of == number]
            if own.size or shard.data_set not in seen:
                seen.add(shard.data_set)
                gone = np.intersect1d(own, scanned.gone)
                rows = (frozenset((each - scanned.firsts[number]).tolist()) for each in (own, gone))
                items.append(Fetch(shard, *rows))
        task = FolderTask(
            parent=os.path.join(folder, "fetch"), function=functools.partial(fetch, pipeline)
        )
        spooled: list[list[SpooledShard]] = [[], []]
        for item, (made, _) in zip(
            items, run_tasks("read affected documents", task, items, executor), strict=True
        ):
            for number, size in enumerate(made.report):
                path = spooled_folder(made.folder, number)
                known = spooled[number]
                first = known[-1].first + known[-1].num_documents if known else 0
                known.append(SpooledShard(len(known), item.shard.data_set, path, first, *size))
        return [
            SmallRun(pipeline, shards, os.path.join(folder, name), executor)
            for name, shards in zip(("before", "after"), spooled, strict=True)
        ]

    def write_documents(self, paths: Sequence[str], folder: str) -> Iterator[WrittenFile]:
        """Write the documents to files, `FILE` in folder/0 and so on."""
        after = [(self._place(each), encode_row(each)) for each in self._after.documents_left()]
        before = [(self._place(each), encode_row(each)) for each in self._before.documents_left()]
        was: list[tuple[int, tuple[bytes, int]]] = []
        total = self._kept.size - len(before) + len(after)
        if total < len(paths):
            raise ValueError(f"{total} documents would be left for {len(paths)} files of output")
        affected = set(self._affected.tolist())

        def others() -> Iterator[tuple[int, tuple[bytes, int]]]:
            for item in zip(self._kept.tolist(), read_rows(self._earlier.files), strict=False):
                if item[0] in affected:
                    was.append(item)
                else:
                    yield item

        written = 0
        rows = (row for _, row in heapq.merge(others(), after))
        for number, path in enumerate(paths):
            first, last = (total * n // len(paths) for n in (number, number + 1))
            part = os.path.join(folder, str(number))
            make_folder(part)
            file = WrittenFile(**write_rows(path, itertools.islice(rows, last - first), part))
            written += file.num_documents
            yield file
        if written != total or was != before:
            self._refuse_input()

    def _place(self, document: Document) -> int:
        return int(self._places(np.array([hash_name(document.id)], np.uint64))[0])

    def write_ledger(self, num_files: int, folder: str) -> Iterator[tuple[int, str]]:
        """Write the ledger; yield the rows of each file, and its path."""
        self.rejected: dict[str, Counter[str]] = {label: Counter() for label in self._passes}
        self.first_errors: dict[str, str] = {}
        parts = []
        for number, rows in enumerate(self._parts()):
            path = os.path.join(folder, f"part-{number}")
            self._count_rejected(rows)
            write_part(rows, path)
            parts.append((path, rows.num_rows))
        for number, share in enumerate(share_out(parts, num_files)):
            place = os.path.join(folder, f"ledger-{number}")
            make_folder(place)
            yield join_ledgers(share, place)["num_rows"], os.path.join(place, FILE)

    def _parts(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each shard in each pass."""
        scanned, num_shards = self._scanned, len(self._scanned.shards)
        waiting: dict[int, list[tuple[pa.RecordBatch, Places]]] = {}
        was = []
        read_ends, num_read = np.cumsum(scanned.num_rejected), 0

        def add(rows: pa.RecordBatch, passes: Places, places: Places, shards: Places) -> None:
            numbers = passes * num_shards + shards
            for part in np.unique(numbers).tolist():
                own = np.flatnonzero(numbers == part)
                waiting.setdefault(part, []).append((rows.take(own), places[own]))

        def ready(end: int) -> Iterator[pa.RecordBatch]:
            for part in sorted(part for part in waiting if part < end):
                several = waiting.pop(part)
                rows = pa.Table.from_batches([each for each, _ in several]).combine_chunks()
                if part >= num_shards:  # in the order of documents, if not of the first pass
                    order = np.argsort(np.concatenate([each for _, each in several]), kind="stable")
                    rows = rows.take(order).combine_chunks()
                yield from rows.to_batches()

        for batch in self._after.ledger_rows().to_batches():
            passes = self._passes_of(batch)
            places = self._places(hash_names(batch.column("document")))
            late = np.flatnonzero(passes > 0)
            add(batch.take(late), passes[late], places[late], scanned.shard_of(places[late]))
        for batch in self._ledger_batches():
            passes = self._passes_of(batch)
            is_read = np.array(compute.equal(batch.column("step"), READ))
            places = scanned.places(hash_names(batch.column("document")))
            shards = scanned.shard_of(places)
            ordinals = num_read + np.arange(np.count_nonzero(is_read))
            shards[is_read] = np.searchsorted(read_ends, ordinals, "right")
            num_read += ordinals.size
            is_affected = np.isin(places, self._affected) & ~is_read
            was.append(batch.filter(pa.array(is_affected)))
            left = ~is_read & np.isin(places, scanned.gone) | is_affected & (passes > 0)
            left = np.flatnonzero(~left)
            add(batch.take(left), passes[left], places[left], shards[left])
            if batch.num_rows:
                yield from ready(int(passes[-1] * num_shards + shards[-1]))
        yield from ready(1 << 62)
        if pa.Table.from_batches(was, SCHEMA) != self._before.ledger_rows():
            self._refuse_input()

    def _passes_of(self, batch: pa.RecordBatch) -> Places:
        labels = batch.column("step").to_pylist()
        return np.array([self._passes[label] for label in labels], np.int64)

    def _count_rejected(self, rows: pa.RecordBatch) -> None:
        failed = rows.filter(rows.column("failed"))
        names = ("step", "rule", "document", "value_text")
        columns = (failed.column(name).to_pylist() for name in names)
        for label, rule, document, text in zip(*columns, strict=True):
            self.rejected[label][rule] += 1
            if rule == ERROR:
                self.first_errors.setdefault(label, f"{document}: {text}")

    def count(self) -> tuple[list[StepCounts], dict[str, list[StepCounts]]]:
        """Return the counts of reading and of all steps, of all and by data set."""
        counts = changed(self._earlier.counts(), self._before.counts, self._after.counts)
        counts[0].num_rows -= self._scanned.gone.size
        for each in counts[1:]:
            each.rejected = self.rejected[each.label]
            if each.label in self.first_errors:
                each.first = {**each.first, ERROR: self.first_errors[each.label]}
            else:
                each.first.pop(ERROR, None)
        by_data_set = {
            told["name"]: changed(
                [counts_from_json(each) for each in told["counts"]],
                self._before.by_data_set[told["name"]],
                self._after.by_data_set[told["name"]],
            )
            for told in self._earlier.told["data_sets"]
        }
        return counts, by_data_set
