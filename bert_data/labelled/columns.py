"""Labelled texts as columns of records: labels as integers, and texts with their tokens.

The tokens of a text are a ragged array of [sentences, words, pieces].
"""

import collections
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.labelled.label_config import CLASS, MAX_CLASSES, ONE, SPLIT, LabelConfig
from bert_data.labelled.texts import LabelledText
from bert_data.records.columns import Column, ColumnBatch
from bert_data.records.fields import Axis, RecordKind, Role, num_tokens_name, tokens_name
from bert_data.records.ragged_arrays import splits_name, values_name
from bert_data.settings import AUTO
from bert_data.text.documents import Text
from bert_data.text.sentences import split_sentences
from bert_data.text.text_config import DEFAULT_LANGUAGE
from bert_data.tokens.tokenizer import FastTokenizer, TokenizedSentences, tokenize_sentences
from bert_data.written_values import number_of

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_INT64 = range(-(2**63), 2**63)
_NUM_NAMED = 10


def find_classes(rows: Iterable[LabelledText], config: LabelConfig) -> tuple[str, ...]:
    """Return the classes of all labels; () if they are integers.

    Raises:
      ValueError: there are more than `config.max_classes`, or only one; or, if "auto" is to tell
        what labels are, all are numbers, but not all integers, or they differ more than the texts
        do.
    """
    if not config.needs_look:
        return config.classes
    names: set[str] = set()
    texts: set[int] = set()
    first_other: LabelledText | None = None
    all_numbers = True
    for row in rows:
        label = str(row.label)
        if len(texts) <= config.max_classes:
            texts.add(hash(tuple(map(str, row.texts))))
        if _INTEGER.fullmatch(label) is None:
            first_other = first_other or row
            all_numbers = all_numbers and not isinstance(number_of(label), str)
        if len(names) < config.max_classes or label in names:
            names.add(label)
        elif config.label_kind == CLASS or first_other is not None:
            raise row.error(
                f"the label {label[:40]!r} is one class too many: {config.max_classes:,} are"
                " allowed (`max_classes`); make sure that `label_column` names the labels"
            )
    if config.label_kind == AUTO and first_other is None:
        return ()
    if config.label_kind == AUTO and first_other is not None and all_numbers:
        raise first_other.error(
            f"the label {str(first_other.label)[:40]!r} is a number, but not a 64-bit integer; make"
            " all labels integers, or each a class by `label_kind=class`"
        )
    if config.label_kind == AUTO and first_other is not None and len(texts) < len(names):
        raise first_other.error(
            f"there are {len(names):,} different labels, but only {len(texts):,} different texts;"
            " are their columns swapped? If not: `label_kind=class`"
        )
    if len(names) == 1:
        raise row.error(
            f"every label up to this last one is {label[:40]!r}; two or more classes are needed:"
            " make sure that `label_column` names the labels, or name all `classes`"
        )
    return tuple(sorted(names))


class LabelNumbers:
    """Converts labels to numbers, and counts them; without classes, labels are integers."""

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = tuple(classes)
        self._numbers = {name: number for number, name in enumerate(classes)}
        self._counts: collections.Counter[int] = collections.Counter()

    def number_of(self, row: LabelledText) -> int:
        """Return the number of a row's label."""
        label = str(row.label)
        if not self.classes:
            number = int(label) if _INTEGER.fullmatch(label) else None
            if number is None or number not in _INT64:
                raise row.error(f"the label is {label[:40]!r}; it must be a 64-bit integer")
        else:
            number = self._numbers.get(label)
            if number is None:
                named = ", ".join(self.classes[:_NUM_NAMED])
                more = ", ..." if len(self.classes) > _NUM_NAMED else ""
                raise row.error(
                    f"the label {label[:40]!r} is not a class; the classes are {named}{more}"
                )
        assert number is not None
        if number in self._counts or len(self._counts) < MAX_CLASSES:
            self._counts[number] += 1
        return number

    def counts(self) -> dict[str, int]:
        """Return how often each label occurred, by name, for the first `MAX_CLASSES` of them."""
        if self.classes:
            return {name: self._counts[number] for number, name in enumerate(self.classes)}
        return {str(number): count for number, count in sorted(self._counts.items())}


TEXT_COUNTS = (
    "num_texts", "num_sentences", "num_words", "num_tokens", "num_unknown", "num_without_tokens",
)  # fmt: skip
"""Counts of texts, of their contents, of [UNK]s, and of records without a token."""


class LabelledColumns(NamedTuple):
    """A number of records, and their `TEXT_COUNTS`."""

    batch: ColumnBatch
    counts: dict[str, int]


def make_labelled_columns(
    texts: Sequence[tuple[Text, ...]],
    labels: Sequence[int],
    tokenizer: FastTokenizer,
    kind: RecordKind,
    *,
    sentences: str = ONE,
    language: str = DEFAULT_LANGUAGE,
) -> LabelledColumns:
    """Make the columns of some records.

    Args:
      texts: one text, or two, for each record, the same number in each; at least one record.
      labels: for each record, in the range of int64.
      kind: see `labelled_records`, with as many texts.
      sentences: one of `SENTENCES`. Lists already are sentences, unless this is "one".
      language: of the texts, for "split".
    """
    label = kind.find(Axis.INSTANCES, Role.LABELS)
    assert label is not None
    columns = {label.name: Column(np.array(labels, np.int64))}
    names = [field.name for field in kind.fields if field.role is Role.TEXT]
    unk_id = tokenizer.vocabulary.unk_id
    counts = dict.fromkeys(TEXT_COUNTS, 0)
    for name, its_texts in zip(names, zip(*texts, strict=True), strict=True):
        parts = [_sentences_of(text, sentences, language) for text in its_texts]
        tokens = tokenize_sentences(tokenizer, [sentence for part in parts for sentence in part])
        columns |= _token_columns(name, parts, tokens)
        columns[name] = Column(np.array([_joined(text).encode() for text in its_texts], object))
        counts["num_sentences"] += tokens.sentence_splits.size - 1
        counts["num_words"] += tokens.word_splits.size - 1
        counts["num_unknown"] += int(np.count_nonzero(tokens.ids == unk_id))
    batch = ColumnBatch(kind=kind, columns=columns)
    num_tokens = batch.num_tokens()
    counts["num_texts"] = num_tokens.size
    counts["num_tokens"] = int(num_tokens.sum(dtype=np.int64))
    counts["num_without_tokens"] = int(np.count_nonzero(num_tokens == 0))
    return LabelledColumns(batch, counts)


def _token_columns(
    name: str, parts: Sequence[Sequence[str]], tokens: TokenizedSentences
) -> dict[str, Column]:
    """Return the token columns of one text per record; `parts` has the sentences of each."""
    sentence_bounds = np.cumsum([0, *map(len, parts)])
    word_bounds = tokens.sentence_splits[sentence_bounds]
    token_bounds = tokens.word_splits[word_bounds]
    ragged = tokens_name(name)
    columns = {
        values_name(ragged): Column(tokens.ids.astype(np.int64), token_bounds.astype(np.int32)),
        num_tokens_name(name): Column(np.diff(token_bounds)),
    }
    levels = [(tokens.sentence_splits, sentence_bounds), (tokens.word_splits, word_bounds)]
    for dimension, (splits, bounds) in enumerate(levels):
        columns[splits_name(ragged, dimension)] = _splits_of_rows(splits, bounds)
    return columns


def _joined(text: Text) -> str:
    return text if isinstance(text, str) else "\n".join(text)


def _sentences_of(text: Text, how: str, language: str) -> list[str]:
    if how == ONE:
        return [_joined(text)]
    if not isinstance(text, str):
        return list(text)
    if how == SPLIT:
        return split_sentences(text, language)
    return [line for line in text.splitlines() if line.strip()]


def _splits_of_rows(splits: NDArray[np.int64], bounds: NDArray[np.int64]) -> Column:
    """Divide row splits into each record's own, which begin with 0.

    Record i has the inner rows bounds[i] to bounds[i + 1], and so bounds[i + 1] - bounds[i] + 1
    splits.
    """
    sizes = np.diff(bounds) + 1
    starts = np.concatenate([[0], np.cumsum(sizes)])
    indices = np.arange(starts[-1]) - np.repeat(starts[:-1] - bounds[:-1], sizes)
    values = splits[indices] - np.repeat(splits[bounds[:-1]], sizes)
    return Column(values, starts.astype(np.int32))
