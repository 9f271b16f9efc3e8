"""The libraries that define files: `tokenizers` every tokenizer.json, `sentencepiece` .model."""

import functools
import hashlib
import itertools
import json
import os
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from bert_data.packages import load_package
from bert_data.tokens.backends import EXTRA, SENTENCEPIECE
from bert_data.tokens.backends.backend import Backend, Encoded, library_errors, one_line
from bert_data.tokens.tiktoken_ranks import are_ranks, ranks_to_json
from bert_data.tokens.tokenizer_json import current_form, hide_tokens, parse_definition


class TokenizersBackend(Backend):
    """Runs a tokenizer.json, by `library`, a `tokenizers.Tokenizer` without truncation."""

    def __init__(self, definition: str) -> None:
        """Load the text of a tokenizer.json; the message of a ValueError is only the reason."""
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
        splits = np.cumsum([0, *map(len, of_texts)], dtype=np.int64)
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
        """Keep the content of a file; `parsed` is what is in it, if that is known."""
        self.path = path
        self.sha256 = hashlib.sha256(content).hexdigest()
        self._text = ranks_to_json(path, content).encode() if are_ranks(content) else content
        self.json_sha256 = hashlib.sha256(self._text).hexdigest()
        self._parsed = parse_definition(path, self._text) if parsed is None else parsed

    @functools.cached_property
    def definition(self) -> dict[str, Any]:
        """The definition in the current form; only for files that `tokenizers` can read."""
        return current_form(self._parsed)

    @functools.cached_property
    def reference(self) -> TokenizersBackend:
        """The file as `tokenizers` runs it; ValueError if the library cannot read it."""
        try:
            return TokenizersBackend(self._text.decode())
        except ValueError as error:
            raise ValueError(f"{self.path} is not a readable tokenizer.json: {error}") from None

    def as_text(self, tokens: Collection[str]) -> TokenizersBackend:
        """Return the file as `tokenizers` runs it where no text has some of the tokens."""
        return TokenizersBackend(json.dumps(hide_tokens(self.definition, tokens)))

    @functools.cached_property
    def definition_of_library(self) -> dict[str, Any]:
        """The tokenizer.json as `tokenizers` writes it."""
        definition: dict[str, Any] = json.loads(self.reference.library.to_str())
        return definition


class SentencepieceBackend(Backend):
    """Runs a .model file, by `library`, a `sentencepiece.SentencePieceProcessor`."""

    def __init__(self, content: bytes, path: str) -> None:
        """Load the content of a model; `path` is for messages."""
        package: Any = load_package(SENTENCEPIECE, path, extra=EXTRA)
        self.library = package.SentencePieceProcessor()
        try:
            self.library.LoadFromSerializedProto(content)
        except Exception as error:  # RuntimeError, or what its wrapper makes of one
            raise ValueError(f"{path} is not a SentencePiece model: {one_line(error)}") from None

    def encode(self, texts: Sequence[str], /) -> Encoded:
        """Return the ids of texts; see `Backend`."""
        of_texts = self.library.EncodeAsNumpy(list(texts), num_threads=1)
        splits = np.cumsum([0, *map(len, of_texts)], dtype=np.int64)
        return np.concatenate([np.zeros(0, np.int32), *of_texts]), splits
