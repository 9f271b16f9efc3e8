"""Tokenizes text into token stores: one for the whole text, or one for each partition.

Partitions are tasks: a complete store made from the same text with the same settings is kept, so
that a run that was killed resumes where it stopped.
"""

import dataclasses
import errno
import functools
import hashlib
import os
import time
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from absl import logging

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.text.documents import Span
from bert_data.text.formats import TextFormat, find_plain_format, input_files
from bert_data.text.partitions import count_rows, plan_partitions
from bert_data.text.text_config import SENTENCE
from bert_data.text.without import ReadText, not_found_path
from bert_data.tokens.corpus_warnings import warn_of_counts, warn_of_empty, warn_of_text
from bert_data.tokens.filling import fill_store, numbers_rows
from bert_data.tokens.provenance import ENDING, ProvenanceRule
from bert_data.tokens.special_tokens import sum_counts
from bert_data.tokens.store_config import CURATOR, MEGATRON, StoreConfig
from bert_data.tokens.store_files import (
    IS_EMPTY,
    StoreNotes,
    check_files,
    commit_store,
    earlier_partitions,
    notes_path,
    obsolete_files,
    partition_prefixes,
    read_notes,
    store_paths,
)
from bert_data.tokens.store_form import StoreForm
from bert_data.tokens.store_work import PARTITION_MB
from bert_data.tokens.tokenizer_file import Tokenizer, tokenizer_of
from bert_data.work import open_executor, open_threads, run_tasks

_EDGE_BYTES = 1 << 16
WAIT_SECONDS = 180.0  # longer than a worker lives that the cluster has lost
_LOOK_SECONDS = 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class MadeStore:
    """A complete store: the prefix of its files, and its notes.

    Attributes:
      is_new: whether this run made it.
    """

    prefix: str
    notes: StoreNotes
    is_new: bool


def make_stores(config: StoreConfig) -> list[MadeStore]:
    """Make the stores of all partitions; each appears once it is complete."""
    paths = input_files(config.input_file, config.text)
    for path in paths:
        storage.refuse_undecodable("input", os.path.basename(path))  # the notes name it
    text_format = find_plain_format(paths, config.text)
    config = _with_left_out(config, paths)
    tokenizer = tokenizer_of(config, paths=paths)
    form = StoreForm.of(config, tokenizer, config.text, text_format)
    prefixes, parts = plan_stores(config, paths, text_format)
    earlier = _find_earlier(config, paths)
    provenance = ProvenanceRule.of(config, paths)
    num_tasks = config.count_tasks(len(parts))
    task = _MakeStore(
        config=config,
        tokenizer=tokenizer,
        form=form,
        provenance=provenance,
        num_threads=1 if config.engine.is_cluster else config.num_workers // num_tasks,
    )
    warn_of_text(paths, config.text, are_sentences=config.level == SENTENCE)
    stores: list[MadeStore] = []
    folder = _folder_of(config)
    with open_executor(
        num_tasks, engine=config.engine, folder=folder, task_bytes=PARTITION_MB * 1_000_000
    ) as executor:
        if numbers_rows(text_format, tokenizer, config.text, notes_places=config.provenance):
            parts = count_rows(parts, text_format, executor)
        partitions = [
            _Partition(prefix=prefix, spans=spans)
            for prefix, spans in zip(prefixes, parts, strict=True)
        ]
        for notes, is_new in run_tasks("tokenize", task, partitions, executor):
            prefix = prefixes[len(stores)]
            stores.append(MadeStore(prefix=prefix, notes=notes, is_new=is_new))
            if is_new and len(prefixes) > 1:
                logging.info("%s: complete, %d of %d", prefix, len(stores), len(prefixes))
    for path in earlier:
        storage.remove(path)
    warn_of_empty(paths, _files_with_text(parts, stores))
    _report_without(config, stores)
    warn_of_counts(
        {name: sum(each.notes.counts[name] for each in stores) for name in stores[0].notes.counts},
        sum_counts([each.notes.special_tokens for each in stores]) or {},
        paths=paths,
        text=config.text,
        tokenizer=tokenizer,
        has_pairs=config.level == SENTENCE,
    )
    return stores


def plan_stores(
    config: StoreConfig, paths: Sequence[str], text_format: TextFormat
) -> tuple[Sequence[str], list[list[Span]]]:
    """Return the prefixes of all stores, and the text of each."""
    if config.store_rules != CURATOR:
        prefixes = partition_prefixes(config.output_prefix, config.num_partitions)
        return prefixes, plan_partitions(paths, text_format, config.num_partitions)
    if text_format.runs_on:
        raise ValueError(
            f"store_rules is {CURATOR!r}, which makes stores of whole files, but documents of the"
            f" format {text_format.name} may go on in the next one; `store_rules={MEGATRON}`"
        )
    paths, size = sorted(paths, key=_whole_path), config.files_per_partition
    groups = [paths[start : start + size] for start in range(0, len(paths), size)]
    prefixes = [os.path.join(config.folder, curator_name(group)) for group in groups]
    return prefixes, [[Span(path) for path in group] for group in groups]


def _find_earlier(config: StoreConfig, paths: Sequence[str]) -> list[str]:
    """Return the files of an earlier set of other partitions, which this one takes the place of."""
    if config.store_rules == CURATOR:
        return []
    earlier = earlier_partitions(config.output_prefix, config.num_partitions)
    if earlier and not config.overwrite:
        reason = "is of a set of another number of partitions, which `overwrite` removes"
        raise FileExistsError(errno.EEXIST, reason, earlier[0])
    storage.refuse_inputs(earlier, paths)
    return earlier


def curator_name(files: Sequence[str]) -> str:
    """Return the name that NeMo Curator 1.3 gives the store of a partition.

    Its writer hashes the files' paths and the id of its task: of the pipeline (0), of the partition
    (a hash of the files) and of the reader's only output (0).
    """
    named, name = "|".join(sorted(map(_whole_path, files))), ""
    for task in ("", "0_{}_0"):
        name = hashlib.sha256(f"{named}|{task.format(name)}".encode()).hexdigest()[:12]
    return name


def _whole_path(path: str) -> str:
    return path if storage.is_remote(path) else os.path.abspath(path)


def _with_left_out(config: StoreConfig, paths: Sequence[str]) -> StoreConfig:
    without = config.find_without(id_field=config.id_field, folder=storage.common_folder(paths))
    if without is not None:
        storage.refuse_inputs([not_found_path(config.stem)], [without.path])
    return dataclasses.replace(config, text=dataclasses.replace(config.text, without=without))


def _folder_of(config: StoreConfig) -> str:
    """Return the folder of the stores, which is there on a cluster: it checks that nodes see it."""
    if config.engine.is_cluster:
        with storage.naming_folder(config.folder):
            storage.make_folder(config.folder)
    return config.folder


def _files_with_text(parts: Sequence[Sequence[Span]], stores: Sequence[MadeStore]) -> set[str]:
    read = (zip(p, s.notes.inputs, strict=True) for p, s in zip(parts, stores, strict=True))
    return {span.path for pairs in read for span, noted in pairs if IS_EMPTY not in noted}


def _report_without(config: StoreConfig, stores: Sequence[MadeStore]) -> None:
    """Say what was left out of all stores; a list beside earlier ones is none of theirs."""
    if config.text.without is None:
        storage.remove(not_found_path(config.stem))
        return
    read = ReadText()
    for store in stores:
        noted = store.notes.without
        read.add((), noted["num_documents"], noted["found"])
    is_strict = config.strict_without
    config.text.without.report(read, config.stem, storage.open_whole, is_strict=is_strict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Partition:
    """A part of the text, and the prefix of its store."""

    prefix: str
    spans: Sequence[Span]

    def inputs(self) -> list[dict[str, Any]]:
        """Return the input files as the notes describe them."""
        return [
            {
                "name": os.path.basename(span.path),
                "num_bytes": storage.file_size(span.path),
                "edges_crc32": _edges_crc32(span.path),
                "start": span.start,
                "end": span.end,
            }
            for span in self.spans
        ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _MakeStore:
    """The task that makes the store of a partition; its report is the store's notes.

    The notes hold all that the store depends on, so they are its fingerprint. A store that was made
    without a list of where its documents came from is kept, and has none.
    """

    config: StoreConfig
    tokenizer: Tokenizer
    form: StoreForm
    provenance: ProvenanceRule | None
    num_threads: int

    def __call__(self, partition: _Partition) -> StoreNotes:
        """Make the store, unless another worker makes it.

        A cluster that has lost a node gives its tasks to others, while the node may still be at
        work: its workers end, or their stores appear, which are the same.
        """
        until = time.monotonic() + WAIT_SECONDS * self.config.engine.is_cluster
        while True:
            try:
                return self._make(partition)
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise
                time.sleep(_LOOK_SECONDS)
            except FileExistsError:
                notes = self._find(partition) if self.config.engine.is_cluster else None
                if notes is None:
                    raise
                return notes

    def _make(self, partition: _Partition) -> StoreNotes:
        config, notes = self.config, self._notes(partition)
        named = (config.vocab_file, config.tokenizer_file, config.without_documents)
        with (
            storage.OutputSet(
                partition.prefix,
                store_paths(partition.prefix),
                reads=[*(span.path for span in partition.spans), *filter(None, named)],
                overwrite=config.overwrite,
                obsolete=functools.partial(
                    obsolete_files, partition.prefix, has_provenance=self.provenance is not None
                ),
            ) as outputs,
            open_threads(self.num_threads) as executor,
        ):
            prefix = os.path.join(outputs.work_dir, "store")
            filled = fill_store(
                partition.spans,
                self.tokenizer,
                prefix,
                text=config.text,
                shape=self.form.shape,
                dtype=self.form.dtype,
                executor=executor,
                provenance=self.provenance,
            )
            if config.text.without is not None:
                counts = config.text.without.counts(filled.read)
                found = sorted(filled.read.found)
                notes = dataclasses.replace(notes, without={**counts, "found": found})
            notes = dataclasses.replace(
                notes,
                inputs=[
                    each if span.path in filled.read.with_text else {**each, IS_EMPTY: True}
                    for each, span in zip(notes.inputs, partition.spans, strict=True)
                ],
                counts=filled.counts.numbers(),
                special_tokens=filled.counts.special_tokens,
                files=filled.files,
                side_files=filled.side_files,
            )
            commit_store(outputs, partition.prefix, prefix, notes)
        return notes

    def find(self, partitions: Sequence[_Partition]) -> list[bool]:
        """Return of each partition whether there is a complete store, and nothing else."""
        found = storage.read_many(self._find, partitions, [each.prefix for each in partitions])
        return [notes is not None for notes in found]

    def reports(self, partitions: Sequence[_Partition]) -> Iterator[StoreNotes]:
        """Yield the notes of existing stores."""
        for notes in map(read_notes, (each.prefix for each in partitions)):
            assert notes is not None  # which `find` has read
            yield notes

    def _find(self, partition: _Partition) -> StoreNotes | None:
        """Return the notes of an existing store; None if there is none. For errors see `find`."""
        storage.remove_left_overs(partition.prefix)
        if self.config.overwrite or not any(map(storage.exists, store_paths(partition.prefix))):
            return None
        try:
            notes = read_notes(partition.prefix)
            if notes is None:
                reason = "has no notes of what made it"
            else:
                check_files(partition.prefix, notes, side_files=True)
                reason = self._difference(notes, partition)
        except (FileNotFoundError, CorruptDataError) as error:
            reason = f"is damaged ({error})"
        if reason:
            raise FileExistsError(
                f"{partition.prefix}: the existing token store {reason}; `overwrite` replaces it"
            )
        return notes

    def _notes(self, partition: _Partition) -> StoreNotes:
        fields = self.provenance.fields if self.provenance else {}
        return self.form.notes(partition.inputs(), fields)

    def _difference(self, notes: StoreNotes, partition: _Partition) -> str:
        """Return how the store with these notes differs from the one to make, or ""."""
        before, now = notes.made_from, self._notes(partition).made_from
        if before["vocabulary"] != now["vocabulary"]:
            return "was made with another vocabulary"
        for name in {**now["settings"], **before["settings"]}:
            was, value = before["settings"].get(name), now["settings"].get(name)
            if was != value:
                return f"was made with {name} {was!r}, not {value!r}"
        if before["inputs"] != now["inputs"]:
            return "was made from other text"
        fields = self.provenance.fields if self.provenance else {}
        if fields and notes.provenance and fields != notes.provenance:
            return f"has its provenance ({ENDING}) from fields of other names"
        made_at = storage.modified_ns(notes_path(partition.prefix))
        changed = [s.path for s in partition.spans if storage.modified_ns(s.path) > made_at]
        return f"was made before {changed[0]} was changed" if changed else ""


def _edges_crc32(path: str) -> int | None:
    """Return the CRC-32 of the first and last bytes of a file, a quick check; None for a pipe."""
    if not storage.is_file(path):
        return None
    with storage.open_input(path) as file:
        first = file.read(_EDGE_BYTES)
        file.seek(max(0, storage.file_size(path) - _EDGE_BYTES))
        return zlib.crc32(file.read(_EDGE_BYTES), zlib.crc32(first))
