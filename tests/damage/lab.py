"""Tries damage on a kind of file, and sorts what becomes of it.

    run_kind(kind, folder, tries=300, seed=0)  ->  Counter(clear_error=270, equal=30), []

Clear errors (one sentence with the file) and equal results are good. A silent difference is good
only in files that the kind lists as unprotected, with the reason.
"""

import collections
import dataclasses
import enum
import fnmatch
import functools
import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tests.damage import sandbox
from tests.damage.damages import Damage, damage

_MAX_SENTENCE = 1200


class Outcome(enum.Enum):
    """The outcomes that are allowed for a damaged file."""

    CLEAR_ERROR = "clear error"
    EQUAL = "equal"
    UNPROTECTED = "unprotected"
    SILENT = "silent difference"
    VAGUE = "error without the file"
    TRACEBACK = "traceback"
    HANG = "hang"
    CRASH = "crash"


GOOD = (Outcome.CLEAR_ERROR, Outcome.EQUAL, Outcome.UNPROTECTED)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of files that the project reads.

    Attributes:
      name: for the command line and the table.
      make: writes whole files into an empty folder; a variant gives another set of the same files.
      damaged: patterns of the files to damage.
      read: reads the folder, in one of the `ways` if there are several, as a user would, and
        returns arrays, texts and numbers, in dicts and lists.
      ways: how many ways there are to read it.
      has_neighbours: whether a file of another set is damage; it is not where the file is alone.
      unprotected: files without redundancy, in which a change may go unnoticed: pattern to reason.
    """

    name: str
    make: Callable[[Path, int], None]
    damaged: Sequence[str]
    read: Callable[..., Any]
    ways: int = 1
    has_neighbours: bool = True
    unprotected: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Finding:
    """A try that is not good; the same kind, seed and number repeat it."""

    number: int
    damage: str
    outcome: Outcome
    text: str


def digest(value: Any) -> str:
    """A digest of arrays, numbers and texts, in dicts and lists."""
    hashed = hashlib.sha256()

    def add(part: Any) -> None:
        if isinstance(part, np.ndarray):
            hashed.update(f"{part.dtype}{part.shape}".encode())
            hashed.update(np.ascontiguousarray(part).tobytes())
        elif isinstance(part, dict):
            for key in sorted(part):
                hashed.update(f"{key}:".encode())
                add(part[key])
        elif isinstance(part, list | tuple):
            hashed.update(f"[{len(part)}".encode())
            for each in part:
                add(each)
        else:
            hashed.update(repr(part).encode(errors="surrogatepass"))

    add(value)
    return hashed.hexdigest()


def _read(kind: Kind, folder: Path, way: int) -> str:
    return digest(kind.read(folder, way) if kind.ways > 1 else kind.read(folder))


def _link(whole: Path, folder: Path) -> None:
    """Fills a folder anew; files are links, so that this costs no copies."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder, copy_function=os.link)


def _damage_again(kind: Kind, room: Path, seed: int, number: int) -> tuple[Damage, int]:
    """Damages a fresh folder; what is done depends on nothing but the arguments."""
    random = Random(f"{kind.name}:{seed}:{number}")
    _link(room / "whole", room / "files")
    way = random.randrange(kind.ways)
    other = room / "other" if kind.has_neighbours else None
    return damage(random, room / "files", other, kind.damaged), way


def _read_whole(kind: Kind, room: Path, way: int) -> str:
    """Makes the files on the first call; reads them undamaged."""
    if not (room / "other").exists():
        for name, variant in (("whole", 0), ("other", 1)):
            (room / name).mkdir(parents=True)
            kind.make(room / name, variant)
    _link(room / "whole", room / "files")
    return _read(kind, room / "files", way)


def _read_damaged(kind: Kind, room: Path, seed: int, number: int) -> str:
    _, way = _damage_again(kind, room, seed, number)
    return _read(kind, room / "files", way)


def run_kind(
    kind: Kind, room: Path, numbers: range, seed: int
) -> tuple[collections.Counter[Outcome], list[Finding]]:
    """Counts of the outcomes, and what is not good.

    Args:
      kind: of files.
      room: a folder that does not exist yet.
      numbers: of the tries.
      seed: of all of them.
    """
    whole = []
    for way, result in sandbox.run(functools.partial(_read_whole, kind, room), range(kind.ways)):
        if result.kind != "value":
            raise RuntimeError(f"{kind.name}: whole files, way {way}: {result.kind} {result.text}")
        whole.append(result.text)
    counts: collections.Counter[Outcome] = collections.Counter()
    findings = []
    tries = sandbox.run(functools.partial(_read_damaged, kind, room, seed), numbers)
    for number, result in list(tries):  # all of them, as what follows needs their folder
        random = Random(f"{kind.name}:{seed}:{number}")
        expected = whole[random.randrange(kind.ways)]
        outcome = _sort(result, expected, room / "files")
        what = None
        if outcome not in GOOD:
            what, _ = _damage_again(kind, room, seed, number)
            if outcome == Outcome.SILENT and _is_unprotected(kind, what):
                outcome = Outcome.UNPROTECTED
        counts[outcome] += 1
        if outcome not in GOOD:
            findings.append(Finding(number, str(what), outcome, result.sentence or result.text))
    return counts, findings


def _sort(result: sandbox.Result, expected: str, folder: Path) -> Outcome:
    if result.kind == "value":
        return Outcome.EQUAL if result.text == expected else Outcome.SILENT
    if result.kind != "error":
        return Outcome(result.kind)
    if not result.sentence:
        return Outcome.TRACEBACK
    is_clear = str(folder) in result.sentence and len(result.sentence) <= _MAX_SENTENCE
    return Outcome.CLEAR_ERROR if is_clear else Outcome.VAGUE


def _is_unprotected(kind: Kind, what: Damage) -> bool:
    return any(fnmatch.fnmatch(what.name, pattern) for pattern in kind.unprotected)
