"""The settings that say what files of text are like, and how they are read."""

import dataclasses
import math
import re
from typing import Annotated, Any

from bert_data import storage
from bert_data.settings import AUTO, OneOf, Within, check_settings
from bert_data.text import ENCODING_ERRORS
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

DEFAULT_LANGUAGE = "en"
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]+)*")

_OFF_BY_DEFAULT = (
    "text_template", "rows", "document_end", "templates_file", "needed_fields", "without",
    "without_documents",
)  # fmt: skip


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
            import hashlib  # here, as it would delay --help

            content = storage.read_bytes(self.templates_file)
            fields["templates_file"] = hashlib.sha256(content).hexdigest()
        return {k: v for k, v in fields.items() if v or k not in _OFF_BY_DEFAULT}


def check_language(language: str) -> None:
    """Refuse what is neither a language code like "en" nor one like "zh-hans"."""
    if not _LANGUAGE.fullmatch(language):
        raise ValueError(
            f"language is {language!r}; it must be an ISO 639 code, such as en, de or zh"
        )
