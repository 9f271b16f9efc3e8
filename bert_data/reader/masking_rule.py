"""What masks are drawn by: how many tokens of a record, which ones, and what comes in their place.

    records of 128 tokens, a share of 0.15, 20 at most   ->   19 tokens to predict

The rule is the reference's, see `bert_data.objectives.masking`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.tokens.vocabulary import Vocabulary


class MaskingRule(NamedTuple):
    """What masks are drawn by.

    Attributes:
      num_to_predict: int32[max_seq_length + 1], predictions of a record of each length at most.
      word_ids: int32[words], the ids that a random word is drawn from.
      continues: bool[vocabulary size], whether an id's piece continues a word: for records without
        row splits.
      whole_words: whether all pieces of a word are masked together, or else each alone.
      cls_id, sep_id, mask_id: ids of [CLS], [SEP] and [MASK].
    """

    num_to_predict: NDArray[np.int32]
    word_ids: NDArray[np.int32]
    continues: NDArray[np.bool_]
    whole_words: bool
    cls_id: int
    sep_id: int
    mask_id: int

    def most_predictions(self, lengths: NDArray[np.integer]) -> NDArray[np.int32]:
        """Predictions of records of these lengths at most; none of those of no tokens."""
        return np.where(lengths > 0, self.num_to_predict[lengths], 0).astype(np.int32)


def masking_rule(
    vocabulary: Vocabulary,
    *,
    max_seq_length: int,
    max_predictions_per_seq: int,
    masked_lm_prob: float,
    whole_words: bool,
) -> MaskingRule:
    """The reference's rule.

    Args:
      vocabulary: of the records.
      max_seq_length: tokens of a record at most, special ones counted.
      max_predictions_per_seq: predictions of a record at most.
      masked_lm_prob: share of tokens to predict; special ones count, rounded half to even, and at
        least one.
      whole_words: whether all pieces of a word are masked together.
    """
    lengths = range(max_seq_length + 1)
    counts = [min(max_predictions_per_seq, max(1, round(n * masked_lm_prob))) for n in lengths]
    return MaskingRule(
        num_to_predict=np.array(counts, np.int32),
        word_ids=vocabulary.word_ids.astype(np.int32),
        continues=vocabulary.continuation,
        whole_words=whole_words,
        cls_id=vocabulary.cls_id,
        sep_id=vocabulary.sep_id,
        mask_id=vocabulary.mask_id,
    )
