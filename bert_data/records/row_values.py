"""What an instance's row stands for, as the kernels of all formats read it.

    row + store  ->  tokens [CLS] un ##known [SEP] it [SEP], b_start 4     as they were
                 ->  splits 0 1 3 4 5 6                                    of the words
                 ->  positions 4, labels it; tokens [CLS] un ##known [SEP] [MASK] [SEP]

In this order: words are those of the tokens before masking.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.objectives.rows import HEADER_WORDS


@inner
def read_tokens(
    row: NDArray[np.uint32],
    ids: NDArray[np.integer],
    cls_id: Scalar,
    sep_id: Scalar,
    tokens: NDArray[np.int32],
) -> tuple[Scalar, Scalar]:
    """Reads [CLS] A [SEP] B [SEP] as they were before masking: (tokens, first of B).

    Without a B, [CLS] A [SEP] is all, and the first of B is the end.
    """
    a_begin = np.int64(row[0]) | np.int64(row[1]) << 32
    b_begin = np.int64(row[2]) | np.int64(row[3]) << 32
    a_length, b_length = np.int64(row[4]) & 0xFFFF, np.int64(row[4]) >> 16
    b_start = a_length + 2
    num_tokens = b_start + b_length + np.int64(b_length > 0)
    tokens[0] = cls_id
    for i in range(a_length):
        tokens[1 + i] = ids[a_begin + i]
    tokens[b_start - 1] = sep_id
    for i in range(b_length):
        tokens[b_start + i] = ids[b_begin + i]
    tokens[num_tokens - 1] = sep_id
    return num_tokens, b_start


@inner
def find_words(
    tokens: NDArray[np.int32],
    num_tokens: Scalar,
    b_start: Scalar,
    continues: NDArray[np.bool_],
    splits: NDArray[np.int32],
) -> Scalar:
    """Finds the row splits of the pieces into words; returns how many splits there are.

    The first piece of A and of B begins a word also where truncation has cut off its front.
    """
    num_words = np.int64(0)
    for i in range(num_tokens):
        splits[num_words] = i  # overwritten by the next piece if this one begins no word
        is_first = np.int64(i == 1) | np.int64(i == b_start)
        num_words += is_first | 1 - np.int64(continues[tokens[i]])
    splits[num_words] = num_tokens
    return num_words + 1


@inner
def read_predictions(
    row: NDArray[np.uint32],
    code_bits: Scalar,
    tokens: NDArray[np.int32],
    positions: NDArray[np.int32],
    labels: NDArray[np.int32],
) -> Scalar:
    """Reads what is to be predicted, puts masks and random words in its place: predictions."""
    num_predictions = np.int64(row[5]) >> 1
    keep = (np.int64(1) << code_bits) - 1
    for i in range(num_predictions):
        word = np.int64(row[HEADER_WORDS + i])
        position, code = word >> code_bits, word & keep
        original = np.int64(tokens[position])
        positions[i], labels[i] = position, original
        tokens[position] = original if code == keep else code
    return num_predictions
