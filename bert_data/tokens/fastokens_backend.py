"""The backend of the library `fastokens`: byte-level BPE, where its ids are those of `tokenizers`.

It returns ids as the bytes of an array, runs in the calling thread, and releases the GIL. Ids of a
model must be consecutive there, so added tokens that a vocabulary also lists are left out of it:
they are found in the text before the model sees it.

Files of other kinds are left to `tokenizers`. Of those kinds the tests compare it on text, on every
kind of character, and on random mixes of random files, and they do so for each release.
"""

import copy
import importlib
import json
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_data.settings import AUTO
from bert_data.tokens.backends import BPE_EXTRA, Backend, DefinitionFile, Encoded, library_errors
from bert_data.tokens.tiktoken_ranks import GPT4, O200K, QWEN
from bert_data.tokens.tokenizer_config import FASTOKENS, SENTENCEPIECE, TOKENIZERS, WORDPIECE
from bert_data.tokens.tokenizer_json import merge_pairs, parts

RELEASES = ("0.3.5",)
"""Those that are known to be exact."""

_DEEPSEEK = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"""
    "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|"
    "\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)
_PATTERNS = frozenset({GPT4, QWEN, O200K, *_DEEPSEEK})
_NORMALIZERS = ("NFC", "Lowercase")


class FastokensBackend(Backend):
    """Runs a tokenizer.json of BPE."""

    name = FASTOKENS

    def __init__(self, definition: dict[str, Any]) -> None:
        """Load a definition in its current form; ValueError if the library cannot."""
        package: Any = importlib.import_module(FASTOKENS)
        with library_errors():
            self._library = package.Tokenizer.from_json_str(json.dumps(_plain(definition)))

    def encode(self, texts: Sequence[str], /) -> Encoded:
        """Return the ids of texts; see `Backend`."""
        with library_errors():
            ids, splits = self._library.encode_batch_flat(list(texts))
        return np.frombuffer(ids, np.int32), np.frombuffer(splits, np.int64)


def choose_backend(
    file: DefinitionFile, requested: str = AUTO, *, is_for_little: bool = False
) -> tuple[Backend, str]:
    """Return what runs a tokenizer.json, and why: what is requested, or the fastest exact one.

    For little text that is the reference, whose loading takes less time.
    """
    if requested in (WORDPIECE, SENTENCEPIECE):
        what = "a .model file" if requested == SENTENCEPIECE else "WordPiece with BERT's rules"
        raise ValueError(f"`tokenizer_backend={requested}` needs {what}; {file.path} is not")
    if requested == TOKENIZERS:
        return file.reference, "chosen by hand"
    if requested == AUTO and is_for_little:
        return file.reference, "the soonest loaded, as there is little text"
    assert file.rules  # an error if `tokenizers`, which is stricter, cannot read them
    why = why_not_exact(file.definition)
    if not why:
        try:
            return FastokensBackend(file.definition), "the fastest exact one"
        except ValueError as error:
            why = f"refuses it: {error}"
    if requested == FASTOKENS:
        raise ValueError(f"`tokenizer_backend={FASTOKENS}` cannot run {file.path}: it {why}")
    return file.reference, f"{FASTOKENS} {why}"


def why_not_exact(definition: dict[str, Any]) -> str:
    """Return why the library is not known to be exact for a definition, or is not there; or ""."""
    if reason := why_not_known(definition):
        return f"is not known to be exact, as {reason}"
    from importlib import metadata

    try:
        importlib.import_module(FASTOKENS)
        version = metadata.version(FASTOKENS)
    except ImportError:
        return f"is not installed (pip install '.[{BPE_EXTRA}]')"
    return "" if version in RELEASES else f"{version} is not known to be exact"


def why_not_known(definition: dict[str, Any]) -> str:
    """Return why a definition in its current form does not say alone what the ids are, or ""."""
    reason = _why_not_model(definition["model"]) or _why_not_splits(definition)
    return reason or _why_not_added(definition)


def _why_not_model(model: dict[str, Any]) -> str:
    if model.get("type") != "BPE" or not isinstance(model["vocab"], dict):
        return f"its model is {model.get('type')}"
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        return "it marks parts of words"
    return "it falls back to bytes" if model.get("byte_fallback") else ""


def _why_not_splits(definition: dict[str, Any]) -> str:
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
    return ""


def _why_not_added(definition: dict[str, Any]) -> str:
    """Return why the file's added tokens may have other ids or be found in other places, or ""."""
    added, vocab = definition["added_tokens"], definition["model"]["vocab"]
    new = [token["content"] for token in added if token["content"] not in vocab]
    kept = {**vocab, **{content: len(vocab) + number for number, content in enumerate(new)}}
    if len({*new}) < len(new) or any(kept[token["content"]] != token["id"] for token in added):
        return "tokenizers numbers its added tokens anew"
    if not all(token["content"] for token in added):
        return "it has an added token without a text"
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
    vocab, pairs = model["vocab"], merge_pairs(model)
    if added and max(vocab.values(), default=-1) >= len(vocab):  # gaps
        merged = {part for pair in pairs for part in (*pair, "".join(pair))}
        model["vocab"] = {k: v for k, v in vocab.items() if k not in added or k in merged}
    # As in older files, which the library parses in a tenth less time.
    merges = list(map(" ".join, pairs))
    model["merges"] = merges if "\n".join(merges).count(" ") == len(merges) else pairs
    plain["model"] = model
    return plain
