"""Documents as Python has them: an iterable, or names of files.

    ["One. Two.", ["First.", "Second."]]   ->  documents.jsonl: {"text": "One. Two."} ...
    "corpus/*.txt", Path("corpus.txt")     ->  the files themselves
    DataFrame(columns=["id", "text"])      ->  refused: pass documents['text']
    [{"a": "One.", "b": 2}]                ->  documents.jsonl: these rows, with a `text_template`

The stages read files. An iterable is written to one, document by document, so that memory stays
bounded, whatever the iterable produces, and the output is that of the same documents in a file.
What gives its keys, columns or rows instead is refused. Libraries are known by what their objects
have, as none of them is imported here.
"""

import contextlib
import itertools
import json
import os
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import IO, Any, NamedTuple

from bert_data.api.arguments import file_name, list_of_names
from bert_data.settings import AUTO
from bert_data.storage import is_file, is_remote, open_scratch, scratch_folder
from bert_data.text.text_config import ROWS, TextConfig

Documents = (
    str
    | os.PathLike[str]
    | Iterable[str | bytes | Sequence[str] | Mapping[str, Any] | os.PathLike[str]]
)
"""Names of files (a string, or paths), or texts (bytes are UTF-8), or lists of sentences, or rows
for a `text_template`."""

_NAME = "documents.jsonl"


class TextFiles(NamedTuple):
    """Files to read.

    Attributes:
      names: of the files, or patterns, separated by commas.
      are_spooled: whether the documents were written to them here, one a row.
    """

    names: str
    are_spooled: bool = False


@contextlib.contextmanager
def as_files(
    documents: Documents, output: str | None, text: TextConfig, name: str = "documents"
) -> Iterator[TextFiles]:
    """Give documents as files, which the stages read; texts are written beside the output."""
    if isinstance(documents, str | os.PathLike):
        yield TextFiles(list_of_names(documents))
        return
    has_rows = text.text_template is not None
    rest = _iterate_rows(name, documents) if has_rows else _iterate(name, documents)
    first = next(rest, rest)
    if first is rest:
        raise ValueError(f"{name} is empty; there is nothing to read")
    if isinstance(first, os.PathLike):
        yield TextFiles(",".join(map(file_name, [first, *rest])))
        return
    if text.input_format not in (AUTO, "jsonl"):
        raise ValueError(_describe_format(name, text.input_format))
    convert = _row if has_rows else _text
    values = (convert(number, each) for number, each in enumerate(itertools.chain([first], rest)))
    first = next(values)
    if isinstance(first, str) and _is_file(first):
        raise ValueError(
            f"document 0 is {first!r}, the name of a file; to read files, pass one string or"
            " pathlib.Path objects"
        )
    with scratch_folder(output) as folder:
        path = os.path.join(folder, _NAME)
        with open_scratch(path) as file:
            _write(file, itertools.chain([first], values))
        try:
            yield TextFiles(path, are_spooled=True)
        except ValueError as error:
            if path not in str(error):
                raise
            raise ValueError(_without_path(str(error), path, name)) from None


def _describe_format(name: str, input_format: str) -> str:
    rows = input_format if input_format in ROWS else " or ".join(ROWS[1:])
    return (
        f"input_format is {input_format!r}, but {name} holds texts, not files; leave it out, or set"
        f" `rows={rows}` instead if each text is a line"
    )


def _without_path(sentence: str, path: str, name: str) -> str:
    """Return an error's sentence with the names and numbers of documents, not of their rows."""

    def name_of(match: re.Match[str]) -> str:
        return name if match[1] is None else f"document {int(match[1]) - 1}"

    return re.sub(rf"{re.escape(path)}(?::(\d+)\b)?", name_of, sentence)


def _iterate(name: str, documents: Any) -> Iterator[Any]:
    """Return an iterator over documents, unless iterating gives something else."""
    kind = type(documents).__name__
    if isinstance(documents, set | frozenset):
        raise ValueError(f"{name} is {kind}, which has no order; pass sorted({name})")
    if hasattr(documents, "readline"):
        raise ValueError(
            f"{name} is an open file, {kind}, which gives its lines; pass its name, or"
            f" list({name}) if each line is a document"
        )
    if type(documents).__module__ == "_csv" or hasattr(documents, "fetchone"):  # of a database
        raise ValueError(
            f"{name} is {kind}, which gives rows; pass the texts alone, as in (row[0] for row in"
            f" {name})"
        )
    if parts := _names_of_parts(documents):
        way = _way_to_texts(name, documents)
        if isinstance(documents, Mapping) and isinstance(documents[parts[0]], str):
            way = f"{name}.values()"
        raise ValueError(
            f"{name} is {kind} with {reprlib.repr(parts)}; pass the texts alone, as in {way}"
        )
    with contextlib.suppress(TypeError):  # an array or a tensor without dimensions
        if isinstance(documents, Iterable) and not isinstance(documents, bytes):
            return iter(documents)
    raise ValueError(f"{name} is {kind}; texts, lists of sentences or names of files are allowed")


def _iterate_rows(name: str, documents: Any) -> Iterator[Any]:
    """Return an iterator over rows; a table that gives its columns is refused with its first."""
    if isinstance(documents, Mapping):
        raise ValueError(
            f"{name} is {type(documents).__name__} with {reprlib.repr(list(documents))}; pass its"
            f" rows, as in {name}[{next(iter(documents), 0)!r}]"
        )
    is_table = isinstance(documents, Iterable) and bool(_names_of_parts(documents))
    return iter(documents) if is_table else _iterate(name, documents)


def _names_of_parts(value: Any) -> list[Any]:
    """Return the keys of a mapping, the columns of a table or the names of a named tuple."""
    if isinstance(value, Mapping):
        return list(value)
    if isinstance(value, Iterable | Sized):
        for attribute in ("column_names", "columns", "_fields"):
            names = getattr(value, attribute, None)
            if isinstance(names, Iterable):
                return list(names)
    return []


def _way_to_texts(way: str, value: Any) -> str:
    """Return the expression for the texts in a value: documents['train']['text']."""
    names = _names_of_parts(value)
    if not names:
        return way
    name = next((each for each in ("text", "train") if each in names), names[0])
    if isinstance(value, Mapping):
        return _way_to_texts(f"{way}[{name!r}]", value[name])
    if isinstance(value, tuple):
        return f"{way}.{name}"
    return f"{way}['text']" if name == "text" else f"{way}[...]"


def _is_file(text: str) -> bool:
    if is_remote(text):
        return False
    with contextlib.suppress(OSError, ValueError):  # too long for a name, or has a null character
        return is_file(text)
    return False


def _write(file: IO[bytes], values: Iterator[str | list[str] | Mapping[str, Any]]) -> None:
    """Write texts, or rows, as JSON Lines."""
    for number, value in enumerate(values):
        row = value if isinstance(value, Mapping) else {"text": value}
        try:
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        except TypeError as error:
            raise ValueError(f"document {number}: {error}") from None
        except UnicodeEncodeError:
            raise ValueError(
                f"document {number} contains a lone surrogate, which is no character"
            ) from None


def _text(number: int, document: Any) -> str | list[str]:
    for method in ("as_py", "numpy"):  # of a scalar of pyarrow, a tensor
        if hasattr(document, method):
            document = getattr(document, method)()
    if isinstance(document, str):
        return document
    if isinstance(document, bytes):
        try:
            return document.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"document {number} is not UTF-8: {error}") from None
    parts = _names_of_parts(document)
    if isinstance(document, Iterable) and not parts:
        sentences = list(document)
        if all(isinstance(each, str) for each in sentences):
            return sentences
    raise ValueError(
        f"document {number} is {type(document).__name__}; a string or a list of sentences is"
        f" allowed{_hint(document, parts)}"
    )


def _row(number: int, document: Any) -> Mapping[str, Any]:
    if isinstance(document, Mapping):
        return dict(document)
    raise ValueError(
        f"document {number} is {type(document).__name__}; with `text_template`, each document is a"
        " row with its fields, such as a dict, and a table gives them by table.to_pylist() or"
        " table.to_dict('records')"
    )


def _hint(document: Any, parts: Sequence[Any]) -> str:
    if parts:
        way = f"{_way_to_texts('row', document)} for row in documents"
        if not isinstance(document, Mapping | tuple):
            way = f"text for table in documents for text in {_way_to_texts('table', document)}"
        return f"; of its {reprlib.repr(parts)} pass the text alone, as in ({way})"
    if type(document).__name__ in ("NoneType", "NAType", "float"):  # None, pandas.NA, NaN
        return "; leave out documents without a text"
    if getattr(document, "shape", ()):
        return "; take batches apart, as tf.data.Dataset.unbatch() does"
    return ""
