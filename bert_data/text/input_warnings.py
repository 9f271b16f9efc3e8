"""Notice text that is probably not what its format says: prose, JSON, WikiText or HTML as lines.

A little is read of some files, always the same parts, so this takes milliseconds. Files that are
not text at all are refused when they are read (`file_kinds.py`); which ones gave no document is
known when all have been read.
"""

import contextlib
import dataclasses
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from bert_data.errors import CorruptDataError
from bert_data.progress import how_many
from bert_data.storage import is_file, is_remote
from bert_data.text.compression import open_bytes, read_up_to
from bert_data.text.documents import DocumentBlock
from bert_data.text.file_kinds import HEAD_BYTES, binary_kind, markup_kind, wide_encoding
from bert_data.text.formats import JSONL, LINES, PARQUET, PROSE, find_text_format, read_documents
from bert_data.text.lines import LineBlock
from bert_data.text.text_config import SKIP, TextConfig

SAMPLE_FILES, SAMPLE_BYTES = 8, 1 << 16
"""Files that are looked into, and bytes of text of each."""

_LEAST_FILES = 10  # that may be meant as a document each
_LEAST_LINES = 40  # from which on a share says something
_MOST_LINES = 1000  # of a file
_MOST_HEADINGS, _MOST_BLANK = 0.02, 0.1  # shares of lines or rows
_HEADING = re.compile(rb"\s*=[=\s]*[^=\s].*=\s*")
_JSON = re.compile(rb'\s*\{\s*".*\}\s*', re.DOTALL)
_MOST_NAMED = 5  # files
_MOST_NAMES = 1000  # of what is left out of a shard
_CLOSING = "\"'`)]}»”’*_"  # what may follow the end of a sentence


def sample_files(paths: Sequence[str]) -> list[str]:
    """Return the files to look into: regular local ones, evenly spread over all."""
    step = max(1, -(-len(paths) // SAMPLE_FILES))
    return [path for path in paths[::step] if not is_remote(path) and is_file(path)]


Block = TypeVar("Block", LineBlock, DocumentBlock)


def noting_text(blocks: Iterable[Block], with_text: set[str]) -> Iterator[Block]:
    """Yield blocks; `with_text` gets the files that have text in them."""
    for block in blocks:
        if block.has_text:
            with_text.add(block.path)
        yield block


def add_left_out(total: Counter[str], more: Mapping[str, int]) -> None:
    """Add to what was left out, by name; the rarest of very many names become "other names"."""
    total.update(more)
    if len(total) > 2 * _MOST_NAMES:
        rare = total.most_common()[_MOST_NAMES:]
        for name, _ in rare:
            del total[name]
        total["other names"] += sum(count for _, count in rare)


def find_empty(paths: Iterable[str], with_text: Collection[str]) -> list[str]:
    """Return the files that have been read, but in which there was no text."""
    return [path for path in dict.fromkeys(paths) if path not in with_text]


def describe_empty(empty: Sequence[str], num_files: int) -> Iterator[str]:
    """Yield a sentence if there are files that are empty."""
    named, num_others = ", ".join(empty[:_MOST_NAMED]), len(empty) - _MOST_NAMED
    others = f" and {num_others:,} more" if num_others > 0 else ""
    if empty:
        yield f"{len(empty):,} of {how_many(num_files, 'file')} gave no document: {named}{others}"


def warnings_of(
    paths: Sequence[str], config: TextConfig, *, are_sentences: bool = False
) -> Iterator[str]:
    """Yield a sentence about each likely mistake in files of any format."""
    text_format = find_text_format(paths, config)
    if text_format.name in (LINES.name, PROSE.name):
        is_lines = text_format.name == LINES.name
        yield from odd_lines(paths, are_sentences=are_sentences and is_lines)
        if is_lines and not config.files_end_documents:
            yield from joined_files(paths)
    elif text_format in (JSONL, PARQUET) and config.rows is None:
        yield from odd_rows(paths, config)


def odd_lines(paths: Sequence[str], *, are_sentences: bool) -> Iterator[str]:
    """Yield a sentence about each likely mistake in files of lines."""
    json_path = ""
    num_lines = num_json = num_open = num_headings = 0
    for path in sample_files(paths):
        data = _read_sample(path)
        if binary_kind(data[:HEAD_BYTES]) or wide_encoding(data[:HEAD_BYTES]):
            return  # whoever reads the file says what it is
        if b"\r" in data.rstrip() and b"\n" not in data:
            yield (
                f"{path} begins with carriage returns where other files end lines, and they do not"
                " end lines here; tr '\\r' '\\n' < FILE makes lines of them"
            )
            return
        if markup := markup_kind(data):
            yield f"{path} looks like {markup}: its tags are read as text; extract the text first"
            return
        lines = _lines_of(data)
        num_lines += len(lines)
        of_json = sum(_JSON.fullmatch(line) is not None for line in lines)
        json_path = json_path or (path if of_json else "")
        num_json += of_json
        num_headings += sum(_HEADING.fullmatch(line) is not None for line in lines)
        num_open += sum(not ends_sentence(line.decode(errors="ignore")) for line in lines)
    if num_lines and num_json > num_lines / 2:
        yield (
            f"{num_json:,} of the first {num_lines:,} lines look like JSON, as in {json_path};"
            " `input_format=jsonl` reads it"
        )
    elif num_headings > _MOST_HEADINGS * num_lines and num_lines >= _LEAST_LINES:
        yield (
            f"{num_headings:,} of the first {num_lines:,} lines look like headings of WikiText (= A"
            " title =); `input_format=wikitext` ends documents there and leaves them out"
        )
    elif are_sentences and num_lines >= _LEAST_LINES and num_open > num_lines / 2:
        yield (
            f"{num_open:,} of the first {num_lines:,} lines end without punctuation, as in wrapped"
            " prose, but each line is taken for a sentence; `input_format=prose` joins the lines"
            " and splits sentences"
        )


def joined_files(paths: Sequence[str]) -> Iterator[str]:
    """Yield a sentence if many files of lines have no blank line, so that documents span them."""
    samples = list(map(_read_sample, sample_files(paths)))
    num_joined = sum(
        0 < len(data) < SAMPLE_BYTES and all(map(bytes.strip, data.splitlines()))
        for data in samples
    )
    if len(paths) >= _LEAST_FILES and num_joined > len(samples) / 2:
        yield (
            f"{num_joined:,} of {how_many(len(samples), 'file')} looked into, of {len(paths):,},"
            " have no blank line; the end of a file ends no document here, so that one document may"
            " span many files: put a blank line at the end of each, or take `input_format=prose`"
        )


def odd_rows(paths: Sequence[str], config: TextConfig) -> Iterator[str]:
    """Yield a sentence if rows that are documents look like lines."""
    texts: list[str] = []
    for path in sample_files(paths):
        own = list(itertools.islice(_texts_of_rows(path, config), _MOST_LINES))
        texts += own if any(text.strip() for text in own) else ()
    num_blank = sum(not text or text.isspace() for text in texts)
    num_headings = sum(_HEADING.fullmatch(text.encode()) is not None for text in texts)
    are_lines = not any("\n" in text.strip() for text in texts)
    if len(texts) < _LEAST_LINES or not are_lines:
        return
    if num_headings > _MOST_HEADINGS * len(texts) or num_blank > _MOST_BLANK * len(texts):
        rows = "wikitext" if num_headings else "lines"
        yield (
            f"of the first {len(texts):,} rows {num_blank:,} are blank and {num_headings:,} are"
            " headings (= A title =), as where each row is a line, but each row is taken for a"
            f" document; `rows={rows}` reads rows as lines"
        )


def _texts_of_rows(path: str, config: TextConfig) -> Iterator[str]:
    """Yield the texts of the rows of a file, as far as they can be read."""
    config = dataclasses.replace(config, on_error=SKIP, encoding_errors="replace")
    with contextlib.suppress(CorruptDataError, OSError, ValueError):
        for block in read_documents([path], config):
            yield from (document.whole_text for document in block.documents)


def _read_sample(path: str) -> bytes:
    """Return the first bytes of a file's text; whoever reads it all reports damage."""
    with contextlib.suppress(CorruptDataError, OSError), open_bytes(path) as (text, _):
        return read_up_to(text, SAMPLE_BYTES)
    return b""


def _lines_of(data: bytes) -> list[bytes]:
    lines = data.splitlines()
    if len(data) == SAMPLE_BYTES:
        lines = lines[:-1]
    return [line for line in lines if not line.isspace() and line][:_MOST_LINES]


def ends_sentence(line: str) -> bool:
    """Return whether a line ends with punctuation, apart from quotes and brackets after it."""
    end = line.rstrip().rstrip(_CLOSING).rstrip()
    if not end:
        return True
    return unicodedata.category(end[-1]) in ("Po", "Pd", "Pf", "Pe") and end[-1] != ","
