"""What Google's goldens do not show of the definition; tests/test_googles_records.py has them."""

import random

import pytest

from bert_data.records.definition import TrainingInstance, create_instances_from_document


def test_an_instance_has_room_for_two_tokens():
    with pytest.raises(ValueError, match="max_seq_length is 4; it must be 5 or more"):
        create_instances_from_document([[["p"]]], 0, 4, 0.1, 0.15, 0, ["x"], random.Random(1))


def test_an_instance_shows_itself_as_googles_does():
    instance = TrainingInstance(["[CLS]", "a", "[SEP]"], [0, 0, 0], [1], ["b"], True)
    assert (
        str(instance)
        == repr(instance)
        == (
            "tokens: [CLS] a [SEP]\nsegment_ids: 0 0 0\nis_random_next: True\n"
            "masked_lm_positions: 1\nmasked_lm_labels: b\n\n"
        )
    )
