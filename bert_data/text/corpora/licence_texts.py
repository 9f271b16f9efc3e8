"""Whole texts of licences, known by the pairs of words in them: the MIT License's is "MIT"."""

import functools
import hashlib
import itertools
import os
import re

from bert_data import storage

UNKNOWN_LICENCE = "unknown"

PRINTS = os.path.join(os.path.dirname(__file__), "licence_prints.txt")
"""A line for each licence: its name, and the hashes of `licence_print` in hexadecimal digits."""

MAX_LICENCE_BYTES = 1 << 20

_LEAST_DICE = 0.93
# New pairs of words in one place, such as another wording, or a name, which BSD has in its text;
# and before and after the licence.
_MOST_NEW, _MOST_NEW_IN_BSD, _MOST_NEW_BEFORE, _MOST_NEW_AFTER = 5, 6, 40, 12
# A line of the owner's, not one of a clause that begins with the word.
_COPYRIGHT = re.compile(
    r"(?im)^\W*(?:copyright(?! +(?:notice|holder|owner|licen[cs]e|law)s?\b)|\(c\)|©)[^\n]*$"
)
_APPENDIX = re.compile(r"\bAPPENDIX: How to apply\b", re.IGNORECASE)
_ADVERTISING = "advertising materials"  # the fourth clause of the older BSD licence
_WORDS = re.compile(r"[a-z0-9]+")
_HASH_BYTES = 4


def find_licence(text: str) -> str | None:
    """Return the SPDX identifier of a licence's text, None if it is no known one."""
    text = text[:MAX_LICENCE_BYTES].replace("\r", "\n")
    if _ADVERTISING in text.lower():
        return None
    pairs = _hash_pairs(text)
    prints = frozenset(pairs)
    best, name = max((_dice(prints, known), name) for name, known in _known().items())
    return name if best >= _LEAST_DICE and not _has_clauses(pairs, name) else None


def licence_print(text: str) -> frozenset[bytes]:
    """Return the hashes of a text's pairs of words: the first bytes of their BLAKE2."""
    return frozenset(_hash_pairs(text))


def _hash_pairs(text: str) -> list[bytes]:
    words = _WORDS.findall(_COPYRIGHT.sub("", _APPENDIX.split(text)[0]).lower())
    pairs = (" ".join(pair).encode() for pair in itertools.pairwise(words))
    return [hashlib.blake2b(pair, digest_size=_HASH_BYTES).digest() for pair in pairs]


def _has_clauses(pairs: list[bytes], name: str) -> bool:
    """Whether a text has more new words in one place than a licence's users add."""
    known = _known()[name]
    by_novelty = itertools.groupby(pairs, lambda pair: pair not in known)
    runs = [(is_new, len(list(run))) for is_new, run in by_novelty]
    before = runs.pop(0)[1] if runs and runs[0][0] else 0
    after = runs.pop()[1] if runs and runs[-1][0] else 0
    within = max((length for is_new, length in runs if is_new), default=0)
    most = _MOST_NEW_IN_BSD if name.startswith("BSD") else _MOST_NEW
    return before > _MOST_NEW_BEFORE or after > _MOST_NEW_AFTER or within > most


def _dice(one: frozenset[bytes], other: frozenset[bytes]) -> float:
    return 2 * len(one & other) / max(1, len(one) + len(other))


@functools.cache
def _known() -> dict[str, frozenset[bytes]]:
    lines = (line.split() for line in storage.read_bytes(PRINTS).decode().splitlines())
    return {name: frozenset(map(bytes.fromhex, digits)) for name, *digits in lines}
