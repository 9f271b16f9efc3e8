"""Divide data sets into shards, and read their documents.

    DataSet(name="wiki", files="w/*.jsonl")  ->  TextShard(0, wiki, a.jsonl 0:16000000), ...
    read_shard(TextShard(0, ...))            ->  Document("wiki/a.jsonl:1", "wiki", "One. Two.")

Shards depend on the files and a target size alone, and all of one data set stand together.
"""

import dataclasses
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bert_data.curation.document import Document
from bert_data.curation.running.step_log import ReadLog
from bert_data.errors import CorruptDataError
from bert_data.storage import expand_inputs, file_size, is_remote
from bert_data.text.documents import STRICT, DocumentBlock, RowError, TextConfig, TextDocument
from bert_data.text.formats import find_format
from bert_data.text.partitions import plan_shards
from bert_data.text.spans import Span

RESERVED_FIELDS = ("id", "source", "text")
"""What outputs have of their own; a row's fields of these names get the prefix `input_`."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
# A row may be longer than its text, for it holds escapes and other fields.
_ROW_BYTES_A_TEXT_BYTE = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataSet:
    """Files of one kind and origin.

    Attributes:
      name: of the data set: the source of its documents.
      files: paths and patterns, separated by commas.
      text: how they are read.
      id_field: field of the rows that names documents; None: they are named by file and row.
      weight: its share in the mix, if there is one.
    """

    name: str
    files: str
    text: TextConfig = TextConfig()  # noqa: RUF009 (frozen)
    id_field: str | None = None
    weight: float | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"name is {self.name!r}; a data set is named by letters, digits and _ . + -"
            )
        if self.weight is not None and not (self.weight > 0 and math.isfinite(self.weight)):
            raise ValueError(f"weight is {self.weight}; a number above 0 is allowed")


@dataclasses.dataclass(frozen=True)
class TextShard:
    """A part of a data set that is worked on at a time.

    Attributes:
      number: among all shards of all data sets, from 0.
      data_set: number of its data set.
      spans: what is read.
      num_bytes: about the size of that, on disk.
      folder: what the names of its files in ids begin behind.
    """

    number: int
    data_set: int
    spans: tuple[Span, ...]
    num_bytes: int
    folder: str

    @property
    def task_name(self) -> str:
        """The name of its folder in a pass."""
        return f"{self.number:06d}"

    def forget(self) -> None:
        """The files stay."""


def plan_all_shards(data_sets: Sequence[DataSet], target_bytes: int) -> list[TextShard]:
    """Cuts data sets into shards of about a size.

    Raises:
      ValueError: a pattern matches nothing, or a format is unknown; with the data set's name.
      OSError, CorruptDataError: a file cannot be read.
    """
    shards: list[TextShard] = []
    for number, data_set in enumerate(data_sets):
        try:
            paths = expand_inputs(data_set.files)
            text_format = find_format(paths, data_set.text.input_format)
        except ValueError as error:
            raise ValueError(f"data set {data_set.name}: {error}") from None
        for path in filter(is_remote, paths):
            raise ValueError(f"input {path!r} is remote; copy it to a local folder first")
        parts = plan_shards(paths, text_format, target_bytes)
        size = sum(map(file_size, paths)) // max(1, len(parts))
        folder = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in paths])
        shards += [
            TextShard(len(shards) + i, number, tuple(part), size, folder)
            for i, part in enumerate(parts)
        ]
    return shards


def read_shard(
    shard: TextShard, data_set: DataSet, max_document_bytes: int, log: ReadLog
) -> Iterator[Document]:
    """Reads the documents of a shard; those that are none, or too long, go into the log.

    Raises:
      ValueError: a row is no document, and `on_error` is "strict"; with file and row.
      CorruptDataError: a file is damaged, and `on_error` is "strict".
      OSError: a file cannot be read.
    """
    config = dataclasses.replace(
        data_set.text,
        keep_fields=True,
        max_row_bytes=_ROW_BYTES_A_TEXT_BYTE * max_document_bytes,
    )
    names = _Names(shard.folder, data_set)
    for block in _read_blocks(shard.spans, config, log):
        log.num_rows += block.num_rows
        log.num_replaced += block.num_replaced
        for sentence in block.skipped:
            log.reject_row(sentence)
        for row, num_bytes in block.too_long:
            log.reject_size(names.of_row(block.path, row), num_bytes, max_document_bytes)
        for found in block.documents:
            try:
                document = names.document(block.path, found)
            except RowError as error:
                sentence = f"{block.path}:{found.row}: {error}"
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
    """Blocks of a shard; what is behind the damage of a file is passed over, unless strict."""
    text_format = find_format([span.path for span in spans], config.input_format)
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


class _Names:
    """Names documents, and the fields that they keep."""

    def __init__(self, folder: str, data_set: DataSet) -> None:
        self._folder, self._source, self._id_field = folder, data_set.name, data_set.id_field
        self._path = self._prefix = ""

    def of_row(self, path: str, row: int) -> str:
        if path != self._path:
            name = os.path.relpath(os.path.abspath(path), self._folder)
            self._path, self._prefix = path, f"{self._source}/{name}:"
        return f"{self._prefix}{row}"

    def document(self, path: str, found: TextDocument) -> Document:
        fields: Mapping[str, Any] = found.fields or {}
        if self._id_field is None:
            name = self.of_row(path, found.row)
        else:
            if fields.get(self._id_field) in (None, ""):
                raise RowError(f"no field {self._id_field!r} (--id_field)")
            name = str(fields[self._id_field]).encode(errors="replace").decode()
        if any(field in fields for field in (*RESERVED_FIELDS, self._id_field)):
            fields = {
                f"input_{key}" if key in RESERVED_FIELDS else key: value
                for key, value in fields.items()
                if key != self._id_field
            }
        text = found.text if isinstance(found.text, str) else "\n".join(found.text)
        return Document(name, self._source, text, fields)
