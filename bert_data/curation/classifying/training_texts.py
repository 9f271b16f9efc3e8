"""Labelled texts for the training of a classifier, spooled to a file as wrapped words.

    ClassFiles("hq", ("wiki.jsonl",)), ClassFiles("cc", ("web.jsonl",))
      ->  b"<the> <cat> <a> ..." in a file, the end of each text, labels 0 0 0 1 1 ...

With `label_field`, a text's label is a field of its row.
"""

import array
import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import IO, Any, NamedTuple

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.classifying.config import ClassFiles, ClassifierConfig, is_label
from bert_data.curation.classifying.fasttext_model import wrap_words
from bert_data.progress import progress
from bert_data.storage import file_size, load_values, open_scratch
from bert_data.text.documents import TextConfig, TextDocument
from bert_data.text.formats import find_plain_format
from bert_data.text.oddities import odd_text
from bert_data.text.spans import as_spans


class SpooledTexts(NamedTuple):
    """Texts in a file.

    Attributes:
      labels: names of the labels.
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
    """Write the texts of all files to one.

    Args:
      path: of the file to write, in the run's work folder.

    Raises:
      ValueError: a file has a wrong format, a row has no text or no label, or a class no text.
    """
    classes, label_field = config.classes, config.label_field
    text = dataclasses.replace(config.text, keep_fields=label_field is not None)
    numbers = {each.label: number for number, each in enumerate(classes) if each.label}
    ends, targets = array.array("q", [0]), array.array("i")
    num_skipped = 0
    total = sum(file_size(name) for each in classes for name in each.files)
    with open_scratch(path) as file, progress("read texts", total=total, unit="B") as advance:
        for each in classes:
            find_target = _target_finder(each, label_field, numbers)
            num_skipped += _spool_class(each, text, find_target, file, ends, targets, advance)
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
    find_target: Callable[[str, TextDocument], int],
    file: IO[bytes],
    ends: "array.array[int]",
    targets: "array.array[int]",
    advance: Callable[[int], None],
) -> int:
    """Spool the texts of a class; return the number of rows that were skipped."""
    num_before, num_skipped = len(targets), 0
    for sentence in odd_text(each.files, text):
        logging.warning("%s", sentence)
    for block in find_plain_format(each.files, text).read(as_spans(each.files), text):
        for document in block.documents:
            wrapped, num_words = wrap_words(document.whole_text)
            if num_words:
                targets.append(find_target(block.path, document))
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


def _target_finder(
    each: ClassFiles, label_field: str | None, numbers: dict[str, int]
) -> Callable[[str, TextDocument], int]:
    """Return a function that finds the number of a text's label; it adds labels to `numbers`."""
    if label_field is None:
        return lambda path, document: numbers[each.label]

    def find(path: str, document: TextDocument) -> int:
        label = _label_of(document.fields or {}, label_field, path, document.row)
        return numbers.setdefault(label, len(numbers))

    return find


def _label_of(fields: Mapping[str, Any], name: str, path: str, row: int) -> str:
    """Return the label of a row.

    Raises:
      ValueError: it has none, or one that is neither a word nor a whole number.
    """
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
