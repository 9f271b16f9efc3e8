"""The backend of `tokenizers`, which defines every tokenizer.json: others must equal it."""

import functools
import hashlib
import itertools
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_data.tokens.backends.backend import Backend, Encoded, library_errors
from bert_data.tokens.tiktoken_ranks import are_ranks, ranks_to_json
from bert_data.tokens.tokenizer_json import current_form, parse_definition


class TokenizersBackend(Backend):
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

    def encode(self, texts: Sequence[str], /) -> Encoded:
        """Return the ids of texts; see `Backend`."""
        with library_errors():
            encodings = self.library.encode_batch_fast(list(texts), add_special_tokens=False)
        of_texts = [encoding.ids for encoding in encodings]
        splits = np.zeros(len(of_texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, of_texts), np.int64, len(of_texts)), out=splits[1:])
        ids = np.fromiter(itertools.chain.from_iterable(of_texts), np.int32, int(splits[-1]))
        return ids, splits


class DefinitionFile:
    """A tokenizer.json that `tokenizers` loads only if it is needed.

    Attributes:
      path: for messages.
      sha256: hex digest of the file's bytes.
      json_sha256: of its tokenizer.json, which for ranks depends on the name of the file, too.
    """

    def __init__(self, path: str, content: bytes, parsed: dict[str, Any] | None = None) -> None:
        """Keep the content of a file.

        Args:
          parsed: what is in it; None: it is parsed here.

        Raises:
          ValueError: it is neither a tokenizer.json nor ranks.
        """
        self.path = path
        self.sha256 = hashlib.sha256(content).hexdigest()
        self._text = ranks_to_json(path, content).encode() if are_ranks(content) else content
        self.json_sha256 = hashlib.sha256(self._text).hexdigest()
        self._parsed = parse_definition(path, self._text) if parsed is None else parsed

    @functools.cached_property
    def definition(self) -> dict[str, Any]:
        """What the file says, in the current form; only for files that `tokenizers` can read."""
        return current_form(self._parsed)

    @functools.cached_property
    def reference(self) -> TokenizersBackend:
        """The file as `tokenizers` runs it.

        Raises:
          ValueError: the library cannot read it.
        """
        try:
            return TokenizersBackend(self._text.decode())
        except ValueError as error:
            raise ValueError(f"{self.path} is not a readable tokenizer.json: {error}") from None

    @functools.cached_property
    def definition_of_library(self) -> dict[str, Any]:
        """The tokenizer.json as `tokenizers` writes it."""
        definition: dict[str, Any] = json.loads(self.reference.library.to_str())
        return definition
