"""Texts that put a backend to the test when a tokenizer is loaded.

    differing_text(backend, reference, definition)  ->  None, or the first text with other ids

They hold every kind of character, spaces and line ends in all places, undecodable bytes as they are
handled (U+FFFD, or nothing), the file's added tokens inside text, glued to each other and to
spaces, and words of the vocabulary that merges do not reach. They take some ten milliseconds.
"""

import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bert_data.tokens.backends.backend import Backend
from bert_data.tokens.word_bits import byte_letters

_MAX_ADDED = 200
_MAX_PAIRED = 12
_MAX_WORDS = 200
_SPACES = ("", " ", "  ", "\t", "\n\n", " \n ", "\u00a0", "\u3000")
_OF_A_CATEGORY = 6
_EDGES = (
    "", " ", "  leading", "trail  ", " \t\n x", "a\r\nb\r\n\r\n c\n \n",
    "I'M you'LL DON'T it'\u017f's",
    "a\u00a0b\u3000c\u2028d\u0085e\u180ef", "1234567 12 1 \u0661\u0662\u0663 \u00bd\u2460",
    "\ufffd\x00\x01\u200b\u200d\ufeff",
    "e\u0301 A\u030a \ufb01 \uff21 \u1e9b\u0323 \u01c5x \u02b0a",
    "\U0001f469\u200d\U0001f4bb\U0001f1eb\U0001f1f7", "\u2581a \u2581\u2581b <0x41><0xE2>",
    "camelCase HTMLParser snake_case x=f(y)[0];//z", "aaaaaaaa" * 40, "...!!!???---" * 20,
    "\u4e2d\u6587\u3001\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\ud55c\uad6d\uc5b4",
    "don't\u2019t can\u2018t",
    "https://a.b/c?d=e&f=1#g user@host.org $3.50 50% C++ #1",
)  # fmt: skip
# Letters since Unicode 17, where libraries of different ages part ways, and others that are rare.
_RARE = (
    "\u088f\ua7ce\U000323b0\U0002b73a\U000187f8\u1acf\u1ae6\U00010efa\u20c1\U0001fa8e\u0378"
    "\U0003fffd\ue000"
)


def differing_text(backend: Backend, reference: Backend, definition: dict[str, Any]) -> str | None:
    """Return a text that two backends of a file disagree about; None if they agree about all."""
    texts = list(probe_texts(definition))
    (ids, splits), (others, other_splits) = (each.encode(texts) for each in (backend, reference))
    if np.array_equal(splits, other_splits) and np.array_equal(ids, others):
        return None
    for number, text in enumerate(texts):
        mine = ids[splits[number] : splits[number + 1]]
        if not np.array_equal(mine, others[other_splits[number] : other_splits[number + 1]]):
            return text
    raise AssertionError("equal texts with different ids")


def probe_texts(definition: dict[str, Any]) -> Iterator[str]:
    """Yield the texts for a file."""
    yield from _EDGES
    for char in (*_of_all_categories(), *_RARE):
        yield f"{char}'ll"
        yield f"a{char}b1{char}2 {char}. {char}\n{char}"
        yield f"x\u0301{char}\u0301{char}"
    yield from _with_added_tokens(definition["added_tokens"])
    for word in _unreachable(definition):
        yield word
        yield f"a {word}b {word}"


def _with_added_tokens(added: Sequence[dict[str, Any]]) -> Iterator[str]:
    tokens = [token["content"] for token in added]
    step = max(1, len(tokens) // _MAX_ADDED)
    for token in [*tokens[:20], *tokens[::step]]:
        yield f"a {token} b{token}\n{token}c{token.lower()}{token.upper()}_{token}1"
    yield "".join(tokens[:20])
    for token in _of_all_kinds(added):
        yield from (f"a{space}{token}{space}{token}{space}." for space in _SPACES)
    for first, second in itertools.permutations(_of_all_kinds(added), 2):
        yield from (f"a{first}{space}{second}{space}b" for space in _SPACES)
        # Where one ends and the other begins with the same characters, they overlap.
        for length in range(1, min(len(first), len(second))):
            if first.endswith(second[:length]):
                yield f"x{first}{second[length:]} {first}{second[length:]}"


def _of_all_kinds(added: Sequence[dict[str, Any]]) -> list[str]:
    """Return some added tokens of each combination of rules, and all spaces among them."""
    by_kind: dict[tuple[Any, ...], list[str]] = {}
    for token in added:
        rules = ("lstrip", "rstrip", "single_word", "normalized", "special")
        kind = (*map(token.get, rules), token["content"][:1], token["content"][-1:])
        by_kind.setdefault(kind, []).append(token["content"])
    rounds = itertools.chain.from_iterable(itertools.zip_longest(*by_kind.values()))
    return [token for token in rounds if token][:_MAX_PAIRED]


def _unreachable(definition: dict[str, Any]) -> list[str]:
    """Return words of the vocabulary of BPE that no merge makes."""
    model = definition["model"]
    if not isinstance(model.get("merges"), list):
        return []
    reached = {"".join(pair) for pair in model["merges"]}
    added = {token["content"] for token in definition["added_tokens"]}
    words = [w for w in model["vocab"] if len(w) > 1 and w not in reached and w not in added]
    words = words[:: max(1, len(words) // _MAX_WORDS)]
    byte_of = {letter: byte for byte, letter in enumerate(byte_letters())}
    if not (model.get("byte_fallback") or any(set(word) - byte_of.keys() for word in words)):
        words = [bytes(map(byte_of.__getitem__, w)).decode(errors="ignore") for w in words]
    return [word.replace("\u2581", " ") for word in words]


def _of_all_categories() -> Iterator[str]:
    """Yield some characters of each of Unicode's categories, but for surrogates."""
    count: dict[str, int] = {}
    for code in (*range(0x3000), *range(0x3000, 0x30000, 61)):
        category = unicodedata.category(chr(code))
        if category != "Cs" and count.setdefault(category, 0) < _OF_A_CATEGORY and code % 5 < 2:
            count[category] += 1
            yield chr(code)
