"""The features that BERT takes, from the ids of texts or of pairs of texts.

[7 8] and [9]  -->  input_ids   [101 7 8 102 9 102]
                    input_mask  [  1 1 1   1 1   1]
                    segment_ids [  0 0 0   0 1   1]
"""

from collections.abc import Sequence

from bert_data.schema import fields
from bert_data.tokens.vocabulary import Vocabulary


def pack_inputs(
    vocabulary: Vocabulary, of_texts: Sequence[list[int]], of_pairs: Sequence[list[int]] | None
) -> dict[str, list[list[int]]]:
    """Add the special tokens to the ids of each text.

    Args:
      vocabulary: has the ids of [CLS] and [SEP].
      of_texts: ids of each text.
      of_pairs: ids of each second text; None if there are no pairs.

    Raises:
      ValueError: the number of second texts is not the number of texts.
    """
    if of_pairs is not None and len(of_pairs) != len(of_texts):
        raise ValueError(f"there are {len(of_texts)} texts and {len(of_pairs)} pairs")
    cls_id, sep_id = vocabulary.cls_id, vocabulary.sep_id
    firsts = [[cls_id, *ids, sep_id] for ids in of_texts]
    seconds = [[]] * len(firsts) if of_pairs is None else [[*ids, sep_id] for ids in of_pairs]
    rows = list(zip(firsts, seconds, strict=True))
    return {
        fields.INPUT_IDS.name: [first + second for first, second in rows],
        fields.INPUT_MASK.name: [[1] * (len(first) + len(second)) for first, second in rows],
        fields.SEGMENT_IDS.name: [[0] * len(first) + [1] * len(second) for first, second in rows],
    }
