"""Libraries that run the tokenizer of a file: texts go in, arrays of ids come out.

    backend.encode(["the cat", "", "sat"])  ->  ids int32 [5 9 7]    splits int64 [0 2 2 3]

`tokenizers` and `sentencepiece` define their files: `fastokens_backend` must equal the former. A
backend adds no special tokens, truncates and pads nothing; an added token that stands in a text
becomes its id. WordPiece with BERT's rules needs no library: `tokenizer` is the fastest for it.
"""

import abc
import contextlib
import functools
import hashlib
import importlib
import itertools
import json
import os
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.packages import load_package
from bert_data.tokens.tiktoken_ranks import are_ranks, ranks_to_json
from bert_data.tokens.tokenizer_config import SENTENCEPIECE, TOKENIZERS
from bert_data.tokens.tokenizer_json import current_form, hide_tokens, parse_definition

BPE_EXTRA = "bpe"

Encoded = tuple[NDArray[np.int32], NDArray[np.int64]]
"""Ids of all texts, end to end, and their row splits into texts."""


class Backend(abc.ABC):
    """A tokenizer of one file; any number of threads may use it at a time.

    Attributes:
      name: one of `tokenizer_config.BACKENDS`.
    """

    name: str

    @abc.abstractmethod
    def encode(self, texts: Sequence[str], /) -> Encoded:
        """Return the ids of texts, which UTF-8 can encode.

        Raises:
          ValueError: the file's rules do not apply to a text; the message is only the reason.
        """

    @property
    def version(self) -> str:
        """Name and version, such as "fastokens 0.3.5"."""
        version = getattr(importlib.import_module(self.name), "__version__", None)
        if version is None:
            from importlib import metadata  # loads the parser of mail

            version = metadata.version(self.name)
        return f"{self.name} {version}"


@contextlib.contextmanager
def library_errors() -> Iterator[None]:
    """Turn what a library raises into a ValueError whose message is only the reason.

    A panic of a library in Rust is no `Exception`, and only its message says what it is.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        raise ValueError(_one_line(error)) from None


def _one_line(error: BaseException, limit: int = 200) -> str:
    """Return the message of a library's error, whose lines may quote the whole file."""
    words = " ".join(str(error).split())
    return words if len(words) <= limit else words[: limit - 3] + "..."


class TokenizersBackend(Backend):
    """Runs a tokenizer.json, by `library`, a `tokenizers.Tokenizer` without truncation."""

    name = TOKENIZERS

    def __init__(self, definition: str) -> None:
        """Load the text of a tokenizer.json; the message of a ValueError is only the reason."""
        # Our own threads share the work; the library would start threads for each of them.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        # A backtrace has hundreds of lines, and the error says all that they do.
        os.environ["RUST_BACKTRACE"] = "0"
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


class SentencepieceBackend(Backend):
    """Runs a .model file, by `library`, a `sentencepiece.SentencePieceProcessor`."""

    name = SENTENCEPIECE

    def __init__(self, content: bytes, path: str) -> None:
        """Load the content of a model; `path` is for messages."""
        package: Any = load_package(SENTENCEPIECE, path, extra=BPE_EXTRA)
        self.library = package.SentencePieceProcessor()
        try:
            self.library.LoadFromSerializedProto(content)
        except Exception as error:  # RuntimeError, or what its wrapper makes of one
            raise ValueError(f"{path} is not a SentencePiece model: {_one_line(error)}") from None

    def encode(self, texts: Sequence[str], /) -> Encoded:
        """Return the ids of texts; see `Backend`."""
        of_texts = self.library.EncodeAsNumpy(list(texts), num_threads=1)
        splits = np.cumsum([0, *map(len, of_texts)], dtype=np.int64)
        return np.concatenate([np.zeros(0, np.int32), *of_texts]), splits


class DefinitionFile:
    """A tokenizer.json that `tokenizers` loads only if it is needed.

    Attributes:
      path: for messages.
      sha256: hex digest of the file's bytes.
    """

    def __init__(self, path: str, content: bytes, parsed: dict[str, Any] | None = None) -> None:
        """Keep the content of a file; `parsed` is what is in it, if that is known."""
        self.path = path
        self.sha256 = hashlib.sha256(content).hexdigest()
        self._text = ranks_to_json(path, content).encode() if are_ranks(content) else content
        self._parsed = parse_definition(path, self._text) if parsed is None else parsed

    @functools.cached_property
    def definition(self) -> dict[str, Any]:
        """The definition in the current form; only for files that `tokenizers` can read."""
        return current_form(self._parsed)

    @functools.cached_property
    def reference(self) -> TokenizersBackend:
        """The file as `tokenizers` runs it; ValueError if the library cannot read it."""
        return self._read(self._text.decode())

    @functools.cached_property
    def rules(self) -> Any:
        """What `tokenizers` makes of the file without its vocabulary, in a hundredth of the time.

        It has the normalizer and the pre-tokenizer; a ValueError says what cannot be read.
        """
        nothing = {"type": "BPE", "vocab": {}, "merges": []}
        return self._read(json.dumps({**self._parsed, "model": nothing})).library

    def as_text(self, tokens: Collection[str]) -> TokenizersBackend:
        """Return the file as `tokenizers` runs it where no text has some of the tokens."""
        return TokenizersBackend(json.dumps(hide_tokens(self.definition, tokens)))

    def _read(self, definition: str) -> TokenizersBackend:
        try:
            return TokenizersBackend(definition)
        except ValueError as error:
            raise ValueError(f"{self.path} is not a readable tokenizer.json: {error}") from None
