"""Labelled texts for the training of a classifier, spooled to a file as wrapped words."""

import array
import dataclasses
import itertools
import json
from collections import Counter
from collections.abc import Callable
from typing import IO, NamedTuple

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.classifying.classifier_config import ClassFiles, ClassifierConfig, is_label
from bert_data.curation.classifying.fasttext_kernels import END_BYTES, LABEL
from bert_data.curation.classifying.fasttext_model import wrap_words
from bert_data.progress import progress
from bert_data.storage import file_size, load_values, open_scratch
from bert_data.text.documents import TextConfig, TextDocument, as_spans
from bert_data.text.formats import find_plain_format
from bert_data.text.input_warnings import noting_text, warnings_of
from bert_data.tokens.corpus_warnings import warn_of_empty


class SpooledTexts(NamedTuple):
    """Texts in a file.

    Attributes:
      data: uint8, wrapped words of all texts, mapped.
      ends: int64 [texts + 1], 0 and the end of each text in `data`.
      targets: int32 [texts], number of the label of each.
      num_skipped: rows without a text that were left out.
    """

    labels: tuple[str, ...]
    data: NDArray[np.uint8]
    ends: NDArray[np.int64]
    targets: NDArray[np.int32]
    num_skipped: int


def spool_texts(config: ClassifierConfig, path: str) -> SpooledTexts:
    """Write the texts of all files to one, at a path in the run's work folder."""
    classes, label_field = config.classes, config.label_field
    text = dataclasses.replace(config.text, keep_fields=label_field is not None)
    numbers = {each.label: number for number, each in enumerate(classes) if each.label}
    ends, targets = array.array("q", [0]), array.array("i")
    num_skipped = 0
    total = sum(file_size(name) for each in classes for name in each.files)
    with open_scratch(path) as file, progress("read texts", total=total, unit="B") as advance:
        for each in classes:
            num_skipped += _spool_class(
                each, text, label_field, numbers, file, ends, targets, advance
            )
    return SpooledTexts(
        labels=tuple(numbers),
        data=load_values(path, np.uint8) if ends[-1] else np.zeros(0, np.uint8),
        ends=np.frombuffer(ends, np.int64),
        targets=np.frombuffer(targets, np.int32),
        num_skipped=num_skipped,
    )


def _spool_class(
    each: ClassFiles,
    text: TextConfig,
    label_field: str | None,
    numbers: dict[str, int],
    file: IO[bytes],
    ends: "array.array[int]",
    targets: "array.array[int]",
    advance: Callable[[int], None],
) -> int:
    """Spool the texts of a class and number new labels; return how many rows were skipped."""
    num_before, num_skipped = len(targets), 0
    for sentence in warnings_of(each.files, text):
        logging.warning("%s", sentence)
    with_text = set[str]()
    blocks = find_plain_format(each.files, text).read(as_spans(each.files), text)
    for block in noting_text(blocks, with_text):
        for document in block.documents:
            wrapped, num_words = wrap_words(document.whole_text)
            if num_words:
                label = each.label
                if label_field is not None:
                    label = _label_of(document, label_field, block.path)
                targets.append(numbers.setdefault(label, len(numbers)))
                file.write(wrapped)
                ends.append(ends[-1] + len(wrapped))
        num_skipped += len(block.skipped)
        advance(block.num_file_bytes)
    if len(targets) == num_before:
        of_label = f" of {each.label!r}" if each.label else ""
        raise ValueError(
            f"{', '.join(each.files[:3])}: no text with a word; the texts{of_label} must be there"
        )
    warn_of_empty(each.files, with_text)
    return num_skipped


def _label_of(document: TextDocument, name: str, path: str) -> str:
    """Return the label of a row."""
    fields, row = document.fields or {}, document.row
    if name not in fields:
        known = ", ".join(map(repr, list(fields)[:20])) or "none"
        raise ValueError(f"{path}:{row}: no field {name!r} for the label; its fields are {known}")
    value = fields[name]
    if isinstance(value, int):  # true and false, too
        value = json.dumps(value)
    if not isinstance(value, str) or not is_label(value):
        shown = json.dumps(value, default=repr)
        raise ValueError(
            f"{path}:{row}: the label is {shown:.60}; it must be a word or a whole number"
        )
    return value


_MAX_WORDS, _MAX_BYTES = 22_500_000, 1 << 30
LEAST_WRAPPED = 4
"""Bytes of the shortest wrapped word: b"<a> "."""

_END, _LABEL = b"<%b>" % END_BYTES.tobytes(), b"<%b" % LABEL.encode()


class WordFrequencies(NamedTuple):
    """Words and how often they occur.

    Attributes:
      names: bytes of all words, one after the other.
      ends: int32 [words + 1], 0 and the end of each word in `names`.
      counts: int64 [words].
    """

    names: NDArray[np.uint8]
    ends: NDArray[np.int32]
    counts: NDArray[np.int64]


class WordTable:
    """The words of texts, in the order in which they first occurred.

    Attributes:
      num_tokens: of all texts, with the end of each.
    """

    def __init__(self, max_words: int = _MAX_WORDS, max_bytes: int = _MAX_BYTES) -> None:
        self.num_tokens = 0
        self._max_words, self._max_bytes, self._least = max_words, max_bytes, 1
        self._counts: Counter[bytes] = Counter()  # of wrapped words
        self._num_bytes = 0  # of them, unwrapped

    def count(self, text: NDArray[np.uint8]) -> int:
        """Count the words of a text, which are wrapped; return their number, with its end."""
        data, num_before = text.tobytes(), len(self._counts)
        words = data.split()
        if _END in data and _END in words:
            del words[words.index(_END) :]
        words.append(_END)
        num_tokens = len(words)
        if _LABEL in data:
            words = [word for word in words if not word.startswith(_LABEL)]
        self._counts.update(words)
        self.num_tokens += num_tokens
        new = itertools.islice(reversed(self._counts), len(self._counts) - num_before)
        self._num_bytes += sum(len(word) - 2 for word in new)
        while len(self._counts) > self._max_words or self._num_bytes > self._max_bytes:
            self._least += 1
            self._counts = Counter({w: n for w, n in self._counts.items() if n >= self._least})
            self._num_bytes = sum(len(word) - 2 for word in self._counts)
        return num_tokens

    def most_frequent(self, min_count: int) -> WordFrequencies:
        """Return the words that occur as often as this, the most frequent ones first."""
        words = [(w[1:-1], n) for w, n in self._counts.most_common() if n >= min_count]
        ends = np.cumsum([0, *(len(word) for word, _ in words)], dtype=np.int64)
        return WordFrequencies(
            np.frombuffer(b"".join(word for word, _ in words), np.uint8),
            ends.astype(np.int32),
            np.array([count for _, count in words], np.int64),
        )
