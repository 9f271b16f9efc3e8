"""Notice text that is probably not what its format says, before it is tokenized.

most lines end without punctuation    wrapped prose: a line is not a sentence
most lines are {...}                  JSON Lines
a file begins with <!doctype html>    a web page

Files that are not text at all are refused when they are read (`file_kinds.py`).
A little is read of some files, always the same parts, so this takes milliseconds.
"""

import contextlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from bert_data.errors import CorruptDataError
from bert_data.storage import is_file, is_remote
from bert_data.text.compression import open_bytes
from bert_data.text.file_kinds import HEAD_BYTES, binary_kind, markup_kind

SAMPLE_FILES, SAMPLE_BYTES = 8, 1 << 16
"""Files that are looked into, and bytes of text of each."""

_LEAST_LINES = 40  # from which on a share says something
_MOST_LINES = 1000  # of a file
_JSON = re.compile(rb'\s*(\{\s*"|\[\s*[{"\[]).*[}\]],?\s*', re.DOTALL)
_CLOSING = "\"'`)]}»”’*_"  # what may follow the end of a sentence


def sample_files(paths: Sequence[str]) -> list[str]:
    """Return the files to look into: regular local ones, evenly spread over all."""
    step = max(1, -(-len(paths) // SAMPLE_FILES))
    return [path for path in paths[::step] if not is_remote(path) and is_file(path)]


def odd_lines(paths: Sequence[str], *, are_sentences: bool) -> Iterator[str]:
    """Yield a sentence about each kind of oddity in files of lines.

    Args:
      paths: of the files.
      are_sentences: whether each line is taken for a sentence.
    """
    json_path = ""
    num_lines = num_json = num_open = 0
    for path in sample_files(paths):
        data = _read_sample(path)
        if binary_kind(data[:HEAD_BYTES]):
            return  # whoever reads the file says what it is
        if markup := markup_kind(data):
            yield f"{path} looks like {markup}: its tags are read as text; extract the text first"
            return
        lines = _lines_of(data)
        num_lines += len(lines)
        of_json = sum(_JSON.fullmatch(line) is not None for line in lines)
        json_path = json_path or (path if of_json else "")
        num_json += of_json
        num_open += sum(not ends_sentence(line.decode(errors="ignore")) for line in lines)
    if num_lines and num_json > num_lines / 2:
        yield (
            f"{num_json:,} of the first {num_lines:,} lines look like JSON, as in {json_path};"
            " --input_format=jsonl reads it"
        )
    elif are_sentences and num_lines >= _LEAST_LINES and num_open > num_lines / 2:
        yield (
            f"{num_open:,} of the first {num_lines:,} lines end without punctuation, as in wrapped"
            " prose, but each line is taken for a sentence; --input_format=prose joins the lines"
            " and splits sentences"
        )


def _read_sample(path: str) -> bytes:
    """Return the first bytes of a file's text.

    Damage and failures to read are left to whoever reads all of the file.
    """
    with contextlib.suppress(CorruptDataError, OSError), open_bytes(path) as (text, _):
        return _read(text)
    return b""


def _lines_of(data: bytes) -> list[bytes]:
    """Return the lines of a sample that are complete and not blank."""
    lines = data.splitlines()
    if len(data) == SAMPLE_BYTES:
        lines = lines[:-1]
    return [line for line in lines if not line.isspace() and line][:_MOST_LINES]


def _read(file: Any) -> bytes:
    parts: list[bytes] = []
    left = SAMPLE_BYTES
    while left and (part := file.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def ends_sentence(line: str) -> bool:
    """Return whether a line ends with punctuation, apart from quotes and brackets after it."""
    end = line.rstrip().rstrip(_CLOSING).rstrip()
    if not end:
        return True
    return unicodedata.category(end[-1]) in ("Po", "Pd", "Pf", "Pe") and end[-1] != ","
