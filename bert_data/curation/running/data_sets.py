"""Shards of data sets, their documents, and the step `extract` for those of web pages.

    DataSet(name="wiki", files="w/*.jsonl")  ->  TextShard(0, wiki, a.jsonl 0:16000000), ...
    read_shard(TextShard(0, ...))            ->  Document("wiki/a.jsonl:1", "wiki", "One. Two.")

Shards depend on the files and a target size alone, and those of a data set are consecutive.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from absl import logging

from bert_data import storage
from bert_data.curation.document import RENAMED, RESERVED_FIELDS, Document, page_type
from bert_data.curation.running.ledger import StepLog
from bert_data.curation.running.pipeline import DataSet, Pipeline, label_steps
from bert_data.curation.step import make_step
from bert_data.errors import CorruptDataError, named_in_errors
from bert_data.text.documents import DocumentBlock, RowError, Span, TextDocument
from bert_data.text.formats import check_text_field, find_text_format, input_files, read_documents
from bert_data.text.input_warnings import add_left_out, noting_text, warnings_of
from bert_data.text.leaving_out import leave_out_documents
from bert_data.text.partitions import count_rows, plan_shards
from bert_data.text.text_config import STRICT, TextConfig
from bert_data.work import Executor
from bert_data.work.tasks import Numbered

# A row may be longer than its text, as it holds escapes and other fields.
_ROW_BYTES_A_TEXT_BYTE = 4

EXTRACT = "extract"
_PLAIN_ENDING = ".wet"  # WARC files of texts that a crawl has extracted
_SAMPLE = 32  # documents of a data set's first shard


@dataclasses.dataclass(frozen=True)
class TextShard(Numbered):
    """A part of a data set, for one task: numbers of both, and spans of files.

    Attributes:
      num_bytes: approximate size of the spans on disk.
      folder: ids name its files relative to this folder.
    """

    data_set: int
    spans: tuple[Span, ...]
    num_bytes: int
    folder: str


def plan_all_shards(data_sets: Sequence[DataSet], target_bytes: int) -> list[TextShard]:
    """Cut data sets into shards of about the same size."""
    shards: list[TextShard] = []
    formats: dict[str, list[str]] = {}  # by the field of the text, which flags give to all
    for number, data_set in enumerate(data_sets):
        with named_in_errors(f"data set {data_set.name}"):
            paths = input_files(data_set.files, data_set.text)
            storage.refuse_pipes(paths, "curate reads its inputs more than once")
            text_format = find_text_format(paths, data_set.text)
        formats.setdefault(data_set.text.text_field, []).append(text_format.name)
        for path in paths:
            storage.refuse_undecodable("input", path)
        parts = plan_shards(paths, text_format, target_bytes)
        statuses = filter(None, storage.read_statuses(paths))
        size = sum(status.num_bytes for status in statuses) // max(1, len(parts))
        folder = storage.common_folder(paths)
        shards += [
            TextShard(len(shards) + i, number, tuple(part), size, folder)
            for i, part in enumerate(parts)
        ]
    for text_field, names in formats.items():
        check_text_field(text_field, names)
    return shards


def count_rows_before(
    shards: Sequence[TextShard], data_sets: Sequence[DataSet], executor: Executor
) -> list[TextShard]:
    """Add to shards that begin inside of files how many rows come before, which ids need."""
    counted = list(shards)
    for number, data_set in enumerate(data_sets):
        own = [shard for shard in shards if shard.data_set == number]
        if not any(span.start for shard in own for span in shard.spans):
            continue
        text_format = find_text_format([own[0].spans[0].path], data_set.text)
        parts = count_rows([shard.spans for shard in own], text_format, executor)
        for shard, part in zip(own, parts, strict=True):
            counted[shard.number] = dataclasses.replace(shard, spans=tuple(part))
    return counted


def warn_of_inputs(data_sets: Sequence[DataSet]) -> None:
    """Warn of files that are probably not what their format says."""
    for data_set in data_sets:
        text = dataclasses.replace(data_set.text, files_end_documents=True)
        for sentence in warnings_of(input_files(data_set.files, text), text):
            logging.warning("data set %s: %s", data_set.name, sentence)


def leave_out(pipeline: Pipeline, shards: Sequence[TextShard]) -> Pipeline:
    """Return the pipeline whose data sets are read without the documents of its list, if any."""
    folders = {shard.data_set: shard.folder for shard in shards}
    data_sets = []
    for number, each in enumerate(pipeline.data_sets):
        without = pipeline.find_without(
            id_field=each.id_field or "id", folder=folders.get(number, ""), prefix=f"{each.name}/"
        )
        text = dataclasses.replace(each.text, without=without)
        data_sets.append(dataclasses.replace(each, text=text))
    return dataclasses.replace(pipeline, data_sets=tuple(data_sets))


def read_shard(shard: TextShard, pipeline: Pipeline, log: StepLog) -> Iterator[Document]:
    """Yield the documents of a shard; the log receives rows without a document, and long ones."""
    data_set, max_document_bytes = pipeline.data_sets[shard.data_set], pipeline.max_document_bytes
    config = dataclasses.replace(
        data_set.text,
        keep_fields=True,
        files_end_documents=data_set.text.rows is None,
        max_row_bytes=_ROW_BYTES_A_TEXT_BYTE * max_document_bytes,
    )
    blocks = leave_out_documents(_read_blocks(shard.spans, config, log), config.without, log.read)
    for block in noting_text(blocks, log.read.with_text):
        path = storage.absolute_path(block.path)[len(shard.folder) + 1 :]
        prefix = f"{data_set.name}/{path}:"
        log.counts.num_rows += block.num_rows
        log.counts.num_replaced += block.num_replaced
        add_left_out(log.counts.counted, block.left_out)
        for sentence in block.skipped:
            log.reject_row(sentence)
        for number, num_bytes in block.too_long:
            log.reject_size(f"{prefix}{number}", num_bytes)
        for row in block.documents:
            try:
                document = _make_document(prefix, data_set, row)
            except RowError as error:
                sentence = f"{block.path}:{row.row}: {error}"
                if config.on_error == STRICT:
                    raise ValueError(sentence) from None
                log.reject_row(sentence)
                continue
            if document.num_bytes > max_document_bytes:
                log.reject_size(document.id, document.num_bytes)
            elif not document.text or document.text.isspace():
                log.reject_blank(document.id)
            else:
                yield document


def _read_blocks(
    spans: Sequence[Span], config: TextConfig, log: StepLog
) -> Iterator[DocumentBlock]:
    """Yield blocks of a shard; unless strict, skip a file from its damage on."""
    text_format = find_text_format([span.path for span in spans], config)
    left = list(spans)
    while left:
        try:
            yield from text_format.read(left, config)
            return
        except CorruptDataError as error:
            damaged = [i for i, span in enumerate(left) if span.path == error.path]
            if config.on_error == STRICT or not damaged:
                raise
            log.reject_file(error.path, str(error))
            left = left[damaged[-1] + 1 :]


def _make_document(prefix: str, data_set: DataSet, row: TextDocument) -> Document:
    """Return the document of a row, whose own `RESERVED_FIELDS` are renamed."""
    fields: Mapping[str, Any] = row.fields or {}
    name, id_field = f"{prefix}{row.row}", data_set.id_field
    if id_field is not None:
        if fields.get(id_field) in (None, ""):
            raise RowError(f"no field {id_field!r} (`id_field`)")
        name = str(fields[id_field]).encode(errors="replace").decode()
        fields = {key: value for key, value in fields.items() if key != id_field}
    if names := _new_names(fields):
        fields = {names.get(key, key): value for key, value in fields.items()}
    return Document(name, data_set.name, row.whole_text, fields)


def _new_names(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the new names of a row's `RESERVED_FIELDS`, and of fields with these new names.

    {"source": "a", "input_source": "b"}  ->  input_source, input_input_source
    """
    names: dict[str, str] = {}
    for name in RESERVED_FIELDS:
        while name in fields and name not in names:
            names[name] = name = f"{RENAMED}{name}"
    return names


def put_extract_first(pipeline: Pipeline, shards: Sequence[TextShard]) -> Pipeline:
    """Return the pipeline with a step `extract` for the data sets of pages with tags."""
    missing = []
    for name in dict.fromkeys(_names_of_markup(pipeline, shards)):
        judging = [each for each in pipeline.steps if each.step.judges(name)]
        names = [each.step.name for each in judging]
        if EXTRACT not in names:
            missing.append(name)
            continue
        for labelled in judging[: names.index(EXTRACT)]:
            if not labelled.step.accepts_markup:
                raise ValueError(
                    f"data set {name} has HTML pages, whose tags step {labelled.label} would read"
                    f" as text; put the step {EXTRACT} before it, or leave {EXTRACT} out, which"
                    " makes it run first"
                )
    if not missing:
        return pipeline
    logging.info("%s: HTML pages; the step %s runs first", ", ".join(missing), EXTRACT)
    others = len(pipeline.data_sets) > len(missing)
    extract = make_step(EXTRACT, {"data_sets": missing} if others else {})
    steps = [extract, *(each.step for each in pipeline.steps)]
    return dataclasses.replace(pipeline, steps=label_steps(steps))


def _names_of_markup(pipeline: Pipeline, shards: Sequence[TextShard]) -> Iterator[str]:
    sampled: set[int] = set()
    for shard in shards:
        data_set = pipeline.data_sets[shard.data_set]
        for path in {span.path for span in shard.spans}:
            text_format = find_text_format([path], data_set.text)
            if text_format.is_markup:
                name = path.lower().removesuffix(".gz").removesuffix(".zst")
                if not name.endswith(_PLAIN_ENDING):
                    yield data_set.name
            elif shard.data_set not in sampled and not text_format.is_corpus:
                sampled.add(shard.data_set)
                if _are_pages(shard, data_set):
                    yield data_set.name


def _are_pages(shard: TextShard, data_set: DataSet) -> bool:
    """Whether most of the first documents of a shard are web pages.

    What cannot be read is left to the run, which says where it is.
    """
    try:
        blocks = read_documents(shard.spans, dataclasses.replace(data_set.text, keep_fields=True))
        rows = itertools.islice((row for block in blocks for row in block.documents), _SAMPLE)
        types = [page_type(Document("", "", row.whole_text, row.fields or {})) for row in rows]
    except (CorruptDataError, OSError, ValueError):
        return False
    return types.count(None) < len(types) / 2
