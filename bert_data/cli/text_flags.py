"""The flags of commands that read text: its format, its field, and how errors are handled."""

from collections.abc import Callable, Sequence

from absl import flags

from bert_data.text import ENCODING_ERRORS
from bert_data.text.documents import AUTO, ON_ERROR, STRICT, TextConfig
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
    formats = (*format_names(), *more_formats)
    input_format = flags.DEFINE_enum(
        "input_format",
        AUTO,
        formats,
        "lines: one sentence per line, a blank line between documents. wikitext: "
        "likewise, but lines that begin with = are headings, which end a document and"
        " are skipped. jsonl, parquet: one document per row. html, warc: web pages, "
        "for curate only (its step extract turns them into text). auto: by the "
        "ending; files other than .jsonl, .ndjson, .parquet, .html, .htm, .xhtml, "
        ".warc and .wet are lines.",
    )
    text_field = flags.DEFINE_string(
        "text_field",
        "text",
        "jsonl, parquet: key or column of the text, which is split into sentences "
        "where they are needed, or of a list of sentences.",
    )
    language = flags.DEFINE_string(
        "language",
        "en",
        "jsonl, parquet: language whose rules split sentences, such as en, zh or de.",
    )
    on_error_flag = flags.DEFINE_enum(
        "on_error",
        on_error,
        ON_ERROR,
        "jsonl, parquet: what becomes of rows without a text: an error with the line, or they are"
        f" counted and left out.{more_on_error}",
    )
    encoding_errors_flag = flags.DEFINE_enum(
        "encoding_errors",
        encoding_errors,
        ENCODING_ERRORS,
        "What to do with bytes that are not UTF-8: strict: an error that names the "
        "line; replace, ignore: replace or drop and count them.",
    )

    def text_config() -> TextConfig:
        return TextConfig(
            input_format=input_format.value,
            text_field=text_field.value,
            language=language.value,
            on_error=on_error_flag.value,
            encoding_errors=encoding_errors_flag.value,
        )

    return text_config
