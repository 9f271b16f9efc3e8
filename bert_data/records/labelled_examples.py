"""Labelled texts in, bytes of their records out.

    ("so, so", 1)  ->  Example {label: [1], text: ["so, so"], text_tokens_len: [3],
                       text_tokens_values: [2061 1010 2061], text_tokens_splits_0: [0 1 2 3]}

The features' names are in `bert_data.features`. The tokens of a text are a ragged tensor of [words,
pieces], or of [sentences, words, pieces].
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data import features
from bert_data.records.example_bytes import (
    encode_bytes_list,
    encode_entries,
    encode_packed,
    frame_record,
    pack_int64_rows,
)
from bert_data.records.protobuf import INT64_LIST
from bert_data.schema.ragged_arrays import splits_name, values_name
from bert_data.text.sentences import DEFAULT_LANGUAGE, split_sentences
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.word_splits import TokenizedSentences, tokenize_sentences

ONE, LINES, SPLIT = SENTENCES = ("one", "lines", "split")
"""What the sentences of a text are: it is one, its lines, or what `split_sentences` finds."""

Text = str | list[str]
"""A text, or the sentences of one."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class MadeRecords:
    """Records one behind the other, and what is known of them.

    Attributes:
      data: their bytes, framed as in a TFRecord file.
      ends: int64[records], where in `data` each ends.
      num_tokens: uint32[records], tokens of all texts of a record.
      num_sentences: of all texts.
      num_words: of all texts.
      num_unknown: tokens that are [UNK].
    """

    data: bytes
    ends: NDArray[np.int64]
    num_tokens: NDArray[np.uint32]
    num_sentences: int
    num_words: int
    num_unknown: int


def make_labelled_records(
    texts: Sequence[tuple[Text, ...]],
    labels: Sequence[int],
    tokenizer: FastTokenizer,
    *,
    sentences: str = ONE,
    language: str = DEFAULT_LANGUAGE,
) -> MadeRecords:
    """Makes the records of some texts.

    Args:
      texts: of each record one text, or two; the same number in each.
      labels: of each record, in the range of int64.
      tokenizer: any number of threads may use it at a time.
      sentences: one of `SENTENCES`. Lists are sentences already, unless it is "one".
      language: of the texts, for "split".
    """
    columns = []
    for name, its_texts in zip(features.TEXTS, zip(*texts, strict=True), strict=False):
        parts = [_sentences_of(text, sentences, language) for text in its_texts]
        columns.append(_make_column(name, its_texts, parts, tokenizer, nested=sentences != ONE))
    label_rows = pack_int64_rows(np.array(labels, np.int64), np.arange(len(labels) + 1))
    records = []
    for number, packed in enumerate(label_rows):
        entries = {features.LABEL: encode_packed(features.LABEL, INT64_LIST, packed)}
        for column in columns:
            entries |= {name: rows[number] for name, rows in column.entries.items()}
        records.append(frame_record(encode_entries([entries[name] for name in sorted(entries)])))
    unk_id = tokenizer.vocabulary.unk_id
    return MadeRecords(
        data=b"".join(records),
        ends=np.cumsum([len(record) for record in records]),
        num_tokens=np.sum([column.num_tokens for column in columns], axis=0).astype(np.uint32),
        num_sentences=sum(column.tokens.sentence_splits.size - 1 for column in columns),
        num_words=sum(column.tokens.word_splits.size - 1 for column in columns),
        num_unknown=sum(int(np.count_nonzero(c.tokens.ids == unk_id)) for c in columns),
    )


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class _Column:
    """The entries of one text of each record, by feature, and its numbers of tokens."""

    entries: dict[str, list[bytes]]
    num_tokens: NDArray[np.int64]
    tokens: TokenizedSentences


def _make_column(
    name: str,
    texts: Sequence[Text],
    parts: Sequence[Sequence[str]],
    tokenizer: FastTokenizer,
    *,
    nested: bool,
) -> _Column:
    """Makes the entries of one text of each record; `parts` are the sentences of each."""
    tokens = tokenize_sentences(tokenizer, [sentence for part in parts for sentence in part])
    sentence_bounds = np.cumsum([0, *map(len, parts)])
    word_bounds = tokens.sentence_splits[sentence_bounds]
    token_bounds = tokens.word_splits[word_bounds]
    num_tokens = np.diff(token_bounds)
    rows = np.arange(num_tokens.size + 1)
    ragged, count = features.tokens_name(name), features.num_tokens_name(name)
    levels = [(tokens.word_splits, word_bounds)]
    if nested:
        levels.insert(0, (tokens.sentence_splits, sentence_bounds))
    packed = {
        values_name(ragged): pack_int64_rows(tokens.ids, token_bounds),
        count: pack_int64_rows(num_tokens, rows),
    }
    for dimension, (splits, bounds) in enumerate(levels):
        packed[splits_name(ragged, dimension)] = pack_int64_rows(*_splits_of_rows(splits, bounds))
    entries = {
        feature: [encode_packed(feature, INT64_LIST, row) for row in rows_of_feature]
        for feature, rows_of_feature in packed.items()
    }
    entries[name] = [encode_bytes_list(name, [_joined(text).encode()]) for text in texts]
    return _Column(entries=entries, num_tokens=num_tokens, tokens=tokens)


def _joined(text: Text) -> str:
    return text if isinstance(text, str) else "\n".join(text)


def _sentences_of(text: Text, how: str, language: str) -> list[str]:
    if how == ONE:
        return [_joined(text)]
    if isinstance(text, list):
        return text
    if how == SPLIT:
        return split_sentences(text, language)
    return [line for line in text.splitlines() if line.strip()]


def _splits_of_rows(
    splits: NDArray[np.int64], bounds: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cuts row splits of many records into each record's own, which begin with 0.

    Args:
      splits: int64[inner + 1], ascending.
      bounds: int64[records + 1]; record i has the inner rows bounds[i] to bounds[i + 1].

    Returns:
      The splits of all records one behind the other, and int64[records + 1], where each record's
      begin; record i has bounds[i + 1] - bounds[i] + 1 of them.
    """
    sizes = np.diff(bounds) + 1
    starts = np.concatenate([[0], np.cumsum(sizes)])
    taken = np.arange(starts[-1]) - np.repeat(starts[:-1] - bounds[:-1], sizes)
    return splits[taken] - np.repeat(splits[bounds[:-1]], sizes), starts
