"""The kept documents as token stores, without a file of text between.

    Document("web/a.jsonl:7", "web", "One.\nTwo.")  ─▶  tokens.bin  tokens.idx  tokens.store.json
                                                        tokens.provenance.parquet: a.jsonl, row 7

A store is the one that `tokenize` makes, with the same settings, of the JSON Lines that the run
would write in its place: its ids, lengths and bounds are the same bytes. Only where its documents
came from is said of the files that the run reads.
"""

import dataclasses
import functools
import hashlib
import io
import os
import re
from collections.abc import Container, Iterator, Sequence
from typing import Any, Self, cast

from bert_data.curation.document import Document, in_groups
from bert_data.curation.running.document_spool import read_spool
from bert_data.curation.running.field_values import finite
from bert_data.curation.running.output_files import FILE, SpoolPart, WrittenFile, as_row
from bert_data.curation.running.pipeline import Pipeline
from bert_data.curation.running.pipeline_settings import JSONL
from bert_data.progress import how_many
from bert_data.storage import file_size, open_input, write_bytes
from bert_data.text.documents import BLOCK_CHARACTERS, DocumentBlock, TextDocument
from bert_data.text.formats import find_plain_format
from bert_data.text.text_config import SENTENCE, TextConfig
from bert_data.tokens.corpus_warnings import warn_of_counts
from bert_data.tokens.filling import fill_with_documents
from bert_data.tokens.provenance import ProvenanceRule
from bert_data.tokens.special_tokens import sum_counts
from bert_data.tokens.store_config import StoreSettings
from bert_data.tokens.store_files import StoreNotes, notes_path
from bert_data.tokens.store_form import StoreForm
from bert_data.tokens.tokenizer_file import Tokenizer, tokenizer_of

_FILE_OF_PLACE = "\0file"  # as a field; no column of the input is called so
_PLACE = re.compile(r"(?P<file>.*):(?P<row>\d+)", re.DOTALL)
_BLOCK_DOCUMENTS = 1 << 13


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreRule:
    """What is written of documents.

    Attributes:
      notes: those of each store, but for what is counted.
      language: whose rules split sentences.
      by_place: names of the data sets whose documents have their file and row as their id.
    """

    settings: StoreSettings
    form: StoreForm
    notes: StoreNotes
    language: str
    on_error: str
    by_place: frozenset[str]

    @classmethod
    def of(cls, pipeline: Pipeline) -> Self | None:
        """Return the rule of a pipeline, or None if it writes text."""
        settings, language = pipeline.output.store, pipeline.output.language
        if settings is None:
            return None
        text = TextConfig(input_format=JSONL, language=language)
        form = StoreForm.of(settings, _load(settings), text, find_plain_format([], text))
        return cls(
            settings=settings,
            form=form,
            notes=form.notes([], settings.input_fields if settings.provenance else {}),
            language=language,
            on_error=pipeline.on_error,
            by_place=frozenset(each.name for each in pipeline.data_sets if each.id_field is None),
        )

    @property
    def provenance(self) -> ProvenanceRule | None:
        """What is noted of where documents came from."""
        if not self.settings.provenance:
            return None
        return ProvenanceRule(fields={**self.settings.input_fields, "file": _FILE_OF_PLACE})

    def describe(self) -> list[Any]:
        """Return all that the files of a store depend on."""
        return [self.notes.made_from, self.notes.provenance, self.language]

    def warn(self, counts: Sequence[dict[str, Any]]) -> None:
        """Warn of tokens that a good corpus does not have, by the `TokenCounts` of all stores."""
        special = sum_counts([each.pop("special_tokens") for each in counts]) or {}
        warn_of_counts(
            {name: sum(each[name] for each in counts) for name in counts[0]},
            special,
            paths=(),
            text=TextConfig(),
            tokenizer=_load(self.settings),
            has_pairs=self.settings.level == SENTENCE,
        )


@functools.lru_cache(1)
def _load(settings: StoreSettings) -> Tokenizer:
    """Load the tokenizer; once per process, as that takes time."""
    return tokenizer_of(settings)


@dataclasses.dataclass(kw_only=True)
class _Block(DocumentBlock):
    """Documents, which errors name by their ids."""

    ids: Sequence[str]

    def place_of(self, number: int) -> str:
        return f"document {self.ids[number]!r}"

    def without(self, numbers: Container[int]) -> Self:
        ids = [each for number, each in enumerate(self.ids) if number not in numbers]
        return dataclasses.replace(super().without(numbers), ids=ids)


def write_store(
    name: str, parts: Sequence[SpoolPart], rule: StoreRule, folder: str
) -> dict[str, Any]:
    """Write the store of documents, whose prefix is `FILE`, to a folder.

    Args:
      name: its final prefix.

    Returns:
      The fields of `WrittenFile`, and "tokens", those of `TokenCounts`.
    """
    prefix = os.path.join(folder, FILE)
    filled = fill_with_documents(
        _blocks(parts, rule),
        _load(rule.settings),
        prefix,
        shape=rule.form.shape,
        dtype=rule.form.dtype,
        language=rule.language,
        on_error=rule.on_error,
        provenance=rule.provenance,
    )
    counts = filled.counts
    num_documents = sum(part.end - part.start for part in parts) - counts.num_skipped
    if not counts.num_tokens:
        raise ValueError(
            f"{name}: {how_many(num_documents, 'document')} without a token, of which no store can"
            " be made; leave out such documents, or use fewer files"
        )
    notes = dataclasses.replace(
        rule.notes,
        counts=counts.numbers(),
        special_tokens=counts.special_tokens,
        files=filled.files,
        side_files=filled.side_files,
    )
    write_bytes(notes_path(prefix), notes.to_json().encode())
    files = [f"{prefix}.{ending}" for ending in (*filled.files, *filled.side_files)]
    with open_input(files[0]) as file:
        digest = hashlib.file_digest(cast(io.BufferedReader, file), "sha256").hexdigest()
    written = WrittenFile(
        name=name,
        num_documents=num_documents,
        num_text_bytes=counts.num_bytes,
        num_bytes=sum(map(file_size, [*files, notes_path(prefix)])),
        sha256=digest,
        num_tokens=counts.num_tokens,
    )
    return {**dataclasses.asdict(written), "tokens": dataclasses.asdict(counts)}


def _blocks(parts: Sequence[SpoolPart], rule: StoreRule) -> Iterator[DocumentBlock]:
    documents = (document for part in parts for document in read_spool(*part))
    for group in in_groups(documents, _size, BLOCK_CHARACTERS, _BLOCK_DOCUMENTS):
        yield _Block(
            path="",
            documents=[_as_text_document(each, rule) for each in group],
            num_rows=len(group),
            ids=[each.id for each in group],
        )


def _size(document: Document) -> int:
    return len(document.text)


def _as_text_document(document: Document, rule: StoreRule) -> TextDocument:
    """Return the document as the reader of JSON Lines does, with its file and row in the input."""
    if not rule.settings.provenance:
        return TextDocument(0, document.text)
    fields = finite(as_row(document))
    text = fields.pop("text")
    place = _PLACE.fullmatch(document.id) if document.source in rule.by_place else None
    if place is None:
        return TextDocument(0, text, fields)
    fields[_FILE_OF_PLACE] = place["file"].removeprefix(f"{document.source}/")
    return TextDocument(int(place["row"]), text, fields)
