"""Tokenizes text files into a token store: PREFIX.bin and PREFIX.idx.

    lines:      blocks of lines     --> FastTokenizer (any threads)  --in order--> StoreWriter
    documents:  blocks of documents --> any tokenizer (likewise)     --in order--> StoreWriter

In files of lines, blank lines end documents and the ends of files do not, as in
google-research/bert; the fast tokenizer reads them without making a Python object per line.
"""

import collections
import dataclasses
import functools
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np
from absl import logging

from bert_data.progress import progress
from bert_data.storage import file_size
from bert_data.text.compression import COMPRESSED_ENDINGS
from bert_data.text.documents import DocumentBlock, Span, as_spans, not_utf8
from bert_data.text.formats import TextFormat, find_plain_format
from bert_data.text.input_warnings import add_left_out, noting_text
from bert_data.text.leaving_out import leave_out_documents, leave_out_lines, with_ids
from bert_data.text.lines import LineBlock, TextLines, count_lines_before, read_texts
from bert_data.text.text_config import SENTENCE, TextConfig
from bert_data.text.without import ReadText
from bert_data.tokens.block_run import TokenBlock, UndecodableLineError
from bert_data.tokens.library_tokenizer import LibraryTokenizer, UntokenizableError, left_out
from bert_data.tokens.provenance import (
    Places,
    ProvenanceRule,
    places_of_documents,
    places_of_lines,
    write_provenance,
)
from bert_data.tokens.special_tokens import SpecialTokenError
from bert_data.tokens.store import DROP, StoreShape, token_dtype
from bert_data.tokens.store_writer import FileSummary, StoreWriter, fitting_ids
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_file import Tokenizer
from bert_data.work import Executor, open_threads

_NUM_SKIPPED_LOGGED = 3
_NUM_NAMED = 20  # of what was left out
_SUMMED = ("num_bytes", "num_lines", "num_unknown", "num_replaced", "num_skipped")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenCounts:
    """Counts of the text of a store.

    Attributes:
      num_bytes: of text, decompressed; of ids, where they are read from a store.
      num_lines: of text, blank ones too; rows of formats that have rows.
      num_documents, num_sentences, num_tokens: in the store; sentences are sequences.
      num_replaced: undecodable places that were replaced or ignored.
      num_skipped: rows without a text that were left out.
      num_empty: documents of the store without a token of text.
      special_tokens: token -> number, of special ones that stand in the text.
    """

    num_bytes: int
    num_lines: int
    num_documents: int
    num_sentences: int
    num_tokens: int
    num_unknown: int
    num_replaced: int
    num_skipped: int = 0
    num_empty: int = 0
    special_tokens: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def numbers(self) -> dict[str, int]:
        """Return the counts without `special_tokens`, by their names."""
        numbers = dataclasses.asdict(self)
        del numbers["special_tokens"]
        return numbers


class _Tokenized(NamedTuple):
    """The tokens of a block, its bytes of text and on disk, and the rows that were skipped.

    Without `places`, they are not noted, or no document ends in the block.
    """

    tokens: TokenBlock
    num_bytes: int
    num_file_bytes: int
    skipped: Sequence[str]
    places: Places | None
    left_out: Mapping[str, int] = types.MappingProxyType({})


@dataclasses.dataclass(frozen=True, kw_only=True)
class FilledStore:
    """A finished store: what it was made from, its two files, and those beside them."""

    counts: TokenCounts
    read: ReadText
    files: Mapping[str, FileSummary]
    side_files: Mapping[str, FileSummary] = dataclasses.field(default_factory=dict)


def fill_store(
    files: Sequence[str | Span],
    tokenizer: Tokenizer,
    prefix: str,
    *,
    text: TextConfig | None = None,
    shape: StoreShape | None = None,
    dtype: np.dtype | None = None,
    executor: Executor | None = None,
    may_be_empty: bool = False,
    provenance: ProvenanceRule | None = None,
) -> FilledStore:
    """Tokenize files into a token store.

    Args:
      files: read in this order; a document of lines may continue in the next file.
      shape: of the sequences. Files of lines have no empty documents, whatever this says.
      dtype: of the ids; None: `token_dtype` of the vocabulary's size.
      provenance: what to note of where documents come from; None: nothing.
    """
    text, shape, spans = text or TextConfig(), shape or StoreShape(), as_spans(files)
    text_format = find_plain_format([span.path for span in spans], text)
    if text_format.read_lines is not None:
        shape = dataclasses.replace(shape, empty_documents=DROP)
    dtype, executor = dtype or token_dtype(tokenizer.num_ids), executor or open_threads(1)
    read = ReadText()
    results = _tokenize(
        spans, text_format, tokenizer, text, shape.level, executor, provenance, read
    )
    writer = StoreWriter(prefix, dtype, shape)
    with progress("tokenize", total=_num_bytes(spans, text_format), unit="B") as advance:
        filled, seen = _write(results, tokenizer, writer, provenance, read, advance)
    if not (writer.num_tokens or may_be_empty):
        num_skipped = filled.counts.num_skipped
        skipped = f"; {num_skipped:,} rows were skipped" if num_skipped else ""
        hint = "; use fewer `num_partitions`" if _are_part(spans) else ""
        raise ValueError(f"no sentences in {_describe_text(spans)}{hint}{skipped}")
    _warn_of_fields(spans, provenance, seen)
    return filled


def fill_with_documents(
    blocks: Iterable[DocumentBlock],
    tokenizer: Tokenizer,
    prefix: str,
    *,
    shape: StoreShape,
    dtype: np.dtype,
    language: str,
    on_error: str,
    provenance: ProvenanceRule | None = None,
) -> FilledStore:
    """Tokenize documents into a token store, as `fill_store` does those of a file of rows."""
    fields = None if provenance is None else provenance.fields
    tokenize = functools.partial(
        _tokenize_documents, tokenizer, shape.level, language, on_error, fields
    )
    writer = StoreWriter(prefix, dtype, shape)
    filled, _ = _write(
        map(tokenize, blocks), tokenizer, writer, provenance, ReadText(), lambda num_bytes: None
    )
    return filled


def _write(
    results: Iterable[_Tokenized],
    tokenizer: Tokenizer,
    writer: StoreWriter,
    provenance: ProvenanceRule | None,
    read: ReadText,
    advance: Callable[[int], object],
) -> tuple[FilledStore, Set[str]]:
    """Write a store; return it, and the fields of its provenance that some document has."""
    seen = set[str]()
    totals = collections.Counter(dict.fromkeys(_SUMMED, 0))  # of parts without a block, too
    special, left_out = collections.Counter[int](), collections.Counter[str]()
    with write_provenance(writer, provenance) as written, writer:
        for block in results:
            tokens = block.tokens
            ids = fitting_ids(tokens.ids, writer.dtype)
            writer.add(ids, tokens.sentence_lengths, tokens.breaks)
            if written is not None and block.places is not None:
                seen.update(block.places.columns)
                written.add(block.places, tokens.sentence_lengths.size, tokens.breaks)
            for sentence in block.skipped[: max(0, _NUM_SKIPPED_LOGGED - totals["num_skipped"])]:
                logging.warning("skipped: %s", sentence)
            totals.update(
                num_bytes=block.num_bytes,
                num_lines=tokens.num_lines,
                num_unknown=tokens.num_unknown,
                num_replaced=tokens.num_replaced,
                num_skipped=len(block.skipped),
            )
            special.update(tokens.special)
            add_left_out(left_out, block.left_out)
            advance(block.num_file_bytes)
    if left_out:
        named = (f"{name} {count:,}" for name, count in left_out.most_common(_NUM_NAMED))
        logging.info("left out of the text: %s", ", ".join(named))
    counts = TokenCounts(
        num_documents=writer.num_documents,
        num_sentences=writer.num_sentences,
        num_tokens=writer.num_tokens,
        num_empty=writer.num_empty,
        special_tokens={tokenizer.tokens[number]: special[number] for number in sorted(special)},
        **totals,
    )
    side_files = written.files if written else {}
    filled = FilledStore(counts=counts, read=read, files=writer.files, side_files=side_files)
    return filled, seen


def _warn_of_fields(spans: Sequence[Span], rule: ProvenanceRule | None, seen: Set[str]) -> None:
    """Warn of fields by another name that no document has."""
    for column, field in rule.fields.items() if rule else ():
        if field not in (column, "") and column not in seen:
            sentence = "%s: no document has the field %r (`%s_field`)"
            logging.warning(sentence, _describe_text(spans), field, column)


def _are_part(spans: Sequence[Span]) -> bool:
    return any(span.start or span.end is not None for span in spans)


def _describe_text(spans: Sequence[Span]) -> str:
    first = spans[0].path
    if _are_part(spans):
        return f"a partition of the text, which begins in {first!r}"
    others = f" and {len(spans) - 1:,} other file{'s' * (len(spans) > 2)}" if spans[1:] else ""
    return f"{first}{others}"


def _num_bytes(spans: Sequence[Span], text_format: TextFormat) -> int:
    """Return the files' bytes on disk; 0 if the size of a part is unknown."""
    num_bytes = 0
    for span in spans:
        size = file_size(span.path)
        is_part = span.start or span.end is not None
        if is_part and (not text_format.is_compressed or span.path.endswith(COMPRESSED_ENDINGS)):
            return 0
        num_bytes += (size if span.end is None else span.end) - span.start
    return num_bytes


def numbers_rows(
    text_format: TextFormat, tokenizer: Tokenizer, text: TextConfig, *, notes_places: bool = False
) -> bool:
    """Whether `fill_store` needs the rows before a span, and not for a message alone.

    Then it reads the file from its beginning, unless `count_rows` has counted them.
    """
    is_fast = text_format.read_lines is not None and isinstance(tokenizer, FastTokenizer)
    return notes_places or text.without is not None or not is_fast


def _tokenize(
    spans: Sequence[Span],
    text_format: TextFormat,
    tokenizer: Tokenizer,
    text: TextConfig,
    level: str,
    executor: Executor,
    provenance: ProvenanceRule | None,
    read: ReadText,
) -> Iterator[_Tokenized]:
    if text_format.read_lines is not None:
        blocks = leave_out_lines(text_format.read_lines(spans, text), spans, text, read)
        blocks = noting_text(blocks, read.with_text)
        if isinstance(tokenizer, FastTokenizer):
            notes_places = provenance is not None
            return _tokenize_lines(
                spans, blocks, tokenizer, text, executor, notes_places=notes_places
            )
        if level == SENTENCE:
            lines = read_texts(blocks, spans, text)
            tokenize_texts = functools.partial(_tokenize_texts, tokenizer, text.on_error)
            return executor.ordered_map(tokenize_texts, lines)
    fields = None if provenance is None else provenance.fields
    text = with_ids(text, fields.values() if fields else ())
    tokenize = functools.partial(
        _tokenize_documents, tokenizer, level, text.language, text.on_error, fields
    )
    documents = leave_out_documents(text_format.read(spans, text), text.without, read)
    return executor.ordered_map(tokenize, noting_text(documents, read.with_text))


def _tokenize_documents(
    tokenizer: Tokenizer,
    level: str,
    language: str,
    on_error: str,
    fields: Mapping[str, str] | None,
    block: DocumentBlock,
) -> _Tokenized:
    skipped = [*block.skipped]
    tokens = None
    while tokens is None:
        try:
            tokens = tokenizer.tokenize_documents(block.documents, level, language)
        except UntokenizableError as error:
            skipped += left_out(error.documents, block.place_of, on_error)
            block = block.without(error.documents)
        except SpecialTokenError as error:
            raise ValueError(f"{block.place_of(error.document)}: {error}") from None
    tokens = dataclasses.replace(tokens, num_lines=block.num_rows, num_replaced=block.num_replaced)
    places = None
    if fields is not None and block.documents:
        places = places_of_documents(block, tokens.breaks, fields)
    sizes = block.num_text_bytes(), block.num_file_bytes
    return _Tokenized(tokens, *sizes, skipped, places, block.left_out)


def _tokenize_texts(tokenizer: LibraryTokenizer, on_error: str, lines: TextLines) -> _Tokenized:
    texts = [text for text in lines.texts if text]
    is_text = np.array([bool(text) for text in lines.texts], np.bool_)
    ends = np.cumsum(is_text)[~is_text]
    rows = lines.rows_before + 1 + np.flatnonzero(is_text)
    skipped, path = [*lines.block.skipped], lines.block.path
    tokens = None
    while tokens is None:
        try:
            tokens = tokenizer.tokenize_sequences(texts, ends.tolist())
        except UntokenizableError as error:
            skipped += left_out(error.reasons, lambda text: f"{path}:{rows[text]}", on_error)
            texts = ["" if number in error.reasons else each for number, each in enumerate(texts)]
        except SpecialTokenError as error:
            raise ValueError(f"{path}:{rows[error.line]}: {error}") from None
    tokens = dataclasses.replace(
        tokens, num_lines=len(lines.texts), num_replaced=lines.num_replaced
    )
    block = lines.block
    places = places_of_lines(
        block.path, lines.rows_before + 1, len(lines.texts), tokens.breaks, np.flatnonzero(~is_text)
    )
    return _Tokenized(tokens, len(block.data), block.num_file_bytes, skipped, places)


def _tokenize_lines(
    spans: Sequence[Span],
    blocks: Iterator[LineBlock],
    tokenizer: FastTokenizer,
    text: TextConfig,
    executor: Executor,
    *,
    notes_places: bool,
) -> Iterator[_Tokenized]:
    tokenize = functools.partial(_try_tokenizing_lines, tokenizer, text.encoding_errors)
    file, lines_in_file, places = -1, 0, None
    for block, tokens in executor.ordered_map(tokenize, blocks):
        if block.file != file:
            file, lines_in_file = block.file, 0
            before = count_lines_before(spans[file]) if notes_places else 0
        if not isinstance(tokens, TokenBlock):
            is_damaged, reason = isinstance(tokens, UndecodableLineError), tokens.reason
            first = block.first_row or count_lines_before(spans[file]) + lines_in_file + 1
            place = f"{block.path}:{first + tokens.line}"
            raise ValueError(f"{place}: {not_utf8(reason) if is_damaged else reason}")
        if notes_places:
            first = block.first_row or before + lines_in_file + 1
            places = places_of_lines(
                block.path, first, tokens.num_lines, tokens.breaks, tokens.blank_lines
            )
        lines_in_file += tokens.num_lines
        num_replaced = tokens.num_replaced + block.num_replaced
        tokens = dataclasses.replace(tokens, num_replaced=num_replaced)
        yield _Tokenized(tokens, len(block.data), block.num_file_bytes, block.skipped, places)


def _try_tokenizing_lines(
    tokenizer: FastTokenizer, encoding_errors: str, block: LineBlock
) -> tuple[LineBlock, TokenBlock | UndecodableLineError | SpecialTokenError]:
    """Return the tokens of a block or its error, as only earlier blocks tell the line's number."""
    try:
        return block, tokenizer.tokenize_block(block.data, encoding_errors=encoding_errors)
    except (UndecodableLineError, SpecialTokenError) as error:
        return block, error
