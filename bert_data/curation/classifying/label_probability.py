"""The probability of a label, by one of fastText's supervised models.

The probabilities are those that fastText's own `predict` returns: 0.00001 is added to each before
its logarithm is taken.
"""

import abc
import dataclasses
import functools
import itertools
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.classifying.fasttext_kernels import (
    HIERARCHICAL,
    LABEL,
    SOFTMAX,
    Arrays,
    KernelSettings,
    divide,
    list_rows,
    logarithm,
    max_rows,
    mean_vector,
    multiply,
    multiply_all,
    sigmoid,
    softmax,
)
from bert_data.curation.classifying.fasttext_model import huffman_tree, read_arrays, wrap_words
from bert_data.curation.document import Document, Verdict
from bert_data.curation.parameters import Name
from bert_data.curation.step import DocumentStep
from bert_data.kernels import Constants, inner, kernel
from bert_data.storage import load_array, save_array

_NO_PATH = np.zeros((0, 2), np.int32)


class Classifier:
    """A model and one of its labels, for one thread at a time."""

    def __init__(self, arrays: Arrays, label: str) -> None:
        self._label = find_label(arrays.labels(), label)
        is_tree = arrays.settings.loss == HIERARCHICAL
        path = _path_to(huffman_tree(arrays.counts), self._label) if is_tree else _NO_PATH
        self._settings = arrays.settings
        self._model = Constants((arrays, path))
        self._sums = np.empty(arrays.vectors.shape[1], np.float32)
        self._products = np.empty(len(arrays.counts), np.float32)
        self._make_room(1 << 10, 1 << 10)

    def _make_room(self, num_rows: int, num_hashes: int) -> None:
        """Make the arrays that the kernel overwrites; they are kept, as passing them takes time."""
        self._room = num_rows, num_hashes
        listed = np.empty(num_rows, np.int32), np.empty(num_hashes, np.int32)
        self._scratch = Constants((listed, self._sums, self._products))

    def score(self, text: str) -> float:
        """Return the probability of the label, 0 to 1; 0 if the model knows nothing of a text."""
        return float(self.scores([text])[0])

    def scores(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the scores of texts, float64 [texts]; short ones take less time together."""
        wrapped = [wrap_words(text) for text in texts]
        sizes = [len(data) for data, _ in wrapped]
        num_words = max((number for _, number in wrapped), default=0)
        num_rows = max_rows(self._settings, max(sizes, default=0), num_words)
        if num_rows > self._room[0] or num_words >= self._room[1]:
            self._make_room(2 * num_rows, 2 * num_words + 2)
        out = np.empty(len(texts), np.float64)
        _score_all(
            np.frombuffer(b"".join(data for data, _ in wrapped), np.uint8),
            np.array([0, *itertools.accumulate(sizes)], np.int64),
            self._model,
            self._label,
            self._scratch,
            out,
        )
        return out


def find_label(labels: Sequence[str], label: str) -> int:
    """Return the number of a label, with or without "__label__"; refuse one that is not there."""
    name = label.removeprefix(LABEL)
    if name not in labels:
        known = ", ".join(labels[:20]) + (", ..." if len(labels) > 20 else "")
        raise ValueError(f"label is {label!r:.60}; the labels of the model are {known}")
    return labels.index(name)


def write_arrays(folder: Path, arrays: Arrays) -> None:
    """Write a model to a folder, for `open_classifier`."""
    for name, array in arrays._asdict().items():
        save_array(folder / f"{name}.npy", np.asarray(array))


def write_model(folder: Path, model_file: str, label: str) -> None:
    """Read the file of a model, and write it to a folder, for `open_classifier`."""
    arrays = read_arrays(model_file)
    labels = arrays.labels()
    find_label(labels, label)
    write_arrays(folder, arrays)
    num_words = arrays.settings.num_words
    logging.info("%s: a model of %d words and %d labels", model_file, num_words, len(labels))


def open_classifier(folder: str | Path, label: str) -> Classifier:
    """Map the model that `write_arrays` wrote to a folder."""
    arrays: dict[str, Any] = {
        name: load_array(os.path.join(folder, f"{name}.npy")) for name in Arrays._fields
    }
    settings = KernelSettings(*arrays.pop("settings").tolist())
    return Classifier(Arrays(settings=settings, **arrays), label)


def _path_to(children: NDArray[np.int32], leaf: int) -> NDArray[np.int32]:
    """Return the inner nodes above a leaf, from the root on, each with the side that it is on."""
    path = []
    num_leaves = (len(children) + 1) // 2
    node = leaf
    while node < len(children) - 1:
        parents, sides = np.nonzero(children == node)
        path.append((parents[0] - num_leaves, sides[0]))
        node = int(parents[0])
    return np.array(path[::-1], np.int32).reshape(-1, 2)


@inner
def _score(
    text: NDArray[np.uint8],
    model: tuple[Any, ...],
    label: int,
    scratch: tuple[NDArray[np.int32], NDArray[np.int32]],
    sums: NDArray[np.float32],
    products: NDArray[np.float32],
) -> float:
    """Return the probability of a label, to which `path` leads; `sums` are zeros."""
    arrays, path = model
    rows, hashes = scratch
    num_rows = list_rows(text, arrays, hashes, rows)
    if num_rows == 0:
        return 0.0
    mean_vector(arrays.vectors, rows, num_rows, sums)
    loss, outputs = arrays.settings.loss, arrays.outputs
    if loss == HIERARCHICAL:
        score = np.float32(0)
        for step in range(len(path)):
            share = divide(multiply(outputs, path[step, 0], sums))
            part = share if path[step, 1] else np.float32(1.0 - share)
            score = np.float32(score + logarithm(part))
        return math.exp(score)
    if loss != SOFTMAX:
        return math.exp(logarithm(sigmoid(multiply(outputs, label, sums))))
    softmax(products, multiply_all(outputs, sums, products))
    return math.exp(logarithm(products[label]))


@kernel
def _score_all(
    texts: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    model: tuple[Any, ...],
    label: int,
    scratch: tuple[Any, ...],
    out: NDArray[np.float64],
) -> None:
    """Write the probability of a label for each text.

    Args:
      bounds: [texts + 1], where each begins, and the end of the last one.
      model: its arrays, and the path to the label (`_path_to`).
      scratch: rows and hashes (see `list_rows`), sums and products, large enough for each text.
      out: [texts].
    """
    listed, sums, products = scratch
    for i in range(len(out)):
        for k in range(len(sums)):
            sums[k] = 0
        score = _score(texts[bounds[i] : bounds[i + 1]], model, label, listed, sums, products)
        out[i] = min(score, 1.0)  # what logarithms add may exceed it


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassifierStep(DocumentStep):
    """A step that scores texts by the probability of a label.

    Attributes:
      model_file: the model, .bin or quantized .ftz.
      label: whose probability is the score, with or without "__label__".
    """

    model_file: Name
    label: Name

    def prepare(self, folder: Path) -> None:
        """Read the model, and leave its arrays."""
        write_model(folder, self.model_file, self.label)

    def open(self, folder: str) -> Callable[[Document], Verdict]:
        """Map the model."""
        return functools.partial(self.judge_by, open_classifier(folder, self.label))

    @abc.abstractmethod
    def judge_by(self, classifier: Classifier, document: Document) -> Verdict:
        """Judge a document by the scores of its texts."""
