"""The text formats, by name and by file ending.

A format is one file beside this one, which is loaded with the first file, and a line at the end of
this one. Each yields blocks of documents; formats whose documents are runs of lines also yield
blocks of lines, without a Python object per line.
"""

import dataclasses
import functools
import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bert_data import storage
from bert_data.checks import check_choice
from bert_data.settings import AUTO
from bert_data.text import ARC_ADVICE
from bert_data.text.text_config import BLANK_LINE, FILE, HEADING, ROWS, TextConfig

if TYPE_CHECKING:
    from bert_data.text.documents import DocumentBlock, Span
    from bert_data.text.lines import LineBlock

# Wikipedia's dumps of several files: enwiki-20240101-pages-articles1.xml-p1p41242.bz2
_PART_OF_A_DUMP = re.compile(r"\.xml-p\d+p\d+(?:-\w+)?\Z")

_INDEX = (
    "an index of WARC files has no text; write the records that it names into a WARC file first, as"
    " docs/guides/corpora.md shows"
)
_TABLE = (
    "a table in {} is not read; write it as Parquet first (python -c 'import pandas;"
    """ pandas.{}("FILE", keep_default_na=False).to_parquet("FILE.parquet")'), or"""
    " `input_format=lines` takes it as text"
)
_NOT_READ = {
    ".arc": f"an ARC archive is not read; {ARC_ADVICE}",
    ".csv": _TABLE.format("CSV", "read_csv"),
    ".tsv": _TABLE.format("TSV", "read_table"),
    ".cdx": _INDEX,
    ".cdxj": _INDEX,
}


_Read = Callable[[Sequence["Span"], TextConfig], Iterator["DocumentBlock"]]
"""Yields blocks of documents of files."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextFormat:
    """A format.

    Attributes:
      endings: of its files, with the dot, for "auto"; () if it must be named.
      read: yields blocks of documents of files.
      find_document: returns the start (as in a span) of the first document, or group of documents,
        that begins at or after a byte of a file; None if there is none.
      read_lines: yields blocks of lines, for a format whose documents are runs of lines: blank ones
        end a document, the end of a file does not.
      has_lines: whether places in files are bytes, and rows are lines.
      configured: returns the format as a configuration wants it; None: it is always the same.
      is_markup: whether its documents are pages with tags, which must be turned into text first.
      is_corpus: whether it is a publisher's, whose reader removes all markup.
      files_in: returns the files that a folder stands for; None: a folder is refused.
      is_cut_compressed: whether `find_document` finds places in compressed files, too.
    """

    name: str
    endings: tuple[str, ...]
    read: _Read
    find_document: Callable[[str, int], int | None]
    read_lines: Callable[[Sequence["Span"], TextConfig], Iterator["LineBlock"]] | None = None
    has_lines: bool = True
    configured: "Callable[[TextFormat, TextConfig], TextFormat] | None" = None
    is_compressed: bool = True
    is_markup: bool = False
    is_corpus: bool = False
    files_in: Callable[[str], list[str]] | None = None
    is_cut_compressed: bool = False

    @property
    def runs_on(self) -> bool:
        """Whether a document may continue in the next file."""
        return self.read_lines is not None


def text_format_names() -> tuple[str, ...]:
    """Return the allowed values of `input_format`."""
    return (AUTO, *_FORMATS)


def input_files(patterns: str, config: TextConfig) -> list[str]:
    """Return the files of a comma-separated list of patterns and, for some formats, folders."""
    named = _FORMATS.get(config.input_format)
    try:
        paths = storage.expand_inputs(patterns, named.files_in if named else None)
    except IsADirectoryError as error:
        names = " or ".join(each.name for each in _FORMATS.values() if each.files_in)
        reason = f"{error.strerror}; `input_format={names}` takes folders"
        raise IsADirectoryError(error.errno, reason, error.filename) from None
    if named and named not in _OF_PIPES:
        storage.refuse_pipes(paths, f"{named.name} is read from a file alone")
    return paths


def find_text_format(paths: Sequence[str], config: TextConfig | None = None) -> TextFormat:
    """Find the format of files: the one that is configured, or that of their endings, or lines."""
    config = config or TextConfig()
    name = config.input_format
    check_choice("input_format", name, text_format_names())
    if name != AUTO:
        text_format = _FORMATS[name]
    else:
        first: dict[str, str] = {}
        for path in paths:
            first.setdefault(_format_of_ending(path), path)
        if len(first) > 1:
            formats = ", ".join(f"{path} is {kind}" for kind, path in first.items())
            raise ValueError(f"the inputs have several formats ({formats}); they must have one")
        text_format = _FORMATS[next(iter(first), LINES.name)]
    if not text_format.is_compressed:
        compressed = [path for path in paths if path.endswith(tuple(storage.COMPRESSIONS))]
        if compressed:
            raise ValueError(
                f"{compressed[0]}: {text_format.name} files are compressed inside; decompress it"
            )
    _check_settings(text_format, config)
    if text_format.configured is None:
        return text_format
    return text_format.configured(text_format, config)


def _check_settings(text_format: TextFormat, config: TextConfig) -> None:
    formats_of = {
        "document_end": [PROSE, *_OF_BOOKS],
        "templates_file": [MEDIAWIKI],
        "rows": _OF_ROWS,
        "text_template": _OF_ROWS,
    }
    for field, formats in formats_of.items():
        value = getattr(config, field)
        if value is not None and text_format not in formats:
            names = " or ".join(each.name for each in formats)
            raise ValueError(
                f"{field} is {value!r}, but the format is {text_format.name}; `{field}` is for"
                f" `input_format={names}`"
            )
    if config.text_template is not None:
        _loaded("template", "parse_template")(config.text_template)
        if config.text_field != TextConfig.text_field:
            raise ValueError(
                f"text_field is {config.text_field!r}, and `text_template` names the fields of the"
                " text itself; set one of them"
            )
    if config.document_end == BLANK_LINE and text_format in _OF_BOOKS:
        raise ValueError(
            f"document_end is {BLANK_LINE!r}, but the format is {text_format.name}; it must be"
            f" {FILE} (a book is a document) or {HEADING} (a chapter is)"
        )


def check_text_field(text_field: str, text_formats: Iterable[str]) -> None:
    """Refuse the name of a field if none of the formats has fields."""
    formats, with_fields = dict.fromkeys(text_formats), [each.name for each in _OF_ROWS]
    if text_field != TextConfig.text_field and not {*formats} & {*with_fields}:
        raise ValueError(
            f"text_field is {text_field!r}, but the format is {', '.join(formats)}; `text_field` is"
            f" for `input_format={' or '.join(with_fields)}`"
        )


def find_plain_format(paths: Sequence[str], config: TextConfig) -> TextFormat:
    """Find the format of files whose documents are ready to be tokenized."""
    text_format = find_text_format(paths, config)
    check_text_field(config.text_field, [text_format.name])
    if text_format.is_markup:
        raise ValueError(
            f"{paths[0]}: {text_format.name} files hold pages with tags; extract their text first"
            " with the step extract of bert-data curate (`input_format=lines` treats"
            " tags as text)"
        )
    return text_format


def _format_of_ending(path: str) -> str:
    name = path.lower()
    for ending in storage.COMPRESSIONS:
        name = name.removesuffix(ending)
    for ending, reason in _NOT_READ.items():
        if name.endswith(ending):
            raise ValueError(f"{path}: {reason}")
    name = _PART_OF_A_DUMP.sub(".xml", name)
    endings = {ending: each.name for each in _FORMATS.values() for ending in each.endings}
    matching = [ending for ending in endings if name.endswith(ending)]
    return endings[max(matching, key=len)] if matching else LINES.name


def read_documents(
    files: "Sequence[str | Span]", config: TextConfig | None = None
) -> "Iterator[DocumentBlock]":
    """Yield files of any format as blocks of documents."""
    config = config or TextConfig()
    spans = _loaded("documents", "as_spans")(files)
    return find_text_format([span.path for span in spans], config).read(spans, config)


def _make_line_format(
    name: str, read_lines: Callable[[Sequence["Span"], TextConfig], Iterator["LineBlock"]]
) -> TextFormat:
    group_lines = _loaded("lines", "group_lines")
    return TextFormat(
        name=name,
        endings=(),
        read=lambda spans, config: group_lines(read_lines(spans, config), spans, config),
        find_document=_loaded("lines", "find_after_blank_line"),
        read_lines=read_lines,
    )


def _configure_prose(prose: TextFormat, config: TextConfig) -> TextFormat:
    find = functools.partial(_loaded("prose", "find_document"), config.document_end or FILE)
    return dataclasses.replace(prose, find_document=find)


def _configure_rows(
    find_document: Callable[[TextConfig, str, int], int | None],
    rows: TextFormat,
    config: TextConfig,
) -> TextFormat:
    """Return a format of rows, which are lines if the configuration says so."""
    if config.rows in (None, ROWS[0]):
        return rows
    read_rows_as_lines = _loaded("jsonl", "read_rows_as_lines")
    lines = _make_line_format(rows.name, functools.partial(read_rows_as_lines, rows.read))
    return dataclasses.replace(
        rows,
        read=lines.read,
        read_lines=lines.read_lines,
        find_document=functools.partial(find_document, config),
    )


def _find_whole_file(path: str, position: int) -> int | None:
    return None if position > 0 else 0


def _make_file_format(name: str, *endings: str, read: _Read, **others: Any) -> TextFormat:
    return TextFormat(
        name=name,
        endings=endings,
        read=read,
        **{"find_document": _find_whole_file, "has_lines": False, **others},
    )


def _make_corpus_format(name: str, *endings: str, module: str = "", **others: Any) -> TextFormat:
    read = _loaded(f"corpora.{module or name}", "read")
    return _make_file_format(name, *endings, read=read, is_corpus=True, **others)


def _loaded(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a module beside this one, which is loaded when it is called."""
    return lambda *arguments: getattr(importlib.import_module(f"bert_data.text.{module}"), name)(
        *arguments
    )


LINES = _make_line_format("lines", _loaded("lines", "read_plain_lines"))
WIKITEXT = _make_line_format("wikitext", _loaded("lines", "read_wikitext_lines"))
PROSE = TextFormat(
    name="prose",
    endings=(),
    read=_loaded("prose", "read_prose"),
    find_document=_find_whole_file,
    configured=_configure_prose,
)
JSONL = TextFormat(
    name="jsonl",
    endings=(".jsonl", ".ndjson", ".json"),
    read=_loaded("jsonl", "read_jsonl"),
    find_document=_loaded("lines", "find_line_start"),
    configured=functools.partial(
        _configure_rows, _loaded("jsonl", "find_after_blank_line_of_json")
    ),
)
PARQUET = TextFormat(
    name="parquet",
    endings=(".parquet",),
    read=_loaded("parquet", "read_parquet"),
    find_document=_loaded("parquet", "find_row_group"),
    has_lines=False,
    configured=functools.partial(_configure_rows, _loaded("jsonl", "find_group_after_blank_row")),
    is_compressed=False,
)
HTML = _make_file_format(
    "html", ".html", ".htm", ".xhtml", read=_loaded("html", "read_html"), is_markup=True
)
WARC = _make_file_format("warc", ".warc", ".wet", read=_loaded("warc", "read_warc"), is_markup=True)
MEDIAWIKI = _make_corpus_format(
    "mediawiki",
    ".xml",
    find_document=_loaded("corpora.mediawiki", "find_page"),
    is_cut_compressed=True,
)
STACK_EXCHANGE = _make_corpus_format("stackexchange", "posts.xml", ".7z", module="stack_exchange")
ARXIV = _make_corpus_format("arxiv", ".tex")
CODE = _make_corpus_format(
    "code", module="source_code", files_in=_loaded("corpora.source_code", "files_in")
)
GUTENBERG = _make_corpus_format("gutenberg")
EPUB = _make_corpus_format("epub", ".epub", is_compressed=False)
_OF_TEXT = (LINES, WIKITEXT, PROSE, JSONL, PARQUET)
_OF_ROWS = (JSONL, PARQUET)
_OF_PIPES = (LINES, WIKITEXT, PROSE, JSONL)
_OF_PAGES = (HTML, WARC)
_OF_CORPORA = (MEDIAWIKI, STACK_EXCHANGE, ARXIV, CODE)
_OF_BOOKS = (GUTENBERG, EPUB)
_FORMATS = {each.name: each for each in (*_OF_TEXT, *_OF_PAGES, *_OF_CORPORA, *_OF_BOOKS)}
