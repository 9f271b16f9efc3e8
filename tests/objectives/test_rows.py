"""What fits a row, and how a row reads."""

import numpy as np
import pytest

from bert_data.objectives.rows import (
    Instance,
    check_row_fits,
    code_bits,
    decode_row,
)
from tests.objectives.corpora import TOKENS, vocabulary_of


@pytest.mark.parametrize(("size", "bits"), [(5, 3), (7, 3), (8, 4), (30_522, 15), (65_536, 17)])
def test_a_code_holds_every_id_and_the_word_that_says_kept(size, bits):
    assert code_bits(size) == bits
    assert (1 << bits) - 1 not in range(size)


def test_rows_that_do_not_fit_are_refused():
    check_row_fits(65_535, 65_535)
    check_row_fits(65_536 // 2, 65_536)
    with pytest.raises(
        ValueError, match="max_seq_length 32769 with a vocabulary of 65,536 entries"
    ):
        check_row_fits(32_769, 65_536)


def test_a_row_by_hand():
    vocabulary = vocabulary_of(TOKENS)
    ids = np.array([5, 6, 9, 10, 13, 15], np.uint16)
    kept = (1 << code_bits(len(TOKENS))) - 1
    bits = code_bits(len(TOKENS))
    row = [
        1,
        0,
        4,
        0,
        2 << 16 | 2,
        2 << 1 | 1,
        1 << bits | vocabulary.mask_id,
        4 << bits | kept,
        77,
    ]
    assert decode_row(np.array(row, np.uint32), ids, vocabulary) == Instance(
        ids=(2, 4, 9, 3, 13, 15, 3),
        segment_ids=(0, 0, 0, 0, 1, 1, 1),
        masked_positions=(1, 4),
        masked_ids=(6, 13),
        label=True,
    )
