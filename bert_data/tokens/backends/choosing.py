"""Chooses what runs the tokenizer of a file: fastokens, if it is known to be exact for it.

    definition of GPT-2            -> fastokens 0.3.5
    the same, without the extra    -> tokenizers 0.23.3, "fastokens is not installed"
    --tokenizer_backend=tokenizers -> tokenizers 0.23.3, "chosen by hand"

fastokens encodes some thousand texts when a file is loaded for the first time. If an id
differs from those of `tokenizers`, then `tokenizers` runs the file after all, and a warning shows
the text. That takes longer than to tokenize a small corpus, so the verdict is kept in the user's
cache folder, by the digest of the JSON and the versions of the libraries and of this code. As for
machine code, only files are trusted that nobody but this user or root can have written; see
`kernels.keeping`.
"""

import dataclasses
import functools
import hashlib
import importlib
import itertools
import json
import os
import pkgutil
import unicodedata
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any

import numpy as np
from absl import logging

from bert_data import tokens
from bert_data.kernels.keeping import CACHE_DIR_VARIABLE, read_trusted, user_cache, write_trusted
from bert_data.tokens.backends import (
    AUTO,
    EXTRA,
    FASTOKENS,
    SENTENCEPIECE,
    TOKENIZERS,
    fastokens,
)
from bert_data.tokens.backends.backend import Backend, UnsupportedError
from bert_data.tokens.backends.reference import DefinitionFile
from bert_data.tokens.tokenizer_json import all_ids, find_special_tokens
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


_SHOWN_CHARACTERS = 60
_FASTEST, _BY_HAND = "the fastest exact one", "chosen by hand"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class BackendChoice:
    """The choice of the program that runs the tokenizer of a file.

    Attributes:
      name: one of `NAMES`.
      backend: None for our own WordPiece.
      reason: why it runs, or why no faster one does.
    """

    name: str
    backend: Backend | None
    reason: str

    @property
    def version(self) -> str:
        """Name and version, such as "fastokens 0.3.5"."""
        return self.name if self.backend is None else f"{self.name} {metadata.version(self.name)}"


def open_backend(name: str, file: DefinitionFile) -> Backend:
    """Open a backend of a tokenizer.json, without a test; UnsupportedError if it cannot run it."""
    return file.reference if name == TOKENIZERS else fastokens.Runner(file.definition)


def choose_backend(file: DefinitionFile, requested: str = AUTO) -> BackendChoice:
    """Choose what runs a tokenizer.json: as requested, or by AUTO."""
    if requested not in (AUTO, TOKENIZERS, FASTOKENS):
        what = "a .model file" if requested == SENTENCEPIECE else "WordPiece with BERT's rules"
        raise ValueError(f"`tokenizer_backend={requested}` needs {what}; {file.path} is not")
    verdict = find_verdict(file.json_sha256, requested)
    if verdict is not None:
        name, reason = verdict
        return BackendChoice(name=name, backend=open_backend(name, file), reason=reason)
    reference = file.reference  # an error, if it cannot be read
    if requested == TOKENIZERS:
        return BackendChoice(name=TOKENIZERS, backend=reference, reason=_BY_HAND)
    why = _why_not(file) if requested == AUTO else ""
    if not why:
        try:
            backend = open_backend(FASTOKENS, file)
        except UnsupportedError as error:
            if requested == FASTOKENS:
                raise ValueError(
                    f"`tokenizer_backend={FASTOKENS}` cannot run {file.path}: {error}"
                ) from None
            why = f"refuses it: {error}"
        else:
            why = _difference(file, backend)
            if why:  # which is not kept, so that the warning is repeated
                return BackendChoice(
                    name=TOKENIZERS, backend=reference, reason=f"{FASTOKENS} {why}"
                )
            reason = _FASTEST if requested == AUTO else _BY_HAND
            _keep_verdict(file.json_sha256, requested, FASTOKENS, reason)
            return BackendChoice(name=FASTOKENS, backend=backend, reason=reason)
    _keep_verdict(file.json_sha256, requested, TOKENIZERS, f"{FASTOKENS} {why}")
    return BackendChoice(name=TOKENIZERS, backend=reference, reason=f"{FASTOKENS} {why}")


def _why_not(file: DefinitionFile) -> str:
    """Return why fastokens is not tried, or ""."""
    reason = fastokens.Runner.why_not_exact(file.definition)
    if reason:
        return f"is not known to be exact, as {reason}"
    try:
        importlib.import_module(FASTOKENS)
    except ImportError:
        return f"is not installed (pip install '.[{EXTRA}]')"
    return ""


def _difference(file: DefinitionFile, backend: Backend) -> str:
    """Return how fastokens differs from `tokenizers`, with a warning, or ""."""
    text = None
    try:
        text = differing_text(backend, file.reference, file.definition)
    except ValueError as error:
        reason = f"fails: {error}"
    else:
        reason = "has other ids than tokenizers" if text is not None else _misread(file)
    if reason:
        shown = "" if text is None else f" for the text {text[:_SHOWN_CHARACTERS]!r}"
        logging.warning(
            "%s: %s %s%s; tokenizers runs it instead", file.path, FASTOKENS, reason, shown
        )
    return reason


def _misread(file: DefinitionFile) -> str:
    """Return what `tokenizers` reads in another way than the file says it, or ""."""
    ids = file.reference.library.get_vocab(with_added_tokens=True)
    if all_ids(file.definition) != ids:
        return "has other ids than tokenizers, which numbers added tokens anew"
    in_file, of_library = file.definition, file.definition_of_library
    if find_special_tokens(in_file, ids) != find_special_tokens(of_library, ids):
        return "finds other special tokens than tokenizers"
    return ""


def find_verdict(sha256: str, requested: str) -> tuple[str, str] | None:
    """Return the backend that was chosen for a tokenizer.json and why, if that is known."""
    try:
        verdict = json.loads(read_trusted(_cache(), _verdict_name(sha256, requested)))
    except (OSError, ValueError):
        return None
    match verdict:
        case {"name": str() as name, "reason": str() as reason} if name in (FASTOKENS, TOKENIZERS):
            return name, reason
    return None


def _keep_verdict(sha256: str, requested: str, name: str, reason: str) -> None:
    """Keep what `find_verdict` is to return; without a folder for it, the next run tests again."""
    content = json.dumps({"name": name, "reason": reason}).encode()
    try:
        write_trusted(_cache(), _verdict_name(sha256, requested), content)
    except OSError as error:
        logging.debug("the test of a tokenizer cannot be kept: %s", error)


def _cache() -> str:
    return os.path.join(os.environ.get(CACHE_DIR_VARIABLE) or user_cache(), "tokenizers")


def _verdict_name(sha256: str, requested: str) -> str:
    key = "\n".join((sha256, requested, *versions()))
    return f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


@functools.cache
def versions() -> tuple[str, ...]:
    """Return the versions of the libraries, and the digest of the code that tests them."""
    versions = []
    for name in (TOKENIZERS, FASTOKENS):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"no {name}")
    code = hashlib.sha256(pkgutil.get_data(tokens.__name__, "tokenizer_json.py") or b"")
    for name in ("choosing", "reference", "fastokens"):
        code.update(pkgutil.get_data(__package__, f"{name}.py") or b"")
    return (*versions, code.hexdigest())
