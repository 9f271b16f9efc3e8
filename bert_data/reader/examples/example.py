"""Find where each feature's numbers are in a tf.train.Example, and how many there are.

    features {"input_ids": [2 ids] "input_mask": [..] ...}  ->  span of the ids' bytes, count 2, ...

Nothing is decoded here. Source of the format: see `bert_data.reader.examples.wire`.
"""

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
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
from bert_data.reader.layout import NUMBERED, is_float, stored_fields
from bert_data.records import fields
from bert_data.records.fields import Axis, Field, RecordKind

IDS, MASK, SEGMENTS, POSITIONS, LABELS, WEIGHTS = range(len(NUMBERED))
"""Numbers of the features that all records have."""

OK, BAD_DATA, NO_EXAMPLE, MISSING, UNEVEN = range(5)  # MISSING and UNEVEN: + 8 * feature

_WORDS_OF_NAME = 3
_ONE_NUMBER = -1
_ABSENT = -2
_LEAST_ENTRY_BYTES = 40  # fewer are not read a word at a time


class Features(NamedTuple):
    """The features of a kind of records, for kernels; the last one is the row splits.

    Attributes:
      is_float: bool[features], whether each holds floats.
      as_many_as: int64[features], the feature that each has as many numbers as; -1 if it has one.
      of_size: int64[256], the first name with so many bytes, or -1; -1 also for less than 8 bytes
        and for more than 24.
      next_of_size: int64[names], the next name with as many bytes, or -1.
      words: uint64[3 * names], three words of each name, see `_word_places`.
      names: uint8[names, longest name], their bytes.
      sizes: int64[names], how many bytes each name has.
      of_name: int64[names], the feature that each name stands for; some have two.
    """

    is_float: NDArray[np.bool_]
    as_many_as: NDArray[np.int64]
    of_size: NDArray[np.int64]
    next_of_size: NDArray[np.int64]
    words: NDArray[np.uint64]
    names: NDArray[np.uint8]
    sizes: NDArray[np.int64]
    of_name: NDArray[np.int64]

    @property
    def num_spans(self) -> int:
        """Features whose numbers are read: all but the row splits."""
        return self.is_float.size - 1


@functools.cache
def features_of(kind: RecordKind) -> Features:
    """Return the features of a kind of masked LM records."""
    stored = stored_fields(kind.fields)
    members = (*stored, fields.INPUT_IDS_SPLITS)
    feature_of = {field.name.encode(): number for number, field in enumerate(members)}
    feature_of |= {f.v2_name.encode(): number for number, f in enumerate(members) if f.v2_name}
    names = list(feature_of)
    of_size, next_of_size = np.full(256, -1), np.full(len(names), -1)
    words = np.zeros((len(names), _WORDS_OF_NAME), np.uint64)
    for number, name in reversed(list(enumerate(names))):
        if WORD_BYTES <= len(name) <= _WORDS_OF_NAME * WORD_BYTES:
            next_of_size[number], of_size[len(name)] = of_size[len(name)], number
            for word, at in enumerate(_word_places(len(name))):
                words[number, word] = np.frombuffer(name[at : at + WORD_BYTES], "<u8")[0]
    longest = max(map(len, names))
    padded_names = b"".join(name.ljust(longest, b"\0") for name in names)
    return Features(
        np.array([is_float(field) for field in members]),
        np.array([_as_many_as(field, stored) for field in members]),
        of_size,
        next_of_size,
        words.ravel(),
        np.frombuffer(padded_names, np.uint8).reshape(-1, longest).copy(),
        np.array([len(name) for name in names]),
        np.array(list(feature_of.values())),
    )


def _word_places(size: int) -> tuple[int, int, int]:
    """Return where a name's words begin: the first, the next one or the first again, the last."""
    return 0, (WORD_BYTES if size >= 2 * WORD_BYTES else 0), size - WORD_BYTES


def _as_many_as(field: Field, stored: tuple[Field, ...]) -> int:
    """Return the number of the feature that has as many numbers as a field."""
    first = {Axis.TOKENS: fields.INPUT_IDS, Axis.PREDICTIONS: fields.MASKED_LM_POSITIONS}
    return stored.index(first[field.axis]) if field.axis in first else _ONE_NUMBER


def feature_name(kind: RecordKind, number: int) -> str:
    """Return the name of a feature."""
    return stored_fields(kind.fields)[number].name


@inner
def _which_feature(
    data: NDArray[np.uint8], begin: Scalar, end: Scalar, features: Features
) -> Scalar:
    """Return the feature whose name is data[begin:end], or -1."""
    size = end - begin
    for name in range(features.sizes.size):
        if features.sizes[name] == size:
            k = 0
            while k < size and data[begin + k] == features.names[name, k]:
                k += 1
            if k == size:
                return features.of_name[name]
    return -1


@inner
def _which_short_name(
    data: NDArray[np.uint8], begin: Scalar, size: Scalar, features: Features
) -> Scalar:
    """Do the same for a name of 8 to 24 bytes, of data with 24 more from `begin` on; or -1."""
    name = features.of_size[size]
    if name < 0:
        return name
    middle = begin + (WORD_BYTES if size >= 2 * WORD_BYTES else 0)
    first, second = load_word(data, begin), load_word(data, middle)
    third = load_word(data, begin + size - WORD_BYTES)
    while name >= 0:
        difference = first ^ features.words[_WORDS_OF_NAME * name]
        difference |= second ^ features.words[_WORDS_OF_NAME * name + 1]
        difference |= third ^ features.words[_WORDS_OF_NAME * name + 2]
        if difference == np.uint64(0):
            return features.of_name[name]
        name = features.next_of_size[name]
    return name


@inner
def _read_plain_entries(
    data: NDArray[np.uint8],
    at: Scalar,
    stop: Scalar,
    start: Scalar,
    features: Features,
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
        value, name = key + key_size, _which_short_name(data, key, key_size, features)
        is_plain = (word & 255) == FIELD_1 and data[key - 2] == FIELD_1 and (word >> 23 & two) == 0
        if not is_plain or name < 0 or end > stop or value > end or data.size - value < 16:
            return at
        word = np.int64(load_word(data, value))  # 12 size 1A list_size
        two = word >> 15 & 1
        first = value + 2 + two
        size = (word >> 8 & 127) + (word >> 9 & 0x3F80) * two
        is_plain = (word & 255) == FIELD_2 and first + size == end and (word >> 23 & two) == 0
        kind = word >> (16 + 8 * two) & 255
        is_plain = is_plain and kind == (FIELD_2 if features.is_float[name] else FIELD_3)
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
        if not is_plain or (word >> 23 & two):
            return at
        counts[name] = 0
        if name < spans.shape[0]:
            counts[name] = count_packed(data, first, end, features.is_float[name])
            spans[name, 0], spans[name, 1] = first - start, end - start
        at = end
    return at


@inner
def _read_entry(
    data: NDArray[np.uint8],
    begin: Scalar,
    end: Scalar,
    start: Scalar,
    features: Features,
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
            name = _which_feature(data, first, last, features)
        elif tag == FIELD_2:
            value_begin, value_end = first, last
        begin = last
    if name < 0:
        return True
    if name >= spans.shape[0]:
        counts[name] = 0
        return True
    holds_floats = features.is_float[name]
    list_tag = FIELD_2 if holds_floats else FIELD_3
    counts[name] = _ABSENT
    while value_begin < value_end:
        tag, first, last = next_field(data, value_begin, value_end)
        if first < 0:
            return False
        counts[name] = _ABSENT
        if tag == list_tag:
            spans[name, 0], spans[name, 1] = ~(first - start), last - start
            counts[name] = count_numbers(data, first, last, holds_floats)
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
    features: Features,
    spans: NDArray[np.int32],
    counts: NDArray[np.int64],
    lengths: NDArray[np.int32],
) -> Scalar:
    """Find where each feature is in the Example data[start:end].

    Args:
      spans: int32[num_spans, 2], filled, see `RecordBlock`; or with one row more, of the row
        splits.
      counts: int64[features], filled: numbers of each feature, padding included; negative if it is
        absent or malformed.
      lengths: int32[2], filled: tokens and predictions, without padding: the lengths of the lists
        of a ragged record, which has row splits; otherwise from the mask and the weights.
    """
    num_spans = features.is_float.size - 1
    for name in range(num_spans + 1):
        counts[name] = _ABSENT
    at = start
    while at < end:
        tag, first, last = next_field(data, at, end)
        if first < 0:
            return NO_EXAMPLE
        while tag == FIELD_1 and first < last:
            first = _read_plain_entries(data, first, last, start, features, spans, counts)
            if first == last:
                break
            entry_tag, entry, entry_end = next_field(data, first, last)
            if entry < 0:
                return NO_EXAMPLE
            if entry_tag == FIELD_1 and not _read_entry(
                data, entry, entry_end, start, features, spans, counts
            ):
                return NO_EXAMPLE
            first = entry_end
        at = last
    for name in range(num_spans):
        if counts[name] < 0:
            return MISSING + 8 * name if counts[name] == _ABSENT else NO_EXAMPLE
        like = features.as_many_as[name]
        if counts[name] != (1 if like == _ONE_NUMBER else counts[like]):
            return UNEVEN + 8 * name
    lengths[0], lengths[1] = counts[IDS], counts[POSITIONS]
    if counts[num_spans] < 0:
        lengths[0] = _last_nonzero(data, start, spans[MASK, 0], spans[MASK, 1], False)
        lengths[1] = _last_nonzero(data, start, spans[WEIGHTS, 0], spans[WEIGHTS, 1], True)
    return OK


def look_at_example(
    data: NDArray[np.uint8], start: int, end: int, features: Features
) -> NDArray[np.int64]:
    """Count the numbers of each feature of the Example data[start:end], padding included.

    Returns:
      int64[features], the last of the row splits (0); negative if it is absent.
    """
    counts = np.empty(features.is_float.size, np.int64)
    spans, lengths = np.zeros((features.num_spans, 2), np.int32), np.zeros(2, np.int32)
    read_example(data, start, end, features, spans, counts, lengths)
    return counts
