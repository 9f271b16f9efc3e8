"""The backend of `tokenizers`, which defines every tokenizer.json: others must equal it."""

import functools
import itertools
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_data.tokens.backends.backend import Encoded, library_errors


class TokenizersBackend:
    """Runs a tokenizer.json.

    Attributes:
      library: the `tokenizers.Tokenizer`, without truncation and padding.
    """

    def __init__(self, definition: str) -> None:
        """Load the text of a tokenizer.json.

        Raises:
          ValueError: it is not one; the message is only the reason.
        """
        # Our own threads share the work; the library would start threads for each of them.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from tokenizers import Tokenizer

        with library_errors():
            self.library: Any = Tokenizer.from_str(definition)
        self.library.no_truncation()
        self.library.no_padding()

    @functools.cached_property
    def definition(self) -> dict[str, Any]:
        """The tokenizer.json in its current form, whatever the form of the file."""
        definition: dict[str, Any] = json.loads(self.library.to_str())
        return definition

    def encode(self, texts: Sequence[str], /) -> Encoded:
        """Return the ids of texts; see `Backend`."""
        with library_errors():
            encodings = self.library.encode_batch_fast(list(texts), add_special_tokens=False)
        of_texts = [encoding.ids for encoding in encodings]
        splits = np.zeros(len(of_texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, of_texts), np.int64, len(of_texts)), out=splits[1:])
        ids = np.fromiter(itertools.chain.from_iterable(of_texts), np.int32, int(splits[-1]))
        return ids, splits
