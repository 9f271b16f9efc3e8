"""The files of a run: documents as lines, JSON Lines or Parquet; the ledger; rejected documents.

    Document("a:1", "web", "One.\nTwo.")   lines:  One. / Two. / an empty line
                                           jsonl:  {"id": "a:1", "source": "web", "text": ...}

Documents keep their order, and each file gets as many: file 2 of 4 has the second quarter. Lines of
a document are followed by an empty one, also at the end of a file, which does not end a document.
The other formats keep the documents' fields, too, and the id that a row had: `input_row` is then
the id that the run gave the document, as in the ledger: its file and row, or that of `id_field`.

Ledger and rejected documents are joined from the parts of shards, which keep their order, pass by
pass and shard by shard, and are never divided:

    pass-0/000000/task 60 rows ─▶ ledger.web.jsonl-00000-of-00002.parquet 60 rows
    pass-0/000001/task 30 rows ─┬▶ ledger.web.jsonl-00001-of-00002.parquet 40 rows
    pass-1/000000/task 10 rows ─┘
"""

import bisect
import contextlib
import dataclasses
import hashlib
import io
import itertools
import json
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple, NotRequired, TypedDict, cast

import pyarrow
import zstandard
from pyarrow import parquet, record_batch
from zlib_ng.gzip_ng import GzipNGFile

from bert_data import storage
from bert_data.curation.document import OWN_ID, PLACE, Document, in_groups
from bert_data.curation.running.document_spool import read_spool
from bert_data.curation.running.field_values import (
    NULL,
    TEXT,
    Kinds,
    arrow_column,
    arrow_schema,
    json_line,
    open_arrow,
)
from bert_data.curation.running.ledger import SCHEMA
from bert_data.curation.running.pipeline_settings import GZIP, JSONL, PARQUET, STORE, ZSTD
from bert_data.errors import CorruptDataError
from bert_data.progress import how_many
from bert_data.tokens.store_files import store_paths
from bert_data.work.tasks import TASK

REJECTED_FILE = "rejected_file"
"""In the summary: where the rejected documents are, relative to it."""

FILE = "file"
"""Name of a file of the output in its task's folder."""

# zlib-ng's; files are 2% larger than those of zlib's 6, which takes 4 times as long.
_GZIP_LEVEL = 4
_GROUP_CHARACTERS = 16 << 20
_GROUP_DOCUMENTS = 1 << 16
_BYTES_A_NUMBER = 32  # in memory, in a list
_LEDGER_ROWS_A_GROUP = 1 << 17


class SpoolPart(NamedTuple):
    """Documents `start` to `end`, exclusive, of a spool."""

    path: str
    source: str
    start: int
    end: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class WrittenFile:
    """A written file: its documents, the bytes of their texts, its size and its digest.

    Of a token store, they are the prefix, the size of all its files, the digest of its .bin, and
    its tokens; other files have no `num_tokens`.
    """

    name: str
    num_documents: int
    num_text_bytes: int
    num_bytes: int
    sha256: str
    num_tokens: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what the summary says of the file."""
        fields = dataclasses.asdict(self) | {"name": os.path.basename(self.name)}
        return {name: value for name, value in fields.items() if value is not None}


def output_paths(specification: str) -> tuple[str, list[str]]:
    """Return the name of a set of outputs, and its files.

    a.jsonl.gz@2  ->  a.jsonl.gz, [a-00000-of-00002.jsonl.gz, a-00001-of-00002.jsonl.gz]
    """
    names = storage.expand_outputs(specification)
    for path in names.paths:
        storage.refuse_undecodable("output", path)
    return names.name, [*map(storage.with_ending_last, names.paths)]


def plan_files(spools: Sequence[tuple[str, str, int]], num_files: int) -> list[list[SpoolPart]]:
    """Distribute the documents of shards, each (path, source, documents), over files."""
    ends = list(itertools.accumulate(count for _, _, count in spools))
    total = ends[-1]
    if total < num_files:
        raise ValueError(
            f"{how_many(total, 'document')} left for {num_files} output files; ask for fewer files"
        )
    files: list[list[SpoolPart]] = [[] for _ in range(num_files)]
    for number, parts in enumerate(files):
        first, last = (total * n // num_files for n in (number, number + 1))
        for spool in range(bisect.bisect_right(ends, first), len(spools)):
            path, source, count = spools[spool]
            before = ends[spool] - count
            if before >= last:
                break
            if count:
                start, end = max(first - before, 0), min(last - before, count)
                parts.append(SpoolPart(path, source, start, end))
    return files


def write_documents(
    name: str, parts: Sequence[SpoolPart], output_format: str, kinds: Kinds, folder: str
) -> dict[str, Any]:
    """Write documents to a file, named `FILE`, in a folder; return the fields of `WrittenFile`.

    Args:
      name: its final name, whose ending says the compression.
      kinds: of the documents' fields.
    """
    num_text_bytes = 0

    def documents() -> Iterator[Document]:
        nonlocal num_text_bytes
        for part in parts:
            for document in read_spool(*part):
                num_text_bytes += document.num_bytes
                yield document

    path = os.path.join(folder, FILE)
    with storage.open_scratch(path) as file:
        if output_format == PARQUET:
            _write_parquet(file, documents(), kinds)
        else:
            encode = _json_row if output_format == JSONL else _lines
            with _compressed(file, name) as stream:
                for document in documents():
                    stream.write(encode(document))
    with storage.open_input(path) as file:
        digest = hashlib.file_digest(cast(io.BufferedReader, file), "sha256").hexdigest()
    written = WrittenFile(
        name=name,
        num_documents=sum(part.end - part.start for part in parts),
        num_text_bytes=num_text_bytes,
        num_bytes=storage.file_size(path),
        sha256=digest,
    )
    return dataclasses.asdict(written)


@contextlib.contextmanager
def _compressed(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """Open a stream into a file that compresses as the ending of its name says."""
    kinds = storage.kinds_of(name)
    if GZIP in kinds:
        # Without time and name, so that the same documents are the same bytes.
        with GzipNGFile("", "wb", compresslevel=_GZIP_LEVEL, fileobj=file, mtime=0) as stream:
            yield cast(IO[bytes], stream)
    elif ZSTD in kinds:
        with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as stream:
            yield cast(IO[bytes], stream)
    else:
        yield file


def _lines(document: Document) -> bytes:
    stripped = map(str.strip, document.text.replace("\r", "\n").split("\n"))
    lines = [line for line in stripped if line]
    return "\n".join([*lines, "", ""]).encode(errors="replace")


def _own_id(document: Document) -> Any:
    """Return the id that the document's row had, or None."""
    own_id = document.fields.get(OWN_ID)
    return None if own_id == "" else own_id


def as_row(document: Document) -> dict[str, Any]:
    """Return the row of JSON Lines that a document is."""
    own_id, fields = _own_id(document), dict(document.fields)
    if own_id is not None:
        del fields[OWN_ID]
        fields[PLACE] = document.id
    row = {
        "id": document.id if own_id is None else own_id,
        "source": document.source,
        "text": document.text,
    }
    return row | fields


def _json_row(document: Document) -> bytes:
    return json_line(as_row(document))


def _id_as_text(document: Document) -> str:
    own_id = _own_id(document)
    if own_id is None:
        return document.id
    text = own_id if isinstance(own_id, str) else json.dumps(own_id)
    return text.encode(errors="replace").decode()


def _write_parquet(file: IO[bytes], documents: Iterator[Document], kinds: Kinds) -> None:
    has_ids = kinds.get(OWN_ID, NULL) != NULL
    if has_ids:
        kinds = {name: kind for name, kind in kinds.items() if name not in (OWN_ID, PLACE)}
    schema = arrow_schema(kinds | ({PLACE: TEXT} if has_ids else {}))
    with parquet.ParquetWriter(
        file, schema, compression="zstd", write_page_checksum=True
    ) as writer:
        for group in in_groups(documents, _size, _GROUP_CHARACTERS, _GROUP_DOCUMENTS):
            columns = [
                arrow_column([_id_as_text(d) for d in group], "text"),
                arrow_column([d.source for d in group], "text"),
                arrow_column([d.text for d in group], "text").cast(schema.field("text").type),
                *(arrow_column([d.fields.get(n) for d in group], k) for n, k in kinds.items()),
            ]
            if has_ids:
                places = [d.id if _own_id(d) is not None else None for d in group]
                columns.append(arrow_column(places, TEXT))
            writer.write_batch(record_batch(columns, schema=schema))


def _size(document: Document) -> int:
    vectors = (value for value in document.fields.values() if isinstance(value, list))
    return len(document.text) + _BYTES_A_NUMBER * sum(map(len, vectors))


class Noted(NamedTuple):
    """Rejected documents and, behind them, a part of the ledger, in the file `TASK` of a folder.

    Attributes:
      begin: byte where they begin.
    """

    folder: str
    begin: int
    num_rejected_bytes: int
    num_ledger_rows: int

    @property
    def path(self) -> str:
        """Path of the file."""
        return os.path.join(self.folder, TASK)

    @property
    def ledger_begin(self) -> int:
        """Byte where the part of the ledger begins."""
        return self.begin + self.num_rejected_bytes


def share_out(parts: Sequence[Noted], size: str, num_files: int) -> list[list[Noted]]:
    """Distribute parts, by a size of theirs, over files: each goes to the one that it begins in.

    If all sizes are 100, and there are four files, a part that begins at 60 goes to the third. A
    file may get none; parts without content are left out.
    """
    filled = [part for part in parts if getattr(part, size)]
    total = sum(getattr(part, size) for part in filled)
    files: list[list[Noted]] = [[] for _ in range(num_files)]
    before = 0
    for part in filled:
        files[before * num_files // total].append(part)
        before += getattr(part, size)
    return files


def join_ledgers(parts: Sequence[Noted], folder: str) -> dict[str, Any]:
    """Write parts of the ledger to a Parquet file, named `FILE`, in a folder; count its rows."""
    num_rows = num_waiting = 0
    waiting: list[pyarrow.RecordBatch] = []
    with (
        storage.open_scratch(os.path.join(folder, FILE)) as file,
        parquet.ParquetWriter(file, SCHEMA, compression="zstd", write_page_checksum=True) as writer,
    ):

        def write() -> None:
            writer.write_table(pyarrow.Table.from_batches(waiting, SCHEMA))
            waiting.clear()

        for part in parts:
            with storage.open_input(part.path) as part_file:
                part_file.seek(part.ledger_begin)
                for batch in open_arrow(part_file):
                    waiting.append(batch)
                    num_rows += batch.num_rows
                    num_waiting += batch.num_rows
                    if num_waiting >= _LEDGER_ROWS_A_GROUP:
                        write()
                        num_waiting = 0
        write()
    return {"num_rows": num_rows}


def join_rejected(name: str, parts: Sequence[Noted], folder: str) -> dict[str, Any]:
    """Write rejected documents of shards to a file, named `FILE`, in a folder.

    The ending of its final name says the compression.
    """
    with (
        storage.open_scratch(os.path.join(folder, FILE)) as file,
        _compressed(file, name) as stream,
    ):
        for part in parts:
            for data in storage.read_portions(part.path, part.begin, part.ledger_begin):
                stream.write(data)
    return {}


class _ListedFile(TypedDict):
    name: str


class _FilesOfRun(TypedDict):
    files: list[_ListedFile]
    output_format: NotRequired[str]
    ledger: _ListedFile
    rejected_file: NotRequired[str]


def earlier_files(summary: str, rejected_file: str | None) -> list[str]:
    """Return the files of an earlier set, by its summary; [] if there is none.

    Earlier rejected documents are of the set if they have the name of this run's.
    """
    folder = os.path.dirname(summary)
    try:
        written = storage.read_json(summary, _FilesOfRun)
        names = [file["name"] for file in written["files"]]
        if written.get("output_format") == STORE:
            names = [path for name in names for path in store_paths(name)]
        names += output_paths(written["ledger"]["name"])[1]
        paths = [os.path.join(folder, name) for name in names if "/" not in name]
        if rejected_file is not None and "rejected_file" in written:
            paths += _earlier_rejected(
                written["rejected_file"], beside(summary, rejected_file), rejected_file
            )
    except (OSError, CorruptDataError, ValueError):
        return []
    return paths


def _earlier_rejected(earlier: str, ours: str, rejected_file: str) -> list[str]:
    """Return earlier rejected documents, which are in the folder of ours; [] for another name."""
    if "," in earlier or output_paths(earlier)[0] != output_paths(ours)[0]:
        return []
    folder = os.path.dirname(rejected_file)
    return output_paths(os.path.join(folder, os.path.basename(earlier)))[1]


def beside(file: str, path: str) -> str:
    """Return a path relative to the folder of a file."""
    return os.path.relpath(path, os.path.dirname(file) or os.curdir)
