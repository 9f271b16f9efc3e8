"""The goldens beside this file, and the files that they are about."""

import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.goldens.inputs import TEXTS, VOCABULARIES

GOLDENS = Path(__file__).resolve().parent
MEGATRON = GOLDENS / "megatron"


@functools.cache
def load_goldens(name: str) -> Any:
    """The content of a JSON file."""
    return json.loads((GOLDENS / name).read_text(encoding="utf-8"))


def write_text(folder: Path, name: str) -> str:
    """Writes one of `TEXTS`; returns its path."""
    path = folder / f"{name}.txt"
    path.write_bytes(TEXTS[name]())
    return str(path)


def write_vocabulary(folder: Path, name: str) -> str:
    """Writes one of `VOCABULARIES`; returns its path."""
    path = folder / f"{name}.vocabulary.txt"
    path.write_text("".join(f"{token}\n" for token in VOCABULARIES[name]()), encoding="utf-8")
    return str(path)


def digest_of_records(shard: bytes) -> list[Any]:
    """[sha256, number of records] of a TFRecord file whose Examples have sorted entries.

    That ours have is held by `records/test_examples.py`.
    """
    sha, count, at = hashlib.sha256(), 0, 0
    while at < len(shard):
        length = int.from_bytes(shard[at : at + 8], "little")
        sha.update(shard[at : at + 8])
        sha.update(shard[at + 12 : at + 12 + length])
        count, at = count + 1, at + 16 + length
    return [sha.hexdigest(), count]


def digest_of_ids(rows: list[list[int]]) -> list[Any]:
    """`digest_of_rows` of ids, which are many."""
    ids = json.dumps(rows, separators=(" ", ":"))[2:-2].replace("] [", "\n")
    return [hashlib.sha256(f"{ids}\n".encode()).hexdigest(), sum(map(len, rows))]


def digest_of_rows(rows: Iterable[Sequence[object]]) -> list[Any]:
    """[sha256, number of values] of the ids or words of each text."""
    sha, count = hashlib.sha256(), 0
    for row in rows:
        sha.update(f"{' '.join(map(str, row))}\n".encode())
        count += len(row)
    return [sha.hexdigest(), count]
