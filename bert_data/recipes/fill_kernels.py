"""Fill batches with sequences of token stores, and mask them.

    A  the cat      B  sat         ->  input_ids  [CLS] the [MASK] [SEP] sat [SEP]    predicts cat

Where things lie in a batch is a table, see `reader.layout`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.kernels.declaring import prefetch
from bert_data.reader.layout import BEGIN, COLUMNS, NUM_FEATURES, ROWS, STRIDE
from bert_data.reader.splitmix import next_bits
from bert_data.recipes.sequence_masks import MaskRoom, mask_room, mask_sequence
from bert_data.records.masking.rule import MaskingRule

_TOKENS, _PREDICTIONS, _INSTANCES = range(3)
_IDS, _MASK, _SEGMENTS, _POSITIONS, _NUMBERS = range(5)
_ONE = np.int32(np.float32(1).view(np.int32))
_AHEAD = 4  # sequences
_CACHE_LINE = 64  # bytes


class RowSequences(NamedTuple):
    """The sequences of batches, row after row.

    Attributes:
      sequences: int32[sequences], their numbers in the arrays of the next four; EMPTY, which is
        negative, for an empty row.
      a_lengths, b_lengths: int32[any], tokens of A and B; without any, there is no B.
      labels: int8[any].
      keys: uint64[any], that masks are drawn from.
      tokens: integers[any], of a store or of these sequences.
      a_begins, b_begins: int64[sequences], where in `tokens` those of each begin.
      row_splits: int64[rows + 1], the sequences of each row; those of a row fit its width.
      batch_splits: int64[batches + 1], the rows of each batch.
    """

    sequences: NDArray[np.integer]
    a_lengths: NDArray[np.int32]
    b_lengths: NDArray[np.int32]
    labels: NDArray[np.int8]
    keys: NDArray[np.uint64]
    tokens: NDArray[np.integer]
    a_begins: NDArray[np.int64]
    b_begins: NDArray[np.int64]
    row_splits: NDArray[np.int64]
    batch_splits: NDArray[np.int64]


class Form(NamedTuple):
    """The settings that all batches of a stage share.

    Attributes:
      num_special: special tokens of a sequence: 0, or 1 and one for each segment.
      has_label: whether the first feature of instances is the label.
      is_packed: whether rows hold several sequences.
    """

    num_special: int
    has_label: bool
    is_packed: bool


class StoreRanges(NamedTuple):
    """Ranges of token stores, one for each sequence of a window.

    Attributes:
      stores: int32[any], numbers of the stores.
      begins: int64[any], first tokens.
      lengths: int32[any], tokens.
    """

    stores: NDArray[np.int32]
    begins: NDArray[np.int64]
    lengths: NDArray[np.int32]


@inner
def _copy(source: NDArray[np.integer], target: NDArray[np.int32]) -> np.uint32:
    """Copy tokens; return the largest one."""
    largest = np.uint32(0)
    for k in range(source.size):
        target[k] = source[k]
        largest = max(largest, np.uint32(source[k]))
    return largest


@kernel
def gather_tokens(
    ids: NDArray[np.integer],
    ranges: StoreRanges,
    sequences: NDArray[np.integer],
    places: NDArray[np.int64],
    tokens: NDArray[np.int32],
) -> Scalar:
    """Copy what sequences have of one store.

    Args:
      ids: integers[any], the store.
      sequences: int32[any], numbers in `ranges`.
      places: int64[any], where in `tokens` each goes.
      tokens: int32[any], filled.

    Returns:
      The largest id, 2**31 or more if one is negative.
    """
    largest = np.uint32(0)
    for i in range(sequences.size):
        begin = ranges.begins[sequences[i]]
        source = ids[begin : begin + ranges.lengths[sequences[i]]]
        largest = max(largest, _copy(source, tokens[places[i] :]))
    return np.int64(largest)


@inner
def _make_plain(ids: NDArray[np.int32], size: Scalar) -> None:
    """Make ids of a vocabulary of words the model's."""
    for k in range(ids.size):
        ids[k] -= size * np.int32(ids[k] >= size)


@inner
def _set(words: NDArray[np.int32], begin: Scalar, end: Scalar, value: Scalar) -> None:
    part = words[begin:end]
    for k in range(part.size):
        part[k] = value


@inner
def _set_section(words: NDArray[np.int32], entry: NDArray[np.int32], number: Scalar) -> None:
    """Fill the features of a batch's section with 0, but for one of them with 1."""
    size = np.int64(entry[ROWS]) * entry[COLUMNS]
    for feature in range(entry[NUM_FEATURES]):
        begin = entry[BEGIN] + feature * np.int64(entry[STRIDE])
        _set(words, begin, begin + size, np.int32(feature == number))


@inner
def _prefetch_tokens(rows: RowSequences, i: Scalar) -> None:
    """Prefetch the tokens of a sequence; stores are read in an order that no processor foresees."""
    sequence, size = rows.sequences[i], rows.tokens.itemsize
    for begin, length in (
        (rows.a_begins[i], rows.a_lengths[sequence]),
        (rows.b_begins[i], rows.b_lengths[sequence]),
    ):
        address = np.int64(rows.tokens.ctypes.data) + begin * size
        for at in range(0, length * size, _CACHE_LINE):
            prefetch(address + at)


@inner
def _lay_sequence(
    rows: RowSequences,
    i: Scalar,
    form: Form,
    rule: MaskingRule,
    words: NDArray[np.int32],
    at: Scalar,
    stride: Scalar,
    number: Scalar,
) -> tuple[Scalar, np.uint32]:
    """Write a sequence from `at` on; return where it ends, and its largest id."""
    sequence, begin = rows.sequences[i], at
    a_length, b_length = np.int64(rows.a_lengths[sequence]), np.int64(rows.b_lengths[sequence])
    if form.num_special:
        words[at] = rule.cls_id
        begin += 1
    end = begin + a_length
    source = rows.tokens[rows.a_begins[i] : rows.a_begins[i] + a_length]
    largest = _copy(source, words[begin:end])
    if form.num_special:
        words[end] = rule.sep_id
        end += 1
    if form.num_special == 3 and b_length > 0:
        begin, end = end, end + b_length
        source = rows.tokens[rows.b_begins[i] : rows.b_begins[i] + b_length]
        largest = max(largest, _copy(source, words[begin:end]))
        words[end] = rule.sep_id
        end += 1
        _set(words, begin + _SEGMENTS * stride, end + _SEGMENTS * stride, 1)
    if form.is_packed:
        positions = words[at + _POSITIONS * stride : end + _POSITIONS * stride]
        for k in range(positions.size):
            positions[k] = k
        _set(words, at + _NUMBERS * stride, end + _NUMBERS * stride, number)
    return end, largest


@kernel
def _fill(
    rows: RowSequences,
    form: Form,
    rule: MaskingRule,
    table: NDArray[np.int32],
    room: MaskRoom,
    words: NDArray[np.int32],
) -> Scalar:
    """Fill batches; return the largest id."""
    largest = np.uint32(0)
    for batch in range(table.shape[0]):
        tokens, predictions = table[batch, _TOKENS], table[batch, _PREDICTIONS]
        instances = table[batch, _INSTANCES]
        stride, width = np.int64(tokens[STRIDE]), np.int64(tokens[COLUMNS])
        mask_stride, columns = np.int64(predictions[STRIDE]), np.int64(predictions[COLUMNS])
        label_stride = np.int64(instances[STRIDE])
        _set_section(words, tokens, _MASK)
        _set_section(words, predictions, -1)
        _set_section(words, instances, -1)
        for row in range(tokens[ROWS]):
            row_begin = at = tokens[BEGIN] + row * width
            place = predictions[BEGIN] + row * columns
            label = instances[BEGIN] + row * np.int64(instances[COLUMNS])
            first = rows.row_splits[rows.batch_splits[batch] + row]
            last = rows.row_splits[rows.batch_splits[batch] + row + 1]
            for i in range(first, last):
                sequence = rows.sequences[i]
                _prefetch_tokens(rows, min(i + _AHEAD, rows.sequences.size - 1))
                if sequence < 0:
                    continue
                if form.has_label:
                    words[label], words[label + label_stride] = rows.labels[sequence], _ONE
                    if form.is_packed:
                        words[label + 2 * label_stride] = at - row_begin
                    label += 1
                end, largest_here = _lay_sequence(
                    rows, i, form, rule, words, at, stride, i - first + 1
                )
                largest = max(largest, largest_here)
                _, key = next_bits(rows.keys[sequence])
                num_chosen = mask_sequence(key, words[at:end], rule, room)
                if rule.size_of_words:
                    _make_plain(words[at:end], rule.size_of_words)
                    _make_plain(room.labels[:num_chosen], rule.size_of_words)
                for k in range(num_chosen):
                    words[place + k] = at - row_begin + room.positions[k]
                    words[place + mask_stride + k] = room.labels[k]
                    words[place + 2 * mask_stride + k] = _ONE
                place, at = place + num_chosen, end
            _set(words, at + _MASK * stride, row_begin + width + _MASK * stride, 0)
    return np.int64(largest)


def fill_batches(
    rows: RowSequences,
    form: Form,
    rule: MaskingRule,
    table: NDArray[np.int32],
    longest: int,
    words: NDArray[np.int32],
) -> int:
    """Fill batches; return the largest id of the tokens, 2**31 or more if one is negative.

    Args:
      table: int32[batches, 15], see `make_table`.
      longest: the most tokens of a sequence, special ones included.
      words: int32[any], filled as the table says.
    """
    room = mask_room(longest)
    return int(_fill(rows, form, rule, table.reshape(len(table), 3, -1), room, words))
