"""Leave documents out of text while it is read; see `without`.

documents   17: "One."  18: "Two."   ->  17: "One."        18 is in the list
lines       "One.\n\nTwo.\nThree.\n" ->  "One.\n\n\n\n"    3 is; rows keep their numbers
"""

import dataclasses
import io
from collections.abc import Iterable, Iterator, Sequence

from bert_data.text.documents import DocumentBlock, Span, texts_of_field
from bert_data.text.lines import LineBlock, number_blocks
from bert_data.text.text_config import TextConfig
from bert_data.text.without import ReadText, Without


def with_ids(text: TextConfig, fields: Iterable[str] = ()) -> TextConfig:
    """Return a configuration by which documents have some fields, and what names them."""
    names = dict.fromkeys([*fields, *([text.without.id_field] if text.without else ())])
    if not names:
        return text
    return dataclasses.replace(text, keep_fields=True, needed_fields=tuple(names))


def leave_out_documents(
    blocks: Iterable[DocumentBlock], without: Without | None, read: ReadText
) -> Iterator[DocumentBlock]:
    """Yield blocks of documents, which have ids, without some; `read` gets what was found."""
    for block in blocks:
        yield block if without is None else _left(block, without, read)


def _left(block: DocumentBlock, without: Without, read: ReadText) -> DocumentBlock:
    documents, gone = block.documents, set()
    ids = texts_of_field(documents, without.id_field)
    own_rows = rows = without.rows_of(block.path)
    if block.first_path:
        rows = without.rows_of(block.first_path)
    for number, document in enumerate(documents):
        found = without.numbers_of(ids[number] if ids else None, document.row, rows)
        read.found |= found
        if found:
            gone.add(number)
        rows = own_rows
    if not gone:
        return block
    read.num_left_out += len(gone)
    return dataclasses.replace(block.without(gone), num_rows=block.num_rows - len(gone))


def leave_out_lines(
    blocks: Iterable[LineBlock], spans: Sequence[Span], text: TextConfig, read: ReadText
) -> Iterator[LineBlock]:
    """Yield blocks of lines in which the lines of some documents are empty."""
    if text.without is None:
        yield from blocks
        return
    errors = "ignore" if text.encoding_errors == "ignore" else "replace"
    is_open = is_out = False  # whether a document goes on, and is left out
    for block, before in number_blocks(blocks, spans):
        rows, lines = text.without.rows_of(block.path), io.BytesIO(block.data).readlines()
        numbers = range(before + 1, before + 1 + len(lines))
        if not is_out and rows.keys().isdisjoint(numbers):
            is_open = bool(lines[-1].decode(errors=errors).strip()) if lines else is_open
            yield block
            continue
        for place, row in enumerate(numbers):
            is_text = bool(lines[place].decode(errors=errors).strip())
            if is_text and not is_open and row in rows:
                is_out = True
                read.num_left_out += 1
                read.found.add(rows[row])
            is_open, is_out = is_text, is_out and is_text
            if is_out:
                lines[place] = b"\n"
        yield dataclasses.replace(block, data=b"".join(lines))
