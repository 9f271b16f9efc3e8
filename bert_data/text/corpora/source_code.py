"""Source code: the files of repositories, with language and licence, from archives or by name.

    project-main.tar.gz              TextDocument(row 2, "def f(): ...",
      project-main/LICENSE    ->       {"path": "project-main/f.py", "code_language": "Python",
      project-main/f.py                 "repository": "project-main", "licence": "MIT"})
      project-main/logo.png          row: the number of the file in the archive

A file's licence is the one that its header names (`licence_headers.py`) or else that of the nearest
licence file, in its folder or above it: "unknown" if `licence_prints.txt` does not know its text. A
file without either has no such field. Files whose ending names no language, and files that
are not text, are left out.

A repository is an archive (its first folder, if it has one). Files by themselves (`src/*.py`, or a
folder, which stands for all source files in it and its subfolders) take the licence from the
folders they are in, and are of the repository whose folder has a `.git`. JSON Lines and Parquet
with code, such as The Stack's, are read as these, with --text_field=content.
"""

import contextlib
import functools
import itertools
import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from absl import logging

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.progress import how_many
from bert_data.text.compression import open_bytes
from bert_data.text.corpora.archives import is_archive, read_members
from bert_data.text.corpora.code_languages import code_language
from bert_data.text.corpora.licence_headers import licence_of_file
from bert_data.text.corpora.licence_texts import MAX_LICENCE_BYTES, UNKNOWN_LICENCE, find_licence
from bert_data.text.documents import DocumentBlock, Span, TextDocument, fill_blocks
from bert_data.text.text_config import TextConfig

MAX_FILE_BYTES = 1 << 26
"""Longer files are left out, and counted: they are data."""

MAX_SOURCE_FILES = 5_000_000
"""A folder with more source files is refused: each has its name in memory."""

_MAX_PARENTS = 12
_LICENCE_FILE = re.compile(r"(?:un)?licen[cs]e|copying", re.IGNORECASE)
_OF_LICENCES = ("Markdown", "reStructuredText", "HTML")


class _File(NamedTuple):
    """A source file: its number in the archive, its path, its repository's licence, its bytes.

    Those of a longer one than `MAX_FILE_BYTES` may be cut off, after one byte more.
    """

    row: int
    path: str
    licence: str | None
    data: bytes


def read(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield source files; everything before damage of an archive is read."""
    for span in spans:
        if storage.is_link(span.path) and not storage.is_inside(
            span.path, _repository_of(span.path) or "/"
        ):
            reason = "left out: a link to a file outside its repository"
            yield DocumentBlock(path=span.path, num_rows=1, skipped=[f"{span.path}:1: {reason}"])
            continue
        add = functools.partial(_add_file, span.path, config)
        yield from fill_blocks(span.path, _files(span.path), add)


@functools.cache  # a run lists its inputs several times
def _tell_links(folder: str, number: int, first: str) -> None:
    links = how_many(number, "link")
    logging.warning("left out %s to files outside the folder %s, such as %s", links, folder, first)


def files_in(folder: str) -> list[str]:
    """Return the source files in a folder and its subfolders.

    Hidden ones, and links to what is not in the folder, are left out.
    """
    sources = (
        path for path in storage.walk_files(folder) if code_language(path) or is_archive(path)
    )
    paths = list(itertools.islice(sources, MAX_SOURCE_FILES + 1))
    links_out = {
        path for path in paths if storage.is_link(path) and not storage.is_inside(path, folder)
    }
    if links_out:
        _tell_links(folder, len(links_out), min(links_out))
        paths = [path for path in paths if path not in links_out]
    if not paths:
        raise ValueError(f"the folder {folder!r} has no source files, nor archives of them")
    if len(paths) > MAX_SOURCE_FILES:
        raise ValueError(
            f"the folder {folder!r} has more than {MAX_SOURCE_FILES:,} source files; pack each"
            " repository in an archive, or name the folders one by one"
        )
    return paths


def _files(path: str) -> Iterator[_File]:
    if not is_archive(path):
        if code_language(path) is None:
            return
        with open_bytes(path) as (text, _):
            data = text.read(MAX_FILE_BYTES + 1)
        folder = posixpath.dirname(storage.absolute_path(path))
        yield _File(1, path, _licence_of_folder(folder, _MAX_PARENTS), data)
        return
    licences = _licences(path)
    for row, member in enumerate(read_members(path), 1):
        if code_language(member.name) is not None:
            licence = _nearest(licences, posixpath.dirname(member.name))
            yield _File(row, member.name, licence, member.read(MAX_FILE_BYTES + 1))


def _licences(path: str) -> dict[str, str]:
    """Return the licences in an archive, by folder, up to damage, which `_files` reports."""
    licences: dict[str, str] = {}
    with contextlib.suppress(CorruptDataError):
        for member in read_members(path):
            if _is_licence(member.name):
                text = member.read(MAX_LICENCE_BYTES).decode("utf-8", "replace")
                folder = posixpath.dirname(member.name)
                licences[folder] = _joined(licences.get(folder), find_licence(text))
    return licences


def _is_licence(path: str) -> bool:
    is_named = _LICENCE_FILE.match(posixpath.basename(path)) is not None
    return is_named and code_language(path) in (None, *_OF_LICENCES)


def _joined(before: str | None, licence: str | None) -> str:
    """Return the licence of a folder with one licence file more; all of them must be known."""
    if licence is None or before == UNKNOWN_LICENCE:
        return UNKNOWN_LICENCE
    return licence if before in (None, licence) else f"{before} AND {licence}"


def _nearest(licences: dict[str, str], folder: str) -> str | None:
    while folder not in licences:
        parent = posixpath.dirname(folder)
        if parent == folder:  # "", or "/" of an absolute name
            return None
        folder = parent
    return licences[folder]


def _repository_of(path: str) -> str | None:
    return _repository_of_folder(posixpath.dirname(storage.absolute_path(path)), _MAX_PARENTS)


@functools.lru_cache(maxsize=4096)
def _licence_of_folder(folder: str, num_parents: int) -> str | None:
    """Return the licence of a folder, or of one above it, up to the root of its repository."""
    licence = None
    names = storage.list_folder(folder)
    for name in names:
        place = posixpath.join(folder, name)
        if (
            _is_licence(place)
            and storage.is_file(place)
            and storage.file_size(place) <= MAX_LICENCE_BYTES
        ):
            licence = _joined(
                licence, find_licence(storage.read_bytes(place).decode("utf-8", "replace"))
            )
    parent = posixpath.dirname(folder.rstrip("/"))
    is_root = ".git" in names or parent in ("", folder) or parent.endswith(":/")
    if licence is not None or is_root or not num_parents:
        return licence
    return _licence_of_folder(parent, num_parents - 1)


@functools.lru_cache(maxsize=4096)
def _repository_of_folder(folder: str, num_parents: int) -> str | None:
    """Return the nearest folder, from a folder upwards, that has a `.git`."""
    if storage.exists(posixpath.join(folder, ".git")):
        return folder
    parent = posixpath.dirname(folder.rstrip("/"))
    if parent in ("", folder) or parent.endswith(":/") or not num_parents:
        return None
    return _repository_of_folder(parent, num_parents - 1)


def _add_file(archive: str, config: TextConfig, block: DocumentBlock, _: int, file: _File) -> int:
    """Add a file to a block, if it is text; return its characters."""
    row, data = file.row, file.data
    if len(data) > MAX_FILE_BYTES:
        block.left_out[f"files above {MAX_FILE_BYTES >> 20} MiB"] += 1
        return 0
    if b"\0" in data:
        block.left_out["files that are not text"] += 1
        return 0
    if not data.strip():
        return 0
    if block.drops(row, len(data), config):
        return 0
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    text = text.replace("\r\n", "\n")
    fields = _fields(archive, file, text) if config.keep_fields else None
    block.documents.append(TextDocument(row, text, fields))
    return len(text)


def _fields(archive: str, file: _File, text: str) -> dict[str, str]:
    fields = {"path": file.path}
    if is_archive(archive):
        first, has_folder, _ = file.path.partition("/")
        fields["repository"] = first if has_folder else posixpath.basename(archive)
    elif repository := _repository_of(archive):
        fields["repository"] = posixpath.basename(repository)
    if language := code_language(file.path):
        fields["code_language"] = language
    licence = licence_of_file(text, fields, file.licence)
    return fields | ({} if licence is None else {"licence": licence})
