"""The sequences of batches as columns of records.

rows of a batch   [CLS] the [MASK] [SEP] 0 | [CLS] a dog [SEP] 0      padded, or packed
input_ids         [CLS] the [MASK] [SEP] [CLS] a dog [SEP]            splits 0 4 8
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.objectives.making import InstanceCounts
from bert_data.objectives.rows import Instance
from bert_data.reader.layout import Arrays, arrays_of
from bert_data.recipes.run_batches import Placed, form_of
from bert_data.schema import fields
from bert_data.schema.columns import Column
from bert_data.tokens.vocabulary import TokenTable

_IDS, _SEGMENTS = fields.INPUT_IDS.name, fields.SEGMENT_IDS.name
_POSITIONS, _LABELS = fields.MASKED_LM_POSITIONS.name, fields.MASKED_LM_IDS.name
_NEXT, _WORDS = fields.NEXT_SENTENCE_LABELS.name, fields.INPUT_IDS_SPLITS.name


class SequencePart(NamedTuple):
    """Sequences `start` to `stop` of batches, without those of empty rows."""

    placed: Placed
    start: int
    stop: int


class _Flat(NamedTuple):
    """The values of sequences, end to end; places of predictions are among all tokens."""

    ids: NDArray[np.int32]
    segments: NDArray[np.int32]
    places: NDArray[np.int64]
    labels: NDArray[np.int32]
    next_labels: NDArray[np.int32]


def _flatten(batch: Arrays, first: int) -> _Flat:
    """Return the values of a batch, whose tokens are numbered from `first` on."""
    is_token = batch[fields.INPUT_MASK.name] != 0
    is_predicted = batch[fields.MASKED_LM_WEIGHTS.name] > 0
    ends = is_token.sum(axis=1).cumsum()
    starts = first + np.concatenate(([0], ends[:-1]))
    next_labels: Any = np.zeros(0, np.int32)
    if _NEXT in batch:
        next_labels = batch[_NEXT][batch[fields.NEXT_SENTENCE_WEIGHTS.name] > 0]
    ids: Any = batch[_IDS][is_token]
    segments: Any = batch[_SEGMENTS][is_token]
    labels: Any = batch[_LABELS][is_predicted]
    places = (batch[_POSITIONS] + starts[:, np.newaxis])[is_predicted].astype(np.int64)
    return _Flat(ids, segments, places, labels, next_labels)


def _cut(part: SequencePart) -> tuple[NDArray[np.int32], _Flat]:
    """Return the splits of the tokens of sequences, and their values."""
    placed, flat, first = part.placed, [], 0
    for batch in arrays_of(placed.group, form_of([placed.stage]).layout):
        flat.append(_flatten(batch, first))
        first += flat[-1].ids.size
    columns: Any = zip(*flat, strict=True)
    ids, segments, places, labels, next_labels = map(np.concatenate, columns)
    lengths = placed.lengths[placed.lengths > 0]
    ends = np.concatenate(([0], lengths.cumsum()))[part.start : part.stop + 1]
    tokens = slice(ends[0], ends[-1])
    chosen = slice(*np.searchsorted(places, ends[[0, -1]]))
    return (ends - ends[0]).astype(np.int32), _Flat(
        ids[tokens],
        segments[tokens],
        places[chosen] - ends[0],
        labels[chosen],
        next_labels[part.start : part.stop],
    )


def columns_of(part: SequencePart, vocabulary: TokenTable) -> dict[str, Column]:
    """Return the columns of any kind of masked LM records, by their names."""
    splits, flat = _cut(part)
    prediction_splits = np.searchsorted(flat.places, splits).astype(np.int32)
    positions = flat.places - splits[:-1].repeat(np.diff(prediction_splits))
    columns = {
        _IDS: Column(flat.ids, splits),
        _SEGMENTS: Column(flat.segments.astype(np.int8), splits),
        _POSITIONS: Column(positions.astype(np.int32), prediction_splits),
        _LABELS: Column(flat.labels, prediction_splits),
        _WORDS: _word_splits(flat, splits, vocabulary, part.placed.stage.stage.num_special > 0),
    }
    if flat.next_labels.size:
        columns[_NEXT] = Column(flat.next_labels != 0)
    return columns


def _word_splits(
    flat: _Flat, splits: NDArray[np.int32], vocabulary: TokenTable, has_specials: bool
) -> Column:
    """Return the row splits of the pieces into words, as before masking.

    The first piece of A and of B begins a word, see `objectives.rows`.
    """
    ids, bits = flat.ids.copy(), vocabulary.word_bits
    ids[flat.places] = flat.labels
    begins = np.ones(ids.size, np.bool_)
    begins[1:] = bits[ids[:-1]] >> 8 & bits[ids[1:]] & 0xFF == 0
    begins[1:] |= flat.segments[1:] != flat.segments[:-1]
    begins[splits[:-1]] = True
    if has_specials:
        begins[splits[:-1] + 1] = True
    places = np.flatnonzero(begins)
    word_splits = np.searchsorted(places, splits)
    starts = places - splits[:-1].repeat(np.diff(word_splits))
    values = np.insert(starts, word_splits[1:], np.diff(splits)).astype(np.int32)
    return Column(values, (word_splits + np.arange(splits.size)).astype(np.int32))


def count(columns: dict[str, Column], mask_id: int, *, swaps: bool) -> InstanceCounts:
    """Count what columns hold.

    Args:
      swaps: whether the label 1 stands for swapped segments, if not for those of lone sentences.
    """
    (ids, splits), (positions, of_records) = columns[_IDS], columns[_POSITIONS]
    labels = columns[_LABELS].values
    assert splits is not None
    assert of_records is not None
    shown = ids[positions + splits[:-1].repeat(np.diff(of_records))]
    num_masked = int(np.count_nonzero(shown == mask_id))
    num_kept = int(np.count_nonzero((shown == labels) & (shown != mask_id)))
    num_ones = int(columns[_NEXT].values.sum()) if _NEXT in columns else 0
    return InstanceCounts(
        num_instances=splits.size - 1,
        num_random_next=0 if swaps else num_ones,
        num_swapped=num_ones if swaps else None,
        num_tokens=ids.size,
        num_masked=num_masked,
        num_kept=num_kept,
        num_replaced=shown.size - num_masked - num_kept,
    )


def instance_of(columns: dict[str, Column], number: int) -> Instance:
    """Return a record for people."""
    values = {}
    for name, (all_values, splits) in columns.items():
        own = all_values if splits is None else all_values[splits[number] : splits[number + 1]]
        values[name] = own.tolist()
    return Instance(
        ids=tuple(values[_IDS]),
        segment_ids=tuple(values[_SEGMENTS]),
        masked_positions=tuple(values[_POSITIONS]),
        masked_ids=tuple(values[_LABELS]),
        label=values[_NEXT][number] if _NEXT in values else None,
    )
