"""The flags of commands that read text: its format, its field, and how errors are handled."""

from collections.abc import Callable, Sequence

from absl import flags

from bert_data.cli.flag_values import from_flags
from bert_data.text import ENCODING_ERRORS
from bert_data.text.documents import AUTO, DOCUMENT_ENDS, ON_ERROR, ROWS, STRICT, TextConfig
from bert_data.text.formats import format_names

GROUP = "reading text"  # the title of these flags in --help


def define_text_flags(
    more_formats: Sequence[str] = (),
    *,
    on_error: str = STRICT,
    encoding_errors: str = "strict",
    more_on_error: str = "",
) -> Callable[[], TextConfig]:
    """Define the flags.

    Args:
      more_formats: values of --input_format besides the formats of text.
      on_error: the default of that flag.
      encoding_errors: the default of that flag.
      more_on_error: added to the help of --on_error.

    Returns:
      A function that returns the flags' values, once they are parsed.
    """
    _define_format_flags((*format_names(), *more_formats))
    flags.DEFINE_enum(
        "on_error",
        on_error,
        ON_ERROR,
        "jsonl, parquet, arxiv, gutenberg, epub, html, warc, cdx: what becomes of rows without a"
        " text, and of papers, books and pages that cannot be read: an error with the place, or"
        f" they are counted and left out.{more_on_error}",
    )
    flags.DEFINE_enum(
        "encoding_errors",
        encoding_errors,
        ENCODING_ERRORS,
        "What to do with bytes that are not UTF-8: strict: an error that names the "
        "line; replace, ignore: replace or drop and count them.",
    )
    return lambda: from_flags(TextConfig)


def _define_format_flags(formats: Sequence[str]) -> None:
    """Define the flags that say what the text is like."""
    flags.DEFINE_enum(
        "input_format",
        AUTO,
        formats,
        "lines: one sentence per line, a blank line between documents. wikitext: likewise,"
        " but lines that begin with = are headings, which end a document and are skipped."
        " prose: wrapped lines and paragraphs, which are joined and split into sentences;"
        " --document_end says where documents end. jsonl, parquet: one document per row."
        " mediawiki: articles of a wiki's dump. stackexchange: Posts.xml of its dump, also in"
        " .7z, a question with its answers per document. arxiv: LaTeX of papers, from arXiv's"
        " archives or .tex. code: source files, also in folders and archives of repositories."
        " gutenberg: books of Project Gutenberg. epub: e-books. html, warc: web pages, cdx:"
        " those that indexes of WARC files name, for curate only (its step extract turns them"
        " into text). auto: by the ending: .jsonl, .ndjson, .parquet, .7z, .tex, .epub,"
        " .html, .htm, .xhtml, .warc, .wet, .cdxj, .cdx; Posts.xml is stackexchange, any"
        " other .xml mediawiki; all other files are lines.",
    )
    flags.DEFINE_string(
        "text_field",
        "text",
        "jsonl, parquet: key or column of the text, which is split into sentences where they"
        " are needed, or of a list of sentences. meta.text is the field text of the object, or"
        " struct, meta.",
    )
    flags.DEFINE_enum(
        "rows",
        None,
        ROWS,
        "jsonl, parquet: what a row is. documents (default). lines: a line; a blank row ends a"
        " document, the end of a file does not. wikitext: likewise, but rows that begin with ="
        " are headings, which end a document and are skipped (WikiText as the hub has it).",
    )
    flags.DEFINE_string(
        "language",
        "en",
        "Language whose rules split sentences, such as en, zh or de; for all formats but lines"
        " and wikitext, where a line is a sentence.",
    )
    flags.DEFINE_enum(
        "document_end",
        None,
        DOCUMENT_ENDS,
        "prose, gutenberg, epub: what ends a document. file (default): only the end of a file,"
        " which always does. heading: also a heading, such as CHAPTER I, # Title or an"
        " underlined line, which is left out; in epub, the end of a page. blank_line (prose):"
        " also a blank line.",
    )
