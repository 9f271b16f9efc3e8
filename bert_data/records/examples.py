"""tf.train.Example bytes of instances, framed as TFRecords, straight from rows and the token store.

    row + store  ->  length, crc(length), Example{input_ids, input_mask, ...}, crc(Example)

An Example is a protobuf map and protobuf leaves the order of a map's entries open; here they are
sorted by key, which is protobuf's deterministic serialization, so equal records are equal bytes.
On the wire (protobuf encoding, field numbers of tensorflow/core/example):

    Example 0A n ( entry 0A n ( key 0A n "input_ids"  value 12 n ( list 1A n ( 0A n varints )))) ...
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data import features
from bert_data.instances.rows import HEADER_WORDS, code_bits
from bert_data.kernels import Scalar, inner, kernel
from bert_data.records.crc32c import masked_crc32c_of_range
from bert_data.tokens.vocabulary import Vocabulary

_NAMES = sorted((
    features.INPUT_IDS,
    features.INPUT_IDS_SPLITS,
    features.INPUT_MASK,
    features.MASKED_LM_IDS,
    features.MASKED_LM_POSITIONS,
    features.MASKED_LM_WEIGHTS,
    features.NEXT_SENTENCE_LABELS,
    features.SEGMENT_IDS,
))  # fmt: skip
_NUM_KEYS = 8
NUM_SCRATCH_ARRAYS = _NUM_KEYS
_IDS, _SPLITS, _MASK, _LABELS, _POSITIONS, _WEIGHTS, _NEXT, _SEGMENTS = range(_NUM_KEYS)
_ABSENT = -1  # count of values of a feature that a layout does not have
_ONE_AS_FLOAT32 = 0x3F800000
_FLOAT_LIST, _INT64_LIST = 0x12, 0x1A  # field tags in a Feature
_FIELD_1, _FIELD_2 = 0x0A, 0x12  # tags of fields 1 and 2 that hold bytes
_FRAME_BYTES = 16  # length, its checksum, the data's checksum
_HEADER_BYTES = 64  # at most, of a feature: tags, lengths and key
_SPARE_BYTES = 8  # a varint is written with stores beyond its end


class RecordLayout(NamedTuple):
    """What the bytes of a record depend on, beside its row.

    Attributes:
      seq_length, predictions: what is padded to; 0 for ragged records.
      continues: bool[vocabulary size], whether a piece continues a word.
      cls_id, sep_id: ids of [CLS] and [SEP].
      code_bits: bits of a code in a row.
      names: uint8[8, longest], of the features, sorted.
      name_lengths: int64[8].
    """

    seq_length: int
    predictions: int
    continues: NDArray[np.bool_]
    cls_id: int
    sep_id: int
    code_bits: int
    names: NDArray[np.uint8]
    name_lengths: NDArray[np.int64]


def record_layout(
    name: str, vocabulary: Vocabulary, *, max_seq_length: int, max_predictions_per_seq: int
) -> RecordLayout:
    """The layout `name`, one of `features.LAYOUTS`."""
    padded = name == features.REFERENCE
    names = np.zeros((len(_NAMES), max(map(len, _NAMES))), np.uint8)
    for row, text in zip(names, _NAMES, strict=True):
        row[: len(text)] = np.frombuffer(text.encode(), np.uint8)
    return RecordLayout(
        seq_length=max_seq_length if padded else 0,
        predictions=max_predictions_per_seq if padded else 0,
        continues=vocabulary.continuation,
        cls_id=vocabulary.cls_id,
        sep_id=vocabulary.sep_id,
        code_bits=code_bits(vocabulary.size),
        names=names,
        name_lengths=np.array([len(text) for text in _NAMES], np.int64),
    )


def max_record_bytes(max_seq_length: int, max_predictions_per_seq: int) -> int:
    """More bytes than any record of these lengths takes, frame included."""
    per_token = 5 + 3 + 1 + 1  # id, row split, mask, segment
    per_prediction = 5 + 3 + 4  # label, position, weight
    variable = per_token * (max_seq_length + 1) + per_prediction * max_predictions_per_seq
    return _FRAME_BYTES + _SPARE_BYTES + _HEADER_BYTES * (len(_NAMES) + 1) + variable


@inner
def _varint_size(value: Scalar) -> Scalar:
    size = np.int64(1)
    while value >= 128:
        value >>= 7
        size += 1
    return size


@inner
def _put_varint(out: NDArray[np.uint8], at: Scalar, value: Scalar) -> Scalar:
    while value >= 128:
        out[at] = value & 127 | 128
        value >>= 7
        at += 1
    out[at] = value
    return at + 1


@inner
def _varints_size(values: NDArray[np.int32], num_values: Scalar) -> Scalar:
    """Bytes of packed varints; values in [0, 2**31)."""
    size = np.int64(num_values)
    for i in range(num_values):
        value = values[i]
        size += (
            np.int64(value >= 1 << 7)
            + np.int64(value >= 1 << 14)
            + np.int64(value >= 1 << 21)
            + np.int64(value >= 1 << 28)
        )
    return size


@inner
def _put_varints(
    out: NDArray[np.uint8], at: Scalar, values: NDArray[np.int32], num_values: Scalar, size: Scalar
) -> Scalar:
    """Packed varints of `size` bytes, by code without unpredictable branches; returns the end."""
    if size == num_values:
        for i in range(num_values):
            out[at + i] = values[i]
        return at + size
    for i in range(num_values):
        value = np.int64(values[i])
        if value >= 1 << 21:
            at = _put_varint(out, at, value)
            continue
        two, three = np.int64(value >= 1 << 7), np.int64(value >= 1 << 14)
        out[at] = value & 127 | two << 7
        out[at + 1] = value >> 7 & 127 | three << 7
        out[at + 2] = value >> 14
        at += 1 + two + three
    return at


@inner
def _fill(out: NDArray[np.uint8], at: Scalar, value: Scalar, count: Scalar) -> Scalar:
    for i in range(count):
        out[at + i] = value
    return at + count


@inner
def _list_size(payload_size: Scalar) -> Scalar:
    return payload_size + 1 + _varint_size(payload_size) if payload_size else np.int64(0)


@inner
def _entry_size(key_length: Scalar, payload_size: Scalar) -> Scalar:
    """Bytes of a map entry behind its tag and length."""
    list_size = _list_size(payload_size)
    feature_size = 1 + _varint_size(list_size) + list_size
    return 2 + key_length + 1 + _varint_size(feature_size) + feature_size


@inner
def _put_header(
    out: NDArray[np.uint8],
    at: Scalar,
    key: Scalar,
    name: NDArray[np.uint8],
    name_length: Scalar,
    payload_size: Scalar,
) -> Scalar:
    """The bytes of an entry before its payload; returns their end."""
    list_size = _list_size(payload_size)
    out[at] = _FIELD_1
    at = _put_varint(out, at + 1, _entry_size(name_length, payload_size))
    out[at] = _FIELD_1
    out[at + 1] = name_length
    for i in range(name_length):
        out[at + 2 + i] = name[i]
    at += 2 + name_length
    out[at] = _FIELD_2
    at = _put_varint(out, at + 1, 1 + _varint_size(list_size) + list_size)
    out[at] = _FLOAT_LIST if key == _WEIGHTS else _INT64_LIST
    at = _put_varint(out, at + 1, list_size)
    if payload_size:
        out[at] = _FIELD_1
        at = _put_varint(out, at + 1, payload_size)
    return at


@inner
def _assemble_tokens(
    row: NDArray[np.uint32],
    ids: NDArray[np.integer],
    layout: RecordLayout,
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> tuple[Scalar, Scalar]:
    """Reads the tokens, segments, mask and words of a row: (tokens, B's start)."""
    tokens, segments, mask = values[_IDS], values[_SEGMENTS], values[_MASK]
    a_begin = np.int64(row[0]) | np.int64(row[1]) << 32
    b_begin = np.int64(row[2]) | np.int64(row[3]) << 32
    a_length, b_length = np.int64(row[4]) & 0xFFFF, np.int64(row[4]) >> 16
    b_start = a_length + 2
    num_tokens = b_start + b_length + 1
    tokens[0] = layout.cls_id
    for i in range(a_length):
        tokens[1 + i] = ids[a_begin + i]
    tokens[b_start - 1] = layout.sep_id
    for i in range(b_length):
        tokens[b_start + i] = ids[b_begin + i]
    tokens[num_tokens - 1] = layout.sep_id
    length: Scalar = max(num_tokens, layout.seq_length)
    for i in range(num_tokens, length):
        tokens[i] = 0
    for i in range(length):
        mask[i] = i < num_tokens
        segments[i] = b_start <= i < num_tokens
    counts[_IDS] = counts[_MASK] = counts[_SEGMENTS] = length
    return num_tokens, b_start


@inner
def _assemble_words(
    layout: RecordLayout,
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    num_tokens: Scalar,
    b_start: Scalar,
) -> None:
    """Finds the row splits of the pieces into words."""
    tokens, splits, continues = values[_IDS], values[_SPLITS], layout.continues
    num_words = np.int64(0)
    for i in range(num_tokens):
        splits[num_words] = i  # overwritten by the next piece if this one begins no word
        is_first = (
            i <= 1 or i == b_start
        )  # after [CLS] or [SEP], also where B was cut inside a word
        num_words += np.int64(is_first or not continues[tokens[i]])
    splits[num_words] = num_tokens
    counts[_SPLITS] = num_words + 1


@inner
def _assemble_predictions(
    row: NDArray[np.uint32],
    layout: RecordLayout,
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Reads what is to be predicted, and puts masks and random words among the tokens."""
    tokens, positions, labels, weights = (
        values[_IDS],
        values[_POSITIONS],
        values[_LABELS],
        values[_WEIGHTS],
    )
    num_predictions = np.int64(row[5]) >> 1
    keep = (np.int64(1) << layout.code_bits) - 1
    for i in range(num_predictions):
        word = np.int64(row[HEADER_WORDS + i])
        position, code = word >> layout.code_bits, word & keep
        positions[i], labels[i], weights[i] = position, tokens[position], _ONE_AS_FLOAT32
        if code != keep:
            tokens[position] = code
    num_values: Scalar = max(num_predictions, layout.predictions)
    for i in range(num_predictions, num_values):
        positions[i] = labels[i] = weights[i] = 0
    counts[_POSITIONS] = counts[_LABELS] = counts[_WEIGHTS] = num_values
    values[_NEXT, 0] = row[5] & 1
    counts[_NEXT] = 1


@inner
def _put_little_endian(
    out: NDArray[np.uint8], at: Scalar, value: Scalar, num_bytes: Scalar
) -> Scalar:
    for i in range(num_bytes):
        out[at + i] = value >> (8 * i) & 255
    return at + num_bytes


@inner
def _put_example(
    out: NDArray[np.uint8],
    at: Scalar,
    layout: RecordLayout,
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> Scalar:
    """One Example; returns its end."""
    names, name_lengths = layout.names, layout.name_lengths
    entries_size = np.int64(0)
    for key in range(_NUM_KEYS):
        sizes[key] = 4 * counts[key] if key == _WEIGHTS else _varints_size(values[key], counts[key])
        entry_size = _entry_size(name_lengths[key], sizes[key])
        if counts[key] != _ABSENT:
            entries_size += 1 + _varint_size(entry_size) + entry_size
    out[at] = _FIELD_1
    at = _put_varint(out, at + 1, entries_size)
    for key in range(_NUM_KEYS):
        if counts[key] == _ABSENT:
            continue
        at = _put_header(out, at, key, names[key], name_lengths[key], sizes[key])
        if key == _WEIGHTS:
            for i in range(counts[key]):
                at = _put_little_endian(out, at, np.int64(values[key, i]), 4)
        else:
            at = _put_varints(out, at, values[key], counts[key], sizes[key])
    return at


@kernel
def write_records(
    rows: NDArray[np.uint32],
    order: NDArray[np.uint32],
    ids: NDArray[np.integer],
    layout: RecordLayout,
    values: NDArray[np.int32],
    out: NDArray[np.uint8],
    ends: NDArray[np.int64],
    num_tokens: NDArray[np.uint32],
) -> Scalar:
    """Writes records, one after another.

    Args:
      rows: uint32[any, words], see `bert_data.instances.rows`.
      order: uint32[records], the rows to write.
      ids: uint16 or int32[tokens] of the token store.
      layout: RecordLayout.
      values: int32[8, max(max_seq_length + 1, max_predictions_per_seq)], scratch.
      out: uint8[bytes], at least `max_record_bytes` for each record.
      ends: int64[records], filled: where in `out` each record ends.
      num_tokens: uint32[records], filled: unpadded length of each instance.

    Returns:
      The bytes written.
    """
    counts, sizes = np.full(_NUM_KEYS, _ABSENT), np.empty(_NUM_KEYS, np.int64)
    at = np.int64(0)
    for record in range(order.size):
        row = rows[order[record]]
        length, b_start = _assemble_tokens(row, ids, layout, values, counts)
        if layout.seq_length == 0:
            _assemble_words(layout, values, counts, length, b_start)
        _assemble_predictions(row, layout, values, counts)
        data = at + 12
        stop = _put_example(out, data, layout, values, counts, sizes)
        _put_little_endian(out, at, stop - data, 8)
        _put_little_endian(out, at + 8, np.int64(masked_crc32c_of_range(out, at, at + 8)), 4)
        at = _put_little_endian(out, stop, np.int64(masked_crc32c_of_range(out, data, stop)), 4)
        ends[record] = at
        num_tokens[record] = length
    return at
