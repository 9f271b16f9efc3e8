"""Labelled texts for the training of a classifier, spooled to a file as wrapped words."""

import array
import dataclasses
import json
from collections.abc import Callable
from typing import IO, NamedTuple, TypeVar

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.classifying.classifier_config import ClassFiles, ClassifierConfig, is_label
from bert_data.curation.classifying.fasttext_kernels import (
    END_BYTES,
    SPACE,
    fill_slots,
    find_name,
    is_end,
    is_like_label,
)
from bert_data.curation.classifying.fasttext_model import wrap_words
from bert_data.kernels import Scalar, inner, kernel
from bert_data.progress import progress
from bert_data.storage import file_size, load_values, open_scratch
from bert_data.text.documents import TextConfig, TextDocument, as_spans
from bert_data.text.formats import find_plain_format
from bert_data.text.input_warnings import warnings_of


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
    for block in find_plain_format(each.files, text).read(as_spans(each.files), text):
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
_Number = TypeVar("_Number", bound=np.generic)
LEAST_WRAPPED = 4
"""Bytes of the shortest wrapped word: b"<a> "."""


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
        self._size = 0
        self._names = np.zeros(1 << 16, np.uint8)
        self._ends = np.zeros(1 << 12, np.int32)
        self._counts = np.zeros(1 << 12, np.int64)
        self._slots = np.zeros(1 << 14, np.int32)

    def count(self, text: NDArray[np.uint8]) -> int:
        """Count the words of a text; return their number, with the end of the text."""
        self._make_room(len(text) // LEAST_WRAPPED + 1, len(text) + len(END_BYTES))
        state = np.array([self._size, 0], np.int64)
        _count_text(text, self._names, self._ends, self._counts, self._slots, state)
        self._size, num_tokens = map(int, state)
        self.num_tokens += num_tokens
        while self._size > self._max_words or self._ends[self._size] > self._max_bytes:
            self._least += 1
            self._keep(np.flatnonzero(self._counts[: self._size] >= self._least))
        return num_tokens

    def most_frequent(self, min_count: int) -> WordFrequencies:
        """Return the words that occur as often as this, the most frequent ones first."""
        counts = self._counts[: self._size]
        order = np.argsort(-counts, kind="stable")
        return self._pick(order[: int(np.count_nonzero(counts >= min_count))])

    def _make_room(self, num_words: int, num_bytes: int) -> None:
        """Make the arrays large enough for so many more words."""
        self._names = _extended(self._names, int(self._ends[self._size]) + num_bytes)
        self._ends = _extended(self._ends, self._size + num_words + 1)
        self._counts = _extended(self._counts, self._size + num_words)
        if 2 * (self._size + num_words) > len(self._slots):
            self._fill(1 << (4 * (self._size + num_words)).bit_length())

    def _fill(self, num_slots: int) -> None:
        self._slots = np.zeros(num_slots, np.int32)
        fill_slots(self._names, self._ends[: self._size + 1], self._slots, END_BYTES)

    def _pick(self, words: NDArray[np.int64]) -> WordFrequencies:
        """Return some words, in their order."""
        sizes = np.diff(self._ends[: self._size + 1])[words]
        ends = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int32)
        names = np.empty(ends[-1], np.uint8)
        _copy_names(self._names, self._ends, words, names)
        return WordFrequencies(names, ends, self._counts[words])

    def _keep(self, words: NDArray[np.int64]) -> None:
        """Forget all other words."""
        self._names, self._ends, self._counts = self._pick(words)
        self._size = len(words)
        self._fill(len(self._slots))


def _extended(array: NDArray[_Number], size: int) -> NDArray[_Number]:
    """Return an array of at least this size, which begins with the same values."""
    if size <= len(array):
        return array
    longer = np.zeros(max(size, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer


@inner
def _count_name(
    text: NDArray[np.uint8],
    start: Scalar,
    end: Scalar,
    names: NDArray[np.uint8],
    ends: NDArray[np.int32],
    counts: NDArray[np.int64],
    slots: NDArray[np.int32],
    num_names: Scalar,
) -> Scalar:
    """Count the name text[start:end]; return how many names there are now."""
    slot, _ = find_name(text, start, end, names, ends, slots)
    if slots[slot] == 0:
        place = ends[num_names]
        for i in range(start, end):
            names[place + i - start] = text[i]
        num_names += 1
        ends[num_names] = place + end - start
        counts[num_names - 1] = 0
        slots[slot] = num_names
    counts[slots[slot] - 1] += 1
    return num_names


@kernel
def _count_text(
    text: NDArray[np.uint8],
    names: NDArray[np.uint8],
    ends: NDArray[np.int32],
    counts: NDArray[np.int64],
    slots: NDArray[np.int32],
    state: NDArray[np.int64],
) -> None:
    """Count the words of a text.

    Args:
      text: see `list_rows`.
      names, ends, counts: with room for all words of the text, and "</s>".
      slots: at most half full, also with all words of the text.
      state: the number of names, which changes; receives the number of words.
    """
    num_names, num_words, start, has_ended = state[0], 0, 0, False
    while start < len(text) and not has_ended:
        end = start
        while text[end] != SPACE:
            end += 1
        has_ended = is_end(text, start, end)
        if not has_ended:
            num_words += 1
            if not is_like_label(text, start, end):
                num_names = _count_name(
                    text, start + 1, end - 1, names, ends, counts, slots, num_names
                )
        start = end + 1
    num_names = _count_name(END_BYTES, 0, len(END_BYTES), names, ends, counts, slots, num_names)
    state[0], state[1] = num_names, num_words + 1


@kernel
def _copy_names(
    names: NDArray[np.uint8],
    ends: NDArray[np.int32],
    words: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> None:
    """Copy the names of some words, one after the other."""
    place = 0
    for word in words:
        for i in range(ends[word], ends[word + 1]):
            out[place] = names[i]
            place += 1
