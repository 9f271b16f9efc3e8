"""Find where each feature's numbers are in a tf.train.Example, and how many there are.

    features {"input_ids": [2 ids] "input_mask": [..] ...}  ->  span of the ids' bytes, count 2, ...

Nothing is decoded here. Source of the format: see `bert_data.reader.examples.wire`.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, kernel
from bert_data.reader.examples.wire import (
    FIELD_1,
    FIELD_2,
    FIELD_3,
    FIXED32_1,
    VARINT_1,
    WORD_BYTES,
    count_numbers,
    count_packed,
    count_varints,
    load_word,
    next_field,
)
from bert_data.reader.layout import STREAMED, is_float
from bert_data.schema import fields
from bert_data.schema.fields import Axis

SECTIONS = STREAMED
"""The fields of records by what their values belong to: tokens, predictions, instances."""
FIELDS = tuple(field for section in SECTIONS for field in section)
FEATURES = tuple(field.name for field in FIELDS)
IDS, MASK, SEGMENTS, POSITIONS, LABELS, WEIGHTS, NEXT = map(
    FIELDS.index,
    (
        fields.INPUT_IDS,
        fields.INPUT_MASK,
        fields.SEGMENT_IDS,
        fields.MASKED_LM_POSITIONS,
        fields.MASKED_LM_IDS,
        fields.MASKED_LM_WEIGHTS,
        fields.NEXT_SENTENCE_LABELS,
    ),
)
SPLITS = len(FIELDS)  # marks ragged records; located where spans have a row for it
_NAMES = (*FEATURES, fields.INPUT_IDS_SPLITS.name)
NUM_NAMES = len(_NAMES)
IS_FLOAT = np.array([is_float(field) for field in (*FIELDS, fields.INPUT_IDS_SPLITS)])
_ONE_NUMBER = -1
# The feature that each has as many numbers as.
_AS_MANY_AS = np.array(
    [
        _ONE_NUMBER if field.axis is Axis.INSTANCES else FIELDS.index(section[0])
        for section in SECTIONS
        for field in section
    ]
)

OK, BAD_DATA, NO_EXAMPLE, MISSING, UNEVEN = range(5)  # MISSING and UNEVEN: + 8 * feature

_ABSENT = -2
_LEAST_ENTRY_BYTES = 40  # fewer are not read a word at a time


def _names_by_length() -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the name of each length in bytes (all differ) or -1, and three words of each name.

    The words are its beginning, the next eight bytes (or its beginning again if it has fewer than
    16), and its end.
    """
    which = np.full(256, -1)
    words = np.zeros((NUM_NAMES, 3), "<u8")
    for name, text in enumerate(_NAMES):
        assert which[len(text)] < 0
        assert len(text) >= WORD_BYTES
        which[len(text)] = name
        for word, at in enumerate(_word_places(len(text))):
            words[name, word] = np.frombuffer(text[at : at + WORD_BYTES].encode(), "<u8")[0]
    return which, words


def _word_places(size: int) -> tuple[int, int, int]:
    return 0, (WORD_BYTES if size >= 2 * WORD_BYTES else 0), size - WORD_BYTES


_OF_LENGTH, _WORDS = _names_by_length()


@kernel
def _which_feature(data: NDArray[np.uint8], begin: Scalar, end: Scalar) -> Scalar:
    size = end - begin
    name = _OF_LENGTH[size] if size < _OF_LENGTH.size else -1
    if name < 0:
        return -1
    middle = begin + (WORD_BYTES if size >= 2 * WORD_BYTES else 0)
    difference = load_word(data, begin) ^ _WORDS[name, 0]
    difference |= load_word(data, middle) ^ _WORDS[name, 1]
    difference |= load_word(data, end - WORD_BYTES) ^ _WORDS[name, 2]
    return name if difference == np.uint64(0) else -1


@kernel
def _read_plain_entries(
    data: NDArray[np.uint8],
    at: Scalar,
    stop: Scalar,
    start: Scalar,
    spans: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> Scalar:
    """Read the map's leading entries that have the form writers usually produce.

    That is: key, then value, then nothing; a list in one packed part; sizes of one or two bytes.

    Returns:
      Where the first entry begins that has another form or is too near the end to load words; the
      end if there is none.
    """
    while stop - at >= _LEAST_ENTRY_BYTES:
        word = np.int64(load_word(data, at))  # 0A size 0A key_size
        two = word >> 15 & 1
        key = at + 4 + two
        end = key - 2 + (word >> 8 & 127) + (word >> 9 & 0x3F80) * two
        key_size = np.int64(data[key - 1])
        value, name = key + key_size, _OF_LENGTH[key_size]
        is_plain = (word & 255) == FIELD_1 and data[key - 2] == FIELD_1 and (word >> 23 & two) == 0
        if not is_plain or name < 0 or end > stop or value > end or data.size - value < 16:
            return at
        middle = key + (WORD_BYTES if key_size >= 2 * WORD_BYTES else 0)
        difference = load_word(data, key) ^ _WORDS[name, 0]
        difference |= load_word(data, middle) ^ _WORDS[name, 1]
        difference |= load_word(data, value - WORD_BYTES) ^ _WORDS[name, 2]
        word = np.int64(load_word(data, value))  # 12 size 1A list_size
        two = word >> 15 & 1
        first = value + 2 + two
        size = (word >> 8 & 127) + (word >> 9 & 0x3F80) * two
        is_plain = (word & 255) == FIELD_2 and first + size == end and (word >> 23 & two) == 0
        kind = word >> (16 + 8 * two) & 255
        is_plain = is_plain and kind == (FIELD_2 if IS_FLOAT[name] else FIELD_3)
        word = np.int64(load_word(data, first))  # 1A list_size 0A bytes
        two = word >> 15 & 1
        size = (word >> 8 & 127) + (word >> 9 & 0x3F80) * two
        first += 2 + two
        is_plain = is_plain and first + size == end and (word >> 23 & two) == 0
        word = word >> (16 + 8 * two)
        two = word >> 15 & 1
        size = (word >> 8 & 127) + (word >> 9 & 0x3F80) * two
        first += 2 + two
        is_plain = is_plain and (word & 255) == FIELD_1 and first + size == end
        if not is_plain or (word >> 23 & two) or difference != np.uint64(0):
            return at
        counts[name] = 0
        if name < spans.shape[0]:
            counts[name] = count_packed(data, first, end, IS_FLOAT[name])
            spans[name, 0], spans[name, 1] = first - start, end - start
        at = end
    return at


@kernel
def _read_entry(
    data: NDArray[np.uint8],
    begin: Scalar,
    end: Scalar,
    start: Scalar,
    spans: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> bool:
    """Note the list of an entry of any form at data[begin:end]; return False if it is malformed."""
    name, value_begin, value_end = -1, end, end
    while begin < end:
        tag, first, last = next_field(data, begin, end)
        if first < 0:
            return False
        if tag == FIELD_1:
            name = _which_feature(data, first, last)
        elif tag == FIELD_2:
            value_begin, value_end = first, last
        begin = last
    if name < 0:
        return True
    if name >= spans.shape[0]:
        counts[name] = 0
        return True
    list_tag = FIELD_2 if IS_FLOAT[name] else FIELD_3
    counts[name] = _ABSENT
    while value_begin < value_end:
        tag, first, last = next_field(data, value_begin, value_end)
        if first < 0:
            return False
        counts[name] = _ABSENT
        if tag == list_tag:
            spans[name, 0], spans[name, 1] = ~(first - start), last - start
            counts[name] = count_numbers(data, first, last, IS_FLOAT[name])
        value_begin = last
    return True


@kernel
def _last_nonzero_packed(
    data: NDArray[np.uint8], begin: Scalar, end: Scalar, is_float: bool
) -> Scalar:
    """Return one more than the index of the last nonzero number, packed in data[begin:end].

    A varint is zero only if all its bytes are, apart from their high bits.
    """
    if is_float:
        while end > begin:
            if data[end - 4] | data[end - 3] | data[end - 2] | (data[end - 1] & 127):
                break
            end -= 4
        return (end - begin) >> 2
    last = end
    while last > begin and not data[last - 1] & 127:
        last -= 1
    if last == begin:
        return 0
    return count_varints(data, begin, last) + np.int64(data[last - 1] >= 128)


@kernel
def _last_nonzero(
    data: NDArray[np.uint8], start: Scalar, begin: Scalar, end: Scalar, is_float: bool
) -> Scalar:
    """Do the same for the list of a span, see `RecordBlock`."""
    if begin >= 0:
        return _last_nonzero_packed(data, start + begin, start + end, is_float)
    begin, end = start + ~begin, start + end
    index = last_index = 0
    while begin < end:
        tag, at, last = next_field(data, begin, end)
        begin = last
        if tag == FIELD_1 or tag == (FIXED32_1 if is_float else VARINT_1):
            last_here = _last_nonzero_packed(data, at, last, is_float)
            last_index = index + last_here if last_here else last_index
            index += (last - at) >> 2 if is_float else count_varints(data, at, last)
    return last_index


@kernel
def read_example(
    data: NDArray[np.uint8],
    start: Scalar,
    end: Scalar,
    needs_label: bool,
    spans: NDArray[np.int32],
    counts: NDArray[np.int64],
    lengths: NDArray[np.int32],
) -> Scalar:
    """Find where each feature is in the Example data[start:end].

    Args:
      data: uint8[bytes].
      needs_label: whether a record without next_sentence_labels is damaged.
      spans: int32[7, 2], filled, see `RecordBlock`; or int32[8, 2], with the row splits.
      counts: int64[8], filled: numbers of each feature, padding included; negative if it is absent
        or malformed.
      lengths: int32[2], filled: tokens and predictions, without padding: the lengths of the lists
        of a ragged record, which has row splits; otherwise from the mask and the weights.

    Returns:
      Its status.
    """
    for name in range(NUM_NAMES):
        counts[name] = _ABSENT
    at = start
    while at < end:
        tag, first, last = next_field(data, at, end)
        if first < 0:
            return NO_EXAMPLE
        if tag == FIELD_1:
            first = _read_plain_entries(data, first, last, start, spans, counts)
        while tag == FIELD_1 and first < last:
            entry_tag, entry, entry_end = next_field(data, first, last)
            if entry < 0:
                return NO_EXAMPLE
            if entry_tag == FIELD_1 and not _read_entry(
                data, entry, entry_end, start, spans, counts
            ):
                return NO_EXAMPLE
            first = entry_end
        at = last
    if counts[NEXT] == _ABSENT and not needs_label:
        counts[NEXT], spans[NEXT, 0], spans[NEXT, 1] = 1, 0, 0
    for name in range(SPLITS):
        if counts[name] < 0:
            return MISSING + 8 * name if counts[name] == _ABSENT else NO_EXAMPLE
        like = _AS_MANY_AS[name]
        if counts[name] != (1 if like == _ONE_NUMBER else counts[like]):
            return UNEVEN + 8 * name
    lengths[0], lengths[1] = counts[IDS], counts[POSITIONS]
    if counts[SPLITS] < 0:
        lengths[0] = _last_nonzero(data, start, spans[MASK, 0], spans[MASK, 1], False)
        lengths[1] = _last_nonzero(data, start, spans[WEIGHTS, 0], spans[WEIGHTS, 1], True)
    return OK


def look_at_example(data: NDArray[np.uint8], start: int, end: int) -> NDArray[np.int64]:
    """Count the numbers of each feature of the Example data[start:end], padding included.

    Returns:
      int64[8], in the order of `FEATURES`, then the row splits (0); negative if it is absent.
    """
    counts = np.empty(NUM_NAMES, np.int64)
    spans, lengths = np.zeros((len(FEATURES), 2), np.int32), np.zeros(2, np.int32)
    read_example(data, start, end, False, spans, counts, lengths)
    return counts
