"""Random damage to one file of a folder, as disks, programs and people do it.

    damage(random, folder, other, "index.*")  ->  Damage("index.t.npy", "flip", "bit 3 of byte 41")

`other` is a folder of the same files, made from something else: what is stale or foreign.
"""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

CRAFTED = (0, 1, 2, -1, 127, 128, 255, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
           2**62, 2**63 - 1, 2**63, 2**64 - 1, 3 * 2**62)  # fmt: skip
HOSTILE: tuple[Any, ...] = (
    None, True, "", "x" * 5000, "../../etc/passwd", "\ud800", -1, 0, 1.5, 1e308, 2**31, 2**63,
    10**400, [], {}, [[]], [None], {"": None},
)  # fmt: skip
NESTED = "[" * 200_000
DIGITS = "9" * 6_000
_EDGE = 256  # bytes at the start and at the end of a file, where formats keep their numbers
_SECTOR = 512


@dataclasses.dataclass(frozen=True)
class Damage:
    """The damage that was done to a file of the folder."""

    name: str
    kind: str
    place: str

    def __str__(self) -> str:
        return f"{self.kind} ({self.place}) in {self.name}"


def damage(random: Random, folder: Path, other: Path | None, patterns: Sequence[str]) -> Damage:
    """Damages one of the files that the patterns match; it becomes a new file."""
    files = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    path = random.choice([path for path in files if path.is_file()])
    name = path.relative_to(folder).as_posix()
    whole = path.read_bytes()
    choices = [*BYTES, *BYTES]
    if other is not None:
        choices.append(foreign)
    if path.suffix == ".json":
        choices += [json_value] * len(BYTES)
    changed, kind, place = whole, "", ""
    while changed == whole:
        change = random.choice(choices)
        kind = change.__name__
        if change is foreign and other is not None:
            changed, place = foreign(random, other / name, files, whole)
        else:
            changed, place = change(random, whole)
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(changed)
    new.replace(path)
    return Damage(name, kind, place)


Change = tuple[bytes, str]


def _place(random: Random, data: bytes) -> int:
    """A byte of the file, as often at its edges as between them."""
    if len(data) <= 1:
        return 0
    near = random.randrange(min(_EDGE, len(data)))
    return random.choice([near, len(data) - 1 - near, *[random.randrange(len(data))] * 2])


def _range(random: Random, data: bytes) -> tuple[int, int]:
    start = _place(random, data)
    return start, min(len(data), start + random.choice((1, 2, 4, 8, 16, 100, 1000)))


def flip(random: Random, data: bytes) -> Change:
    if not data:
        return data, "nothing to flip"
    at, bit = _place(random, data), random.randrange(8)
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :], f"bit {bit} of byte {at}"


def flips(random: Random, data: bytes) -> Change:
    count = random.randrange(2, 20)
    places = []
    for _ in range(count):
        data, place = flip(random, data)
        places.append(place)
    return data, ", ".join(places)


def cut(random: Random, data: bytes) -> Change:
    at = _place(random, data)
    return data[:at], f"from byte {at} on"


def drop(random: Random, data: bytes) -> Change:
    start, end = _range(random, data)
    return data[:start] + data[end:], f"bytes {start} to {end}"


def insert(random: Random, data: bytes) -> Change:
    start, end = _range(random, data)
    return data[:start] + random.randbytes(end - start) + data[start:], f"{end - start} at {start}"


def repeat(random: Random, data: bytes) -> Change:
    start, end = _range(random, data)
    if end - start == len(data):  # of some formats, two whole files in a row are one
        return data, ""
    return data[:end] + data[start:], f"bytes {start} to {end}"


def blank(random: Random, data: bytes) -> Change:
    """A sector that was never written."""
    start = _place(random, data) // _SECTOR * _SECTOR
    end = min(len(data), start + _SECTOR)
    return data[:start] + bytes(end - start) + data[end:], f"bytes {start} to {end}"


def swap(random: Random, data: bytes) -> Change:
    first, second = sorted((_place(random, data), _place(random, data)))
    size = min(random.choice((1, 4, 8, 12, 100)), second - first, len(data) - second)
    a, b = data[first : first + size], data[second : second + size]
    swapped = data[:first] + b + data[first + size : second] + a + data[second + size :]
    return swapped, f"{size} bytes at {first} and {second}"


def number(random: Random, data: bytes) -> Change:
    """A crafted number, where one may be."""
    size = random.choice((1, 2, 4, 8))
    at = _place(random, data)
    at -= random.choice((0, at % size))
    value = random.choice(CRAFTED) % (1 << 8 * size)
    return data[:at] + value.to_bytes(size, "little") + data[at + size :], f"{value} at {at}"


BYTES: tuple[Callable[[Random, bytes], Change], ...] = (
    flip, flip, flip, flips, cut, drop, insert, repeat, blank, swap, number, number,
)  # fmt: skip


def foreign(random: Random, stale: Path, files: Sequence[Path], whole: bytes) -> Change:
    """The file of another set, or of a neighbour."""
    sources = [path for path in (stale, *files) if path.is_file()]
    source = random.choice(sources) if sources else None
    return (source.read_bytes(), f"what {source} holds") if source else (whole, "")


def json_value(random: Random, data: bytes) -> Change:
    """A value of another type, or out of all bounds; or JSON that is hard to read."""
    tree = [json.loads(data)]
    places = [*_leaves(tree)]
    parent, key = random.choice(places)
    value = random.choice((*HOSTILE, NESTED, DIGITS))
    if value in (NESTED, DIGITS):
        parent[key] = "@"
        text = json.dumps(tree[0]).replace('"@"', value)
        return text.encode(), f"{key!r} is {value[:3]}..."
    if random.random() < 0.2 and isinstance(parent, dict):
        del parent[key]
        return json.dumps(tree[0]).encode(), f"no {key!r}"
    parent[key] = value
    return json.dumps(tree[0]).encode(), f"{key!r} is {str(value)[:20]!r}"


def _leaves(tree: Any) -> Any:
    """(object or list, key) of every value."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(items):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _leaves(value)
