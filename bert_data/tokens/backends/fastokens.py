"""The backend of the library `fastokens`: byte-level BPE.

It returns ids as the bytes of an array, runs in the calling thread, and releases the GIL. Ids of a
model must be consecutive there, so added tokens that a vocabulary also lists are left out of it:
they are found in the text before the model sees it.
"""

import copy
import json
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_data.packages import load_package
from bert_data.tokens.backends import EXTRA, FASTOKENS
from bert_data.tokens.backends.backend import Backend, Encoded, UnsupportedError, library_errors
from bert_data.tokens.tokenizer_json import parts, why_not_plain_bpe

_LETTERS_OF_GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORD_OF_O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
)
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GPT4 = rf"{_LETTERS_OF_GPT4}\p{{N}}{{1,3}}{_REST}"
"""Of cl100k and Llama 3."""
QWEN = rf"{_LETTERS_OF_GPT4}\p{{N}}{_REST}"
O200K = rf"{_WORD_OF_O200K}\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_DEEPSEEK = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"""
    "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|"
    "\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)
_PATTERNS = frozenset({GPT2, GPT4, QWEN, O200K, *_DEEPSEEK})
_NORMALIZERS = ("NFC", "Lowercase")


class Runner(Backend):
    """Runs a tokenizer.json of BPE."""

    def __init__(self, definition: dict[str, Any]) -> None:
        """Load a definition in its current form; UnsupportedError if the library cannot."""
        kind = definition["model"]["type"]
        if kind != "BPE":
            raise UnsupportedError(f"Unsupported model {kind}")
        package: Any = load_package(FASTOKENS, f"`tokenizer_backend={FASTOKENS}`", extra=EXTRA)
        with library_errors(UnsupportedError):
            self._library = package.Tokenizer.from_json_str(json.dumps(_plain(definition)))

    def encode(self, texts: Sequence[str], /) -> Encoded:
        """Return the ids of texts; see `Backend`."""
        with library_errors():
            ids, splits = self._library.encode_batch_flat(list(texts))
        return np.frombuffer(ids, np.int32), np.frombuffer(splits, np.int64)

    @staticmethod
    def why_not_exact(definition: dict[str, Any]) -> str:
        """Return why the library is not known to be exact for a definition; "" if it is.

        Known to be exact means: the tests compare it with `tokenizers` on text, on every kind of
        character, and on random mixes.
        """
        reason = why_not_plain_bpe(definition["model"])
        if reason:
            return reason
        if definition["model"].get("byte_fallback"):
            return "it falls back to bytes"
        for normalizer in parts(definition.get("normalizer"), "normalizers"):
            if normalizer.get("type") not in _NORMALIZERS:
                return f"its normalizer is {normalizer.get('type')}"
        splits = [*parts(definition.get("pre_tokenizer"), "pretokenizers")]
        if not splits or splits[-1].get("type") != "ByteLevel":
            return f"its pre_tokenizer is {splits[-1].get('type') if splits else None}"
        for split in splits[:-1]:
            kind, pattern = split.get("type"), split.get("pattern")
            if kind == "Split" and isinstance(pattern, dict):
                if pattern.get("Regex") not in _PATTERNS:
                    return "its pre_tokenizer splits by a pattern of its own"
            elif kind != "Digits":
                return f"its pre_tokenizer has {kind}"
        return _why_not_added(definition)


def _why_not_added(definition: dict[str, Any]) -> str:
    """Return why the file's added tokens may be found in other places, or ""."""
    added = definition["added_tokens"]
    spaces = next((token["content"] for token in added if token["content"][:1].isspace()), None)
    for token in added:
        if token["rstrip"] and (token["lstrip"] or spaces is not None):
            return f"its added token {token['content']!r} takes the space that follows it"
    if not definition.get("normalizer"):
        return ""
    forms: set[str] = set()
    for token in added:
        if token["normalized"]:
            form = unicodedata.normalize("NFC", token["content"]).lower()
            if form in forms:
                return f"its added token {token['content']!r} becomes another one"
            forms.add(form)
    return ""


def _plain(definition: dict[str, Any]) -> dict[str, Any]:
    """Return the definition without what only special tokens and decoding need."""
    plain = copy.copy(definition)
    plain.update(post_processor=None, decoder=None, truncation=None, padding=None)
    if not plain.get("normalizer"):
        # Only with a normalizer are added tokens that are not normalized found before the others.
        plain["normalizer"] = {"type": "Sequence", "normalizers": []}
    model = copy.copy(definition["model"])
    added = {token["content"] for token in definition["added_tokens"]}
    vocab = model["vocab"]
    if added and max(vocab.values(), default=-1) >= len(vocab):  # gaps
        merged = {part for pair in model["merges"] for part in (*pair, "".join(pair))}
        model["vocab"] = {k: v for k, v in vocab.items() if k not in added or k in merged}
    # As in older files, which the library parses in a tenth less time.
    merges = list(map(" ".join, model["merges"]))
    if "\n".join(merges).count(" ") == len(merges):
        model["merges"] = merges
    plain["model"] = model
    return plain
