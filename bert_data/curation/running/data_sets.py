"""Divide data sets into shards, and read their documents.

    DataSet(name="wiki", files="w/*.jsonl")  ->  TextShard(0, wiki, a.jsonl 0:16000000), ...
    read_shard(TextShard(0, ...))            ->  Document("wiki/a.jsonl:1", "wiki", "One. Two.")

Shards depend on the files and a target size alone, and those of a data set are consecutive.
"""

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from absl import logging

from bert_data.curation.document import RESERVED_FIELDS, Document
from bert_data.curation.running.step_log import ReadLog
from bert_data.errors import CorruptDataError, named_in_errors
from bert_data.storage import absolute_path, common_folder, read_statuses
from bert_data.text.documents import STRICT, DocumentBlock, RowError, Span, TextConfig, TextDocument
from bert_data.text.formats import check_text_field, find_format, input_files
from bert_data.text.input_warnings import warnings_of
from bert_data.text.partitions import count_rows, plan_shards
from bert_data.work import Executor

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
# A row may be longer than its text, as it holds escapes and other fields.
_ROW_BYTES_A_TEXT_BYTE = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataSet:
    """Files of one kind and origin.

    Attributes:
      name: of the data set, the source of its documents.
      files: paths and patterns, separated by commas.
      text: how to read them.
      id_field: field of the rows with the documents' ids; None: their ids are file and row.
      weight: its share in the mix, if there is one.
    """

    name: str
    files: str
    text: TextConfig = TextConfig()  # noqa: RUF009 (frozen)
    id_field: str | None = None
    weight: float | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"name is {self.name!r}; it may have letters, digits and _ . + - only")
        if self.weight is not None and not (self.weight > 0 and math.isfinite(self.weight)):
            raise ValueError(f"weight is {self.weight}; it must be a number > 0")


@dataclasses.dataclass(frozen=True)
class TextShard:
    """A part of a data set, for one task.

    Attributes:
      number: its place among all shards of all data sets, from 0.
      data_set: number of its data set.
      spans: parts of files to read.
      num_bytes: their approximate size on disk.
      folder: ids name its files relative to this folder.
    """

    number: int
    data_set: int
    spans: tuple[Span, ...]
    num_bytes: int
    folder: str

    @property
    def task_name(self) -> str:
        """Name of its folder in a pass."""
        return f"{self.number:06d}"


def check_name(role: str, path: str) -> None:
    """Refuse names that curation cannot use.

    Raises:
      ValueError: the path is not UTF-8, which the ledger and the summary must be.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{role} {path!r} has a name that is not UTF-8; rename it") from None


def plan_all_shards(data_sets: Sequence[DataSet], target_bytes: int) -> list[TextShard]:
    """Cut data sets into shards of about the same size.

    Raises:
      ValueError: a pattern matches nothing, or a format is unknown; with the data set's name.
    """
    shards: list[TextShard] = []
    formats: dict[str, list[str]] = {}  # by the field of the text, which flags give to all
    for number, data_set in enumerate(data_sets):
        with named_in_errors(f"data set {data_set.name}"):
            paths = input_files(data_set.files, data_set.text)
            text_format = find_format(paths, data_set.text)
        formats.setdefault(data_set.text.text_field, []).append(text_format.name)
        for path in paths:
            check_name("input", path)
        parts = plan_shards(paths, text_format, target_bytes)
        statuses = filter(None, read_statuses(paths))
        size = sum(status.num_bytes for status in statuses) // max(1, len(parts))
        folder = common_folder(paths)
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
        text_format = find_format([own[0].spans[0].path], data_set.text)
        parts = count_rows([shard.spans for shard in own], text_format, executor)
        for shard, part in zip(own, parts, strict=True):
            counted[shard.number] = dataclasses.replace(shard, spans=tuple(part))
    return counted


def warn_of_inputs(data_sets: Sequence[DataSet]) -> None:
    """Warn of files that are probably not what their format says."""
    for data_set in data_sets:
        for sentence in warnings_of(input_files(data_set.files, data_set.text), data_set.text):
            logging.warning("data set %s: %s", data_set.name, sentence)


def read_shard(
    shard: TextShard, data_set: DataSet, max_document_bytes: int, log: ReadLog
) -> Iterator[Document]:
    """Yield the documents of a shard; the log receives rows without a document, and long ones.

    Raises:
      ValueError: a row is no document, and `on_error` is "strict"; with file and row.
      CorruptDataError: a file is damaged, and `on_error` is "strict".
    """
    config = dataclasses.replace(
        data_set.text, keep_fields=True, max_row_bytes=_ROW_BYTES_A_TEXT_BYTE * max_document_bytes
    )
    for block in _read_blocks(shard.spans, config, log):
        path = absolute_path(block.path)[len(shard.folder) + 1 :]
        prefix = f"{data_set.name}/{path}:"
        log.counts.num_rows += block.num_rows
        log.counts.num_replaced += block.num_replaced
        for sentence in block.skipped:
            log.reject_row(sentence)
        for number, num_bytes in block.too_long:
            log.reject_size(f"{prefix}{number}", num_bytes, max_document_bytes)
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
                log.reject_size(document.id, document.num_bytes, max_document_bytes)
            elif not document.text or document.text.isspace():
                log.reject_blank(document.id)
            else:
                yield document


def _read_blocks(
    spans: Sequence[Span], config: TextConfig, log: ReadLog
) -> Iterator[DocumentBlock]:
    """Yield blocks of a shard; unless strict, skip a file from its damage on."""
    text_format = find_format([span.path for span in spans], config)
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
    """Return the document of a row, with its id and the fields that it keeps.

    The row's own fields of the names `RESERVED_FIELDS` get the prefix `input_`.
    """
    fields: Mapping[str, Any] = row.fields or {}
    name, id_field = f"{prefix}{row.row}", data_set.id_field
    if id_field is not None:
        if fields.get(id_field) in (None, ""):
            raise RowError(f"no field {id_field!r} (`id_field`)")
        name = str(fields[id_field]).encode(errors="replace").decode()
    if any(field in fields for field in (*RESERVED_FIELDS, id_field)):
        fields = {
            f"input_{key}" if key in RESERVED_FIELDS else key: value
            for key, value in fields.items()
            if key != id_field
        }
    return Document(name, data_set.name, row.whole_text, fields)
