"""Texts in all formats, compressed and not."""

import functools
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import zstandard
from pyarrow import parquet

from bert_data.text.formats import read_documents
from bert_data.text.text_config import TextConfig
from tests.damage.lab import Kind
from tests.damage.materials import json_lines, rows, stories
from tests.goldens.inputs import as_text
from tests.text.test_warc import record

_TEXT = "text has no checksum"
_HEAD = "it says neither how many rows there are nor what else it holds beside the pages' checksums"


def _lines(variant: int) -> bytes:
    return as_text(stories(variant))


def _pages(variant: int) -> bytes:
    return b"".join(
        record(number, f"<p>{' '.join(story)}</p>".encode())
        for number, story in enumerate(stories(variant))
    )


def _zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def _make(
    name: str,
    content: Callable[[int], bytes],
    pack: Callable[[bytes], bytes],
    folder: Path,
    variant: int,
) -> None:
    (folder / name).write_bytes(pack(content(variant)))


def _make_parquet(folder: Path, variant: int) -> None:
    table = pyarrow.Table.from_pylist(rows(variant))
    parquet.write_table(table, folder / "text.parquet", row_group_size=5, write_page_checksum=True)


def _read(folder: Path) -> Any:
    (path,) = folder.iterdir()
    blocks = read_documents([str(path)], TextConfig())
    return [document.text for block in blocks for document in block.documents]


def _packed(name: str, content: Callable[[int], bytes], pack: Callable[[bytes], bytes]) -> Kind:
    make = functools.partial(_make, name, content, pack)
    return Kind(name=name, make=make, damaged=["*"], read=_read, has_neighbours=False)


def _plain(name: str, content: Callable[[int], bytes]) -> Kind:
    make = functools.partial(_make, name, content, bytes)
    return Kind(
        name=name,
        make=make,
        damaged=["*"],
        read=_read,
        has_neighbours=False,
        unprotected={"*": _TEXT},
    )


KINDS = (
    _plain("text.txt", _lines),
    _packed("text.txt.gz", _lines, gzip.compress),
    _plain("text.jsonl", json_lines),
    _packed("text.jsonl.zst", json_lines, _zstd),
    Kind(
        name="text.parquet",
        make=_make_parquet,
        damaged=["*"],
        read=_read,
        has_neighbours=False,
        unprotected={"*": _HEAD},
    ),
    _plain("text.warc", _pages),
    _packed("text.warc.gz", _pages, gzip.compress),
)
