"""The backend of the library `gigatoken`: BPE on words that "▁" marks, with byte fallback.

It also runs byte-level BPE, but with the letters of Unicode 17, while `tokenizers` has those of
Unicode 16: some 4,700 characters, most of them Chinese, are letters for one and not for the other.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_data.packages import load_package
from bert_data.tokens.backends import EXTRA
from bert_data.tokens.backends.backend import (
    Encoded,
    FasterBackend,
    UnsupportedError,
    library_errors,
)
from bert_data.tokens.tokenizer_json import parts, why_not_plain_bpe

_NAME = "gigatoken"


class Runner(FasterBackend):
    """Runs a tokenizer.json of BPE."""

    def __init__(self, definition: dict[str, Any]) -> None:
        package: Any = load_package(_NAME, f"`tokenizer_backend={_NAME}`", extra=EXTRA)
        self._arrays: Any = load_package("awkward", f"`tokenizer_backend={_NAME}`", extra=EXTRA)
        plain = {**definition, "truncation": None, "padding": None}
        with library_errors(UnsupportedError):
            self._library = package.Tokenizer.from_json(json.dumps(plain))

    def encode(self, texts: Sequence[str], /) -> Encoded:
        """Return the ids of texts; see `Backend`."""
        with library_errors():
            encoded = self._library.encode_batch(list(texts), parallel=False)
        splits = np.cumsum(np.append(0, np.asarray(self._arrays.num(encoded))), dtype=np.int64)
        ids = np.asarray(self._arrays.flatten(encoded)).astype(np.int32, copy=False)
        return ids, splits

    @staticmethod
    def why_not_exact(definition: dict[str, Any]) -> str:
        """Return why not; see `FasterBackend`."""
        model = definition["model"]
        reason = why_not_plain_bpe(model)
        if reason:
            return reason
        if not model.get("byte_fallback"):
            return "its letters are those of another version of Unicode"
        if model.get("ignore_merges"):
            return "it finds words that merges do not reach"
        for token in definition["added_tokens"]:
            if token["single_word"] or (token["normalized"] and not token["special"]):
                return f"its added token {token['content']!r} is not found in all places"
        splits = [*parts(definition.get("pre_tokenizer"), "pretokenizers")]
        if [split.get("type") for split in splits] not in ([], ["Metaspace"]):
            return f"its pre_tokenizer is {definition['pre_tokenizer'].get('type')}"
        for normalizer in parts(definition.get("normalizer"), "normalizers"):
            is_space = normalizer.get("pattern") == {"String": " "}
            if normalizer.get("type") != "Prepend" and not is_space:
                return f"its normalizer is {normalizer.get('type')}"
        return ""
