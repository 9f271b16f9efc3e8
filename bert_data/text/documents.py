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
import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

from bert_data.errors import CorruptDataError
from bert_data.storage import file_size
from bert_data.text.compression import DAMAGE
from bert_data.text.sentences import split_sentences
from bert_data.text.text_config import DOCUMENT, STRICT, TextConfig

_NONE = type(None)
_ANYWAY = "; `encoding_errors=replace` or ignore reads it anyway"

Text = str | tuple[str, ...]
"""A text, or the sentences of one."""


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


def checked_text(value: Any, field: str, remedy: str = _ANYWAY) -> Text:
    """Check what a row has as its text; RowError if it is none, or UTF-8 cannot encode it.

    Args:
      remedy: what the error says last of text that UTF-8 cannot encode.
    """
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
                raise RowError(f"{field!r} contains a lone surrogate{remedy}") from None
    return value if isinstance(value, str) else tuple(value)


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return "a number"
    return "a list" if isinstance(value, list) else "an object"


def not_utf8(reason: object) -> str:
    """Return what to say of text that is not UTF-8, which may be read nevertheless."""
    return f"not UTF-8 ({reason}); if it is Latin-1: iconv -f LATIN1 -t UTF-8{_ANYWAY}"


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
