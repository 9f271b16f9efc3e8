"""Converts labelled texts to columns of their records.

    ("so, so", 1)  ->  label 1, text "so, so", text_tokens_len 3,
                       text_tokens_values [2061 1010 2061], text_tokens_splits_0 [0 1 2 3]

The tokens of a text are a ragged array of [words, pieces], or of [sentences, words, pieces].
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.schema.columns import Column, ColumnBatch
from bert_data.schema.fields import LABEL, TEXTS, labelled_records, num_tokens_name, tokens_name
from bert_data.schema.ragged_arrays import splits_name, values_name
from bert_data.text.documents import Text
from bert_data.text.sentences import DEFAULT_LANGUAGE, split_sentences
from bert_data.tokens.token_block import TokenizedSentences, tokenize_sentences
from bert_data.tokens.tokenizer import FastTokenizer

ONE, LINES, SPLIT = SENTENCES = ("one", "lines", "split")
"""What the sentences of a text are: it is one, its lines, or what `split_sentences` finds."""

COUNTS = (
    "num_texts", "num_sentences", "num_words", "num_tokens", "num_unknown", "num_without_tokens",
)  # fmt: skip
"""What is counted: records, what their texts hold, [UNK]s, records without a token."""


class LabelledColumns(NamedTuple):
    """A number of records, and their `COUNTS`."""

    batch: ColumnBatch
    counts: dict[str, int]


def make_labelled_columns(
    texts: Sequence[tuple[Text, ...]],
    labels: Sequence[int],
    tokenizer: FastTokenizer,
    *,
    sentences: str = ONE,
    language: str = DEFAULT_LANGUAGE,
) -> LabelledColumns:
    """Make the columns of some records.

    Args:
      texts: one text, or two, for each record, the same number in each; at least one record.
      labels: for each record, in the range of int64.
      tokenizer: several threads may use it at a time.
      sentences: one of `SENTENCES`. Lists already are sentences, unless this is "one".
      language: of the texts, for "split".
    """
    columns = {LABEL.name: Column(np.array(labels, np.int64))}
    nested, unk_id = sentences != ONE, tokenizer.vocabulary.unk_id
    counts = dict.fromkeys(COUNTS, 0)
    for name, its_texts in zip(TEXTS, zip(*texts, strict=True), strict=False):
        parts = [_sentences_of(text, sentences, language) for text in its_texts]
        tokens = tokenize_sentences(tokenizer, [sentence for part in parts for sentence in part])
        columns |= _token_columns(name, parts, tokens, nested=nested)
        columns[name] = Column(np.array([_joined(text).encode() for text in its_texts], object))
        counts["num_sentences"] += tokens.sentence_splits.size - 1
        counts["num_words"] += tokens.word_splits.size - 1
        counts["num_unknown"] += int(np.count_nonzero(tokens.ids == unk_id))
    kind = labelled_records(num_texts=len(texts[0]), nested=nested)
    batch = ColumnBatch(kind=kind, columns=columns)
    num_tokens = batch.num_tokens()
    counts["num_texts"] = num_tokens.size
    counts["num_tokens"] = int(num_tokens.sum(dtype=np.int64))
    counts["num_without_tokens"] = int(np.count_nonzero(num_tokens == 0))
    return LabelledColumns(batch, counts)


def _token_columns(
    name: str, parts: Sequence[Sequence[str]], tokens: TokenizedSentences, *, nested: bool
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
    levels = [(tokens.word_splits, word_bounds)]
    if nested:
        levels.insert(0, (tokens.sentence_splits, sentence_bounds))
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
    """Divide row splits of many records into each record's own, which begin with 0.

    Args:
      splits: int64[inner + 1], ascending.
      bounds: int64[records + 1]; record i has the inner rows bounds[i] to bounds[i + 1], and so
        bounds[i + 1] - bounds[i] + 1 splits.
    """
    sizes = np.diff(bounds) + 1
    starts = np.concatenate([[0], np.cumsum(sizes)])
    indices = np.arange(starts[-1]) - np.repeat(starts[:-1] - bounds[:-1], sizes)
    values = splits[indices] - np.repeat(splits[bounds[:-1]], sizes)
    return Column(values, starts.astype(np.int32))
