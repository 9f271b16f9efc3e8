"""The backend of the library `gigatoken`: BPE on words that "▁" marks, with byte fallback.

It also runs byte-level BPE, but with the letters of Unicode 17, while `tokenizers` has those of
Unicode 16: some 4,700 characters, most of them Chinese, are letters for one and not for the other.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_data.packages import load_package
from bert_data.tokens.backends.backend import Encoded, UnsupportedError, library_errors
from bert_data.tokens.backends.names import EXTRA, GIGATOKEN


class GigatokenBackend:
    """Runs a tokenizer.json of BPE."""

    def __init__(self, definition: dict[str, Any]) -> None:
        package: Any = load_package(GIGATOKEN, f"--tokenizer_backend={GIGATOKEN}", extra=EXTRA)
        self._arrays: Any = load_package("awkward", f"--tokenizer_backend={GIGATOKEN}", extra=EXTRA)
        plain = {**definition, "truncation": None, "padding": None}
        with library_errors(UnsupportedError):
            self._library = package.Tokenizer.from_json(json.dumps(plain))

    def encode(self, texts: Sequence[str], /) -> Encoded:
        """Return the ids of texts; see `Backend`."""
        with library_errors():
            encoded = self._library.encode_batch(list(texts), parallel=False)
        splits = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.asarray(self._arrays.num(encoded)), out=splits[1:])
        ids = np.asarray(self._arrays.flatten(encoded)).astype(np.int32, copy=False)
        return ids, splits
