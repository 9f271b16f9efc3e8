"""Labelled texts for the training of a classifier, spooled to a file as fastText reads them.

{"text": "A good\npage.", "label": "hq"}   ->   __label__hq A good page.
"""

import array
import dataclasses
import json
from collections.abc import Callable
from typing import IO, NamedTuple

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.classifying.classifier_config import ClassFiles, ClassifierConfig, is_label
from bert_data.curation.classifying.fasttext_kernels import END_BYTES, LABEL
from bert_data.progress import progress
from bert_data.storage import file_size, load_values, open_scratch
from bert_data.text.documents import TextDocument, as_spans
from bert_data.text.formats import find_plain_format
from bert_data.text.input_warnings import noting_text, warnings_of
from bert_data.text.text_config import TextConfig
from bert_data.tokens.corpus_warnings import warn_of_empty

_LABEL, _END = LABEL.encode(), END_BYTES.tobytes()


class SpooledTexts(NamedTuple):
    """Texts in a file.

    Attributes:
      data: uint8, the lines of all texts, mapped.
      ends: int64 [texts + 1], 0 and the end of each line in `data`.
      targets: int32 [texts], number of the label of each.
      num_skipped: rows without a text that were left out.
    """

    labels: tuple[str, ...]
    data: NDArray[np.uint8]
    ends: NDArray[np.int64]
    targets: NDArray[np.int32]
    num_skipped: int

    def write(self, file: IO[bytes], order: NDArray[np.int64]) -> None:
        """Write the lines of some texts, by number."""
        for number in order.tolist():
            file.write(self.data[self.ends[number] : self.ends[number + 1]].data)


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
        data=load_values(path, np.uint8),
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
            words = words_of(document.whole_text)
            if words:
                label = each.label
                if label_field is not None:
                    label = _label_of(document, label_field, block.path)
                targets.append(numbers.setdefault(label, len(numbers)))
                line = b"%b%b %b\n" % (_LABEL, label.encode(), b" ".join(words))
                file.write(line)
                ends.append(ends[-1] + len(line))
        num_skipped += len(block.skipped)
        advance(block.num_file_bytes)
    if len(targets) == num_before:
        of_label = f" of {each.label!r}" if each.label else ""
        raise ValueError(
            f"{', '.join(each.files[:3])}: no text has a word; texts{of_label} are needed"
        )
    warn_of_empty(each.files, with_text)
    return num_skipped


def words_of(text: str) -> list[bytes]:
    """Return the words of a text: what spaces of ASCII separate, and the null character.

    Left out are those that mean something to fastText: a label, and the end of a text.
    """
    words = text.encode(errors="replace").replace(b"\0", b" ").split()
    return [word for word in words if word != _END and not word.startswith(_LABEL)]


def _label_of(document: TextDocument, name: str, path: str) -> str:
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
