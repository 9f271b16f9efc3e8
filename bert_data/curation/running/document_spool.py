"""Documents between two passes, in streams of Arrow.

    with SpoolWriter(path) as spool:
        spool.add(document)                        id | text | fields (JSON) | sizes of the text
    read_spool(path, "crawl", 10, 20)  ->  documents 10 .. 19

A batch has about 1 MB of text and fields, which is what is held in memory, and more if a document
has more.
"""

import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow

from bert_data.curation.document import SIZES, Document
from bert_data.curation.running.field_values import ArrowWriter, dump_exactly, open_arrow
from bert_data.storage import open_input, remove_folder
from bert_data.work.rounds import Part
from bert_data.work.tasks import Numbered

SPOOL, OBSERVED = "spool.arrow", "observed"
"""In the folder of a spooled shard: its documents, and what a `CorpusStep` observed."""

_SCHEMA = pyarrow.schema(
    [
        *((name, pyarrow.large_string()) for name in ("id", "text", "fields")),
        *((name, pyarrow.int64()) for name in SIZES),
    ]
)
BATCH_DOCUMENTS = 4096


class SpoolWriter(ArrowWriter):
    """Writes documents to a file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _SCHEMA, max_rows=BATCH_DOCUMENTS)

    def add(self, document: Document) -> None:
        """Add a document."""
        fields = dump_exactly(document.fields) if document.fields else None
        sizes = map(document.known_sizes().get, SIZES)
        num_characters = len(document.text) + len(fields or "")
        self.add_rows([(document.id, document.text, fields, *sizes)], num_characters)


def read_spool(
    path: str, source: str, start: int = 0, end: int | None = None
) -> Iterator[Document]:
    """Yield the documents with the numbers `start` to `end`, exclusive."""
    before = 0
    with open_input(path) as file, open_arrow(file) as stream:
        for batch in stream:
            first = max(start - before, 0)
            last = batch.num_rows if end is None else min(end - before, batch.num_rows)
            if first < last:
                part = batch.slice(first, last - first)
                columns = [column.to_pylist() for column in part.columns]
                for name, text, fields, *sizes in zip(*columns, strict=True):
                    document = Document(name, source, text, json.loads(fields) if fields else {})
                    known = zip(SIZES, sizes, strict=True)
                    document.note_sizes({name: n for name, n in known if n is not None})
                    yield document
            before += batch.num_rows
            if end is not None and before >= end:
                return


@dataclasses.dataclass(frozen=True)
class SpooledShard(Numbered):
    """Documents that an earlier pass left of a shard, or of a part of it, in a folder.

    Attributes:
      first: number of its first document among those of all spooled shards.
      num_bytes: size of the documents' texts.
    """

    data_set: int
    path: str
    first: int
    num_documents: int
    num_bytes: int

    @property
    def spool(self) -> str:
        """Path of its documents."""
        return os.path.join(self.path, SPOOL)

    def part(self, source: str) -> Part:
        """Return it as a part of rounds; `source` is the name of its data set."""
        end = self.first + self.num_documents
        return Part(os.path.join(self.path, OBSERVED), source, self.first, end, self.num_bytes)

    def forget(self) -> None:
        """Remove the documents, once a later pass has processed them."""
        remove_folder(self.path)


class DocumentsOfShard:
    """Documents up to a number of bytes, and the one after them.

        documents of 30, 30 and 50 bytes, at most 70 bytes  ->  0000: 2 documents   0001: 1 document

    Attributes:
      following: the first document that no longer fits, or None.
      num_documents, num_bytes: of those that do.
    """

    def __init__(
        self, first: Document | None, documents: Iterator[Document], max_bytes: int | None
    ) -> None:
        self.following = first
        self._documents, self._max_bytes = documents, max_bytes
        self.num_documents = self.num_bytes = 0

    def __iter__(self) -> Iterator[Document]:
        while (document := self.following) is not None:
            num_bytes = self.num_bytes + document.num_bytes
            if self.num_documents and self._max_bytes is not None and num_bytes > self._max_bytes:
                return
            self.num_documents += 1
            self.num_bytes = num_bytes
            yield document
            self.following = next(self._documents, None)
