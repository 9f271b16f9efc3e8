"""The model that identifies languages: fastText's lid.176.ftz, applied by a kernel.

    read_model("lid.176.ftz").predict("The cat sat.")   ->  ("en", 0.7213...)

In the Huffman tree of the languages' frequencies, each inner node divides the probability between
its children. The results are fastText's.
"""

import hashlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.classifying.fasttext_kernels import (
    Arrays,
    divide,
    list_rows,
    logarithm,
    max_rows,
    mean_vector,
    multiply,
)
from bert_data.curation.classifying.fasttext_model import huffman_tree, read_arrays
from bert_data.errors import CorruptDataError
from bert_data.kernels import Constants, Scalar, inner, kernel
from bert_data.storage import read_bytes

_SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"
_HASHES = np.zeros(0, np.int32)  # the model has no n-grams of words


class LanguageModel:
    """The model.

    Attributes:
      languages: codes of the languages that it knows.
    """

    def __init__(self, arrays: Arrays) -> None:
        self.languages = tuple(arrays.labels())
        self._settings = arrays.settings
        self._model = Constants((arrays, huffman_tree(arrays.counts), _HASHES))

    def predict(self, text: str) -> tuple[str, float]:
        """Return the likeliest language of a text that UTF-8 can encode, and its probability."""
        words = text.replace("\0", " ").split()
        data = np.frombuffer(f"<{'> <'.join(words)}> ".encode(), np.uint8)
        rows = np.empty(max_rows(self._settings, len(data), len(words) + 1), np.int32)
        scratch = np.zeros((3, 2 * len(self.languages)), np.float32)
        label, probability = _predict(data, self._model, rows, scratch)
        return self.languages[label], probability


def read_model(path: str) -> LanguageModel:
    """Read the model.

    Raises:
      CorruptDataError: it is damaged, or another file.
    """
    data = read_bytes(path)
    if hashlib.sha256(data).hexdigest() != _SHA256:
        raise CorruptDataError(path, 0, "not the model lid.176.ftz")
    return LanguageModel(read_arrays(path))


@kernel
def _predict(
    text: NDArray[np.uint8],
    model: tuple[Any, ...],
    rows: NDArray[np.int32],
    scratch: NDArray[np.float32],
) -> tuple[int, float]:
    """Return the likeliest language and its probability.

    Args:
      text: see `list_rows`.
      model: its arrays, the tree of its languages, and the hashes that `list_rows` takes.
      rows: see `list_rows`; overwritten.
      scratch: [3, nodes + 1 or more], zeros.
    """
    arrays, children, hashes = model
    num_rows = list_rows(text, arrays, hashes, rows)
    if num_rows:
        mean_vector(arrays.vectors, rows, num_rows, scratch[0])
    return _likeliest_leaf(scratch[0], arrays.outputs, children, scratch[1], scratch[2])


@inner
def _likeliest_leaf(
    sums: NDArray[np.float32],
    nodes: NDArray[np.float32],
    children: NDArray[np.int32],
    waiting: NDArray[np.float32],
    scores: NDArray[np.float32],
) -> tuple[Scalar, float]:
    """Return the likeliest leaf of the tree, and its probability, by its logarithm."""
    best, best_score = np.int64(0), logarithm(np.float32(0))
    waiting[0], scores[0] = len(children) - 1, 0
    num_waiting = 1
    while num_waiting:
        num_waiting -= 1
        node, score = np.int64(waiting[num_waiting]), scores[num_waiting]
        if score < best_score:
            continue
        if children[node, 0] < 0:
            best, best_score = node, score
            continue
        share = divide(multiply(nodes, node - len(nodes), sums))
        for side, part in ((1, share), (0, np.float32(1.0 - share))):  # the last one is next
            waiting[num_waiting] = children[node, side]
            scores[num_waiting] = score + logarithm(part)
            num_waiting += 1
    return best, math.exp(best_score)
