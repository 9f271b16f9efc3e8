"""The backend of the library `fastokens`: byte-level BPE.

It returns ids as the bytes of an array, runs in the calling thread, and releases the GIL. Ids of a
model must be consecutive there, so added tokens that a vocabulary also lists are left out of it:
they are found in the text before the model sees it.
"""

import copy
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_data.packages import load_package
from bert_data.tokens.backends.backend import Encoded, UnsupportedError, library_errors
from bert_data.tokens.backends.names import EXTRA, FASTOKENS


class FastokensBackend:
    """Runs a tokenizer.json of BPE."""

    def __init__(self, definition: dict[str, Any]) -> None:
        kind = definition["model"]["type"]
        if kind != "BPE":
            raise UnsupportedError(f"Unsupported model {kind}")
        package: Any = load_package(FASTOKENS, f"--tokenizer_backend={FASTOKENS}", extra=EXTRA)
        with library_errors(UnsupportedError):
            self._library = package.Tokenizer.from_json_str(json.dumps(_plain(definition)))

    def encode(self, texts: Sequence[str], /) -> Encoded:
        """Return the ids of texts; see `Backend`."""
        with library_errors():
            ids, splits = self._library.encode_batch_flat(list(texts))
        return np.frombuffer(ids, np.int32), np.frombuffer(splits, np.int64)


def _plain(definition: dict[str, Any]) -> dict[str, Any]:
    """Return the definition without what only special tokens and decoding need."""
    plain = copy.copy(definition)
    plain.update(post_processor=None, decoder=None, truncation=None, padding=None)
    model = copy.copy(definition["model"])
    added = {token["content"] for token in definition["added_tokens"]}
    merged = {part for pair in model["merges"] for part in (*pair, "".join(pair))}
    vocab = model["vocab"]
    size = len(vocab)
    if added and max(vocab.values(), default=-1) >= size:  # gaps
        model["vocab"] = {k: v for k, v in vocab.items() if k not in added or k in merged}
    plain["model"] = model
    return plain
