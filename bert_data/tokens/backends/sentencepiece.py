"""The backend of the library `sentencepiece`: .model files, which only it defines."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_data.packages import load_package
from bert_data.tokens.backends import EXTRA, SENTENCEPIECE
from bert_data.tokens.backends.backend import Backend, Encoded, one_line


class SentencepieceBackend(Backend):
    """Runs a .model file.

    Attributes:
      library: the `sentencepiece.SentencePieceProcessor`.
    """

    def __init__(self, content: bytes, path: str) -> None:
        """Load the content of a model; `path` is for messages.

        Raises:
          ValueError: it is not one, or the package is not installed.
        """
        package: Any = load_package(SENTENCEPIECE, path, extra=EXTRA)
        self.library = package.SentencePieceProcessor()
        try:
            self.library.LoadFromSerializedProto(content)
        except Exception as error:  # RuntimeError, or what its wrapper makes of one
            raise ValueError(f"{path} is not a SentencePiece model: {one_line(error)}") from None

    def encode(self, texts: Sequence[str], /) -> Encoded:
        """Return the ids of texts; see `Backend`."""
        of_texts = self.library.EncodeAsNumpy(list(texts), num_threads=1)
        splits = np.zeros(len(of_texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, of_texts), np.int64, len(of_texts)), out=splits[1:])
        return np.concatenate([np.zeros(0, np.int32), *of_texts]), splits
