"""A pass over a shard: documents in, those that pass into a folder.

    shard ─read─▶ judge ─▶ judge ─▶ 0000/spool.arrow  0001/spool.arrow     pass 0
                                └─▶ 0000/observed     0001/observed        of the next CorpusStep
    0000/spool.arrow ─judge_shard─▶ judge ─▶ 0000/spool.arrow              pass 1

What is left of a shard of files is cut into spooled shards of bounded size (a compressed file may
hold any amount of text), which are the shards of the later passes. The result depends on the shard,
the pipeline, and what its steps prepared and decided, on nothing else.
"""

import collections
import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from bert_data.curation.document import Document, FieldError, StepFieldError, Verdict
from bert_data.curation.running.counts import READ
from bert_data.curation.running.data_sets import TextShard, read_shard
from bert_data.curation.running.document_spool import (
    OBSERVED,
    SPOOL,
    DocumentsOfShard,
    SpooledShard,
    SpoolWriter,
    read_spool,
)
from bert_data.curation.running.field_values import Kinds, note_kinds
from bert_data.curation.running.ledger import LedgerWriter, StepLog
from bert_data.curation.running.pipeline import PassSteps, Pipeline
from bert_data.curation.step import CorpusStep, Decisions, DocumentStep, read_decisions
from bert_data.kernels import clock
from bert_data.packages import MissingPackageError
from bert_data.storage import make_folder, open_scratch, read_portions, remove
from bert_data.text.sentences import split_sentences
from bert_data.text.text_config import STRICT, check_language
from bert_data.text.without import ReadText
from bert_data.work.tasks import TASK

Judge = Callable[[Document], Verdict]


class Timed:
    """Documents, and the seconds that it took to get them, which a caller may set to 0."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = iter(documents)
        self.seconds = 0.0

    def __iter__(self) -> Iterator[Document]:
        return self

    def __next__(self) -> Document:
        start = clock()
        try:
            return next(self._documents)
        finally:
            self.seconds += clock() - start


def judge_shard(
    judge: Callable[[Iterable[Document]], Iterator[Verdict]],
    log: StepLog,
    documents: Iterable[Document],
) -> Iterator[Document]:
    """Yield what a step passes that judges a whole shard; it may read ahead of its verdicts."""
    timed = Timed(documents)
    waiting: collections.deque[Document] = collections.deque()

    def seen() -> Iterator[Document]:
        for document in timed:
            waiting.append(document)
            yield document

    verdicts = judge(seen())
    start = clock()
    for verdict in verdicts:
        document = log.note(waiting.popleft(), verdict)
        log.counts.seconds += clock() - start - timed.seconds
        if document is not None:
            for _ in range(verdict.num_copies):
                yield document
        start, timed.seconds = clock(), 0.0
    assert not waiting, f"{log.counts.label} did not judge {len(waiting)} documents"


def judge_document(
    document: Document, judges: Sequence[tuple[StepLog, Judge]], on_error: str
) -> Iterator[Document]:
    """Yield what steps pass of a document, one step after the other: nothing, or it or copies."""
    for number, (log, judge) in enumerate(judges):
        start = clock()
        try:
            verdict = judge(document)
        except (MemoryError, OSError):
            raise
        except MissingPackageError as error:
            raise MissingPackageError(f"step {log.counts.label}: {error}") from error
        except FieldError as error:
            raise StepFieldError(f"step {log.counts.label}: {error}") from error
        except Exception as error:
            if on_error == STRICT:
                raise ValueError(
                    f"step {log.counts.label} cannot judge document {document.id!r}:"
                    f" {type(error).__name__}: {error} (`on_error=skip` continues without it)"
                ) from error
            log.fail(document, error)
            return
        after = log.note(document, verdict)
        log.counts.seconds += clock() - start
        if after is None:
            return
        document = after
        if verdict.num_copies != 1:
            for _ in range(verdict.num_copies):
                yield from judge_document(document, judges[number + 1 :], on_error)
            return
    yield document


_LEDGER = "ledger.arrow"  # until it follows the rejected documents

# Bytes of text in a spooled shard per byte of a shard of files: an uncompressed one makes one.
SPOOLED_BYTES_A_SHARD_BYTE = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pass:
    """A pass over all shards.

    Attributes:
      is_last: whether the documents that pass are the output.
      prepared: the folder that each step prepared, by its number.
      decided: the decisions of the CorpusStep that judges in it, if there is one.
    """

    pipeline: Pipeline
    number: int
    steps: PassSteps
    is_last: bool
    prepared: Mapping[int, str]
    decided: Decisions | None = None


def run_pass(config: Pass, shard: TextShard | SpooledShard, folder: str) -> dict[str, Any]:
    """Pass over a shard.

    Returns:
      "counts" of the steps; "observe_seconds"; "kinds" of the fields; "spooled": the documents and
      bytes of each shard that is left; "read": what was noted of text, if it read files;
      "num_ledger_rows"; "num_rejected_bytes", of the rejected documents in JSON Lines: the folder's
      file `TASK` begins with these, if the pipeline writes them, and has then the ledger.
    """
    source, path = config.pipeline.data_sets[shard.data_set].name, Path(folder, _LEDGER)
    with open_scratch(Path(folder, TASK)) as file:
        rejected = None if config.pipeline.output.rejected_file is None else file
        with LedgerWriter(path, source, rejected) as ledger:
            report = _ShardPass(config, shard, folder, ledger).report()
        for data in read_portions(path):
            file.write(data)
    remove(path)
    return report


class _ShardPass:
    def __init__(
        self, config: Pass, shard: TextShard | SpooledShard, folder: str, ledger: LedgerWriter
    ) -> None:
        self._config, self._shard, self._folder, self._ledger = config, shard, folder, ledger
        self._pipeline = config.pipeline
        self._data_set = config.pipeline.data_sets[shard.data_set]
        self._logs: list[StepLog] = []
        self._kinds: Kinds = {}

    def report(self) -> dict[str, Any]:
        """Pass over the shard, and return the report."""
        timed = Timed(self._judged(self._source()))
        start = clock()
        spooled = self._write_spooled(timed)
        seconds = clock() - start - timed.seconds
        for log in self._logs:
            log.close()
        return {
            "counts": [log.counts.as_json() for log in self._logs],
            "observe_seconds": seconds,
            "spooled": spooled,
            "kinds": self._kinds,
            "read": next((log.read for log in self._logs), ReadText()).as_json(),
            "num_ledger_rows": self._ledger.num_rows,
            "num_rejected_bytes": self._ledger.num_rejected_bytes,
        }

    def _log(self, label: str) -> StepLog:
        self._logs.append(StepLog(label, self._ledger, self._pipeline))
        return self._logs[-1]

    def _source(self) -> Iterator[Document]:
        if isinstance(self._shard, SpooledShard):
            return read_spool(self._shard.spool, self._data_set.name)
        log = self._log(READ)
        return _counted(read_shard(self._shard, self._pipeline, log), log)

    def _judged(self, documents: Iterator[Document]) -> Iterator[Document]:
        numbers = list(self._config.steps.judging)
        steps = self._pipeline.steps
        if numbers and isinstance(steps[numbers[0]].step, CorpusStep):
            first = steps[numbers.pop(0)]
            judge = self._shard_judge(cast(CorpusStep, first.step))
            documents = judge_shard(judge, self._log(first.label), documents)
        judges = [
            (self._log(steps[number].label), judge if self._is_judged_by(number) else Verdict)
            for number, judge in zip(numbers, self._open(numbers), strict=True)
        ]
        if not judges:
            return documents
        on_error = self._pipeline.on_error
        return (
            passing
            for document in documents
            for passing in judge_document(document, judges, on_error)
        )

    def _is_judged_by(self, number: int) -> bool:
        return self._pipeline.steps[number].step.judges(self._data_set.name)

    def _shard_judge(self, step: CorpusStep) -> Callable[[Iterable[Document]], Iterator[Verdict]]:
        if not step.judges(self._data_set.name):
            return functools.partial(map, Verdict)
        assert isinstance(self._shard, SpooledShard) and self._config.decided is not None
        part = self._shard.part(self._data_set.name)
        return functools.partial(step.judge_shard, read_decisions(self._config.decided, part))

    def _open(self, numbers: Sequence[int]) -> Sequence[Judge]:
        """Return the judges of steps, opened once per process and pass."""
        folders = [self._config.prepared[number] for number in numbers]
        key = (self._config.number, *folders)
        if key not in _OPENED:
            _OPENED.clear()
            steps = (cast(DocumentStep, self._pipeline.steps[number].step) for number in numbers)
            _OPENED[key] = [step.open(folder) for step, folder in zip(steps, folders, strict=True)]
        return _OPENED[key]

    def _write_spooled(self, documents: Iterator[Document]) -> list[tuple[int, int]]:
        """Write all documents; return documents and bytes of each shard, of at least one."""
        max_bytes = None  # what later passes leave of a shard is one shard
        if isinstance(self._shard, TextShard):
            max_bytes = SPOOLED_BYTES_A_SHARD_BYTE * self._pipeline.shard_bytes
        spooled: list[tuple[int, int]] = []
        following = next(documents, None)
        while following is not None or not spooled:
            path = Path(spooled_folder(self._folder, len(spooled)))
            make_folder(path)
            part = DocumentsOfShard(following, documents, max_bytes)
            with SpoolWriter(path / SPOOL) as spool:
                self._observe(self._spooled(part, spool), path / OBSERVED)
            spooled.append((part.num_documents, part.num_bytes))
            following = part.following
        return spooled

    def _spooled(self, documents: Iterable[Document], spool: SpoolWriter) -> Iterator[Document]:
        """Yield the documents, and then write each, with its sizes, to the spool."""
        output = self._pipeline.output
        for document in documents:
            if self._config.is_last:
                note_kinds(self._kinds, document.fields)
                if output.split_sentences:
                    document = split_document(document, output.language)
            yield document
            if self._pipeline.count_words and not self._config.is_last:
                document.note_sizes({"num_words": document.num_words})
            spool.add(document)

    def _observe(self, documents: Iterator[Document], path: Path) -> None:
        """Let the next CorpusStep observe, if there is one, and read what it leaves unread."""
        number = self._config.steps.observing
        if number is not None and self._is_judged_by(number):
            labelled = self._pipeline.steps[number]
            try:
                step = cast(CorpusStep, labelled.step)
                step.observe(self._config.prepared[number], documents, path)
            except FieldError as error:
                raise StepFieldError(f"step {labelled.label}: {error}") from error
        for _ in documents:
            pass


# The judges of this process's pass: opening models and lists takes time.
_OPENED: dict[tuple[object, ...], Sequence[Judge]] = {}


def spooled_folder(folder: str, number: int) -> str:
    """Return the folder of a spooled shard, in that of the shard that it came from."""
    return os.path.join(folder, f"{number:04d}")


def _counted(documents: Iterator[Document], log: StepLog) -> Iterator[Document]:
    """Yield the documents of the shard's files, counted in the log."""
    start = clock()
    for document in documents:
        log.count(document)
        log.counts.seconds += clock() - start
        yield document
        start = clock()
    log.counts.seconds += clock() - start


def split_document(document: Document, language: str) -> Document:
    """Return the document with one sentence per line."""
    own = document.fields.get("language")
    if isinstance(own, str):
        with contextlib.suppress(ValueError):
            check_language(own)
            language = own
    return document.with_text("\n".join(split_sentences(document.text, language)))
