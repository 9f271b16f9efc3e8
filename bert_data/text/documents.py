r"""Documents: the whole texts that rows, or runs of lines, hold.

    {"text": "One. Two."}       ->  TextDocument(row 1, "One. Two.")
    {"text": ["One.", "Two."]}  ->  TextDocument(row 2, ("One.", "Two."))    its sentences are known

Tokenizers take a block of documents in one of two forms, at one of two levels:

    block_lines      sentence  b"One.\nTwo.\n\nOne.\nTwo.\n\n"       one per line, and an empty
                     document  b"One. Two.\n\nOne. Two.\n\n"         line after each document
    block_sequences  sentence  ["One.", "Two.", "One.", "Two."], documents end after [2 4] of them
                     document  ["One. Two.", "One.\nTwo."], after [1 2]
"""

import dataclasses
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Self, TypeVar

from bert_data.errors import CorruptDataError
from bert_data.settings import AUTO, OneOf, Within, check_settings
from bert_data.storage import file_size, read_bytes
from bert_data.text import ENCODING_ERRORS
from bert_data.text.compression import DAMAGE
from bert_data.text.sentences import DEFAULT_LANGUAGE, check_language, split_sentences
from bert_data.text.without import Without

STRICT, SKIP = ON_ERROR = ("strict", "skip")
"""The treatment of a row without a text: an error, or it is counted and left out."""

FILE, BLANK_LINE, HEADING = DOCUMENT_ENDS = ("file", "blank_line", "heading")
"""The ends of documents of prose."""

WIKITEXT_ROWS = "wikitext"
ROWS = ("documents", "lines", WIKITEXT_ROWS)
"""The meanings of rows of JSON Lines and Parquet."""

DOCUMENT, SENTENCE = LEVELS = ("document", "sentence")
"""The units that a sequence of tokens may be."""

_OFF_BY_DEFAULT = (
    "text_template", "rows", "document_end", "templates_file", "needed_fields", "without",
    "without_documents",
)  # fmt: skip

_NONE = type(None)
_ANYWAY = "`encoding_errors=replace` or ignore reads it anyway"

Text = str | tuple[str, ...]
"""A text, or the sentences of one."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextConfig:
    """Configuration of reading files.

    Attributes:
      input_format: lines: one sentence per line, a blank line between documents. wikitext:
        likewise, but lines that begin with = are headings, which end a document and are skipped.
        prose: wrapped lines and paragraphs, which are joined and split into sentences;
        `document_end` says where documents end. jsonl, parquet: one document per row. mediawiki:
        articles of a wiki's dump. stackexchange: Posts.xml of its dump, also in .7z, a question
        with its answers per document. arxiv: LaTeX of papers, from arXiv's archives or .tex. code:
        source files, also in folders and archives of repositories. gutenberg: books of Project
        Gutenberg. epub: e-books. html, warc: web pages, for curate only (its step extract turns
        them into text). auto: by the ending: .jsonl, .ndjson, .json, .parquet, .7z, .tex, .epub,
        .html, .htm, .xhtml, .warc, .wet; Posts.xml is stackexchange, any other .xml mediawiki;
        tables (.csv, .tsv) are refused; all other files are lines, and refused if they hold JSON.
      text_field: jsonl, parquet: key or column of the text, which is split into sentences where
        they are needed, or of a list of sentences. meta.text is the field text of the object, or
        struct, meta.
      text_template: jsonl, parquet: in place of `text_field`, the text of rows with several fields:
        their names in braces, such as {instruction}\\n\\n{output}, or {messages.content} for a list
        of objects. Lists are joined by line ends. A row without one of the fields has no text.
      rows: jsonl, parquet: what a row is. documents (default). lines: a line; a blank row ends a
        document, the end of a file does not. wikitext: likewise, but rows that begin with = are
        headings, which end a document and are skipped (WikiText as the hub has it).
      language: language whose rules split sentences, such as en, zh or de; for all formats but
        lines and wikitext, where a line is a sentence.
      document_end: prose, gutenberg, epub: what ends a document. file (default): only the end of a
        file, which always does. heading: also a heading, such as CHAPTER I, # Title or an
        underlined line, which is left out; in epub, the end of a page. blank_line (prose): also a
        blank line.
      templates_file: mediawiki: a file that says what further templates show, in the form of the
        package's wiki_templates.txt.
      on_error: jsonl, parquet, mediawiki, stackexchange, arxiv, gutenberg, epub, html, warc: what
        to do with rows without a text, and with posts, papers, books and pages that cannot be read.
        strict: end with an error that names the place. skip: leave them out and count them.
      encoding_errors: what to do with bytes that are not UTF-8: strict: an error that names the
        line; replace, ignore: replace or drop and count them.
      keep_fields: whether documents also have the other fields of their rows.
      needed_fields: with `keep_fields`, those that need not be left out; (): all.
      files_end_documents: whether a file's end ends a document of lines, which Google's does not.
      max_row_bytes: a row (JSON), a line or a document of lines with more bytes is skipped without
        being held in memory, and listed in `too_long`. None: beyond a format's bound is an error.
      without: documents that are left out where text becomes tokens or is curated.
    """

    input_format: str = AUTO
    text_field: str = "text"
    text_template: str | None = None
    rows: Annotated[str, OneOf(ROWS)] | None = None
    language: str = DEFAULT_LANGUAGE
    document_end: Annotated[str, OneOf(DOCUMENT_ENDS)] | None = None
    templates_file: str | None = None
    on_error: Annotated[str, OneOf(ON_ERROR)] = STRICT
    encoding_errors: Annotated[str, OneOf(ENCODING_ERRORS)] = "strict"
    keep_fields: bool = False
    files_end_documents: bool = False
    needed_fields: tuple[str, ...] = ()
    max_row_bytes: Annotated[int, Within(1, math.inf)] | None = None
    without: Without | None = None

    def __post_init__(self) -> None:
        if not self.text_field:
            raise ValueError("text_field is ''; name the field that holds the text")
        check_language(self.language)
        check_settings(self)

    def settings(self) -> dict[str, Any]:
        """Return the fields as manifests and fingerprints have them, without those that are off."""
        fields = dataclasses.asdict(dataclasses.replace(self, without=None))
        fields["without_documents"] = self.without and self.without.sha256
        if self.templates_file is not None:
            fields["templates_file"] = hashlib.sha256(read_bytes(self.templates_file)).hexdigest()
        return {k: v for k, v in fields.items() if v or k not in _OFF_BY_DEFAULT}


@dataclasses.dataclass(frozen=True, slots=True)
class TextDocument:
    """A whole text.

    Attributes:
      row: its (first) line or row in the file, from 1.
      fields: the other fields of its row, by name, if they were asked for.
    """

    row: int
    text: Text
    fields: Mapping[str, Any] | None = None

    @property
    def whole_text(self) -> str:
        """The text; sentences are lines of it."""
        return self.text if isinstance(self.text, str) else "\n".join(self.text)


def texts_of_field(documents: Sequence[TextDocument], field: str) -> list[str | None] | None:
    """Return the texts of a field, such as meta.id, of documents; None: none of them has any."""
    rows: list[Mapping[str, Any]] = [document.fields or {} for document in documents]
    values = [row.get(field) for row in rows]
    kinds = set(map(type, values))
    if kinds == {_NONE} and "." in field:
        values = [_nested(row, field) for row in rows]
        kinds = set(map(type, values))
    if kinds <= {_NONE}:
        return None
    return values if kinds <= {str, _NONE} else [*map(_as_text, values)]


def _nested(fields: Any, path: str) -> Any:
    for name in path.split("."):
        fields = fields.get(name) if isinstance(fields, dict) else None
    return fields


def _as_text(value: Any) -> str | None:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return None if value is None else str(value)


@dataclasses.dataclass(kw_only=True)
class DocumentBlock:
    """Documents of one file; the reader of a format fills it in.

    Attributes:
      path: the file (the last one, for a document that spans several).
      first_path: the file in which the first document begins, if it is another.
      num_file_bytes: bytes of the (possibly compressed) file that were read for them.
      num_replaced: places that are not UTF-8 and were replaced or ignored.
      skipped: file, line and reason for each row that was skipped.
      left_out: by name, what was left out within rows, and rows that are no documents.
      too_long: (row, bytes) of what `TextConfig.max_row_bytes` excluded.
      has_lines: of documents that are runs of lines, which may begin or end in other files: whether
        lines of this one are in it.
    """

    path: str
    documents: list[TextDocument] = dataclasses.field(default_factory=list)
    num_rows: int = 0
    num_file_bytes: int = 0
    num_replaced: int = 0
    skipped: list[str] = dataclasses.field(default_factory=list)
    left_out: Counter[str] = dataclasses.field(default_factory=Counter)
    too_long: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    first_path: str = ""
    has_lines: bool | None = None

    @property
    def has_text(self) -> bool:
        """Whether the file has text in it."""
        if self.has_lines is not None:
            return self.has_lines
        return any(part and not part.isspace() for part in self._texts())

    def place_of(self, number: int) -> str:
        """Return where a document is, by its number in the block: its file and row."""
        path = self.path if number else self.first_path or self.path
        return f"{path}:{self.documents[number].row}"

    def without(self, numbers: Container[int]) -> Self:
        """Return the block without some of its documents, by their numbers from 0."""
        kept = [each for number, each in enumerate(self.documents) if number not in numbers]
        first_path = "" if 0 in numbers else self.first_path
        return dataclasses.replace(self, documents=kept, first_path=first_path)

    def skip(self, row: int, error: "RowError", config: TextConfig) -> None:
        """Leave out a row that has no text."""
        sentence = f"{self.path}:{row}: {error}"
        if config.on_error == STRICT:
            raise ValueError(sentence) from None
        self.skipped.append(sentence)

    def drops(self, row: int, num_bytes: int, config: TextConfig) -> bool:
        """Leave out a row that is longer than a configuration allows; return whether it is."""
        is_long = config.max_row_bytes is not None and num_bytes > config.max_row_bytes
        if is_long:
            self.too_long.append((row, num_bytes))
        return is_long

    def add(self, row: int, text: str, fields: dict[str, Any], config: TextConfig) -> None:
        """Add a document; fields without a value, such as "", are left out."""
        kept = {name: value for name, value in fields.items() if value not in (None, "", [])}
        self.documents.append(TextDocument(row, text, kept if config.keep_fields else None))

    def num_text_bytes(self) -> int:
        """Return the bytes of all texts in UTF-8."""
        return sum(map(_utf8_size, self._texts()))

    def _texts(self) -> Iterator[str]:
        for document in self.documents:
            yield from [document.text] if isinstance(document.text, str) else document.text


def _utf8_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


class RowError(ValueError):
    """A row has no usable text; the message is only the reason."""


def checked_text(value: Any, field: str) -> Text:
    """Check what a row has as its text; RowError if it is none, or UTF-8 cannot encode it."""
    if isinstance(value, str) and value.isascii():
        return value
    parts = (value,) if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        raise RowError(f"{field!r} is {_kind(value)}; it must be a text or a list of sentences")
    for part in parts:
        if not isinstance(part, str):
            raise RowError(f"{field!r} holds {_kind(part)}; it must be a list of sentences")
        if not part.isascii():
            try:
                part.encode()
            except UnicodeEncodeError:
                raise RowError(f"{field!r} contains a lone surrogate; {_ANYWAY}") from None
    return value if isinstance(value, str) else tuple(value)


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return "a number"
    return "a list" if isinstance(value, list) else "an object"


def not_utf8(reason: object) -> str:
    """Return what to say of text that is not UTF-8, which may be read nevertheless."""
    return f"not UTF-8 ({reason}); if it is Latin-1: iconv -f LATIN1 -t UTF-8; {_ANYWAY}"


def decode_text(data: bytes, errors: str) -> tuple[str, int]:
    """Decode bytes, and count the places that are not UTF-8; RowError if that is an error."""
    try:
        return data.decode(), 0
    except UnicodeDecodeError as error:
        if errors == "strict":
            raise RowError(not_utf8(error)) from None
    marks = data.decode(errors="replace").count("\ufffd") - data.count("\ufffd".encode())
    return data.decode(errors=errors), marks


def block_lines(documents: Iterable[TextDocument], level: str, language: str) -> bytes:
    """Return documents as lines, with an empty line after each document."""
    lines: list[str] = []
    for sequences in _sequences(documents, level, language):
        sequences = [text for text in sequences if not text.isspace()]
        lines += [text.replace("\n", " ").replace("\r", " ") for text in sequences]
        lines.append("")
    return "\n".join([*lines, ""]).encode()


def block_sequences(
    documents: Iterable[TextDocument], level: str, language: str
) -> tuple[list[str], list[int]]:
    """Return documents as sequences, and how many precede the end of each document."""
    texts: list[str] = []
    ends = []
    for sequences in _sequences(documents, level, language):
        texts += sequences
        ends.append(len(texts))
    return texts, ends


def _sequences(
    documents: Iterable[TextDocument], level: str, language: str
) -> Iterator[Sequence[str]]:
    """Return the texts of each document that form one sequence each; none is empty.

    Only a whole document may be blank: some tokenizers have tokens for spaces, which are then what
    Megatron-LM and NeMo Curator write, too.
    """
    for document in documents:
        text = document.text
        if level == DOCUMENT:
            whole = document.whole_text
            yield [whole] if whole else []
        elif isinstance(text, str):
            yield split_sentences(text, language)
        else:
            yield [part for part in text if part and not part.isspace()]


BLOCK_CHARACTERS = 2 << 20

Item = TypeVar("Item")


def fill_blocks(
    path: str,
    items: Iterable[Item],
    add: Callable[[DocumentBlock, int, Item], int],
    *,
    position: Callable[[], int] | None = None,
    start: int = 0,
) -> Iterator[DocumentBlock]:
    """Yield the documents of a file in blocks; the last one may have none.

    Args:
      items: what it holds: records, pages, members of an archive.
      add: adds the document of an item, if it has one, to a block, given the item's number from 1,
        and returns its characters.
      position: how far the file has been read. None: nobody knows before its end.

    Raises:
      CorruptDataError, DAMAGE: as `items` do; after a block with what precedes the damage.
    """
    block, num_characters = DocumentBlock(path=path), 0
    try:
        for number, item in enumerate(items, 1):
            block.num_rows += 1
            num_characters += add(block, number, item)
            if num_characters >= BLOCK_CHARACTERS:
                if position is not None:
                    before, start = start, position()
                    block.num_file_bytes = start - before
                yield block
                block, num_characters = DocumentBlock(path=path), 0
    except (CorruptDataError, *DAMAGE):
        yield block
        raise
    block.num_file_bytes = (file_size(path) if position is None else position()) - start
    yield block


@dataclasses.dataclass(frozen=True)
class Span:
    """A part of a file.

    Attributes:
      start: where it begins: bytes of text, decompressed; row groups in Parquet files. A line, and
        in most uses a document, begins there.
      end: where it ends, exclusive; None: with the file.
      rows_before: lines of the file before it, if they have been counted.
    """

    path: str
    start: int = 0
    end: int | None = None
    rows_before: int | None = None


def as_spans(files: Sequence[str | Span]) -> list[Span]:
    """Turn paths into spans of whole files."""
    return [Span(file) if isinstance(file, str) else file for file in files]
