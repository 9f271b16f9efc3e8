"""Measure masked LM records: a block of records in; counts, faults and hashes out.

One kernel decodes a record, restores its text (the labels in place of what is shown) and compares
everything that must agree.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.example import IDS, LABELS, MASK, POSITIONS, SEGMENTS, WEIGHTS
from bert_data.reader.examples.number_lists import put_numbers
from bert_data.reader.layout import NUMBERED
from bert_data.tokens.special_tokens import is_special
from bert_data.tokens.word_bits import goes_on

COUNTS = (
    "records", "tokens", "predictions", "expected_predictions", "at_limit", "masked", "kept",
    "replaced", "text_tokens", "unknown", "random_next", "predicted_words", "partial_words",
    "run_squares", "mixed_runs", "runs", "expected_runs",
)  # fmt: skip
"""The counts of `MeasuredBlock`."""

(
    RECORDS, TOKENS, PREDICTIONS, EXPECTED, AT_LIMIT, MASKED, KEPT,
    REPLACED, TEXT_TOKENS, UNKNOWN, RANDOM_NEXT, PREDICTED_WORDS, PARTIAL_WORDS,
    RUN_SQUARES, MIXED_RUNS, RUNS, EXPECTED_RUNS,
) = range(len(COUNTS))  # fmt: skip

FAULTS = {
    "form": "",  # it depends on the number of segments
    "ids": "with an id outside the vocabulary",
    "mask": "whose input_mask or masked_lm_weights have a 0 before a 1",
    "positions": "whose masked_lm_positions do not ascend inside their tokens",
    "specials": "that predict a special token",
    "inside": "with a special token inside a segment (add_special_tokens=False leaves it out)",
    "label": "whose next_sentence_label is neither 0 nor 1",
    "splits": "whose row splits do not ascend from 0 to their number of tokens",
    "words": "whose row splits contradict the vocabulary's pieces of words",
    "too_long": "of more tokens than max_seq_length",
    "too_many": "with more predictions than their flags allow",
    "too_few": "with fewer predictions than their flags ask for",
}
"""The faults of records, in order of harm; bit i of a record's faults is the i-th."""

(
    _BAD_FORM, _BAD_IDS, _BAD_MASK, _BAD_POSITIONS, _SPECIALS, _INSIDE, _BAD_LABEL, _BAD_SPLITS,
    _BAD_WORDS, _TOO_LONG, _TOO_MANY, _TOO_FEW,
) = (1 << bit for bit in range(len(FAULTS)))  # fmt: skip

LEAST_OF_RUNS = 8
NEXT, SPLITS = len(NUMBERED), len(NUMBERED) + 1  # spans after those of numbered features
_FLOAT_ONE = np.int32(np.float32(1).view(np.int32))
_FACTOR, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)  # 2**64 by the golden ratio


class Rule(NamedTuple):
    """Limits that records must keep; -1 where unknown.

    Attributes:
      vocab_size: ids are below it.
      max_seq_length, max_predictions_per_seq: the most that a record holds.
      num_segments: 2 or 1.
      is_exact: 0 if records may have fewer predictions than `num_to_predict`.
      num_to_predict: int32[length + 1], predictions of a record of each length; a longer one counts
        as the longest. Empty if they are unknown.
      word_bits: uint16[vocab_size], see `tokens.word_bits`; empty if that is unknown.
      special: bool[any], which ids are never predicted, see `special_table`.
    """

    cls_id: int
    sep_id: int
    mask_id: int
    unk_id: int
    vocab_size: int
    max_seq_length: int
    max_predictions_per_seq: int
    num_segments: int
    is_exact: int
    num_to_predict: NDArray[np.int32]
    word_bits: NDArray[np.uint16]
    special: NDArray[np.bool_]


class MeasuredBlock(NamedTuple):
    """Contents of a block.

    Attributes:
      counts: int64[counts], in the order of `COUNTS`: records and their tokens; predictions, and
        how many the flags ask for; records with as many predictions as are allowed; what is shown
        for a prediction ([MASK], the token itself, another); tokens of text (without [CLS] and
        [SEP]) and how many of them are [UNK]; records with label 1; words with a prediction, and
        those among them of which a piece is not predicted; of runs (predictions side by side) the
        squares of their lengths, and those that are shown in different ways; in records of
        `LEAST_OF_RUNS` predictions or more their runs, and 1000 times as many as there are by
        chance.
      num_faults: int64[faults], records with each of `FAULTS`.
      faults: int32[records], their bits.
      texts: uint64[records], hash of the text, and of where its second segment begins.
      instances: uint64[records], hash of everything in the record.
    """

    counts: NDArray[np.int64]
    num_faults: NDArray[np.int64]
    faults: NDArray[np.int32]
    texts: NDArray[np.uint64]
    instances: NDArray[np.uint64]


class _Record(NamedTuple):
    """The numbers of one record: int32[tokens] or [predictions].

    Row splits, if any, have two places more than tokens, with 0 after the last split.
    """

    ids: NDArray[np.int32]
    mask: NDArray[np.int32]
    segments: NDArray[np.int32]
    positions: NDArray[np.int32]
    labels: NDArray[np.int32]
    weights: NDArray[np.int32]
    splits: NDArray[np.int32]
    next_label: Scalar


@inner
def _mix(value: np.uint64, number: Scalar) -> np.uint64:
    value = (value ^ np.uint64(number)) * _FACTOR
    return value ^ value >> _SHIFT


@inner
def _find_b(record: _Record) -> Scalar:
    """Return where segment 1 begins; the number of tokens without one, -1 if they do not ascend."""
    size = record.segments.size
    begin = np.int64(size)
    for i in range(size):
        begin -= record.segments[i]
    num_wrong = np.int64(0)
    for i in range(size):
        num_wrong += np.int64(record.segments[i] != np.int32(i >= begin))
    return np.int64(-1) if num_wrong else begin


@inner
def _count_others(values: NDArray[np.int32], value: np.int32) -> Scalar:
    count = np.int64(0)
    for i in range(values.size):
        count += np.int64(values[i] != value)
    return count


@inner
def _are_outside(ids: NDArray[np.int32], vocab_size: Scalar) -> bool:
    low, high = np.int32(0), np.int32(-1)
    for i in range(ids.size):
        low, high = min(low, ids[i]), max(high, ids[i])
    return bool(low < 0 or (vocab_size >= 0 and high >= vocab_size))


@inner
def _check_form(record: _Record, b_begin: Scalar, rule: Rule) -> Scalar:
    ids, size = record.ids, record.ids.size
    faults = np.int64(0)
    is_good = size >= 2 and b_begin >= 2
    is_good = is_good and rule.num_segments != (1 if b_begin < size else 2)
    if is_good and rule.cls_id >= 0:
        is_good = ids[0] == rule.cls_id and ids[size - 1] == rule.sep_id
        is_good = is_good and ids[b_begin - 1] == rule.sep_id
    if not is_good:
        faults |= _BAD_FORM
    if _count_others(record.mask, np.int32(1)) or _count_others(record.weights, _FLOAT_ONE):
        faults |= _BAD_MASK
    if _are_outside(ids, rule.vocab_size) or _are_outside(record.labels, rule.vocab_size):
        faults |= _BAD_IDS
    if record.next_label < 0 or record.next_label > 1:
        faults |= _BAD_LABEL
    if rule.max_seq_length >= 0 and size > rule.max_seq_length:
        faults |= _TOO_LONG
    return faults


@inner
def _restore(
    record: _Record, rule: Rule, is_predicted: NDArray[np.bool_], counts: NDArray[np.int64]
) -> tuple[Scalar, np.uint64]:
    """Put the labels in place of what is shown: (faults, hash of positions and what is shown)."""
    faults, previous, shown_hash = np.int64(0), np.int32(-1), np.uint64(record.next_label)
    size = record.ids.size
    length = num_runs = first_kind = is_mixed = np.int64(0)
    for k in range(record.positions.size):
        position, label = record.positions[k], record.labels[k]
        if position <= previous or position >= size:
            faults |= _BAD_POSITIONS
        if is_special(label, rule.special):
            faults |= _SPECIALS
        is_beside, previous = 0 < position == previous + 1, position
        if position < 0 or position >= size:
            continue
        shown = record.ids[position]
        shown_hash = _mix(_mix(shown_hash, position), shown)
        kind = MASKED if shown == rule.mask_id else KEPT if shown == label else REPLACED
        counts[kind] += 1
        if not is_beside:
            counts[RUN_SQUARES] += length * length
            counts[MIXED_RUNS] += is_mixed
            num_runs += 1
            length, first_kind, is_mixed = np.int64(0), np.int64(kind), np.int64(0)
        length += 1
        is_mixed |= np.int64(kind != first_kind)
        record.ids[position] = label
        is_predicted[position] = True
    counts[RUN_SQUARES] += length * length
    counts[MIXED_RUNS] += is_mixed
    if record.positions.size >= LEAST_OF_RUNS:
        counts[RUNS] += num_runs
    return faults, shown_hash


@inner
def _begins_word(record: _Record, i: Scalar, b_begin: Scalar, rule: Rule) -> bool:
    if i <= 1 or i == b_begin:
        return True
    return not goes_on(rule.word_bits, np.int64(record.ids[i - 1]), np.int64(record.ids[i]))


@inner
def _are_good(splits: NDArray[np.int32], size: Scalar) -> bool:
    last = 0
    while last < size and splits[last] < splits[last + 1]:
        last += 1
    return splits[0] == 0 and splits[last] == size and splits[last + 1] == 0


@inner
def _check_words(
    record: _Record,
    b_begin: Scalar,
    rule: Rule,
    is_predicted: NDArray[np.bool_],
    counts: NDArray[np.int64],
) -> Scalar:
    """Compare row splits with the vocabulary, and predictions with words. Return faults."""
    splits, size = record.splits, record.ids.size
    if splits.size:
        if not _are_good(splits, size):
            return _BAD_SPLITS
    elif not rule.word_bits.size:
        return 0
    faults, word = np.int64(0), np.int64(0)
    num_pieces = num_predicted = np.int64(0)
    for i in range(size):
        begins = _begins_word(record, i, b_begin, rule)
        if splits.size:
            is_split = splits[word] == i
            word += np.int64(is_split)
            if rule.word_bits.size and begins != is_split:
                faults |= _BAD_WORDS
            begins = is_split
        if begins:
            counts[PREDICTED_WORDS] += np.int64(num_predicted > 0)
            counts[PARTIAL_WORDS] += np.int64(0 < num_predicted < num_pieces)
            num_pieces = num_predicted = np.int64(0)
        num_pieces += 1
        num_predicted += np.int64(is_predicted[i])
        is_predicted[i] = False
    return faults


@inner
def _count(
    record: _Record, b_begin: Scalar, rule: Rule, counts: NDArray[np.int64]
) -> tuple[Scalar, np.uint64]:
    """Count what the restored record holds; return faults and the hash of its text."""
    size, num_predictions = record.ids.size, record.positions.size
    num_specials = 2 + np.int64(0 <= b_begin < size)
    text, num_never = _mix(np.uint64(size), b_begin), np.int64(0)
    for i in range(size):
        text = _mix(text, record.ids[i])
        num_never += np.int64(is_special(record.ids[i], rule.special))
    counts[UNKNOWN] += size - _count_others(record.ids, np.int32(rule.unk_id))
    counts[RECORDS] += 1
    counts[TOKENS] += size
    counts[TEXT_TOKENS] += max(np.int64(0), size - num_specials)
    counts[PREDICTIONS] += num_predictions
    counts[AT_LIMIT] += np.int64(num_predictions == rule.max_predictions_per_seq)
    counts[RANDOM_NEXT] += np.int64(record.next_label == 1)
    num_ordinary = max(np.int64(0), size - max(num_specials, num_never))
    if LEAST_OF_RUNS <= num_predictions <= num_ordinary:
        gaps = num_ordinary - num_predictions + 1
        counts[EXPECTED_RUNS] += 1000 * num_predictions * gaps // num_ordinary
    inside = np.int64(_INSIDE * (num_never > num_specials))
    if not rule.num_to_predict.size:
        return inside, text
    asked = rule.num_to_predict[min(size, rule.num_to_predict.size - 1)]
    expected = min(np.int64(asked), num_ordinary)
    counts[EXPECTED] += expected
    is_short = np.int64(num_predictions < expected and rule.is_exact)
    return inside | (_TOO_MANY if num_predictions > expected else _TOO_FEW * is_short), text


@inner
def _measure_record(
    record: _Record, rule: Rule, is_predicted: NDArray[np.bool_], counts: NDArray[np.int64]
) -> tuple[Scalar, np.uint64, np.uint64]:
    """Return the faults of a record, and the hashes of its text and of all of it."""
    b_begin = _find_b(record)
    faults = _check_form(record, b_begin, rule)
    more, shown = _restore(record, rule, is_predicted, counts)
    faults |= more | _check_words(record, b_begin, rule, is_predicted, counts)
    more, text = _count(record, b_begin, rule, counts)
    for i in range(record.ids.size):
        is_predicted[i] = False
    return faults | more, text, _mix(shown, text)


@inner
def _decode(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    spans: NDArray[np.int32],
    feature: Scalar,
    place: NDArray[np.int64],
    out: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Decode a feature of one record; `place` is int64[2], 0 and the number of its values."""
    place[1] = out.size
    is_float = feature == WEIGHTS
    put_numbers(data, starts, spans[:, feature], place[:1], place[1:], is_float, out)
    return out


@kernel
def _measure(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    spans: NDArray[np.int32],
    lengths: NDArray[np.int32],
    rule: Rule,
    room: NDArray[np.int32],
    place: NDArray[np.int64],
    is_predicted: NDArray[np.bool_],
    counts: NDArray[np.int64],
    num_faults: NDArray[np.int64],
    faults: NDArray[np.int32],
    texts: NDArray[np.uint64],
    instances: NDArray[np.uint64],
) -> None:
    """`room` is int32[8, most values of a feature], to decode into."""
    for i in range(starts.size):
        start, span = starts[i : i + 1], spans[i : i + 1]
        tokens, predictions = np.int64(lengths[i, 0]), np.int64(lengths[i, 1])
        num_splits = tokens + 2 if spans[i, SPLITS, 1] else 0
        record = _Record(
            _decode(data, start, span, IDS, place, room[IDS, :tokens]),
            _decode(data, start, span, MASK, place, room[MASK, :tokens]),
            _decode(data, start, span, SEGMENTS, place, room[SEGMENTS, :tokens]),
            _decode(data, start, span, POSITIONS, place, room[POSITIONS, :predictions]),
            _decode(data, start, span, LABELS, place, room[LABELS, :predictions]),
            _decode(data, start, span, WEIGHTS, place, room[WEIGHTS, :predictions]),
            _decode(data, start, span, SPLITS, place, room[SPLITS, :num_splits]),
            np.int64(_decode(data, start, span, NEXT, place, room[NEXT, :1])[0]),
        )
        bits, texts[i], instances[i] = _measure_record(record, rule, is_predicted, counts)
        faults[i] = bits
        for bit in range(num_faults.size):
            num_faults[bit] += bits >> bit & 1


def measure_records(block: RecordBlock, rule: Rule) -> MeasuredBlock:
    """Measure undamaged records.

    Their `spans` are those of the numbered features, of the label and of the row splits, (0, 0)
    where there is none.
    """
    num_records = block.num_records
    most = int(block.lengths.max(initial=0)) + 2
    measured = MeasuredBlock(
        counts=np.zeros(len(COUNTS), np.int64),
        num_faults=np.zeros(len(FAULTS), np.int64),
        faults=np.empty(num_records, np.int32),
        texts=np.empty(num_records, np.uint64),
        instances=np.empty(num_records, np.uint64),
    )
    _measure(
        block.data, block.starts, block.spans, block.lengths, rule,
        np.empty((SPLITS + 1, most), np.int32), np.zeros(2, np.int64), np.zeros(most, np.bool_),
        *measured,
    )  # fmt: skip
    return measured
